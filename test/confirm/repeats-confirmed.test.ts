import { describe, expect, it } from "vitest";
import { loseDelivery } from "../../src/backup/settle.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const ORDER = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
const orderOf = (n: number) => ({ ...ORDER, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });
const FIRST = { batch_id: "b-1", orders: [orderOf(0), orderOf(1), orderOf(2)] };
/** Two orders of the first batch, without its name. */
const REPEAT = { orders: FIRST.orders.slice(0, 2) };

/** What the service says, unless `says` is changed. It delivers what is set, and takes no confirm without the name of a batch. */
interface Says {
  batch: object;
  /** Status of `GET /orders`. */
  pulled: number;
  /** Answer to a confirm without a name. */
  status: number;
  body: object | string;
}

async function startNaming() {
  const t = await startTestBridge();
  const handle = t.sandbox.service.handle.bind(t.sandbox.service);
  const says: Says = { batch: FIRST, pulled: 200, status: 400, body: { error: "batch_id required" } };
  t.sandbox.service.handle = (request) => {
    const answer = (status: number, body: object | string) => ({
      status,
      headers: { "content-type": typeof body === "string" ? "text/html" : "application/json" },
      body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
      delivery: { kind: "plain" } as const,
    });
    if (request.path.endsWith("/orders")) return answer(says.pulled, says.batch);
    if (!request.path.endsWith("/confirm")) return handle(request);
    handle(request);
    const isNamed = "batch_id" in (JSON.parse(request.body.toString()) as object);
    return isNamed ? answer(200, { success: true }) : answer(says.status, says.body);
  };
  const deliver = async (batch: object) => {
    says.batch = batch;
    await t.run("orders");
    says.batch = { orders: [] };
  };
  return { t, says, deliver };
}

async function pollFor(t: TestBridge, minutes: number, everyMinutes = 10): Promise<void> {
  for (let passed = 0; passed < minutes; passed += everyMinutes) {
    t.clock.advance(everyMinutes * MINUTE_MS);
    await t.run("orders");
  }
}

describe("a refused confirm of orders that were all confirmed before", () => {
  itWhole("ends once two retries an hour apart are refused and the batch is not served in between", async () => {
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

  itWhole("waits for two retries again after a restore, because it may have been served since the copy", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    await pollFor(t, 70);
    loseDelivery(t.bridge.store, "2026-03-01T13:10:00.000Z");
    await t.restart();
    await pollFor(t, 60);
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

  itWhole("ends where the service has the order no more that was new in its batch", async () => {
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

  itWhole("ends also where so many others were counted that it was not at first", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    const others = "fingerprint LIKE 'other-%'";
    t.bridge.store.db.exec(`
      INSERT INTO batches (fingerprint, received_at, order_count, state, confirm_attempts, order_ids)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        SELECT 'other-' || i, '2026-03-01T12:00:00.000Z', 1, 'refused', 60, '["' || i || '"]' FROM n;
      UPDATE meta SET value = json_set(value, '$.repeats',
        json((SELECT json_group_array(json_array(id, 1)) FROM batches WHERE ${others}))) WHERE key = 'confirms'`);
    await t.restart();
    await pollFor(t, 180);
    expect(batchStates(t)[1]).toBe("refused");
    t.bridge.store.db.exec(`UPDATE batches SET state = 'confirmed' WHERE ${others}`);
    await pollFor(t, 130);
    expect(batchStates(t)[1]).toBe("confirmed");
    expect(t.rows("SELECT value FROM meta WHERE key = 'confirms'")).not.toEqual([
      { value: expect.stringContaining("repeats") },
    ]);
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

describe("a refused confirm that ended", () => {
  it("is sent again where the batch is served again, and ends or stays by its answer", async () => {
    const { t, says, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    await pollFor(t, 130);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
    const sent = confirmBodies(t).length;
    await deliver(REPEAT);
    expect(confirmBodies(t)).toHaveLength(sent + 1);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    await pollFor(t, 50);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    says.status = 200;
    says.body = { success: true };
    await deliver(REPEAT);
    expect(t.rows("SELECT state, last_error, order_ids FROM batches WHERE id = 2")).toEqual([
      { state: "confirmed", last_error: null, order_ids: null },
    ]);
  });
});

describe("a refused confirm stays", () => {
  itWhole.each([
    ["403", 403, { error: "forbidden" }],
    ["401", 401, { error: "unauthorized" }],
    ["402", 402, { error: "pay" }],
    ["423", 423, { error: "locked" }],
    ["302", 302, {}],
    ["400 with a web page", 400, "<!doctype html><html><body>Bad Request</body></html>"],
  ])("where its answer is %s", async (_name, status, body) => {
    const { t, says, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    Object.assign(says, { status, body });
    await deliver(REPEAT);
    await pollFor(t, 900, 20);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
    t.bridge.store.db.prepare("UPDATE batches SET confirm_attempts = 48 WHERE state = 'refused'").run();
    await pollFor(t, 240, 20);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });

  itWhole("while its orders are served under other names", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    for (let hour = 0; hour < 4; hour++) {
      await pollFor(t, 50);
      await deliver({ orders: [...REPEAT.orders, orderOf(10 + hour)] });
    }
    expect(batchStates(t)[1]).toBe("refused");
  });

  it("where a record without an id came in it that was quarantined shortly before", async () => {
    const { t, deliver } = await startNaming();
    const bad = { ...ORDER, number: "A-1" };
    await deliver({ ...FIRST, orders: [...FIRST.orders, bad] });
    t.clock.advance(10 * MINUTE_MS);
    await deliver({ orders: [...REPEAT.orders, bad] });
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });

  it("where a change of one of its orders is held", async () => {
    const { t, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    t.bridge.store.db
      .prepare(
        `INSERT INTO quarantine (kind, reference, reason, payload, payload_hash, first_seen_at, last_seen_at)
         VALUES ('change', ?, 'bad', '{}', x'00', '2026-03-01T13:00:00.000Z', '2026-03-01T13:00:00.000Z')`,
      )
      .run(orderOf(0).order_id);
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });

  itWhole("while pulls fail", async () => {
    const { t, says, deliver } = await startNaming();
    await deliver(FIRST);
    t.clock.advance(MINUTE_MS);
    await deliver(REPEAT);
    says.batch = { success: false, error: "busy", orders: [] };
    await pollFor(t, 300, 30);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  });
  itWhole.each([
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
