import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Answer, get, handClock, post, sandboxFor } from "./client.ts";

const CONFIRM = "/confirm";

const ordersOf = ({ json }: Answer) => json.orders as unknown as { order_id: string; status: string }[];

async function withOrders(count: number, options: SandboxOptionsPatch = {}) {
  const clock = handClock();
  const sandbox = await sandboxFor({ now: clock.now, options: { batchSize: 2, ...options } });
  const ids = Array.from({ length: count }, () => sandbox.service.createOrder());
  const idsOf = (answer: Answer) => ordersOf(answer).map((order) => order.order_id);
  return { sandbox, clock, ids, idsOf };
}

describe("hand-outs", () => {
  it("repeats a batch until it is confirmed, with the newest content", async () => {
    const { sandbox, ids, idsOf } = await withOrders(3);
    const first = await get(sandbox);
    sandbox.service.changeOrder(ids[0] ?? "", { status: "paid" });
    const second = await get(sandbox);
    expect(second.json.batch_id).toBe(first.json.batch_id);
    expect(idsOf(second)).toEqual(ids.slice(0, 2));
    expect(ordersOf(second)[0]?.status).toBe("paid");
    expect((await post(sandbox, CONFIRM, { batch_id: first.json.batch_id })).status).toBe(200);
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(2));
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set(ids.slice(0, 2)));
  });

  it("keeps the records with which a batch was formed, so long before its first hand-out", async () => {
    const { sandbox, clock, ids } = await withOrders(2, { batchFormedMs: 60_000 });
    const [first = "", second = ""] = ids;
    clock.pass(1_000);
    sandbox.service.changeOrder(first, { status: "paid" });
    clock.pass(60_000);
    sandbox.service.changeOrder(second, { status: "paid" });
    const statuses = async () => ordersOf(await get(sandbox)).map(({ status }) => status);
    expect(await statuses()).toEqual(["paid", "new"]);
    sandbox.service.changeOrder(first, { status: "cancelled" });
    clock.pass(120_000);
    expect(await statuses()).toEqual(["paid", "new"]);
  });

  it("names a batch anew with each hand-out, takes each of its names, and forgets confirms if told", async () => {
    const { sandbox, ids, idsOf } = await withOrders(2, { batchLeases: true, confirmsForgotten: true });
    const [first, second] = [await get(sandbox), await get(sandbox)];
    expect([first.json.batch_id, second.json.batch_id]).toEqual(["batch-1", "batch-2"]);
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-2" })).status).toBe(200);
    expect(idsOf(await get(sandbox))).toEqual(ids);
    sandbox.service.setOptions({ confirmsForgotten: false });
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-1" })).status).toBe(200);
    expect(idsOf(await get(sandbox))).toEqual([]);
  });

  it("changes nothing where a fault takes the place of an answer: no order leaves a batch, no confirm is forgotten", async () => {
    const options = {
      batchSize: 5,
      batchPages: { size: 2, leaves: 1 },
      confirmsForgotten: true,
      status: { confirmedOnly: true },
    };
    const { sandbox, ids, idsOf } = await withOrders(5, options);
    const first = await get(sandbox);
    const fault = (path: "orders" | "confirm") =>
      sandbox.faults.add({ match: { path }, do: { kind: "status", status: 503 } });
    fault("orders");
    expect((await get(sandbox, "?batch=0&page=2")).status).toBe(503);
    expect(sandbox.ledger.entries).toHaveLength(2);
    expect(idsOf(await get(sandbox, "?batch=0&page=3"))).toEqual(ids.slice(4));
    fault("confirm");
    expect((await post(sandbox, CONFIRM, { batch_id: first.json.batch_id })).status).toBe(503);
    const ask = () => post(sandbox, `/${ids[0]}/status`, { status: "accepted" });
    expect((await ask()).status).not.toBe(200);
    await post(sandbox, CONFIRM, { batch_id: first.json.batch_id });
    expect((await ask()).status).toBe(200);
  });

  it("hands out a batch in pages, each with a link to the next, and confirms them as one", async () => {
    const batchPages = { size: 2, link: "https://orders.internal/api/v1/1c/orders" };
    const { sandbox, ids, idsOf } = await withOrders(5, { batchSize: 3, batchPages });
    const first = await get(sandbox);
    expect(first.json.next).toBe("https://orders.internal/api/v1/1c/orders?batch=0&page=2");
    const second = await get(sandbox, "?batch=0&page=2");
    expect([idsOf(first), idsOf(second)]).toEqual([ids.slice(0, 2), ids.slice(2, 3)]);
    expect(second.json).toMatchObject({ batch_id: "batch-1", next: null });
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(0, 2));
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-1" })).status).toBe(200);
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set(ids.slice(0, 3)));
    const last = await get(sandbox);
    expect([idsOf(last), last.json.next]).toEqual([ids.slice(3), null]);
  });

  it("lets orders leave a batch when its second page is asked for", async () => {
    const { sandbox, ids, idsOf } = await withOrders(5, { batchSize: 5, batchPages: { size: 2, leaves: 1 } });
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(0, 2));
    expect(idsOf(await get(sandbox, "?batch=0&page=2"))).toEqual(ids.slice(3, 5));
    expect(idsOf(await get(sandbox, "?batch=0&page=1"))).toEqual(ids.slice(1, 3));
    expect(idsOf(await get(sandbox, "?batch=0&page=2"))).toEqual(ids.slice(3, 5));
    await post(sandbox, CONFIRM, { batch_id: "batch-1" });
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set(ids));
  });

  it("hands out a batch without orders until it is confirmed", async () => {
    const { sandbox, ids, idsOf } = await withOrders(1);
    sandbox.service.createEmptyBatch();
    for (let turn = 0; turn < 2; turn++) expect((await get(sandbox)).json).toEqual({ batch_id: "batch-1", orders: [] });
    expect(sandbox.service.hasEmptyBatch).toBe(true);
    await post(sandbox, CONFIRM, { batch_id: "batch-1" });
    expect(sandbox.service.hasEmptyBatch).toBe(false);
    expect(idsOf(await get(sandbox))).toEqual(ids);
  });

  it("hands out the following batch, and unconfirmed ones again only after the time", async () => {
    const { sandbox, clock, ids, idsOf } = await withOrders(4, { handOut: "next", redeliverAfterMs: 1000 });
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(0, 2));
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(2));
    expect(idsOf(await get(sandbox))).toEqual([]);
    clock.pass(1000);
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(0, 2));
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(2));
    expect(idsOf(await get(sandbox))).toEqual([]);
  });

  it("never hands out again with null, and in turns with cycle when nothing is new", async () => {
    const { sandbox, clock, ids, idsOf } = await withOrders(2, {
      handOut: "next",
      redeliverAfterMs: null,
      batchSize: 1,
    });
    await get(sandbox);
    await get(sandbox);
    clock.pass(1e9);
    expect(idsOf(await get(sandbox))).toEqual([]);
    sandbox.service.setOptions({ redeliverAfterMs: "cycle" });
    const turns = [];
    for (let turn = 0; turn < 3; turn++) {
      turns.push(idsOf(await get(sandbox))[0]);
      clock.pass(1);
    }
    expect(turns).toEqual([ids[0], ids[1], ids[0]]);
  });

  it("comes round with cycle also where its clock is set back", async () => {
    const { sandbox, clock, ids, idsOf } = await withOrders(3, {
      handOut: "next",
      redeliverAfterMs: "cycle",
      batchSize: 1,
    });
    const turns = [];
    for (let turn = 0; turn < 6; turn++) {
      turns.push(idsOf(await get(sandbox))[0]);
      clock.pass(turn === 0 ? -1e9 : 1);
    }
    expect(turns).toEqual([...ids, ...ids]);
  });

  it.each([
    ["string", '"batch-1"'],
    ["number", "1"],
    ["huge-number", "9007199254740993"],
  ] as const)("takes back a %s id only as it was written", async (batchIdKind, literal) => {
    const { sandbox } = await withOrders(1, { batchIdKind });
    const { text } = await get(sandbox);
    expect(text).toContain(`"batch_id":${literal},`);
    const other = batchIdKind === "string" ? "1" : batchIdKind === "number" ? '"1"' : "9007199254740992";
    expect((await post(sandbox, CONFIRM, `{"batch_id":${other}}`)).status).toBe(404);
    expect((await post(sandbox, CONFIRM, `{"batch_id":${literal}}`)).status).toBe(200);
    expect(sandbox.ledger.effects("confirmed")).toMatchObject([{ batchIds: [literal] }]);
  });

  it("numbers batches as a service does that has gone on for long", async () => {
    const { sandbox } = await withOrders(1, { batchesBefore: 40 });
    expect((await get(sandbox)).text).toContain('"batch_id":"batch-41",');
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-1" })).status).toBe(404);
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-41" })).status).toBe(200);
  });

  it("confirms order by order, and serves what is left again", async () => {
    const { sandbox, ids, idsOf } = await withOrders(2, { confirmForm: "order_ids" });
    await get(sandbox);
    expect((await post(sandbox, CONFIRM, { batch_id: "batch-1" })).status).toBe(400);
    expect((await post(sandbox, CONFIRM, { order_ids: [] })).status).toBe(404);
    expect((await post(sandbox, CONFIRM, { order_ids: [ids[0]] })).status).toBe(200);
    expect(idsOf(await get(sandbox))).toEqual([ids[1]]);
    await post(sandbox, CONFIRM, { order_ids: ids });
    expect(idsOf(await get(sandbox))).toEqual([]);
    expect(sandbox.ledger.effects("confirmed").map(({ batchIds }) => batchIds)).toEqual([[], ['"batch-1"']]);
  });

  it("refuses a confirm that names more orders than it may", async () => {
    const { sandbox, ids } = await withOrders(2, { confirmForm: "order_ids", limits: { confirmIds: 1 } });
    await get(sandbox);
    expect((await post(sandbox, CONFIRM, { order_ids: ids })).status).toBe(413);
    expect((await post(sandbox, CONFIRM, { order_ids: [ids[0]] })).status).toBe(200);
  });

  it("lets an invalid record be confirmed by the id it was served with", async () => {
    const { sandbox } = await withOrders(0, { batchIdKind: "none" });
    const id = sandbox.service.createOrder({ raw: '{"order_id":"not-a-uuid","status":5}' });
    expect((await get(sandbox)).text).toBe('{"orders":[{"order_id":"not-a-uuid","status":5}]}');
    expect((await post(sandbox, CONFIRM, { order_ids: ["not-a-uuid"] })).status).toBe(200);
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set([id]));
  });

  it("confirms with an empty body everything that was handed out so far", async () => {
    const { sandbox, ids } = await withOrders(5, { confirmForm: "all", handOut: "next", confirmRepeated: 409 });
    expect((await post(sandbox, CONFIRM, "")).status).toBe(404);
    await get(sandbox);
    await get(sandbox);
    expect((await post(sandbox, CONFIRM, "{}")).status).toBe(200);
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set(ids.slice(0, 4)));
    expect((await post(sandbox, CONFIRM, "{}")).status).toBe(409);
  });

  it("may take a confirm for everything that there is, and then never serves what no batch has held", async () => {
    const { sandbox, ids, idsOf } = await withOrders(3, { confirmForm: "everything" });
    expect(idsOf(await get(sandbox))).toEqual(ids.slice(0, 2));
    expect((await post(sandbox, CONFIRM, "{}")).status).toBe(200);
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set(ids));
    expect(idsOf(await get(sandbox))).toEqual([]);
  });

  it.each([200, 404, 409, 410] as const)(
    "answers %i to a repeated and to an unknown confirm, if told so",
    async (code) => {
      const { sandbox } = await withOrders(1, { confirmRepeated: code, confirmUnknown: code });
      const { json } = await get(sandbox);
      expect((await post(sandbox, CONFIRM, { batch_id: "never" })).status).toBe(code);
      expect((await post(sandbox, CONFIRM, { batch_id: json.batch_id })).status).toBe(200);
      expect((await post(sandbox, CONFIRM, { batch_id: json.batch_id })).status).toBe(code);
      expect(sandbox.ledger.effects("confirmed")).toHaveLength(1);
    },
  );

  it("says in words what a confirm lacks", async () => {
    const { sandbox } = await withOrders(1, { confirmKey: ["пакет", "ид"] });
    const { json } = await get(sandbox);
    for (const body of ["{", "[]", '{"batch_id":"batch-1"}']) {
      const answer = await post(sandbox, CONFIRM, body);
      expect(answer.status).toBe(400);
      expect(answer.json.error).toEqual(expect.any(String));
    }
    expect((await post(sandbox, CONFIRM, { пакет: { ид: json.batch_id } })).status).toBe(200);
  });

  it("overlaps batches and names an order twice, equal or as it was", async () => {
    const { sandbox, ids, idsOf } = await withOrders(3, { handOut: "next", batchOverlap: 1, batchTwice: "equal" });
    expect(idsOf(await get(sandbox))).toEqual([ids[0], ids[1], ids[0]]);
    sandbox.service.setOptions({ batchTwice: "older" });
    sandbox.service.changeOrder(ids[1] ?? "", { status: "paid" });
    expect(ordersOf(await get(sandbox)).map((order) => [order.order_id, order.status])).toEqual([
      [ids[1], "paid"],
      [ids[2], "new"],
      [ids[1], "new"],
    ]);
  });

  it("leaves deleted orders out, also of a batch that was handed out before", async () => {
    const { sandbox, ids, idsOf } = await withOrders(3);
    await get(sandbox);
    sandbox.service.deleteOrder(ids[0] ?? "");
    sandbox.service.deleteOrder(ids[2] ?? "");
    expect(idsOf(await get(sandbox))).toEqual([ids[1]]);
    await post(sandbox, CONFIRM, { batch_id: "batch-1" });
    expect(sandbox.ledger.confirmedOrderIds()).toEqual(new Set([ids[1]]));
    expect(idsOf(await get(sandbox))).toEqual([]);
  });

  it.each([
    ["list", 200, '{"data":{"заказы":[]}}'],
    ["null", 200, '{"data":{"заказы":null}}'],
    ["null-parent", 200, '{"data":null}'],
    ["204", 204, ""],
    ["bare-list", 200, "[]"],
  ] as const)("says that there is nothing in the form %s", async (emptyForm, status, text) => {
    const shape = { batch: ["data", "заказы"] };
    const { sandbox } = await withOrders(0, { emptyForm, shape });
    const answer = await get(sandbox);
    expect([answer.status, answer.text]).toEqual([status, text]);
    expect(sandbox.ledger.ofKind("orders")).toMatchObject([{ effect: null, status }]);
  });
});
