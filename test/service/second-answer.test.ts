import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { clientFor, get, post, serveRaw, settle } from "./support.ts";

const STRAY = answerOf("200 OK", '{"ok":true}');

/**
 * A faulty proxy: once a connection has had an answer, what is written to it next is met by a second answer to the request
 * before. `answers` are the true ones, by request.
 */
async function serveTwice(answers: readonly string[]): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  let requests = 0;
  const url = await serveRaw((socket: Socket) => {
    connections += 1;
    let met = 0;
    socket.on("data", (bytes) => {
      // A body may come by itself.
      if (!/^(?:GET|POST) /.test(bytes.toString("latin1"))) return;
      met += 1;
      const answer = answers[requests] ?? "";
      requests += 1;
      if (met === 1) {
        socket.write(answer);
        return;
      }
      socket.write(STRAY);
      // Not as one piece with that.
      void settle().then(() => socket.write(answer));
    });
  });
  return { url, connections: () => connections };
}

function answerOf(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n${body}`;
}

const OK = answerOf("200 OK", '{"ok":true}');
const REFUSED = answerOf("500 Internal Server Error", '{"error":"database is down"}');

describe("a second answer to the request before", () => {
  it("is not taken for the answer to an import, whatever went over the connection before", async () => {
    for (const first of [post, get]) {
      const { url, connections } = await serveTwice([OK, REFUSED]);
      const client = clientFor(url);
      await first(client);
      await settle();
      await expect(post(client)).rejects.toMatchObject({ status: 500 });
      expect(connections()).toBe(2);
    }
  });

  it("of an import meets no question", async () => {
    const { url } = await serveTwice([OK, REFUSED]);
    const client = clientFor(url);
    await post(client);
    await settle();
    await expect(get(client)).rejects.toMatchObject({ status: 500 });
  });

  it("leaves the connection of questions as it is", async () => {
    let connections = 0;
    const url = await serveRaw((socket) => {
      connections += 1;
      socket.on("data", (bytes) => {
        if (/^(?:GET|POST) /.test(bytes.toString("latin1"))) socket.write(OK);
      });
    });
    const client = clientFor(url);
    for (const ask of [get, post, get, post]) {
      await ask(client);
      await settle();
    }
    expect(connections).toBe(3);
  });
});
