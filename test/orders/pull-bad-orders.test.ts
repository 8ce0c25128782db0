import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  confirmBodies,
  createOrders,
  dumpTables,
  expectComplete,
  expectNothingLost,
  orderCount,
} from "../support/pull.ts";
import { itWhole, some } from "../support/whole.ts";

const ID = "11111111-2222-4333-8444-555555555555";
const OTHER_ID = "66666666-7777-4888-8999-000000000000";
const order = (fields: string) => `{"order_id":"${ID}","status":"new","items":[],${fields}}`;

/** Records that cannot be stored, what their confirm names, and how the reason begins. */
const BAD: [string, { raw: string; reason: string; named?: string }][] = [
  ["no id", { raw: '{"status":"new","items":[]}', reason: "$.order_id (order id) is missing" }],
  ["a null id", { raw: '{"order_id":null,"status":"new","items":[]}', reason: "$.order_id (order id) is null" }],
  [
    "an id that is no UUID",
    {
      raw: '{"order_id":"A-17","status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: '"A-17"',
    },
  ],
  [
    "the nil UUID for an id",
    {
      raw: '{"order_id":"00000000-0000-0000-0000-000000000000","status":"new","items":[]}',
      reason: "$.order_id (order id) is the nil or the max UUID, which names no order",
      named: '"00000000-0000-0000-0000-000000000000"',
    },
  ],
  [
    "a number for an id",
    {
      raw: '{"order_id":9007199254740993,"status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: "9007199254740993",
    },
  ],
  [
    "an id that climbs",
    {
      raw: '{"order_id":"../confirm","status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: '"../confirm"',
    },
  ],
  [
    "an id named __proto__",
    {
      raw: '{"order_id":"__proto__","status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: '"__proto__"',
    },
  ],
  [
    "an id with NUL",
    {
      raw: '{"order_id":"a\\u0000b","status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: '"a\\u0000b"',
    },
  ],
  [
    "an id with half a surrogate pair",
    {
      raw: '{"order_id":"a\\ud800","status":"new","items":[]}',
      reason: "$.order_id (order id) is not a UUID",
      named: '"a\\ud800"',
    },
  ],
  [
    "an object for an id",
    { raw: '{"order_id":{"v":1},"status":"new","items":[]}', reason: "$.order_id (order id) is no text" },
  ],
  ["a text instead of an order", { raw: '"order"', reason: "the record is no object but a string" }],
  [
    "an object for a status",
    { raw: `{"order_id":"${ID}","status":{},"items":[]}`, reason: "$.status is an object (status)", named: `"${ID}"` },
  ],
  ["no status", { raw: `{"order_id":"${ID}","items":[]}`, reason: "$.status (status) is missing", named: `"${ID}"` }],
  [
    "lines that are no list",
    { raw: `{"order_id":"${ID}","status":"new","items":"3"}`, reason: "$.items (lines) is no list", named: `"${ID}"` },
  ],
  [
    "a line that is no object",
    {
      raw: `{"order_id":"${ID}","status":"new","items":[{},7]}`,
      reason: "line 2 of $.items is a number (lines)",
      named: `"${ID}"`,
    },
  ],
  [
    "a list for a line",
    {
      raw: `{"order_id":"${ID}","status":"new","items":[[{"sku":"A"}],{"sku":"A"}]}`,
      reason: "line 1 of $.items is an array (lines)",
      named: `"${ID}"`,
    },
  ],
  [
    "two ids",
    {
      raw: `{"order_id":"${ID}","order_id":"${OTHER_ID}","status":"new","items":[]}`,
      reason: "$.order_id (order id) stands more than once, with different values",
    },
  ],
  [
    "two statuses",
    {
      raw: `{"order_id":"${ID}","status":"new","status":"cancelled","items":[]}`,
      reason: "$.status stands more than once, with different values (status)",
      named: `"${ID}"`,
    },
  ],
  [
    "two timestamps",
    {
      raw: order('"updated_at":"2026-03-01T11:00:00Z","updated_at":"2026-03-01T12:00:00Z"'),
      reason: "$.updated_at stands more than once, with different values (updated_at)",
      named: `"${ID}"`,
    },
  ],
  [
    "two prices of a line",
    {
      raw: `{"order_id":"${ID}","status":"new","items":[{"sku":"A","price":"1","price":"2"}]}`,
      reason: "line 1: $.price stands more than once, with different values (price)",
      named: `"${ID}"`,
    },
  ],
  [
    "a list for a quantity",
    {
      raw: `{"order_id":"${ID}","status":"new","items":[{"quantity":[]}]}`,
      reason: "line 1: $.quantity is an array (quantity)",
      named: `"${ID}"`,
    },
  ],
  [
    "200,000 levels",
    {
      raw: order(`"deep":${"[".repeat(200_000)}${"]".repeat(200_000)}`),
      reason: "the record is nested deeper than 1000 levels",
      named: `"${ID}"`,
    },
  ],
];

const quarantined = ({ rows }: TestBridge) =>
  rows<{ reason: string; payload: string; state: string }>("SELECT reason, payload, state FROM quarantine");

describe("different orders under one id", () => {
  const bearer = (number: string, createdAt: string, sku: string) =>
    `{"order_id":"${ID}","status":"new","number":"${number}","created_at":"${createdAt}","updated_at":"${createdAt}","items":[{"sku":"${sku}","quantity":"1"}]}`;
  const first = bearer("A-1", "2026-03-01T11:00:00Z", "one");
  const batch = (...orders: string[]) => `{"batch_id":"b-${orders.length}","orders":[${orders.join()}]}`;
  const serve = (t: TestBridge, ...orders: string[]) =>
    t.sandbox.faults.add({
      match: { path: "orders" },
      do: { kind: "raw", contentType: "application/json", body: batch(...orders) },
    });

  it("are all kept: the first is stored, and the others are quarantined with their payload", async () => {
    const t = await startTestBridge();
    const others = [bearer("A-2", "2026-03-01T11:05:00Z", "two"), bearer("A-3", "2026-03-01T11:06:00Z", "three")];
    const reason = expect.stringContaining("$.order_id is the id of another stored order");
    serve(t, first, others[0]!);
    await t.run("orders");
    expect(t.rows("SELECT number, revision FROM orders")).toEqual([{ number: "A-1", revision: 1 }]);
    expect(quarantined(t)).toEqual([{ reason, payload: others[0], state: "held" }]);
    // Weeks later, one comes under the id of a stored order.
    serve(t, others[1]!, others[1]!, others[0]!);
    await t.run("orders");
    expect(t.rows("SELECT number, revision FROM orders")).toEqual([{ number: "A-1", revision: 1 }]);
    expect(quarantined(t)).toEqual(others.map((payload) => ({ reason, payload, state: "held" })));
    // A change of the stored one settles nothing that is held of others.
    serve(
      t,
      first.replace('"new"', '"accepted"').replace('"updated_at":"2026-03-01T11:00', '"updated_at":"2026-03-01T11:30'),
    );
    await t.run("orders");
    expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "accepted", revision: 2 }]);
    expect(quarantined(t).map(({ state }) => state)).toEqual(["held", "held"]);
  });

  itWhole.each([
    ["lacks what all others have", (record: string) => record.replace('"new"', "null")],
    ["cannot be read", (record: string) => record.replace(/"items":.*/, '"items":7}')],
  ])("are kept also where one of them %s", async (_name, as) => {
    const t = await startTestBridge();
    const other = as(bearer("A-2", "2026-03-01T11:05:00Z", "two"));
    serve(t, first, other);
    await t.run("orders");
    serve(
      t,
      first.replace('"new"', '"accepted"').replace('"updated_at":"2026-03-01T11:00', '"updated_at":"2026-03-01T11:30'),
    );
    await t.run("orders");
    expect(t.rows("SELECT number, status FROM orders")).toEqual([{ number: "A-1", status: "accepted" }]);
    const reason = expect.stringContaining("$.order_id is the id of another stored order");
    expect(quarantined(t)).toEqual([{ reason, payload: other, state: "held" }]);
  });

  itWhole.each([
    ["to the second in both", "2026-03-01T11:00:00Z", "held", "A-1"],
    ["in another zone", "2026-03-01T14:00:00.000+03:00", "held", "A-1"],
    ["cut to a day", "2026-03-01", undefined, "A-2"],
    ["without a zone", "2026-03-01T14:00:00", undefined, "A-2"],
  ])("are kept also where the stored one was read whole, with its time %s", async (_name, created, state, number) => {
    const t = await startTestBridge();
    t.sandbox.service.createOrder({ id: ID, raw: first });
    await t.run("orders");
    const whole = first
      .replace("2026-03-01T11:00:00Z", created)
      .replace('"new"', '"paid"')
      .replace("11:00:00", "11:01:00");
    t.sandbox.service.changeOrder(ID, { raw: whole });
    await t.run("reconcile");
    expect(t.rows("SELECT status, payload_source FROM orders")).toEqual([
      { status: "paid", payload_source: "snapshot" },
    ]);
    serve(t, bearer("A-2", "2026-03-01T11:05:00Z", "two"));
    await t.run("orders");
    expect(t.rows("SELECT number FROM orders")).toEqual([{ number }]);
    expect(quarantined(t).map((row) => row.state)).toEqual(state === undefined ? [] : [state]);
  });

  itWhole.each([
    ["a number that comes late", bearer("", "2026-03-01T11:05:00Z", "two"), "A-9"],
    ["the same number", bearer("A-9", "2026-03-01T11:05:00Z", "two"), "A-9"],
    ["the same lines", bearer("A-8", "2026-03-01T11:05:00Z", "nine"), "A-9"],
    ["the same time of creation", bearer("A-8", "2026-03-01T12:00:00+01:00", "two"), "A-9"],
  ])("are not seen where there is %s", async (_name, before, number) => {
    const t = await startTestBridge();
    serve(t, before);
    await t.run("orders");
    serve(
      t,
      bearer(number, "2026-03-01T11:00:00Z", "nine").replace(
        /"updated_at":"[^"]+"/,
        '"updated_at":"2026-03-01T12:30:00Z"',
      ),
    );
    await t.run("orders");
    expect(t.rows("SELECT number FROM orders")).toEqual([{ number }]);
    expect(quarantined(t)).toEqual([]);
  });
});

describe("one bad order", () => {
  itWhole.each(some(BAD, 4))("among a hundred hides none of the others: %s", async (_name, { raw, reason }) => {
    const t = await startTestBridge({ sandbox: { options: { batchSize: 100 } } });
    createOrders(t, 50);
    t.sandbox.service.createOrder({ raw });
    createOrders(t, 49);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 99, quarantined: 1, confirmed: 1 } });
    expect(quarantined(t)).toEqual([{ reason, payload: raw, state: "held" }]);
    expectComplete(t);
  });

  itWhole.each(BAD)(
    "alone in its batch is quarantined and confirmed once its paths are known: %s",
    async (_name, { raw, reason, named }) => {
      const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none" } } });
      createOrders(t, 1);
      await t.run("orders");
      t.sandbox.service.createOrder({ raw });
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { quarantined: 1 } });
      expect(quarantined(t)).toMatchObject([{ reason }]);
      // The service is told of it by the literal that it wrote; without any there is nothing to tell.
      expect(confirmBodies(t).slice(1)).toEqual(named === undefined ? [] : [`{"order_ids":[${named}]}`]);
      expectNothingLost(t);
      const before = dumpTables(t);
      await t.run("orders");
      expect(dumpTables(t)).toBe(before);
      expect(
        t.sandbox.ledger.entries.map(({ kind }) => kind).filter((kind) => kind !== "orders" && kind !== "confirm"),
      ).toEqual([]);
    },
  );

  it("is named in the confirm together with the good ones", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none" } } });
    const [first] = createOrders(t, 1);
    t.sandbox.service.createOrder({ raw: '{"order_id":"A-17","status":"new","items":[]}' });
    await t.run("orders");
    expect(confirmBodies(t)).toEqual([`{"order_ids":["${first}","A-17"]}`]);
    expectComplete(t);
  });

  itWhole("is settled by a good record of the same order and not held again when it is served once more", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    const id = t.sandbox.service.createOrder({ id: ID, raw: `{"order_id":"${ID}","status":{},"items":[]}` });
    const refusing = t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "status", status: 500 },
    });
    await t.run("orders");
    t.sandbox.service.changeOrder(id, { raw: `{"order_id":"${ID}","status":"new","items":[]}` });
    await t.run("orders");
    expect(orderCount(t)).toBe(2);
    expect(quarantined(t)).toMatchObject([{ state: "released" }]);
    t.sandbox.service.changeOrder(id, { raw: `{"order_id":"${ID}","status":{},"items":[]}` });
    await t.run("orders");
    expect(quarantined(t)).toMatchObject([{ state: "released" }]);
    t.sandbox.faults.remove(refusing);
    await t.run("orders");
    expect(t.sandbox.service.orders().every(({ confirmed }) => confirmed)).toBe(true);
  });

  itWhole("that is served at every poll is no write at every poll", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    t.sandbox.service.createOrder({ raw: '{"order_id":"A-17"}' });
    t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
    });
    await t.run("orders");
    const before = dumpTables(t);
    await t.run("orders");
    t.clock.advance(60_000);
    await t.run("orders");
    expect(dumpTables(t)).toBe(before);
  });
});

describe("text that is hard to keep", () => {
  it("keeps lone surrogates, NUL and keys such as __proto__ as they were sent", async () => {
    const t = await startTestBridge();
    const raw = order('"number":"\\ud83d\\u0000","__proto__":{"x":1},"constructor":"\\uD800","text":"\u{1F600}\u2028"');
    t.sandbox.service.createOrder({ id: ID, raw });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
    expect(t.rows("SELECT payload FROM orders")).toEqual([{ payload: raw }]);
    expectComplete(t);
  });

  itWhole("makes no revision of an order whose number holds half a surrogate pair when it is read whole", async () => {
    const t = await startTestBridge();
    const fields = [`"order_id":"${ID}"`, '"status":"new"', '"items":[]', '"number":"N\\ud800"'];
    const id = t.sandbox.service.createOrder({ id: ID, raw: `{${fields.join(",")}}` });
    await t.run("orders");
    t.clock.advance(1_000);
    t.sandbox.service.changeOrder(id, { raw: `{${fields.reverse().join(",")}}` });
    await t.run("updates");
    expect(t.sandbox.ledger.ofKind("snapshot")).toHaveLength(1);
    expect(t.rows("SELECT revision FROM orders")).toEqual([{ revision: 1 }]);
  });

  itWhole("stores exact numbers as their own text", async () => {
    const t = await startTestBridge();
    const lines = [
      { sku: "0012", quantity: "0.250", price: "1234567890.10" },
      { sku: " a ", quantity: "9007199254740993", price: "1e2" },
    ];
    t.sandbox.service.createOrder({ id: ID, total: "9007199254740993.10", lines });
    await t.run("orders");
    expect(t.rows("SELECT total FROM orders")).toEqual([{ total: "9007199254740993.10" }]);
    expect(t.rows("SELECT sku, quantity, price FROM order_lines ORDER BY line_no")).toEqual(lines);
    expectComplete(t);
  });
});
