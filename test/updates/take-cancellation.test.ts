import { describe, expect, it } from "vitest";
import { dismissObservations, loadObservations } from "../../src/probe/observations.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type IllOrders, startWithIll, WEB_PAGE_404 } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

async function pollFor(test: IllOrders, minutes: number): Promise<void> {
  for (let polls = 0; polls < minutes; polls++) await test.poll();
}

/** What `GET /updates` has of an order, once or so often. */
function announce(test: IllOrders, id: string, fields: object, times: 1 | "forever" = 1): number {
  const at = new Date(test.clock.nowMs()).toISOString();
  const record = JSON.stringify({ order_id: id, updated_at: at, ...fields });
  return test.sandbox.faults.add({ match: { path: "updates" }, times, do: raw(`{"updates":[${record}]}`) });
}

const orderOf = (test: IllOrders, id: string) =>
  test.rows(
    `SELECT status, is_cancelled, is_open, revision, payload ->> '$.status' AS in_payload,
       (SELECT count(*) FROM order_lines l WHERE l.order_id = o.order_id) > 0 AS has_lines
     FROM orders o WHERE order_id = ?`,
    id,
  )[0];
const linesOf = (test: IllOrders, id: string) =>
  test.rows("SELECT line_no, sku, quantity, price FROM order_lines WHERE order_id = ?", id);
const CANCELLED = {
  status: "cancelled",
  is_cancelled: 1,
  is_open: 0,
  revision: 2,
  in_payload: "cancelled",
  has_lines: 1,
};

describe("a change that says that its order is cancelled, of an order that cannot be read", () => {
  itWhole.each<[string, (test: IllOrders) => FaultAction]>([
    ["refused", () => ({ kind: "status", status: 403, body: '{"error":"archived"}' })],
    ["an error", () => ({ kind: "status", status: 500, body: "" })],
    ["a web page", () => WEB_PAGE_404],
    ["another order", (test) => raw(test.sandbox.service.newestText(test.ids[2]!)!)],
    ["what cannot be stored", (test) => raw(JSON.stringify({ order_id: test.ids[0], status: {}, items: [] }))],
    ["an older version of it", (test) => raw(test.sandbox.service.newestText(test.ids[0]!)!)],
  ])("is taken over as far as it goes, and the read stays owed: %s", async (_, answer) => {
    const test = await startWithIll(4);
    const [id] = test.ids as [string];
    const before = linesOf(test, id);
    test.ill.set(id, answer(test));
    test.clock.advance(1_000);
    announce(test, id, { status: "cancelled" });
    await test.poll(1_000);
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    await pollFor(test, 10);
    expect(orderOf(test, id)).toEqual(CANCELLED);
    expect(linesOf(test, id)).toEqual(before);
    expect(test.rows("SELECT kind, old_status, new_status, source FROM order_events WHERE revision = 2")).toEqual([
      { kind: "cancelled", old_status: "new", new_status: "cancelled", source: "update" },
    ]);
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    // The ERP has it to take.
    expect(test.rows("SELECT order_id FROM orders_pending WHERE is_cancelled")).toEqual([{ order_id: id }]);
    await pollFor(test, 30);
    expect(test.statusOf(id).revision).toBe(2);
    // What the order says later counts over it.
    test.ill.clear();
    test.change(id, { status: "paid" });
    await test.poll(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 3 });
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([]);
  });

  it("is taken over in each place where the order has its status", async () => {
    const test = await startWithIll(4);
    const [id] = test.ids as [string];
    const twice = test.sandbox.service.newestText(id)!.replace('"status":"new"', '"status":"new","status":"new"');
    test.ill.set(id, raw(twice));
    announce(test, id, { status: "new" });
    await test.poll();
    const payloadOf = () =>
      test.rows<{ payload: string }>("SELECT payload FROM orders WHERE order_id = ?", id)[0]?.payload;
    expect(payloadOf()).toBe(twice);
    test.ill.set(id, { kind: "status", status: 500, body: "" });
    test.clock.advance(1_000);
    announce(test, id, { status: "cancelled" });
    await pollFor(test, 10);
    expect(test.statusOf(id).status).toBe("cancelled");
    expect(payloadOf()).toBe(twice.replaceAll('"status":"new"', '"status":"cancelled"'));
  });

  it("is none where the change has two statuses: the order is read", async () => {
    const test = await startWithIll(4);
    const [id] = test.ids as [string];
    test.ill.set(id, { kind: "status", status: 500, body: "" });
    test.clock.advance(1_000);
    const at = new Date(test.clock.nowMs()).toISOString();
    const record = `{"order_id":"${id}","updated_at":"${at}","status":"cancelled","status":"paid"}`;
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${record}]}`) });
    await pollFor(test, 10);
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    test.ill.clear();
    test.change(id, { status: "paid" });
    await test.poll(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
  });

  it("counts once the order can be read and says the same, without another revision for the ERP's sake", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.ill.set(id, { kind: "status", status: 403, body: "" });
    test.change(id, { status: "cancelled" });
    announce(test, id, { status: "cancelled" });
    await pollFor(test, 10);
    expect(test.statusOf(id).status).toBe("cancelled");
    test.ill.clear();
    await test.poll(HOUR_MS);
    expect(orderOf(test, id)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([]);
    expect(test.rows("SELECT kind FROM order_events WHERE order_id = ? AND kind = 'cancelled'", id)).toHaveLength(1);
  });

  itWhole("is left where it is older than what is stored, or says something else", async () => {
    const test = await startWithIll(4);
    const [id, other, third] = test.ids as [string, string, string];
    test.change(other, { status: "paid" });
    await test.poll();
    for (const each of [id, other, third]) test.ill.set(each, { kind: "status", status: 403, body: "" });
    test.clock.advance(1_000);
    announce(test, id, { status: "paid" });
    await test.poll(1_000);
    announce(test, other, { status: "cancelled", updated_at: "2020-01-01T00:00:00.000Z" });
    await test.poll(1_000);
    announce(test, third, { state: "cancelled" });
    await pollFor(test, 20);
    expect([id, other, third].map((each) => test.statusOf(each).status)).toEqual(["new", "paid", "new"]);
  });
});

describe("a change that says that its order is cancelled, where no order can be read", () => {
  const MINUTE_MS = 60_000;
  const wrapped = (test: IllOrders, id: string) => raw(`{"order":${test.sandbox.service.newestText(id)}}`);

  async function start(answer: (test: IllOrders, id: string) => FaultAction) {
    const test = await startWithIll(6);
    await test.poll();
    const fail = () => {
      for (const each of test.ids) test.ill.set(each, answer(test, each));
    };
    fail();
    const pass = async (ms = MINUTE_MS) => {
      test.clock.advance(ms);
      return await test.run("updates");
    };
    return { test, pass, fail, id: test.ids[0] as string };
  }

  itWhole.each<[string, (test: IllOrders, id: string) => FaultAction]>([
    ["in another form", wrapped],
    ["an error", () => ({ kind: "status", status: 500, body: "" })],
    ["refused", () => ({ kind: "status", status: 403, body: "" })],
    ["missing", () => ({ kind: "status", status: 404, body: '{"error":"no route"}' })],
    ["asked to wait", () => ({ kind: "status", status: 429, body: "", headers: { "retry-after": "20" } })],
  ])("counts after as long as four tries take, also across a restart: %s", async (_, answer) => {
    const { test, pass, fail, id } = await start(answer);
    test.change(id, { status: "cancelled" });
    fail();
    for (let passes = 0; passes < 4; passes++) await pass();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    await test.restart();
    for (let passes = 0; passes < 3; passes++) await pass();
    expect(orderOf(test, id)).toEqual(CANCELLED);
    expect(test.rows("SELECT kind, source FROM order_events WHERE revision = 2")).toEqual([
      { kind: "cancelled", source: "update" },
    ]);
    for (let passes = 0; passes < 30; passes++) await pass();
    expect(test.statusOf(id).revision).toBe(2);
    // What the order says later counts over it.
    test.ill.clear();
    test.change(id, { status: "paid" });
    await pass();
    await pass(HOUR_MS);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 3 });
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([]);
  });

  it("counts for each of many orders, whichever are tried", async () => {
    const { test, pass, fail } = await start(wrapped);
    for (const each of test.ids) test.change(each, { status: "cancelled" });
    fail();
    for (let passes = 0; passes < 6; passes++) await pass();
    expect(test.ids.map((each) => test.statusOf(each).status)).toEqual(test.ids.map(() => "cancelled"));
  });

  it("does not count while the change list is not answered, but then", async () => {
    const { test, pass, fail, id } = await start(wrapped);
    test.change(id, { status: "cancelled" });
    fail();
    await pass();
    const broken: FaultAction = { kind: "status", status: 500, body: "" };
    const rule = test.sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: broken });
    for (let passes = 0; passes < 20; passes++) await pass();
    expect(test.statusOf(id).status).toBe("new");
    test.sandbox.faults.remove(rule);
    await pass();
    await pass();
    expect(test.statusOf(id).status).toBe("cancelled");
  });

  itSome(1)([24 * HOUR_MS, -24 * HOUR_MS])("is read first where the clock was set meanwhile, by %d", async (ms) => {
    const { test, pass, fail, id } = await start(wrapped);
    test.change(id, { status: "cancelled" });
    fail();
    await pass();
    test.clock.jump(ms);
    test.ill.clear();
    await pass();
    expect(orderOf(test, id)).toEqual(CANCELLED);
    expect(test.rows("SELECT source FROM order_events WHERE revision = 2")).toEqual([{ source: "snapshot" }]);
  });
});

describe("a change that says that its order is cancelled, where the order itself says another status", () => {
  const noticed = (test: IllOrders) => loadObservations(test.bridge.store).filter(({ kind }) => kind === "cancelled");

  /** A service that names statuses otherwise in changes than in orders. */
  async function start() {
    const test = await startWithIll(3);
    const cancel = async (id: string, own: string) => {
      test.clock.advance(1_000);
      test.change(id, { status: own });
      const { updated_at } = JSON.parse(test.sandbox.service.newestText(id) ?? "{}") as { updated_at: string };
      const rule = announce(test, id, { status: "cancelled", updated_at }, "forever");
      await test.poll();
      test.sandbox.faults.remove(rule);
    };
    return { test, cancel };
  }

  it("is told once for each status, with the order, and the order's own status counts", async () => {
    const { test, cancel } = await start();
    const [a, b, c] = test.ids as [string, string, string];
    await cancel(a, "Аннулирован");
    expect(orderOf(test, a)).toMatchObject({ status: "Аннулирован", is_cancelled: 0, revision: 2 });
    expect(noticed(test)).toMatchObject([{ name: `${a}: Аннулирован`, state: "new" }]);
    expect(test.logs.filter(({ level }) => level === "warn").map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/calls the order .* cancelled, and the order itself says Аннулирован/),
    );
    await cancel(b, "Аннулирован");
    expect(noticed(test)).toHaveLength(1);
    test.bridge.store.write(() => dismissObservations(test.bridge.store));
    await cancel(c, "Аннулирован");
    expect(noticed(test)).toEqual([]);
    await cancel(c, "void");
    expect(noticed(test)).toMatchObject([{ name: `${c}: void` }]);
  });

  itWhole("is none where both say the same, or the order has changed since", async () => {
    const { test, cancel } = await start();
    const [a, b] = test.ids as [string, string];
    await cancel(a, "cancelled");
    announce(test, b, { status: "cancelled" }, "forever");
    test.clock.advance(5_000);
    test.change(b, { status: "refunded" });
    await test.poll();
    expect(test.statusOf(b).status).toBe("refunded");
    expect(noticed(test)).toEqual([]);
  });
});
