import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { FaultAction, FaultRule } from "../../src/sandbox/fault-rule.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { itWhole } from "../support/whole.ts";
import { basic, get, post, pushTo, sandboxFor } from "./client.ts";

const DELAY_MS = 100;

/** What the mock service delays leaves only when the test moves the clock. */
function holdDelays(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

async function faulty(rule: FaultRule) {
  const sandbox = await sandboxFor();
  const id = sandbox.service.createOrder();
  sandbox.faults.add(rule);
  return { sandbox, id };
}

/** Everything that comes over the wire until the connection ends or `enough` bytes are there. */
function rawGet(sandbox: Sandbox, enough = Number.POSITIVE_INFINITY): Promise<{ bytes: Buffer; reset: boolean }> {
  const socket = connect(Number(new URL(sandbox.url).port), "127.0.0.1");
  const { authorization } = basic(sandbox);
  socket.write(`GET /api/v1/1c/orders HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (reset: boolean) => resolve({ bytes: Buffer.concat(pieces), reset });
    socket.on("data", (piece) => {
      pieces.push(piece);
      length += piece.length;
      if (length < enough) return;
      socket.destroy();
      end(false);
    });
    socket.on("error", () => end(true));
    socket.on("end", () => end(false));
  });
}

describe("which requests a fault takes", () => {
  it("takes those that match, after some, so many times, in the order of the rules", async () => {
    const { sandbox } = await faulty({
      match: { path: "updates" },
      times: 2,
      skip: 1,
      do: { kind: "status", status: 503 },
    });
    sandbox.faults.add({ match: { method: "get" }, times: "forever", do: { kind: "status", status: 500 } });
    const statuses = [];
    for (const path of ["", "/updates?since=0", "/updates?since=0", "/updates?since=0", "/updates?since=0"]) {
      statuses.push((await get(sandbox, path)).status);
    }
    expect(statuses).toEqual([500, 500, 503, 503, 500]);
    expect(sandbox.faults.list()).toMatchObject([{ times: "forever" }]);
    sandbox.faults.clear();
    expect((await get(sandbox)).status).toBe(200);
  });

  it("matches a feed", async () => {
    const { sandbox } = await faulty({
      match: { path: "import", feed: "prices" },
      do: { kind: "status", status: 500 },
    });
    expect((await pushTo(sandbox, "stocks", { stocks: [] })).status).toBe(200);
    expect((await pushTo(sandbox, "prices", { prices: [] })).status).toBe(500);
  });

  it("refuses rules that make no sense", async () => {
    const { sandbox } = await faulty({ do: { kind: "hang" } });
    const wrong = [
      { do: { kind: "explode" } },
      { do: { kind: "delay" } },
      { match: { path: "x" }, do: { kind: "hang" } },
    ];
    for (const rule of wrong) expect(() => sandbox.faults.add(rule as unknown as FaultRule)).toThrow(TypeError);
  });
});

describe("before and after the effect", () => {
  const lost: FaultAction[] = [{ kind: "reset" }, { kind: "status", status: 502 }, { kind: "cut", bytes: 5 }];

  it.each(lost)("before: $kind hands nothing out", async (action) => {
    const { sandbox, id } = await faulty({ match: { path: "orders" }, do: action });
    await get(sandbox).catch(() => {});
    expect(sandbox.service.orders()[0]?.handedOut).toBe(false);
    expect(sandbox.ledger.entries[0]).toMatchObject({ effect: null, faultApplied: `${action.kind} before` });
    expect(sandbox.ledger.servedVersions(id)).toEqual([]);
  });

  it.each(lost)("after: $kind hands out and loses the answer", async (action) => {
    const { sandbox, id } = await faulty({ match: { path: "orders" }, when: "after", do: action });
    sandbox.service.setOptions({ handOut: "next", redeliverAfterMs: null });
    await get(sandbox).catch(() => {});
    expect(sandbox.ledger.entries[0]?.effect).toMatchObject({ kind: "handed-out", orderIds: [id] });
    expect(sandbox.ledger.servedVersions(id)).toEqual([]);
    expect((await get(sandbox)).json.orders).toEqual([]);
  });

  it("after: a confirm, an import and a status count though their answers are lost", async () => {
    const { sandbox, id } = await faulty({ match: { method: "POST" }, times: 3, when: "after", do: { kind: "reset" } });
    await get(sandbox);
    await expect(post(sandbox, "/confirm", { batch_id: "batch-1" })).rejects.toThrow();
    await expect(pushTo(sandbox, "stocks", { stocks: [{ sku: "A" }] })).rejects.toThrow();
    await expect(post(sandbox, `/${id}/status`, { status: "paid" })).rejects.toThrow();
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set([id]));
    expect(sandbox.service.imported("stocks").has(importKey("A", ""))).toBe(true);
    expect(sandbox.service.statusOf(id)).toBe("paid");
  });

  it("before: a delayed import takes effect though its client has gone", async () => {
    const sandbox = await sandboxFor();
    holdDelays();
    sandbox.faults.add({ match: { path: "import" }, do: { kind: "delay", ms: DELAY_MS } });
    const body = (quantity: number) => ({ stocks: [{ sku: "A", quantity }] });
    const slow = pushTo(sandbox, "stocks", body(1));
    await expect.poll(() => sandbox.faults.list()).toEqual([]);
    await pushTo(sandbox, "stocks", body(2));
    vi.advanceTimersByTime(DELAY_MS);
    await slow;
    const values = sandbox.ledger.acceptedValues("stocks", importKey("A", ""));
    expect(values).toEqual(['{"sku":"A","quantity":2}', '{"sku":"A","quantity":1}']);
  });

  it("after: a delayed answer has had its effect at once", async () => {
    const { sandbox } = await faulty({ when: "after", do: { kind: "delay", ms: DELAY_MS } });
    holdDelays();
    const slow = get(sandbox);
    await expect.poll(() => sandbox.ledger.entries.length).toBe(1);
    expect(sandbox.service.orders()[0]?.handedOut).toBe(true);
    vi.advanceTimersByTime(DELAY_MS);
    expect((await slow).json.orders).toHaveLength(1);
  });
});

describe("how an answer goes wrong", () => {
  it("answers another status with its headers and body", async () => {
    const action = { kind: "status", status: 429, headers: { "retry-after": "-5" }, body: "<slow down>" } as const;
    const { sandbox } = await faulty({ do: action });
    const answer = await get(sandbox);
    expect([answer.status, answer.headers["retry-after"], answer.text]).toEqual([429, "-5", "<slow down>"]);
    expect(sandbox.ledger.entries[0]).toMatchObject({ status: 429, responseBody: "<slow down>" });
  });

  it("answers HTML, other content or a redirect", async () => {
    const { sandbox } = await faulty({ do: { kind: "html" } });
    sandbox.faults.add({ do: { kind: "raw", body: '{"orders":[', contentType: "application/json" } });
    sandbox.faults.add({ do: { kind: "redirect", to: "http://other.example/" } });
    const html = await get(sandbox);
    expect([html.status, html.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect((await get(sandbox)).text).toBe('{"orders":[');
    const redirect = await get(sandbox);
    expect([redirect.status, redirect.headers["location"]]).toEqual([302, "http://other.example/"]);
  });

  it("resets the connection", async () => {
    const { sandbox } = await faulty({ do: { kind: "reset" } });
    const { bytes, reset } = await rawGet(sandbox);
    expect([bytes.length, reset]).toEqual([0, true]);
  });

  it.each([0, 1, 20])("cuts the body after %i bytes", async (bytes) => {
    const { sandbox } = await faulty({ do: { kind: "cut", bytes } });
    const [head = "", body = ""] = (await rawGet(sandbox)).bytes.toString().split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1.1 200 OK/);
    expect(body).toBe('{"batch_id":"batch-1","orders":'.slice(0, bytes));
    expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBeGreaterThan(20);
  });

  it("cuts the head", async () => {
    const { sandbox } = await faulty({ do: { kind: "cut", bytes: 12, of: "answer" } });
    expect((await rawGet(sandbox)).bytes.toString()).toBe("HTTP/1.1 200");
  });

  it.each(["body", "answer"] as const)("drips the %s", async (of) => {
    const { sandbox } = await faulty({ when: "after", do: { kind: "drip", bytesPerSecond: 5000, of } });
    const started = performance.now();
    const answer = await get(sandbox);
    expect(answer.json.orders).toHaveLength(1);
    expect(performance.now() - started).toBeGreaterThan(answer.bytes.length / 10);
  });

  it("hangs until it is closed", async () => {
    const { sandbox } = await faulty({ do: { kind: "hang" } });
    const hanging = expect(get(sandbox)).rejects.toThrow();
    await expect.poll(() => sandbox.ledger.entries).toMatchObject([{ status: null, responseBody: null }]);
    await sandbox.close();
    await hanging;
  });

  itWhole("never ends", async () => {
    const { sandbox } = await faulty({ do: { kind: "endless" } });
    const { bytes } = await rawGet(sandbox, 5_000_000);
    expect(bytes.length).toBeGreaterThanOrEqual(5_000_000);
    expect(bytes.toString("latin1")).toMatch(/transfer-encoding: chunked/i);
  });

  itWhole("compresses unasked, and bombs", async () => {
    const { sandbox } = await faulty({ do: { kind: "gzip" } });
    sandbox.faults.add({ do: { kind: "gzip", bombBytes: 64 * 1024 * 1024 } });
    const answer = await get(sandbox);
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect(JSON.parse(gunzipSync(answer.bytes).toString()).orders).toHaveLength(1);
    const bomb = await get(sandbox);
    expect(bomb.bytes.length).toBeLessThan(200_000);
    expect(gunzipSync(bomb.bytes).length).toBe(64 * 1024 * 1024);
  });

  it("sends 100 KB of headers", async () => {
    const { sandbox } = await faulty({ do: { kind: "big-headers" } });
    expect(JSON.stringify((await get(sandbox)).headers).length).toBeGreaterThan(100_000);
  });
});
