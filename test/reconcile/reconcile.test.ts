import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { startStatusBridge } from "../support/statuses.ts";
import { itWhole, some } from "../support/whole.ts";

/** The service changes an order without ever telling of it. */
async function withOrders(count: number, settings = {}, options = {}): Promise<TestBridge & { ids: string[] }> {
  const t = await startTestBridge({ settings, sandbox: { options: { updates: { stuck: "empty" }, ...options } } });
  const ids = Array.from({ length: count }, () => t.sandbox.service.createOrder());
  await t.run("orders");
  return Object.assign(t, { ids });
}

function tell(t: TestBridge): string {
  return t.logs.filter(({ message }) => message.includes("orders checked")).at(-1)?.message ?? "";
}

describe("reconcile", () => {
  itWhole("checks orders and finds nothing where nothing differs, without a single write to them", async () => {
    const t = await withOrders(30);
    expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 30, differ: 0 } });
    expect(tell(t)).toContain("30 orders checked, 0 differ");
    expect(t.rows("SELECT count(*) AS n FROM order_events WHERE revision > 1")).toEqual([{ n: 0 }]);
    const before = t.rows("SELECT * FROM compared_orders");
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 30, differ: 0 } });
    expect(t.rows("SELECT * FROM compared_orders")).toEqual(before);
  });

  it("finds a change that the updates never showed", async () => {
    const t = await withOrders(5);
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(t.ids[2]!, { status: "paid" });
    await t.run("updates");
    expect(t.rows("SELECT revision FROM orders WHERE order_id = ?", t.ids[2])).toEqual([{ revision: 1 }]);
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 5, differ: 1 } });
    expect(t.rows("SELECT status, revision, erp_revision FROM orders WHERE order_id = ?", t.ids[2])).toEqual([
      { status: "paid", revision: 2, erp_revision: 2 },
    ]);
    expect(tell(t)).toContain("5 orders checked, 1 differs");
  });

  itWhole("makes no revision where the snapshot only tells more, and one when that changes", async () => {
    const t = await withOrders(3, {}, { shape: { extra: "snapshot" } });
    t.sandbox.service.changeOrder(t.ids[0]!, { extra: { comment: '"ring twice"' }, keepTimestamp: true });
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 3, differ: 0 } });
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 3, differ: 0 } });
    t.sandbox.service.changeOrder(t.ids[0]!, { extra: { comment: '"do not ring"' }, keepTimestamp: true });
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 3, differ: 1 } });
    expect(
      t.rows("SELECT revision, json_extract(payload, '$.comment') AS comment FROM orders WHERE order_id = ?", t.ids[0]),
    ).toEqual([{ revision: 2, comment: "do not ring" }]);
  });

  itWhole("finds what only the snapshot has where the order was changed since, by its own timestamp", async () => {
    const t = await withOrders(3, {}, { updates: { stuck: "empty" } });
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(t.ids[0]!, { extra: { cancel_requested: "true" } });
    // The timestamp alone is no change.
    t.sandbox.service.changeOrder(t.ids[1]!, {});
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 3, differ: 1 } });
    expect(t.rows("SELECT revision, erp_revision FROM orders WHERE order_id = ?", t.ids[0])).toEqual([
      { revision: 2, erp_revision: 2 },
    ]);
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 3, differ: 0 } });
  });

  itWhole(
    "is held up by one order that alone is answered with a wait for the first two times, and never again",
    async () => {
      const t = await startWithIll(5, { service: { updates: { stuck: "empty" } } });
      t.ill.set(t.ids[2]!, { kind: "status", status: 503, headers: { "retry-after": "600" } });
      const outcomes: string[] = [];
      for (let rounds = 0; rounds < 8; rounds++) {
        outcomes.push((await t.run("reconcile")).outcome);
        t.clock.advance(86_400_000);
        // What would read the order meanwhile counts as well, and is no part of this.
        t.bridge.store.write(() => t.bridge.store.prepare("DELETE FROM owed_reads").run());
        await t.run("updates");
      }
      // A round that was cut off is finished behind the order.
      expect(outcomes).toEqual(["failed", "done", "failed", "done", "done", "done", "done", "done"]);
      expect(t.rows("SELECT * FROM holds")).toEqual([]);
    },
  );

  it("is held up no more by one that its queued reads have shown to be the cause, where each pass is a process of its own", async () => {
    const t = await startWithIll(5, { service: { updates: { stuck: "empty" } } });
    t.ill.set(t.ids[2]!, { kind: "status", status: 503, headers: { "retry-after": "600" } });
    const runAlone = async (job: "orders" | "updates" | "reconcile") => {
      await t.restart();
      const { outcome } = await t.run(job);
      t.clock.advance(60_000);
      return outcome;
    };
    expect(await runAlone("reconcile")).toBe("failed");
    // It knows nothing of the other flows: all wait for a minute, and no longer.
    expect(await runAlone("orders")).toBe("idle");
    for (let hours = 0; hours < 3; hours++) {
      await runAlone("updates");
      t.clock.advance(3_600_000);
    }
    expect(await runAlone("reconcile")).toBe("done");
    expect(await runAlone("reconcile")).toBe("done");
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
  });

  it("goes on behind an order that is answered in another shape, where no order was read before", async () => {
    const t = await startWithIll(4, { service: { updates: { stuck: "empty" } } });
    const [odd, changed] = t.ids as [string, string];
    t.ill.set(odd, { kind: "raw", contentType: "application/json", body: `[${t.sandbox.service.newestText(odd)}]` });
    t.change(changed, { status: "cancelled" });
    expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { failed: 1, differ: 1 } });
    expect(t.statusOf(changed).status).toBe("cancelled");
  });

  it("ends with a wrong configuration where all orders are answered in another shape", async () => {
    const t = await withOrders(4, {}, { shape: { snapshot: ["result"] } });
    expect(await t.run("reconcile")).toMatchObject({ error: { code: "answer_shape" } });
    expect(t.rows("SELECT * FROM missing_orders")).toEqual([]);
  });

  itWhole("owes a read to the orders of held records, and releases what the service has put right", async () => {
    const t = await startTestBridge({ sandbox: { options: { shape: { upperCaseIds: true } } } });
    const { service } = t.sandbox;
    const [never, stored, still] = [service.createOrder(), service.createOrder(), service.createOrder()];
    for (const id of [never, still]) {
      service.changeOrder(id, {
        raw: service.newestText(id)!.replace('"items":[', '"items":7,"was":['),
        keepTimestamp: true,
      });
    }
    await t.run("orders");
    expect(t.rows("SELECT reference FROM quarantine WHERE state = 'held'")).toHaveLength(2);
    service.changeOrder(stored, { raw: service.newestText(stored)!.replace('"number":', '"number":[],"was":') });
    await t.run("updates");
    service.changeOrder(stored, { raw: null, keepTimestamp: true });
    service.changeOrder(never, { raw: null, keepTimestamp: true });
    await t.run("reconcile");
    await t.run("updates");
    expect(t.rows("SELECT DISTINCT reference FROM quarantine WHERE state = 'held'")).toEqual([{ reference: still }]);
    expect(t.rows("SELECT order_id FROM orders ORDER BY order_id")).toEqual(
      [never, stored].toSorted().map((order_id) => ({ order_id })),
    );
    expect(t.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: still }]);
  });

  itWhole("believes no service that suddenly knows none of its orders", async () => {
    const t = await withOrders(20);
    t.sandbox.faults.add({ match: { path: "snapshot" }, times: 1000, do: { kind: "status", status: 404 } });
    expect(await t.run("reconcile")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
    expect(t.rows("SELECT count(*) AS n FROM orders WHERE removed_at IS NOT NULL")).toEqual([{ n: 0 }]);
  });

  itWhole("takes the others in turn, and goes on where it was after a restart", async () => {
    const t = await startTestBridge({ settings: { reconcile: { open: 0, sample: 10 } } });
    const ids = Array.from({ length: 25 }, () => t.sandbox.service.createOrder({ status: "delivered" }));
    await t.run("orders");
    const asked = () => t.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1));
    await t.run("reconcile");
    await t.restart();
    await t.run("reconcile");
    expect(asked()).toEqual(ids.slice(0, 20));
    await t.run("reconcile");
    expect(asked().slice(20)).toEqual([...ids.slice(20), ...ids.slice(0, 5)]);
  });

  itWhole("meets each order once in a round, however long the table", async () => {
    const t = await startTestBridge({ settings: { reconcile: { open: 0, sample: 500 } } });
    for (let i = 0; i < 130; i++) t.sandbox.service.createOrder({ status: "delivered" });
    await t.run("orders");
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 130 } });
    expect(await t.run("reconcile")).toMatchObject({ counts: { checked: 130 } });
  });

  it("leaves an order alone that somebody else has stored while the answer was on its way", async () => {
    const t = await startTestBridge({
      sandbox: {
        options: { updates: { stuck: "empty" } },
        onAnswer: ({ path }) => {
          if (!path.endsWith(id)) return;
          const { db } = t.bridge.store;
          db.prepare("UPDATE orders SET status = 'newest', revision = 2, erp_revision = 2").run();
        },
      },
    });
    const id = t.sandbox.service.createOrder();
    await t.run("orders");
    t.sandbox.service.changeOrder(id, { status: "paid" });
    expect(await t.run("reconcile")).toMatchObject({ error: null });
    expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "newest", revision: 2 }]);
  });

  itWhole("passes one order that cannot be read, and comes to the others", async () => {
    const t = await withOrders(6);
    t.sandbox.faults.add({
      match: { path: "snapshot" },
      skip: 2,
      do: { kind: "raw", body: "null", contentType: "application/json" },
    });
    expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 5, failed: 1 } });
    expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 6 } });
  });

  itWhole(
    "has an order that a limit of reads has met read afterwards: every night's limit may meet the same one",
    async () => {
      const t = await withOrders(6);
      t.clock.advance(60_000);
      t.sandbox.service.changeOrder(t.ids[2]!, { status: "paid" });
      t.sandbox.faults.add({ match: { path: "snapshot" }, skip: 2, do: { kind: "status", status: 429 } });
      expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 5, failed: 1 } });
      expect(t.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: t.ids[2] }]);
      await t.run("updates");
      expect(t.rows("SELECT status FROM orders WHERE order_id = ?", t.ids[2])).toEqual([{ status: "paid" }]);
    },
  );

  itWhole("goes on with its round after a failure, not from the beginning", async () => {
    const t = await withOrders(30);
    t.sandbox.faults.add({ match: { path: "snapshot" }, skip: 25, times: 20, do: { kind: "status", status: 401 } });
    expect(await t.run("reconcile")).toMatchObject({ outcome: "failed", error: { code: "credentials_refused" } });
    await t.bridge.store.db.prepare("DELETE FROM holds").run();
    t.sandbox.faults.clear();
    await t.restart();
    expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 2 } });
  });

  itWhole.each([
    ["the service fails", { kind: "status", status: 500 } as const],
    ["the service asks for patience", { kind: "status", status: 503, headers: { "retry-after": "60" } } as const],
  ])("has what it could not read read later where %s in the middle of the round", async (_, action) => {
    const t = await withOrders(12);
    t.clock.advance(60_000);
    for (const id of t.ids) t.sandbox.service.changeOrder(id, { status: "paid" });
    // Each read is repeated by the client, and two other orders are asked for.
    t.sandbox.faults.add({ match: { path: "snapshot" }, skip: 4, times: 15, do: action });
    expect(await t.run("reconcile")).toMatchObject({ outcome: "failed" });
    t.sandbox.faults.clear();
    for (let minutes = 0; minutes < 5; minutes++) {
      t.clock.advance(60_000);
      await t.run("updates");
    }
    await t.run("reconcile");
    expect(t.rows("SELECT status, count(*) AS n FROM orders GROUP BY status")).toEqual([{ status: "paid", n: 12 }]);
    expect(t.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("stops soon where the credentials are refused, and holds no other flow", async () => {
    const t = await withOrders(20);
    t.sandbox.service.setOptions({ refuse: ["1c"] });
    expect(await t.run("reconcile")).toMatchObject({ outcome: "failed", error: { code: "credentials_refused" } });
    // Three in a row, and two others to see whether it is the orders.
    expect(t.sandbox.ledger.ofKind("snapshot")).toHaveLength(5);
    expect(t.rows("SELECT area, reason, scope FROM holds")).toEqual([
      { area: "reconcile", reason: "credentials", scope: "flow" },
    ]);
  });

  itWhole.each(some([401, 402, 403, 404, 423, 429, 500, 302], 1))(
    "passes orders that are always answered with %i",
    async (status) => {
      const t = await startWithIll(12, { service: { updates: { stuck: "empty" } } });
      for (const id of t.ids.slice(0, 4)) t.ill.set(id, { kind: "status", status });
      for (const id of t.ids) t.sandbox.service.changeOrder(id, { status: "paid" });
      expect(await t.run("reconcile")).toMatchObject({ error: null });
      expect(t.rows("SELECT * FROM holds")).toEqual([]);
      expect(t.ids.map((id) => t.statusOf(id).status)).toEqual(["new", "new", "new", "new", ...Array(8).fill("paid")]);
    },
  );

  itWhole(
    "stops at once where the service asks for patience, and goes on behind that order when that is over",
    async () => {
      const t = await withOrders(5);
      const wait = { kind: "status", status: 503, headers: { "retry-after": "600" } } as const;
      t.sandbox.faults.add({ match: { path: "snapshot" }, skip: 2, do: wait });
      expect(await t.run("reconcile")).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
      expect(t.sandbox.ledger.ofKind("snapshot")).toHaveLength(3);
      expect(t.rows("SELECT area, reason FROM holds")).toEqual([{ area: "reconcile", reason: "rate limit" }]);
      t.clock.advance(599_000);
      expect(await t.run("reconcile")).toMatchObject({ outcome: "held" });
      expect(await t.run("updates")).toMatchObject({ error: null, outcome: expect.stringMatching(/idle|done/) });
      t.clock.advance(1_000);
      expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { checked: 2 } });
    },
  );

  itWhole("waits no longer than it was asked to where that was its last order", async () => {
    const t = await withOrders(5);
    const wait = { kind: "status", status: 503, headers: { "retry-after": "600" } } as const;
    t.sandbox.faults.add({ match: { path: "snapshot" }, skip: 4, do: wait });
    expect(await t.run("reconcile")).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    t.clock.advance(600_000);
    await t.run("reconcile");
    expect(t.sandbox.ledger.ofKind("snapshot")).toHaveLength(5);
    expect(t.rows("SELECT area, reason FROM holds")).toEqual([]);
  });

  itWhole("asks at half the permitted rate at most", async () => {
    const t = await withOrders(10, { service: { requests_per_second: 5 } });
    const before = t.clock.monotonicMs();
    await t.run("reconcile");
    expect(t.clock.monotonicMs() - before).toBeGreaterThanOrEqual(10 * 400);
  });
});

describe("orders that the mapping no longer reads", () => {
  it("are not counted as quarantined while they stay as they are stored, and are once they are held", async () => {
    const t = await withOrders(3);
    // The service writes new orders in another form, and the former ones as before.
    const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    t.sandbox.service.createOrder({
      id,
      raw: `{"order_id":"${id}","status":"new","total":5,"positions":[{"sku":"A","quantity":1,"price":5}]}`,
    });
    await t.run("orders");
    await t.restart({ orders: { fields: { lines: "$.positions" } } });
    t.clock.advance(3_600_000);
    await t.run("updates");
    const held = "SELECT reference FROM quarantine WHERE state = 'held'";
    expect(t.rows(held)).toEqual([]);
    expect((await t.run("reconcile")).counts).toEqual({ checked: 4, differ: 0, sound: 4 });
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(t.ids[1]!, { status: "paid" });
    expect((await t.run("reconcile")).counts).toMatchObject({ checked: 4, quarantined: 1 });
    expect(t.rows(held)).toEqual([{ reference: t.ids[1] }]);
    t.bridge.store.db.prepare("UPDATE quarantine SET state = 'dropped' WHERE state = 'held'").run();
    expect((await t.run("reconcile")).counts).toEqual({ checked: 4, differ: 0, sound: 4 });
  });
});

describe("a payload that the disk has damaged", () => {
  it("is found by its hash, shown, and healed by reading the order, without a revision", async () => {
    const t = await withOrders(3);
    const [id] = t.ids;
    const right = t.rows("SELECT payload FROM orders WHERE order_id = ?", id);
    t.bridge.store.db
      .prepare('UPDATE orders SET payload = replace(payload, \'"number":"\', \'"number":"~\') WHERE order_id = ?')
      .run(id);
    expect(await t.run("reconcile")).toMatchObject({ counts: { damaged: 1, healed: 1, sound: 2 } });
    expect(t.rows("SELECT payload FROM orders WHERE order_id = ?", id)).toEqual(right);
    expect(t.rows("SELECT revision FROM orders WHERE order_id = ?", id)).toEqual([{ revision: 1 }]);
    expect(t.rows("SELECT kind, reference, state FROM quarantine")).toEqual([
      { kind: "payload", reference: id, state: "released" },
    ]);
    expect(t.logs.some(({ level, message }) => level === "error" && message.includes("damaged"))).toBe(true);
    expect(await t.run("reconcile")).toMatchObject({ counts: { sound: 3 } });
  });

  itWhole(
    "settles a status of the ERP's that the order shows, as any other read does, and brings the order to the ERP once more",
    async () => {
      const t = await startStatusBridge();
      const [id = ""] = t.ids;
      const asked = t.ask(id, "packed");
      // Accepted, and applied only later.
      t.sandbox.faults.add({
        match: { path: "status" },
        do: { kind: "raw", status: 202, contentType: "text/plain", body: "queued" },
      });
      await t.send();
      expect(t.request(asked)).toMatchObject({ state: "sent", echo: "awaited" });
      t.erp.exec('UPDATE orders SET payload = replace(payload, \'"number":"\', \'"number":"~\')');
      t.clock.advance(60_000);
      t.sandbox.service.changeOrder(id, { status: "packed" });
      expect(await t.run("reconcile")).toMatchObject({ error: null, counts: { damaged: 1 } });
      expect(t.order(id)).toMatchObject({ status: "packed" });
      expect(t.request(asked)).toMatchObject({ state: "sent", echo: null });
      expect(t.pending()).toMatchObject([{ order_id: id }]);
      expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
    },
  );

  itWhole("stays visible while the service cannot be asked", async () => {
    const t = await withOrders(2);
    t.bridge.store.db.prepare("UPDATE orders SET payload = substr(payload, 2) WHERE order_id = ?").run(t.ids[0]);
    t.sandbox.faults.add({ match: { path: "snapshot" }, times: 20, do: { kind: "status", status: 400 } });
    await t.run("reconcile");
    expect(t.rows("SELECT kind, state FROM quarantine")).toEqual([{ kind: "payload", state: "held" }]);
    expect(t.rows("SELECT quarantined FROM sync_status WHERE flow = 'reconcile'")).toEqual([{ quarantined: 1 }]);
  });

  itWhole("never keeps a newer version away", async () => {
    const t = await startTestBridge();
    const id = t.sandbox.service.createOrder();
    await t.run("orders");
    t.bridge.store.db.prepare("UPDATE orders SET payload = substr(payload, 2)").run();
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(id, { status: "paid" });
    expect(await t.run("updates")).toMatchObject({ error: null });
    expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "paid", revision: 2 }]);
  });
});
