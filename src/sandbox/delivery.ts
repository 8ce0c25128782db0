import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Delivery, SandboxResponse } from "./messages.ts";

/** The minimum interval between writes of a dripped answer; a slower drip writes one byte at a time. */
const DRIP_INTERVAL_MS = 50;
const ENDLESS_PIECE = Buffer.alloc(16 * 1024, " ");

function headersOf(response: SandboxResponse): Record<string, string> {
  const bodyless = response.status === 204 || response.status === 304;
  return bodyless ? { ...response.headers } : { ...response.headers, "content-length": String(response.body.length) };
}

/** The whole answer as bytes, for faults that affect its head. */
function answerBytes(response: SandboxResponse): Buffer {
  const headers = Object.entries({ ...headersOf(response), connection: "close" });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${lines}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), response.body]);
}

/** Sends answers with their faults, and tracks its timers so that closing stops them. */
export class Deliverer {
  private readonly timers = new Set<NodeJS.Timeout>();

  deliver(out: ServerResponse, response: SandboxResponse): void {
    const { delivery } = response;
    const { socket } = out;
    if (delivery.kind === "later") {
      // A late effect happens whether or not the client still waits.
      this.after(delivery.ms, () => this.deliver(out, delivery.complete()));
    } else if (socket !== null && !socket.destroyed) {
      this.transmit(out, socket, response, delivery);
    }
  }

  private transmit(
    out: ServerResponse,
    socket: Socket,
    response: SandboxResponse,
    delivery: Exclude<Delivery, { kind: "later" }>,
  ): void {
    switch (delivery.kind) {
      case "plain":
        this.send(out, response);
        break;
      case "delay":
        this.after(delivery.ms, () => this.send(out, response));
        break;
      case "hang":
        break;
      case "reset":
        socket.resetAndDestroy();
        break;
      case "cut":
        this.cut(out, socket, response, delivery);
        break;
      case "drip":
        this.drip(out, socket, response, delivery);
        break;
      case "endless":
        this.endless(out, response);
        break;
    }
  }

  /** Cancels everything that was still to be sent. */
  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  private after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
  }

  private send(out: ServerResponse, response: SandboxResponse): void {
    if (out.destroyed) return;
    out.writeHead(response.status, headersOf(response));
    out.end(response.body);
  }

  private cut(
    out: ServerResponse,
    socket: Socket,
    response: SandboxResponse,
    { bytes, of }: { bytes: number; of: "body" | "answer" },
  ): void {
    const end = () => socket.destroy();
    if (of === "answer") {
      socket.write(answerBytes(response).subarray(0, bytes), end);
      return;
    }
    out.writeHead(response.status, headersOf(response));
    out.flushHeaders();
    if (bytes > 0) out.write(response.body.subarray(0, bytes), end);
    else socket.write("", end);
  }

  private drip(
    out: ServerResponse,
    socket: Socket,
    response: SandboxResponse,
    { bytesPerSecond, of }: { bytesPerSecond: number; of: "body" | "answer" },
  ): void {
    const everyMs = Math.max(DRIP_INTERVAL_MS, 1000 / bytesPerSecond);
    const piece = Math.max(1, Math.round((bytesPerSecond * everyMs) / 1000));
    const bytes = of === "answer" ? answerBytes(response) : response.body;
    const target = of === "answer" ? socket : out;
    if (of === "body") {
      out.writeHead(response.status, headersOf(response));
      out.flushHeaders();
    }
    const step = (from: number) => {
      if (socket.destroyed) return;
      if (from >= bytes.length) {
        target.end();
        return;
      }
      target.write(bytes.subarray(from, from + piece));
      this.after(everyMs, () => step(from + piece));
    };
    step(0);
  }

  /** Sends the body and then white space, as fast as the client reads, until it disconnects. */
  private endless(out: ServerResponse, response: SandboxResponse): void {
    out.writeHead(response.status, { ...response.headers });
    out.write(response.body);
    const more = () => {
      if (out.destroyed) return;
      if (out.write(ENDLESS_PIECE)) this.after(1, more);
      else out.once("drain", more);
    };
    more();
  }
}
