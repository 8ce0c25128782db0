import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanJson } from "../../src/answers/scan-json.ts";
import { orderRulesOf } from "../../src/daemon/build-jobs.ts";
import { ingestRecord } from "../../src/orders/ingest-orders.ts";
import { readRecords } from "../../src/records/read-records.ts";
import { configFor, startTestBridge, type TestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { memoryFolder } from "../support/temp.ts";
import { inWhole, itSome, itWhole, runs, some } from "../support/whole.ts";

const whole = inWhole("orders/extreme-orders");

const DEEP = 1_200;
/** JSON literals, each the extreme of something. `\xff` stands for a byte that is no UTF-8. */
const VALUES = [
  '"0000-01-01T00:00:00Z"',
  '"0000-01-01T00:00:00+14:00"',
  '"9999-12-31T23:59:59Z"',
  '"9999-12-31T23:59:59.999999999-14:00"',
  '"+275760-09-13T00:00:00.000Z"',
  '"-271821-04-20T00:00:00Z"',
  '"1969-12-31T23:59:59Z"',
  '"2026-02-30T25:61:61Z"',
  '"9999999999999999"',
  "9999999999999999",
  "253402300800",
  "9223372036854775808",
  "-9223372036854775809",
  "18446744073709551616",
  "1e400",
  "-1e400",
  "1e-400",
  "-0",
  "0.1e+0001",
  "true",
  "false",
  "null",
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\xff\xfe"',
  '"NaN"',
  '"__proto__"',
  "[]",
  "{}",
  "[null]",
  '[{"sku":null}]',
  '{"__proto__":{"a":1},"constructor":1,"toString":null}',
  '{"a":1,"a":2}',
  "[".repeat(DEEP) + "]".repeat(DEEP),
  `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`,
  `"${"x".repeat(300_000)}"`,
  `"${"\\u0000".repeat(50_000)}"`,
  "1".repeat(50_000),
];
const FIELDS = ["status", "number", "created_at", "updated_at", "currency", "total", "items", "extra", "__proto__"];
const LINE_FIELDS = ["sku", "name", "quantity", "price"];

const idOf = (n: number) => `aaaaaaaa-0000-4000-8000-${String(n).padStart(12, "0")}`;

interface Place {
  field: string;
  isLine: boolean;
  value: string;
}

const PLACES: Place[] = VALUES.flatMap((value) => [
  ...FIELDS.map((field) => ({ field, isLine: false, value })),
  ...LINE_FIELDS.map((field) => ({ field, isLine: true, value })),
]);

function recordWith(id: string, { field, isLine, value }: Place, timestamp: string): string {
  const members = new Map([
    ["status", '"new"'],
    ["updated_at", `"${timestamp}"`],
    ["items", '[{"sku":"A","quantity":1,"price":"1.00"}]'],
  ]);
  if (isLine) members.set("items", `[{"${field}":${value}},${value}]`);
  else members.set(field, value);
  return `{"order_id":"${id}",${[...members].map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(",")}}`;
}

const T1 = "2026-03-01T12:00:30.000Z";
const T2 = "2026-03-01T12:00:40.000Z";
const GOOD: Place = { field: "status", isLine: false, value: '"paid"' };
/** As the bytes are sent, one character a byte; `\xff` stays what it is. */
const latin = (text: string) => (text.includes("\xff") ? text : Buffer.from(text, "utf8").toString("latin1"));
const isJsonText = ({ value }: Place) => !value.includes("\xff");

whole.describe("a record of an order, whatever it holds", { timeout: 90_000 }, () => {
  const rules = () =>
    orderRulesOf(configFor({ url: "http://127.0.0.1:1", clientId: "shop", clientSecret: "secret" }, memoryFolder()));

  async function start(): Promise<{
    t: TestBridge;
    take: (source: "batch" | "update" | "snapshot", text: string) => string;
  }> {
    const t = await startTestBridge();
    const compiled = rules();
    const take = (source: "batch" | "update" | "snapshot", text: string) => {
      const bytes = Buffer.from(text, "latin1");
      const root = scanJson(bytes);
      const mapping = compiled[source];
      const [record] = readRecords(bytes, { root, elements: [root] }, mapping);
      const { store } = t.bridge;
      return store.write(() => ingestRecord({ store, rules: compiled, mapping, bytes, at: T1, machineMs: 0 }, record!));
    };
    return { t, take };
  }

  itSome(1)(["batch", "update", "snapshot"] as const)(
    "is stored, read again or quarantined, and never an error: %s",
    async (source) => {
      const { t, take } = await start();
      const places = some(PLACES, 40);
      for (const [n, place] of places.entries()) {
        const id = idOf(n);
        const first = take(source, recordWith(id, place, T1));
        const name = `${place.field}: ${place.value.slice(0, 60)}`;
        expect(["created", "quarantined"], name).toContain(first);
        expect(take(source, recordWith(id, place, T1)), name).toBe("same");
        // A good version afterwards, and the extreme one once more under a later timestamp.
        expect(["created", "changed", "owed"], name).toContain(take(source, recordWith(id, GOOD, T2)));
        take(source, recordWith(id, place, "2026-03-01T12:00:50.000Z"));
        expect(["changed", "same", "created"], name).toContain(take("snapshot", recordWith(id, GOOD, T2)));
      }
      expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: places.length }]);
      // Whatever was stored can be read by every view.
      for (const view of ["orders_wide", "order_lines_wide", "orders_pending", "order_events"])
        expect(() => t.rows(`SELECT * FROM ${view}`)).not.toThrow();
      expect(t.rows("SELECT count(*) AS n FROM orders WHERE NOT json_valid(payload)")).toEqual([{ n: 0 }]);
    },
  );

  it("is decided alike in any order of the records and for any pair of extremes", async () => {
    const { t, take } = await start();
    const place = fc.constantFrom(...PLACES.filter(({ value }) => value.length < 10_000));
    const source = fc.constantFrom("batch" as const, "update" as const, "snapshot" as const);
    const timestamp = fc.constantFrom(T1, T2, "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z");
    let n = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(source, place, timestamp), { minLength: 1, maxLength: 5 }), (steps) => {
        const id = idOf(500_000 + n++);
        for (const [from, each, at] of steps) {
          const text = recordWith(id, each, at);
          const taken = take(from, text);
          expect(["created", "changed", "refreshed", "same", "owed", "quarantined"]).toContain(taken);
          // The same snapshot again is no news.
          if (from === "snapshot") expect(take(from, text)).toBe("same");
        }
        const kept = t.rows<{ n: number }>(
          `SELECT (SELECT count(*) FROM orders WHERE order_id = ?) + (SELECT count(*) FROM quarantine WHERE reference = ?) AS n`,
          id,
          id,
        );
        expect(kept[0]!.n).toBeGreaterThan(0);
      }),
      { numRuns: runs(20, 600) },
    );
  });
});

describe("a pass that meets such records", { timeout: 90_000 }, () => {
  const ordinary = PLACES.filter(isJsonText).filter(({ value }) => value.length < 100_000);
  const places = some(ordinary, 120);
  const wrap = (key: string, records: string[]) => `{"batch_id":1,"${key}":[${records.join(",")}]}`;
  const raw = (body: string) => ({ kind: "raw", contentType: "application/json", body }) as const;

  itWhole("stores the others of the batch and confirms it", async () => {
    const t = await startTestBridge();
    const records = places.map((place, n) => recordWith(idOf(n), place, T1));
    const good = recordWith(idOf(900_000), GOOD, T1);
    t.sandbox.faults.add({ match: { path: "orders" }, do: raw(wrap("orders", [...records, good])) });
    t.sandbox.faults.add({ match: { path: "confirm" }, do: raw("") });
    expect(await t.run("orders")).toMatchObject({ error: null });
    expect(t.rows("SELECT status FROM orders WHERE order_id = ?", idOf(900_000))).toEqual([{ status: "paid" }]);
    expect(t.rows("SELECT state FROM batches ORDER BY id LIMIT 1")).toEqual([{ state: "confirmed" }]);
    const kept = t.rows<{ n: number }>("SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM quarantine) AS n");
    expect(kept[0]!.n).toBe(places.length + 1);
  });

  itWhole.each(["changes", "whole"] as const)("stores the others of the updates: %s", async (carry) => {
    const test = await startFollowed(3, { settings: { updates: { carry } }, service: { updates: { carry } } });
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    const good = recordWith(id, GOOD, "2026-03-01T12:01:01.000Z");
    const records = places.map((place, n) => recordWith(idOf(n), place, T1));
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(wrap("updates", [good, ...records])) });
    await test.run("updates");
    const { error } = await test.run("updates");
    expect(error?.code).not.toBe("internal");
    expect(test.statusOf(id).status).toBe("paid");
  });

  /** An id is no id: of the record nothing else is known, and a confirm names it as it was written all the same. */
  it("stores the others of a batch whose ids are such values", async () => {
    const t = await startTestBridge();
    const ids = VALUES.filter((value) => value.length < 100_000 && !value.includes("\xff"));
    const records = ids.map((value) => recordWith(idOf(0), GOOD, T1).replace(`"${idOf(0)}"`, () => value));
    const good = recordWith(idOf(900_000), GOOD, T1);
    t.sandbox.faults.add({ match: { path: "orders" }, do: raw(wrap("orders", [...records, good])) });
    t.sandbox.faults.add({ match: { path: "confirm" }, do: raw("") });
    expect(await t.run("orders")).toMatchObject({ error: null });
    expect(t.rows("SELECT order_id FROM orders")).toEqual([{ order_id: idOf(900_000) }]);
    // Also of ids that read alike, such as a number and its text.
    expect(t.rows("SELECT count(*) AS n FROM quarantine")).toEqual([{ n: ids.length }]);
    expect(t.rows("SELECT state FROM batches ORDER BY id LIMIT 1")).toEqual([{ state: "confirmed" }]);
  });

  /** Bytes that no UTF-8 has and texts of ten megabytes, which no fault of the service in tests can say. */
  const HUGE = `"${"я".repeat(5_000_000)}"`;
  const huge = (...fields: string[]) => fields.map((field) => ({ field, isLine: field === "name", value: HUGE }));
  const bytes = PLACES.filter((place) => !isJsonText(place));
  const bodyOf = (key: string, records: readonly string[]) => Buffer.from(wrap(key, [...records]), "latin1");

  function answer(t: Pick<TestBridge, "sandbox">, end: string, bodyFor: (path: string) => Buffer | undefined) {
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const answered = handle(request);
      const path = request.path.split("?")[0] ?? "";
      const body = path.endsWith(end) || end === "" ? bodyFor(path) : undefined;
      return body === undefined ? answered : { ...answered, status: 200, body };
    };
  }

  itWhole("stores the others beside bytes that are no UTF-8 and beside ten megabytes of text: a batch", async () => {
    const t = await startTestBridge();
    const all = [...bytes, ...huge("name")];
    const records = all.map((place, n) => latin(recordWith(idOf(n), place, T1)));
    const good = recordWith(idOf(900_000), GOOD, T1);
    const body = bodyOf("orders", [...records, good]);
    answer(t, "/orders", () => body);
    t.sandbox.faults.add({ match: { path: "confirm" }, do: raw("") });
    expect(await t.run("orders")).toMatchObject({ error: null });
    expect(t.rows("SELECT status FROM orders WHERE order_id = ?", idOf(900_000))).toEqual([{ status: "paid" }]);
    expect(t.rows("SELECT state FROM batches ORDER BY id LIMIT 1")).toEqual([{ state: "confirmed" }]);
    const kept = t.rows<{ n: number }>("SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM quarantine) AS n");
    expect(kept[0]!.n).toBe(all.length + 1);
  });

  itWhole("stores the others beside such records: updates, and orders that are read", async () => {
    const all = [...bytes, ...huge("currency")];
    const test = await startFollowed(all.length + 1);
    const well = test.ids.at(-1)!;
    for (const id of test.ids) test.change(id, { status: "paid" });
    const good = recordWith(well, GOOD, "2026-03-01T12:01:01.000Z");
    const records = all.map((place, n) => latin(recordWith(test.ids[n]!, place, "2026-03-01T12:01:01.000Z")));
    const page = bodyOf("updates", [good, ...records]);
    const ill = new Map(
      all.map((place, n) => [test.ids[n]!, Buffer.from(latin(recordWith(test.ids[n]!, place, T1)), "latin1")]),
    );
    answer(test, "/updates", () => page);
    answer(test, "", (path) => ill.get(path.split("/").at(-1)?.toLowerCase() ?? ""));
    for (let polls = 0; polls < 2; polls++) expect((await test.run("updates")).error?.code).not.toBe("internal");
    expect(test.statusOf(well).status).toBe("paid");
    expect((await test.run("reconcile")).error?.code).not.toBe("internal");
  });

  itWhole("stores the others where an order itself is such a record", async () => {
    const some = places.filter((_, n) => n % 9 === 0);
    const test = await startWithIll(some.length + 1);
    const well = test.ids.at(-1)!;
    for (const [n, place] of some.entries()) test.ill.set(test.ids[n]!, raw(recordWith(test.ids[n]!, place, T1)));
    for (const id of test.ids) test.change(id, { status: "paid" }, 100);
    test.clock.advance(60_000);
    expect(await test.run("updates")).toMatchObject({ error: null });
    expect(test.statusOf(well).status).toBe("paid");
    expect(await test.run("reconcile")).toMatchObject({ error: null });
    test.ill.clear();
    for (let polls = 0; polls < 3; polls++) {
      test.clock.advance(120_000);
      await test.run("updates");
    }
    await test.run("reconcile");
    expect(new Set(test.ids.map((id) => test.statusOf(id).status))).toEqual(new Set(["paid"]));
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});
