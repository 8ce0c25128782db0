import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const onGet = { match: { path: "orders" as const } };
const asked = ({ sandbox }: TestBridge) => sandbox.ledger.ofKind("orders").length;
const holds = ({ rows }: TestBridge) => rows("SELECT area, reason FROM holds");

/** Polls every minute and counts what left. */
async function pollFor(t: TestBridge, minutes: number): Promise<number> {
  const before = asked(t);
  for (let minute = 0; minute < minutes; minute++) {
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
  }
  return asked(t) - before;
}

describe("credentials that the service refuses", () => {
  itSome(1)([401, 403])("are tried at most once in five minutes at %s, and the imports go on", async (status) => {
    const t = await startTestBridge();
    createOrders(t, 1);
    const rule = t.sandbox.faults.add({ ...onGet, times: "forever", do: { kind: "status", status } });
    expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "credentials_refused" } });
    expect(holds(t)).toEqual([{ area: "orders", reason: "credentials" }]);
    expect(await pollFor(t, 15)).toBe(3);
    t.bridge.store.db.prepare("INSERT INTO stock (sku, quantity) VALUES ('A', 1)").run();
    expect(await t.run("stocks")).toMatchObject({ error: null, counts: { sent: 1 } });
    t.sandbox.faults.remove(rule);
    await pollFor(t, 5);
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  itWhole("are not tried again by a restart", async () => {
    const t = await startTestBridge();
    t.sandbox.faults.add({ ...onGet, times: "forever", do: { kind: "status", status: 401 } });
    await t.run("orders");
    for (let restarts = 0; restarts < 4; restarts++) {
      await t.restart();
      await t.run("orders");
    }
    expect(asked(t)).toBe(1);
    expect(await pollFor(t, 6)).toBe(1);
  });

  itWhole.each([
    ["ahead by a year", 365 * 24 * 60 * MINUTE_MS],
    ["back by a year", -365 * 24 * 60 * MINUTE_MS],
  ])("are tried as often as before when the wall clock jumps %s", async (_name, jumpMs) => {
    const t = await startTestBridge();
    t.sandbox.faults.add({ ...onGet, times: "forever", do: { kind: "status", status: 401 } });
    await t.run("orders");
    t.clock.jump(jumpMs);
    expect(await pollFor(t, 4)).toBe(0);
    expect(await pollFor(t, 6)).toBeGreaterThanOrEqual(1);
    expect(await pollFor(t, 10)).toBe(2);
  });
});

describe("a service that asks to wait", () => {
  itWhole.each([
    ["seconds", 429, "120", 2],
    ["a date", 503, "Sun, 01 Mar 2026 12:10:00 GMT", 10],
    ["an epoch", 429, String(Date.UTC(2026, 2, 1, 12, 5) / 1000), 5],
    ["a negative number", 429, "-5", 1],
    ["words", 429, "soon", 1],
    ["years", 429, "100000000", 60],
  ])("is asked again when the time is over and not before: %s", async (_name, status, retryAfter, minutes) => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onGet, do: { kind: "status", status, headers: { "retry-after": retryAfter } } });
    expect(await t.run("orders")).toMatchObject({ outcome: "failed" });
    expect(holds(t)).toEqual([{ area: "orders", reason: "rate limit" }]);
    expect(await pollFor(t, minutes - 1)).toBe(0);
    expect(await pollFor(t, 1)).toBeGreaterThan(0);
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  itWhole("is tried again within a minute where the try itself is lost on the way", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onGet, do: { kind: "status", status: 429, headers: { "retry-after": "5" } } });
    t.sandbox.faults.add({ ...onGet, do: { kind: "reset" } });
    await t.run("orders");
    expect(await pollFor(t, 1)).toBe(1);
    await pollFor(t, 2);
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  itSome(1)([
    ["an error in another form", { kind: "raw", body: '{"error": "db down"}', contentType: "application/json" }],
    ["another refusal", { kind: "status", status: 423 }],
    ["a failure", { kind: "status", status: 500 }],
  ] as const)("leaves no wait behind where it then answers with %s", async (_name, action) => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onGet, do: { kind: "status", status: 503, headers: { "retry-after": "5" } } });
    t.sandbox.faults.add({ ...onGet, times: "forever", do: action });
    await t.run("orders");
    expect(holds(t)).toEqual([{ area: "orders", reason: "rate limit" }]);
    await pollFor(t, 1);
    expect(holds(t)).not.toContainEqual({ area: "orders", reason: "rate limit" });
    expect(t.rows("SELECT failing_since IS NOT NULL AS failing FROM sync_status WHERE flow = 'orders'")).toEqual([
      { failing: 1 },
    ]);
  });

  it("is not asked for changes either, because the limit is the area's", async () => {
    const t = await startTestBridge();
    t.sandbox.faults.add({ ...onGet, do: { kind: "status", status: 429, headers: { "retry-after": "120" } } });
    await t.run("orders");
    expect(await t.run("updates")).toMatchObject({ outcome: "held" });
    expect(t.sandbox.ledger.entries).toHaveLength(1);
  });
});

describe("a redirect", () => {
  it("is an error that names the place, is not followed and holds only this flow", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onGet, do: { kind: "redirect", to: "https://login.example/path" } });
    expect(await t.run("orders")).toMatchObject({
      outcome: "failed",
      error: { code: "redirected", message: expect.stringContaining("https://login.example/path") },
    });
    expect(holds(t)).toEqual([{ area: "orders", reason: "refused" }]);
    expect(t.sandbox.ledger.entries).toHaveLength(1);
    expect(await t.run("updates")).toMatchObject({ error: null, outcome: "idle" });
    expect(await t.run("orders")).toMatchObject({ outcome: "held" });
    await pollFor(t, 5);
    expectComplete(t);
  });
});
