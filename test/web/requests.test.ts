import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { askPort, startWebBridge } from "../support/web.ts";
import { itSome, itWhole } from "../support/whole.ts";

const PATHS = ["/", "/health", "/metrics"];

describe("who is answered", () => {
  it("answers under the exact names of this machine, in any case", async () => {
    const t = await startWebBridge();
    for (const name of ["127.0.0.1", "localhost", "LocalHost", "[::1]"]) {
      expect((await t.ask("/health", { host: `${name}:${t.port()}` })).status, name).toBe(200);
    }
  });

  itWhole.each([
    "evil.example",
    "evil.example:9469",
    "127.0.0.1",
    "localhost",
    "127.0.0.1:1",
    "127.0.0.1.evil.example",
    "localhost.:9469",
    "127.1:9469",
  ])("refuses a request for the host %j, whatever it asks for", async (host) => {
    const t = await startWebBridge();
    const given = host.replace("9469", String(t.port()));
    for (const path of PATHS) {
      const { status, body } = await t.ask(path, { host: given });
      expect(status).toBe(421);
      expect(body).not.toContain("flow");
    }
  });

  it("refuses a request that names no host, an empty one or two", async () => {
    const t = await startWebBridge();
    const own = `Host: 127.0.0.1:${t.port()}\r\n`;
    expect(await raw(t.port(), "GET /health HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 4(21|00) /);
    expect(await raw(t.port(), "GET /health HTTP/1.1\r\nHost:\r\n\r\n")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await raw(t.port(), `GET /health HTTP/1.1\r\n${own}Host: evil.example\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 4(21|00) /,
    );
  });

  itWhole.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])("refuses %s", async (method) => {
    const t = await startWebBridge();
    const { status, headers } = await t.ask("/", { method });
    expect(status).toBe(405);
    expect(headers["allow"]).toBe("GET, HEAD");
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  itWhole("answers HEAD with the headers of GET and no body", async () => {
    const t = await startWebBridge();
    const [head, get] = [await t.ask("/", { method: "HEAD" }), await t.ask("/")];
    expect(head.status).toBe(200);
    expect(head.body).toBe("");
    expect(head.headers["content-length"]).toBe(String(Buffer.byteLength(get.body)));
  });

  itWhole.each(["/nothing", "//health", "/health/", "/../etc/passwd", "/%68ealth", "http://evil.example/", "*"])(
    "knows nothing at %s",
    async (path) => {
      const t = await startWebBridge();
      const { status, body } = await t.ask(path);
      expect(status).toBe(404);
      expect(body).not.toContain("evil");
    },
  );

  it("refuses a body, an address and headers beyond any use, and hangs up", async () => {
    const t = await startWebBridge();
    const own = `Host: 127.0.0.1:${t.port()}\r\n`;
    expect(await raw(t.port(), `GET / HTTP/1.1\r\n${own}Content-Length: 5\r\n\r\nhello`)).toMatch(/^HTTP\/1\.1 413 /);
    expect((await t.ask(`/health?${"x".repeat(2_000)}`)).status).toBe(414);
    expect(await raw(t.port(), `GET / HTTP/1.1\r\n${own}X: ${"x".repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    expect(await raw(t.port(), "\u0016\u0003\u0001 no HTTP at all\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    expect((await t.ask("/health")).status).toBe(200);
  });
});

describe("what every answer carries", () => {
  itSome(1)([
    ["/", 200],
    ["/health", 200],
    ["/metrics", 200],
    ["/nothing", 404],
  ])("keeps %s out of caches, frames and other origins", async (path, status) => {
    const t = await startWebBridge();
    const answer = await t.ask(path, { headers: { origin: "http://evil.example" } });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
    });
    expect(answer.headers["content-security-policy"]).toMatch(
      /^default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'(; style-src 'sha256-[A-Za-z0-9+/]{43}='; img-src data:)?$/,
    );
    const names = Object.keys(answer.headers);
    expect(names.filter((name) => /^(access-control|server|x-powered-by|set-cookie|etag)/.test(name))).toEqual([]);
  });

  it("tells nothing of the machine where the database cannot be read", async () => {
    const t = await startWebBridge();
    t.bridge.store.close();
    t.clock.advance(60_000);
    for (const path of PATHS) {
      const { status, body } = await askPort(t.port(), path);
      expect(status).toBe(503);
      expect(body).not.toMatch(/ at \S+:\d|node_modules|\.ts|\/tmp|sqlite/i);
    }
    expect((await t.ask("/")).headers["refresh"]).toBe("30");
    expect(JSON.parse((await t.ask("/health")).body)).toMatchObject({ version: 1, healthy: false });
  });
});

/** What comes back to exactly these bytes, until the other side hangs up. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1"));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}
