import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type IllOrders, NO_SUCH_ORDER, startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE = 60_000;
const DAY = 24 * 3_600_000;

async function pollFor(test: IllOrders, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    test.clock.advance(MINUTE);
    await test.run("updates");
  }
}

/** The first order is marked as removed, and the service has it again. */
async function startWithRemoved(options: Parameters<typeof startWithIll>[1] = {}): Promise<IllOrders & { id: string }> {
  const test = await startWithIll(4, options);
  const [id] = test.ids as [string];
  test.ill.set(id, NO_SUCH_ORDER);
  await test.run("reconcile");
  await pollFor(test, 13);
  expect(order(test, id)).toEqual({ is_open: 0, revision: 2, erp_revision: 2, removed: 1 });
  expect(test.rows("SELECT order_id, why FROM orders_pending WHERE order_id = ?", id)).toEqual([
    { order_id: id, why: "removed" },
  ]);
  test.ill.clear();
  return Object.defineProperties({ id } as never, Object.getOwnPropertyDescriptors(test));
}

function order({ rows }: IllOrders, id: string): unknown {
  return rows(
    "SELECT is_open, revision, erp_revision, removed_at IS NOT NULL AS removed FROM orders WHERE order_id = ?",
    id,
  )[0];
}

function expectBack(test: IllOrders, id: string): void {
  expect(order(test, id)).toEqual({ is_open: 1, revision: 3, erp_revision: 3, removed: 0 });
  const events = test.rows<{ kind: string; changes: string }>(
    "SELECT kind, changes FROM order_events WHERE order_id = ? ORDER BY seq",
    id,
  );
  expect(events.map(({ kind }) => kind)).toEqual(["created", "removed", "changed"]);
  expect(JSON.parse(events[2]!.changes)).toMatchObject({ removed: { was: true, is: false } });
  test.bridge.store.db.prepare("INSERT INTO erp_orders (order_id, seen_revision) VALUES (?, 2)").run(id);
  expect(test.rows("SELECT revision, why FROM orders_pending WHERE order_id = ?", id)).toEqual([
    { revision: 3, why: "changed" },
  ]);
}

describe("an order that was marked as removed", () => {
  itSome(1)(["changes", "whole"] as const)("comes back with its next change: %s", async (carry) => {
    const test = await startWithRemoved({ service: { updates: { carry } }, settings: { updates: { carry } } });
    test.change(test.id, { status: "packed" });
    await pollFor(test, 2);
    expectBack(test, test.id);
    expect(test.statusOf(test.id).status).toBe("packed");
  });

  itWhole("comes back with a batch that holds the very same record", async () => {
    const test = await startWithRemoved();
    const record = test.rows<{ payload: string }>("SELECT payload FROM orders WHERE order_id = ?", test.id)[0]!.payload;
    const body = `{"batch_id": 900, "orders": [${record}]}`;
    test.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
    expect(await test.run("orders")).toMatchObject({ error: null });
    await pollFor(test, 1);
    expectBack(test, test.id);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("comes back with a batch that holds a newer record, though it is not found when it is read", async () => {
    const test = await startWithRemoved();
    test.ill.set(test.id, NO_SUCH_ORDER);
    const stored = test.rows<{ payload: string }>("SELECT payload FROM orders WHERE order_id = ?", test.id)[0]!.payload;
    const newer = { ...(JSON.parse(stored) as object), status: "paid", updated_at: new Date(test.clock.nowMs()) };
    const body = JSON.stringify({ batch_id: 900, orders: [newer] });
    test.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
    expect(await test.run("orders")).toMatchObject({ error: null });
    expect(test.statusOf(test.id)).toMatchObject({ status: "paid" });
    expect(order(test, test.id)).toMatchObject({ is_open: 1, removed: 0 });
    await pollFor(test, 1);
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: test.id }]);
  });

  itWhole("comes back by itself in the night, though it is just as it was", async () => {
    const test = await startWithRemoved();
    test.clock.advance(DAY);
    expect(await test.run("reconcile")).toMatchObject({ error: null, counts: { returned: 1 } });
    expectBack(test, test.id);
    expect(await test.run("reconcile")).toMatchObject({ counts: { checked: 4, differ: 0 } });
  });

  itWhole("has the statuses sent that were refused because it was missing", async () => {
    const statuses = { path: "/api/v1/1c/orders/{order_id}/status" };
    const test = await startWithIll(4, { settings: { statuses } });
    const [id] = test.ids as [string];
    const ask = test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, ?)");
    test.ill.set(id, NO_SUCH_ORDER);
    const noOrder: FaultAction = { kind: "status", status: 409, body: "no such order" };
    test.sandbox.faults.add({ match: { path: "status" }, times: "forever", do: noOrder });
    ask.run(id, "packed");
    await test.run("statuses");
    await test.run("reconcile");
    await pollFor(test, 13);
    for (let minute = 0; minute < 3; minute++) {
      test.clock.advance(MINUTE);
      await test.run("statuses");
    }
    const requests = () => test.rows("SELECT status, state, http_status, last_error FROM status_requests");
    expect(requests()).toEqual([
      { status: "packed", state: "refused", http_status: 404, last_error: expect.stringContaining("no such order") },
    ]);
    test.ill.clear();
    test.sandbox.faults.clear();
    test.clock.advance(DAY);
    await test.run("reconcile");
    await test.run("statuses");
    expect(requests()).toEqual([{ status: "packed", state: "sent", http_status: 200, last_error: null }]);
    expect(test.sandbox.service.statusOf(id)).toBe("packed");
  });

  itWhole("comes back after months too, in its turn", async () => {
    const test = await startWithRemoved();
    test.bridge.store.db
      .prepare("UPDATE orders SET removed_at = '2025-01-01T00:00:00.000Z' WHERE removed_at IS NOT NULL")
      .run();
    await test.run("reconcile");
    expectBack(test, test.id);
  });

  itWhole("stays so while the service does not have it, and costs a request a night", async () => {
    const test = await startWithRemoved();
    test.ill.set(test.id, NO_SUCH_ORDER);
    const before = test.snapshots(test.id);
    for (let night = 0; night < 6; night++) {
      test.clock.advance(DAY);
      expect(await test.run("reconcile")).toMatchObject({ error: null });
      await pollFor(test, 15);
    }
    expect(order(test, test.id)).toEqual({ is_open: 0, revision: 2, erp_revision: 2, removed: 1 });
    // Twice while it is fresh, among those of the last days and in its turn; before that five times within a day.
    expect(test.snapshots(test.id) - before).toBeLessThanOrEqual(9 + 5);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});
