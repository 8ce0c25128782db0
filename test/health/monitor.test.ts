import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Store } from "../../src/database/store.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { databaseBytes, firstOrderKeySince, loadSuccesses, nextOrderKey } from "../../src/health/monitor.ts";
import { startTestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const day = (n: number, hour = 0) => new Date(Date.UTC(2026, 2, n, hour)).toISOString();

async function storeWith(times: readonly string[]) {
  const t = await startTestBridge();
  const insert = t.bridge.store.db.prepare(
    `INSERT INTO orders (order_id, received_at, changed_at, payload_source, payload_hash, payload)
     VALUES (?, ?, ?, 'batch', x'00', '{}')`,
  );
  for (const [n, at] of times.entries()) {
    insert.run(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`, at, at);
  }
  return t.bridge.store;
}

describe("the first order since a time", () => {
  itWhole("is found exactly, at bounds, on empty days and with nothing stored", async () => {
    const store = await storeWith([day(0, 5), day(1), day(1, 23), day(3), day(3, 1), day(3, 2), day(5), day(6)]);
    const found = [-9, 0, 1, 2, 3, 4, 5, 6, 7, 99].map((n) => firstOrderKeySince(store, day(n)));
    expect(found).toEqual([1, 1, 2, 4, 4, 7, 7, 8, 9, 9]);
    const empty = await storeWith([]);
    expect([firstOrderKeySince(empty, day(1)), nextOrderKey(empty)]).toEqual([1, 1]);
    const same = await storeWith(Array.from({ length: 50 }, () => day(2)));
    expect([1, 2, 3].map((n) => firstOrderKeySince(same, day(n)))).toEqual([1, 1, 51]);
  });

  it("is the one that reading all would find, however unevenly they came", () => {
    const moment = fc.integer({ min: 0, max: 1_000_000 });
    const times = fc.array(fc.oneof(moment, fc.integer({ min: 0, max: 50 })), { maxLength: 60 });
    fc.assert(
      fc.property(times, moment, (minutes, bound) => {
        const db = new Database(":memory:");
        db.exec("CREATE TABLE orders (order_key INTEGER PRIMARY KEY, received_at TEXT)");
        const iso = (minute: number) => new Date(minute * 60_000).toISOString();
        const insert = db.prepare("INSERT INTO orders (received_at) VALUES (?)");
        for (const minute of minutes.toSorted((a, b) => a - b)) insert.run(iso(minute));
        const store = new Store(db, ":memory:");
        const all = db.prepare("SELECT min(order_key) AS key FROM orders WHERE received_at >= ?").get(iso(bound));
        expect(firstOrderKeySince(store, iso(bound))).toBe((all as { key: number | null }).key ?? minutes.length + 1);
      }),
      { numRuns: 200 },
    );
  });

  itWhole("takes a few reads among many orders", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    store.db.exec(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
       INSERT INTO orders (order_id, received_at, changed_at, payload_source, payload_hash, payload)
       SELECT printf('00000000-0000-4000-8000-%012d', i),
         strftime('%Y-%m-%dT%H:%M:%fZ', 1772366400 + 60 * i + i % 7, 'unixepoch'), '', 'batch', x'00', '{}' FROM n`,
    );
    let reads = 0;
    store.db.function("noted", () => ++reads);
    const prepare = store.prepare.bind(store);
    store.prepare = ((sql: string) =>
      prepare(sql.replace("WHERE order_key >= ?", "WHERE noted() > 0 AND order_key >= ?"))) as never;
    expect(firstOrderKeySince(store, new Date((1772366400 + 60 * 5_000) * 1000).toISOString())).toBe(5_001);
    expect(reads).toBeGreaterThan(2);
    expect(reads).toBeLessThan(15);
  });
});

describe("passes that succeeded", () => {
  it("are told oldest first, with the last one before the time asked for", async () => {
    const t = await startTestBridge();
    const insert = t.bridge.store.db.prepare(
      "INSERT INTO runs (job, started_at, finished_at, outcome) VALUES (?, ?, ?, ?)",
    );
    for (const [job, n, outcome] of [
      ["stocks", 1, "done"],
      ["stocks", 2, "idle"],
      ["orders", 3, "idle"],
      ["stocks", 3, "failed"],
      ["stocks", 4, "held"],
      ["stocks", 5, "done"],
    ] as const) {
      insert.run(job, day(n), day(n), outcome);
    }
    expect(loadSuccesses(t.bridge.store, "stocks", day(3), 100)).toEqual([day(2), day(5)]);
    expect(loadSuccesses(t.bridge.store, "stocks", day(3), 1)).toEqual([day(5)]);
    expect(loadSuccesses(t.bridge.store, "prices", day(3), 100)).toEqual([]);
  });
});

describe("the size of the database", () => {
  it("counts what stands in the log alone", async () => {
    const t = await startTestBridge();
    const before = databaseBytes(t.bridge.store);
    t.bridge.store.db.exec("CREATE TABLE x (y); INSERT INTO x VALUES (zeroblob(1000000))");
    // Pages that were free are used first.
    expect(databaseBytes(t.bridge.store) - before).toBeGreaterThan(900_000);
  });
});

describe("the status at a million batches", () => {
  it("finds the newest batch and refused ones without reading all", async () => {
    const t = await startTestBridge();
    const { db } = t.bridge.store;
    const insert = db.prepare("INSERT INTO batches (fingerprint, received_at, order_count, state) VALUES (?, ?, 1, ?)");
    insert.run("a", day(1), "refused");
    insert.run("b", day(2), "confirmed");
    insert.run("c", day(3), "unread");
    expect(loadFacts(t.bridge.store)).toMatchObject({ lastOrderAt: day(2), refusedBatches: 1, unread: 0 });
    db.exec("UPDATE batches SET last_error = 'no shape' WHERE state = 'unread'");
    db.exec("INSERT INTO status_requests (order_id, status, state) VALUES ('x', 'paid', 'refused')");
    db.exec(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
       INSERT INTO batches (fingerprint, received_at, order_count, state) SELECT i, '${day(4)}', 1, 'confirmed' FROM n`,
    );
    db.exec(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
       INSERT INTO status_requests (order_id, status, state) SELECT i, 'paid', 'sent' FROM n`,
    );
    // The status, the page and the metrics on one side, alerts on the other.
    const refused = { refusedRequests: 1 };
    expect(loadFacts(t.bridge.store)).toMatchObject({
      ...refused,
      lastOrderAt: day(4),
      refusedBatches: 1,
      unread: 1,
    });
  });
});
