import { describe, expect } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, dumpTables, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const ID = "11111111-2222-4333-8444-555555555555";

interface Sketch {
  status: string | number;
  at?: string;
  id?: string;
}

function record({ status, at, id = ID }: Sketch): string {
  const timestamp = at === undefined ? {} : { updated_at: `2026-03-01T11:00:0${at}Z` };
  const value = typeof status === "number" ? { broken: status } : status;
  return JSON.stringify({ order_id: id, status: value, items: [{ sku: String(status) }], ...timestamp });
}

/** Serves one batch with these records, as often as it is asked. */
async function startWith(records: readonly string[]): Promise<TestBridge> {
  const t = await startTestBridge();
  createOrders(t, 1);
  await t.run("orders");
  serve(t, records);
  return t;
}

function serve(t: TestBridge, records: readonly string[], batchId = "b-1"): void {
  t.sandbox.faults.clear();
  t.sandbox.faults.add({
    match: { path: "orders" },
    times: "forever",
    do: {
      kind: "raw",
      body: `{"batch_id":"${batchId}","orders":[${records.join(",")}]}`,
      contentType: "application/json",
    },
  });
  t.sandbox.faults.add({
    match: { path: "confirm" },
    times: "forever",
    do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
  });
}

const stored = ({ rows }: TestBridge) => rows("SELECT status, revision FROM orders WHERE order_id = ?", ID)[0];
const owed = ({ rows }: TestBridge) =>
  rows<{ record: string }>("SELECT record FROM owed_reads").map((row) => row.record);
const held = ({ rows }: TestBridge) =>
  rows<{ payload: string }>("SELECT payload FROM quarantine WHERE state = 'held'").map((row) => row.payload);

describe("one order twice in a batch", () => {
  const older = record({ status: "new", at: "1" });
  const newer = record({ status: "paid", at: "2" });
  const bare = record({ status: "new" });
  const otherBare = record({ status: "paid" });
  const brokenOlder = record({ status: 7, at: "0" });
  const brokenNewer = record({ status: 7, at: "5" });

  itSome(1)([
    { name: "equal", records: [newer, newer], status: "paid", read: false },
    { name: "the newer first", records: [newer, older], status: "paid", read: false },
    { name: "the newer last", records: [older, newer], status: "paid", read: false },
    { name: "three of them", records: [older, newer, older], status: "paid", read: false },
    { name: "without timestamps", records: [bare, otherBare], status: "paid", read: true },
    { name: "one without a timestamp", records: [newer, bare], status: "new", read: true },
    {
      name: "different under one timestamp",
      records: [newer, record({ status: "sent", at: "2" })],
      status: "sent",
      read: true,
    },
    {
      name: "in both cases of the id",
      records: [older, newer.replace(ID, ID.toUpperCase())],
      status: "paid",
      read: false,
    },
  ])(
    "keeps the newest, and reads the order where the timestamps do not tell: $name",
    async ({ records, status, read }) => {
      const t = await startWith(records);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
      expect(stored(t)).toEqual({ status, revision: 1 });
      expect(owed(t)).toHaveLength(read ? 1 : 0);
      const before = dumpTables(t);
      await t.run("orders");
      expect(dumpTables(t)).toBe(before);
    },
  );

  itWhole("is never hidden by a record of it that cannot be read", async () => {
    const t = await startWith([brokenOlder, older, brokenNewer]);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1, quarantined: 1 } });
    expect(stored(t)).toEqual({ status: "new", revision: 1 });
    // The older bad one is superseded; the newer one says that something is missing.
    expect(held(t)).toEqual([brokenNewer]);
    const before = dumpTables(t);
    await t.run("orders");
    expect(dumpTables(t)).toBe(before);
  });

  itWhole("is read whole although the record that counts is stored already", async () => {
    const t = await startWith([bare]);
    await t.run("orders");
    serve(t, [otherBare, bare], "b-2");
    await t.run("orders");
    expect(owed(t)).toEqual([bare]);
  });
});

describe("an order that was stored before", () => {
  itSome(1)([
    { name: "newer", second: { status: "paid", at: "3" }, status: "paid", revision: 2, read: false },
    { name: "older", second: { status: "paid", at: "1" }, status: "new", revision: 1, read: true },
    { name: "with the same timestamp", second: { status: "paid", at: "2" }, status: "new", revision: 1, read: true },
    { name: "without a timestamp", second: { status: "paid" }, status: "new", revision: 1, read: true },
    {
      name: "with another timestamp alone",
      second: { status: "new", at: "1" },
      status: "new",
      revision: 1,
      read: false,
    },
  ])(
    "is replaced by what is strictly newer, and read where that is not sure: $name",
    async ({ second, status, revision, read }) => {
      const t = await startWith([record({ status: "new", at: "2" })]);
      await t.run("orders");
      serve(t, [record(second)], "b-2");
      await t.run("orders");
      expect(stored(t)).toEqual({ status, revision });
      expect(owed(t)).toHaveLength(read ? 1 : 0);
      const before = dumpTables(t);
      for (let poll = 0; poll < 2; poll++) await t.run("orders");
      expect(dumpTables(t)).toBe(before);
    },
  );

  itWhole("asks for nothing where only ignored places differ", async () => {
    const t = await startTestBridge({ settings: { orders: { ignore: ["$.served_at"] } } });
    createOrders(t, 1);
    await t.run("orders");
    for (let serving = 1; serving < 4; serving++) {
      serve(t, [record({ status: "new", at: "2" }).replace("{", `{"served_at":${serving},`)]);
      await t.run("orders");
    }
    expect(stored(t)).toEqual({ status: "new", revision: 1 });
    expect(owed(t)).toEqual([]);
  });

  itWhole("has exactly the lines of its newest record, also where only their payload differs", async () => {
    const t = await startTestBridge({ settings: { orders: { ignore: ["$.items[0].note"] } } });
    const withLines = (at: number, items: object[]) =>
      JSON.stringify({ order_id: ID, status: "new", updated_at: `2026-03-01T11:00:0${at}Z`, items });
    createOrders(t, 1);
    await t.run("orders");
    const servings = [
      [{ sku: "a" }, { sku: "b" }, { sku: "a" }],
      [{ sku: "b" }, { sku: "a" }],
      [{ sku: "b", note: "x" }, { sku: "a" }],
      [],
    ];
    for (const [index, items] of servings.entries()) {
      serve(t, [withLines(index, items)], `b-${index}`);
      await t.run("orders");
      const lines = t.rows<{ payload: string }>(
        "SELECT payload FROM order_lines WHERE order_id = ? ORDER BY line_no",
        ID,
      );
      expect(lines.map(({ payload }) => payload)).toEqual(items.map((item) => JSON.stringify(item)));
    }
    expect(stored(t)).toEqual({ status: "new", revision: 3 });
  });

  itWhole("has a history that says what changed", async () => {
    const t = await startWith([record({ status: "new", at: "1" })]);
    await t.run("orders");
    const lineChange = JSON.stringify({
      order_id: ID,
      status: "new",
      items: [{ sku: "other" }],
      updated_at: "2026-03-01T11:00:02Z",
    });
    const cancelled = JSON.stringify({
      order_id: ID,
      status: "cancelled",
      items: [{ sku: "other" }],
      updated_at: "2026-03-01T11:00:03Z",
    });
    for (const [index, text] of [lineChange, cancelled].entries()) {
      serve(t, [text], `c-${index}`);
      await t.run("orders");
    }
    const events = t.rows(
      "SELECT kind, status_changed AS s, lines_changed AS l, fields_changed AS f, old_status, new_status, source FROM order_events WHERE order_id = ? ORDER BY seq",
      ID,
    );
    expect(events).toEqual([
      { kind: "created", s: 1, l: 1, f: 1, old_status: null, new_status: "new", source: "batch" },
      { kind: "changed", s: 0, l: 1, f: 0, old_status: "new", new_status: "new", source: "batch" },
      { kind: "cancelled", s: 1, l: 0, f: 0, old_status: "new", new_status: "cancelled", source: "batch" },
    ]);
    expect(t.rows("SELECT is_cancelled, is_open FROM orders WHERE order_id = ?", ID)).toEqual([
      { is_cancelled: 1, is_open: 0 },
    ]);
  });
});

describe("a batch that names its first order twice at the service", () => {
  itSome(1)(["equal", "older"] as const)("ends with everything stored and confirmed: %s", async (batchTwice) => {
    const t = await startTestBridge({ sandbox: { options: { batchTwice } } });
    const [id] = createOrders(t, 3);
    t.clock.advance(1_000);
    t.sandbox.service.changeOrder(id!, { status: "paid" });
    await t.run("orders");
    expect(t.rows("SELECT status FROM orders WHERE order_id = ?", id)).toEqual([{ status: "paid" }]);
    expect(t.sandbox.service.orders().every(({ confirmed }) => confirmed)).toBe(true);
    if (batchTwice === "equal") expectComplete(t);
  });
});
