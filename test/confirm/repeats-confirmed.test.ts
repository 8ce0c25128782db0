import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const ORDER = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
const orderOf = (n: number) => ({ ...ORDER, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });
const FIRST = { batch_id: "b-1", orders: [orderOf(0), orderOf(1), orderOf(2)] };
/** Two orders of the first batch, without its name. */
const REPEAT = { orders: FIRST.orders.slice(0, 2) };

/** The service delivers what is set, and takes no confirm without the name of a batch. */
async function startNaming() {
  const t = await startTestBridge();
  const handle = t.sandbox.service.handle.bind(t.sandbox.service);
  const service: { batch: object } = { batch: FIRST };
  t.sandbox.service.handle = (request) => {
    const answer = (status: number, body: object) => ({
      status,
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(body)),
      delivery: { kind: "plain" } as const,
    });
    if (request.path.endsWith("/orders")) return answer(200, service.batch);
    if (!request.path.endsWith("/confirm")) return handle(request);
    handle(request);
    return "batch_id" in (JSON.parse(request.body.toString()) as object)
      ? answer(200, { success: true })
      : answer(400, { error: "batch_id required" });
  };
  const deliver = async (batch: object) => {
    service.batch = batch;
    await t.run("orders");
    service.batch = { orders: [] };
  };
  return { t, deliver };
}

async function pollFor(t: TestBridge, minutes: number, everyMinutes = 10): Promise<void> {
  for (let passed = 0; passed < minutes; passed += everyMinutes) {
    t.clock.advance(everyMinutes * MINUTE_MS);
    await t.run("orders");
  }
}

describe("a refused confirm of orders that were all confirmed before", () => {
  it("ends once two retries an hour apart are refused and the batch is not served in between", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    await pollFor(t, 60);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    await t.restart();
    await pollFor(t, 60);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
    expect(t.rows("SELECT last_error FROM batches WHERE id = 2")).toEqual([
      { last_error: expect.stringContaining("batch_id required") },
    ]);
    const sent = confirmBodies(t).length;
    await pollFor(t, 120);
    expect(confirmBodies(t)).toHaveLength(sent);
  });

  it("waits for another hour where the batch is served again", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    await pollFor(t, 70);
    await deliver(REPEAT);
    await pollFor(t, 70);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    await pollFor(t, 60);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
  });

  it("ends also where it has no tries left", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    t.bridge.store.db.prepare("UPDATE batches SET confirm_attempts = 48 WHERE state = 'refused'").run();
    await pollFor(t, 130);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
  });

  it("ends where the service has the order no more that was new in its batch", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver({ orders: [...REPEAT.orders, orderOf(3)] });
    await pollFor(t, 130);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    t.bridge.store.db
      .prepare("UPDATE orders SET removed_at = '2026-03-01T13:00:00.000Z' WHERE order_id = ?")
      .run(orderOf(3).order_id);
    await pollFor(t, 130);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
  });

  itWhole("ends in a service whose confirms of two such batches are refused", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    await deliver({ orders: FIRST.orders.slice(1) });
    await pollFor(t, 180);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
  });
});

describe("a refused confirm stays", () => {
  itSome(1)([
    ["an order is new in its batch", { orders: [...REPEAT.orders, orderOf(3)] }],
    [
      "an order has changed in its batch",
      { orders: [{ ...orderOf(0), status: "paid", updated_at: "2026-03-01T11:30:00Z" }] },
    ],
    ["an order differs in its batch and is not read yet", { orders: [{ ...orderOf(0), status: "paid" }] }],
    ["a record of its batch is held", { orders: [...REPEAT.orders, { ...orderOf(3), order_id: "no id" }] }],
  ])("where %s", async (_name, batch) => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(batch);
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });

  it("where an order has changed since it was confirmed", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    const paid = { ...orderOf(0), status: "paid", updated_at: "2026-03-01T11:30:00Z" };
    await deliver({ batch_id: "b-2", orders: [paid] });
    t.bridge.store.db.prepare("UPDATE order_event_rows SET source = 'update' WHERE kind = 'changed'").run();
    t.clock.advance(MINUTE_MS);
    await deliver({ orders: [paid] });
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "refused"]);
  });

  it("where its orders were confirmed to another account", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.bridge.store.db.prepare(`UPDATE batches SET account = '["https://other.example","c"]'`).run();
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });
});
