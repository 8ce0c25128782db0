import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { SignalQueue } from "../../src/cli/signals.ts";

function queue({ isTerminalClosed = false } = {}) {
  const source = Object.assign(new EventEmitter(), {
    pid: 1,
    kill: (_pid: number, name: string) => source.emit(name, name),
  });
  const signals = new SignalQueue(source as unknown as NodeJS.Process, () => isTerminalClosed);
  signals.takeStops();
  return {
    signals,
    send: (name: string) => void source.emit(name, name),
  };
}

describe("signals", () => {
  it("that come while an earlier one is worked on are not lost, and several reloads are one", async () => {
    const { signals, send } = queue();
    send("SIGHUP");
    expect(await signals.next()).toBe("SIGHUP");
    send("SIGHUP");
    send("SIGHUP");
    expect(await signals.next()).toBe("SIGHUP");
    const next = signals.next();
    send("SIGTERM");
    expect(await next).toBe("SIGTERM");
  });

  it("to stop overtake reloads", async () => {
    const { signals, send } = queue();
    send("SIGHUP");
    send("SIGINT");
    expect(await signals.next()).toBe("SIGINT");
  });

  it("that say that the terminal was closed are a stop", async () => {
    const { signals, send } = queue({ isTerminalClosed: true });
    send("SIGHUP");
    expect(await signals.next()).toBe("SIGTERM");
  });

  it("to stop are an order to leave at once when they come again", () => {
    const { signals, send } = queue();
    let left = 0;
    send("SIGTERM");
    signals.onSecondStop(() => left++);
    send("SIGHUP");
    expect(left).toBe(0);
    send("SIGTERM");
    expect(left).toBe(1);
  });
});
