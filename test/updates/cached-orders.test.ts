import { describe, expect, it } from "vitest";
import { loadObservations } from "../../src/probe/observations.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { NO_SUCH_ORDER, startWithIll } from "../support/ill-orders.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { inWhole, itWhole, size } from "../support/whole.ts";

const whole = inWhole("updates/cached-orders");

const HOUR_MS = 3_600_000;
const json = (body: string, headers: Record<string, string> = {}): FaultAction => ({
  kind: "status",
  status: 200,
  headers: { "content-type": "application/json", ...headers },
  body,
});

whole.describe("a cache before GET /orders/{id} that keeps each address for hours", () => {
  itWhole.each(["changes", "whole"] as const)("sets no order back, and no status goes twice: %s", async (carry) => {
    const settings = { statuses: { path: STATUS_PATH }, updates: { carry } };
    const test = await startWithIll(6, { service: { updates: { carry } }, settings });
    const { ids, ill, change, poll, run, sandbox, statusOf, rows, clock } = test;
    const cached = ids.slice(0, 3).map((id) => sandbox.service.newestText(id)!);
    change(ids[0]!, { status: "cancelled" });
    change(ids[1]!, { status: "paid" });
    test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')").run(ids[2]!);
    await run("statuses");
    clock.advance(60_000);
    await run("statuses");
    await poll();
    for (const [index, body] of cached.entries()) ill.set(ids[index]!, json(body));
    for (let hours = 0; hours < size(26, 40); hours++) {
      // Orders that are not in the cache are answered as they are.
      change(ids[5]!, { status: hours % 2 === 0 ? "paid" : "packed" });
      await poll();
      await run("reconcile");
      for (let polls = 0; polls < 4; polls++) await poll();
      await run("statuses");
      clock.advance(HOUR_MS);
    }
    expect(ids.slice(0, 3).map((id) => statusOf(id).status)).toEqual(["cancelled", "paid", "packed"]);
    expect(sandbox.ledger.effects("status")).toHaveLength(1);
    expect(rows("SELECT state FROM status_requests")).toEqual([{ state: "sent" }]);
    expect(loadObservations(test.bridge.store)).not.toContainEqual(expect.objectContaining({ kind: "return" }));
  });

  it("does not end the search for a change that the order does not show yet", async () => {
    const test = await startWithIll(2);
    const { ids, ill, change, poll, sandbox, statusOf } = test;
    ill.set(ids[0]!, json(sandbox.service.newestText(ids[0]!)!));
    change(ids[0]!, { status: "packed" });
    await poll();
    change(ids[1]!, { status: "paid" });
    for (let polls = 0; polls < 100; polls++) await poll();
    expect(statusOf(ids[0]!).status).toBe("new");
    ill.clear();
    await poll(HOUR_MS);
    expect(statusOf(ids[0]!).status).toBe("packed");
  });
});

describe("an answer that says that a cache gave it", () => {
  itWhole.each([{ age: "12" }, { "x-cache": "HIT from gateway" }, { warning: '110 - "Response is stale"' }])(
    "sets no order back, whatever else speaks for it: %j",
    async (headers) => {
      const test = await startWithIll(3);
      const { ids, ill, unlisted, change, poll, run, sandbox, statusOf } = test;
      const former = sandbox.service.newestText(ids[0]!)!;
      change(ids[0]!, { status: "paid" });
      await poll();
      ill.set(ids[0]!, json(former, headers));
      unlisted.add(ids[0]!);
      change(ids[1]!, { status: "paid" });
      await run("reconcile");
      for (let hours = 0; hours < size(26, 40); hours++) await poll(HOUR_MS);
      expect(statusOf(ids[0]!).status).toBe("paid");
      // Fresh, the same answer counts.
      ill.set(ids[0]!, json(former));
      await run("reconcile");
      change(ids[1]!, { status: "packed" });
      for (let hours = 0; hours < size(26, 40); hours++) await poll(HOUR_MS);
      expect(statusOf(ids[0]!).status).toBe("new");
    },
  );

  it("sets no order back where the service's clock was set back and what is stored is of the future", async () => {
    const test = await startWithIll(3);
    const { ids, ill, change, poll, run, sandbox, statusOf } = test;
    const former = sandbox.service.newestText(ids[0]!)!;
    change(ids[0]!, { status: "paid" });
    await poll();
    ill.set(ids[0]!, json(former, { age: "700" }));
    sandbox.service.setOptions({ clockOffsetMs: -3 * HOUR_MS });
    await run("reconcile");
    for (let polls = 0; polls < 20; polls++) await poll();
    expect(statusOf(ids[0]!).status).toBe("paid");
  });

  itWhole("removes no order", async () => {
    const test = await startWithIll(2);
    const { ids, ill, poll, run, rows } = test;
    ill.set(ids[0]!, { ...NO_SUCH_ORDER, headers: { age: "5" } } as FaultAction);
    await run("reconcile");
    for (let polls = 0; polls < 60; polls++) await poll();
    expect(rows("SELECT order_id FROM orders WHERE removed_at IS NOT NULL")).toEqual([]);
    ill.set(ids[0]!, NO_SUCH_ORDER);
    await run("reconcile");
    for (let hours = 0; hours < 3; hours++) await poll(HOUR_MS);
    expect(rows("SELECT order_id FROM orders WHERE removed_at IS NOT NULL")).toEqual([{ order_id: ids[0] }]);
  });

  it("does not send a status again", async () => {
    const test = await startWithIll(1, { settings: { statuses: { path: STATUS_PATH } } });
    const { ids, ill, run, clock, sandbox } = test;
    test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')").run(ids[0]!);
    ill.set(ids[0]!, json(sandbox.service.newestText(ids[0]!)!, { age: "700" }));
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    for (let minutes = 0; minutes < 60; minutes++) {
      await run("statuses");
      clock.advance(60_000);
    }
    expect(sandbox.ledger.ofKind("status")).toHaveLength(1);
    ill.clear();
    clock.advance(HOUR_MS);
    await run("statuses");
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "sent" }]);
    expect(sandbox.ledger.effects("status")).toHaveLength(1);
  });
});
