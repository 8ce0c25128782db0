import { copyFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { readRecipes, statementsOf } from "../support/recipes.ts";
import { tempFolder } from "../support/temp.ts";
import { isWhole } from "../support/whole.ts";

const PAGE = "docs/questions.md";
const ORDERS = isWhole ? 1_000_000 : 3_000;
const ARTICLES = 500;
const NOW = "2026-06-01T00:00:00.000Z";
/** A day holds so many orders; the last is the one before NOW. */
const PER_DAY = ORDERS / 300;
const STATUSES = ["new", "paid", "delivered", "cancelled"];
/** Of one statement on a million orders, on a machine that does other things as well. */
const LONGEST_MS = isWhole ? 60_000 : 5_000;

interface Made {
  n: number;
  at: Date;
  status: string;
  lines: { sku: string; quantity: number; price: number }[];
  total: number;
}

/** The order of a number: what the statement below makes, once more without SQL. */
function orderOf(n: number): Made {
  const at = new Date(Date.parse(NOW) - Math.floor(((ORDERS - n + 0.5) * 86_400_000) / PER_DAY));
  const count = n % 100 === 7 ? 0 : n % 3 === 0 ? 3 : n % 3;
  const lines = Array.from({ length: count }, (_, at) => ({
    sku: `SKU-${(n * 7 + at * 13) % ARTICLES}`,
    quantity: (at + 1) * 0.5,
    price: 10 + (n % 50),
  }));
  const sum = lines.reduce((total, { quantity, price }) => total + quantity * price, 0);
  return { n, at, status: STATUSES[n % 4] ?? "", lines, total: n % 40 === 3 ? sum + 5 : sum };
}

/** A database with all of them, made by SQLite itself. The ERP has taken all but the last fifty. */
function makeDatabase(): Database.Database {
  const file = path.join(tempFolder("questions"), "bridge.db");
  copyFileSync(inject("emptyDatabase"), file);
  const db = new Database(file);
  onTestFinished(() => void db.close());
  const lines = `CASE WHEN n % 100 = 7 THEN 0 WHEN n % 3 = 0 THEN 3 ELSE n % 3 END`;
  db.exec(`
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -200000;
    BEGIN;
    CREATE TEMP TABLE made AS
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ORDERS})
      SELECT n, printf('%08x-0000-4000-8000-000000000000', n) AS id, ${lines} AS lines,
        strftime('%Y-%m-%dT%H:%M:%fZ', julianday('${NOW}') - (${ORDERS} - n + 0.5) / ${PER_DAY}) AS at,
        CASE n % 4 WHEN 0 THEN 'new' WHEN 1 THEN 'paid' WHEN 2 THEN 'delivered' ELSE 'cancelled' END AS status
      FROM numbers;
    CREATE TEMP TABLE made_lines AS
      SELECT n, k.value AS k, 'SKU-' || ((n * 7 + k.value * 13) % ${ARTICLES}) AS sku, (k.value + 1) * 0.5 AS quantity, 10 + n % 50 AS price
      FROM made JOIN json_each('[0,1,2]') k ON k.value < made.lines;
    CREATE INDEX temp.made_n ON made_lines (n);
    INSERT INTO orders (order_key, order_id, number, status, is_cancelled, is_open, currency, total, received_at, changed_at, payload_source, payload_hash, payload)
      SELECT n, id, 1000 + n, status, n % 4 = 3, n % 4 < 2, 'RUB',
        printf('%.2f', coalesce((SELECT sum(quantity * price) FROM made_lines l WHERE l.n = made.n), 0) + CASE WHEN n % 40 = 3 THEN 5 ELSE 0 END),
        at, at, 'batch', x'00', json_object('order_id', id, 'customer', json_object('phone', '+7 900 ' || (n % (${ORDERS} / 2))))
      FROM made;
    INSERT INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload)
      SELECT n, k + 1, sku, 'Article ' || sku, quantity, printf('%.2f', price), '{}' FROM made_lines;
    INSERT INTO order_event_rows (order_key, revision, kind, status_changed, new_status, source, at)
      SELECT n, 2, 'changed', 1, 'delivered', 'update', strftime('%Y-%m-%dT%H:%M:%fZ', at, '+6 hours') FROM made WHERE n % 4 = 2;
    INSERT INTO stock (sku, warehouse, quantity)
      WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ARTICLES - 1})
      SELECT 'SKU-' || n, '', n FROM numbers WHERE n % 10 > 0;
    DELETE FROM erp_queue WHERE order_key <= ${ORDERS - 50};
    COMMIT;
    ANALYZE`);
  return db;
}

type Row = Record<string, string | number | null>;

const all = Array.from({ length: ORDERS }, (_, index) => orderOf(index + 1));
const since = (days: number) => all.filter(({ at }) => at.getTime() >= Date.parse(NOW) - days * 86_400_000);

function sums<T>(items: readonly T[], key: (item: T) => string, value: (item: T) => number): Map<string, number> {
  const found = new Map<string, number>();
  for (const item of items) found.set(key(item), (found.get(key(item)) ?? 0) + value(item));
  return found;
}

const monthOf = ({ at }: Made) => at.toISOString().slice(0, 7);
const soldIn = (days: number) =>
  since(days)
    .filter(({ status }) => status !== "cancelled")
    .flatMap(({ lines }) => lines);

/** What each statement must give, as far as it is worked out here. */
const EXPECTED: Record<string, (rows: Row[]) => void> = {
  "sales by month": (rows) => {
    const sold = all.filter(({ status }) => status !== "cancelled");
    const counts = sums(sold, monthOf, () => 1);
    const totals = sums(sold, monthOf, ({ total }) => total);
    expect(rows.map(({ month, orders }) => [month, orders])).toEqual([...counts].sort());
    for (const { month, total } of rows) expect(total).toBeCloseTo(totals.get(String(month)) ?? 0, 0);
  },
  "sales by article": (rows) => {
    const turnover = sums(
      soldIn(30),
      ({ sku }) => sku,
      ({ quantity, price }) => quantity * price,
    );
    expect(rows).toHaveLength(Math.min(50, turnover.size));
    expect(rows[0]?.["turnover"]).toBeCloseTo(Math.max(...turnover.values()), 1);
    for (const { sku, turnover: sum } of rows) expect(sum).toBeCloseTo(turnover.get(String(sku)) ?? 0, 1);
  },
  "sales by hour": (rows) => expect(rows.reduce((sum, { orders }) => sum + Number(orders), 0)).toBe(ORDERS),
  "bought together": (rows) => {
    const with7 = all.filter(({ lines }) => lines.some(({ sku }) => sku === "SKU-7")).flatMap(({ lines }) => lines);
    const counts = sums(
      with7.filter(({ sku }) => sku !== "SKU-7"),
      ({ sku }) => sku,
      () => 1,
    );
    expect(rows.map(({ other, orders }) => [other, orders])).toEqual(
      [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, 20),
    );
  },
  "orders without goods": (rows) => {
    const empty = all
      .filter(({ lines }) => lines.length === 0)
      .toReversed()
      .slice(0, 100);
    expect(rows.map(({ number }) => Number(number) - 1000)).toEqual(empty.map(({ n }) => n));
  },
  "sums that differ": (rows) => {
    const differ = all
      .filter(({ n, lines }) => n % 40 === 3 && lines.length > 0)
      .toReversed()
      .slice(0, 100);
    expect(rows.map(({ number }) => Number(number) - 1000)).toEqual(differ.map(({ n }) => n));
  },
  "open for long": (rows) => {
    const recent = new Set(since(7).map(({ n }) => n));
    const counts = sums(
      all.filter(({ n, status }) => (status === "new" || status === "paid") && !recent.has(n)),
      ({ status }) => status,
      () => 1,
    );
    expect(Object.fromEntries(rows.map(({ status, orders }) => [status, orders]))).toEqual(Object.fromEntries(counts));
  },
  "untaken by age": (rows) => expect(rows.reduce((sum, { orders }) => sum + Number(orders), 0)).toBe(50),
  "orders with an article": (rows) => {
    const found = all
      .filter(({ lines }) => lines.some(({ sku }) => sku === "SKU-7"))
      .toReversed()
      .slice(0, 100);
    expect(rows.map(({ number }) => Number(number) - 1000)).toEqual(found.map(({ n }) => n));
  },
  "cancelled by month": (rows) => {
    const cancelled = sums(all, monthOf, ({ status }) => (status === "cancelled" ? 1 : 0));
    expect(rows.map(({ month, cancelled: count }) => [month, count])).toEqual([...cancelled].sort());
  },
  "hours to delivery": (rows) => {
    expect(rows.reduce((sum, { delivered }) => sum + Number(delivered), 0)).toBe(
      all.filter(({ status }) => status === "delivered").length,
    );
    for (const { hours } of rows) expect(hours).toBe(6);
  },
  "customers who came again": (rows) =>
    expect(rows.map(({ orders }) => orders)).toEqual(Array.from({ length: 50 }, () => 2)),
  "sold and not in stock": (rows) => {
    const sold = sums(
      soldIn(30).filter(({ sku }) => sku.endsWith("0")),
      ({ sku }) => sku,
      ({ quantity }) => quantity,
    );
    expect(Object.fromEntries(rows.map(({ sku, sold: sum }) => [sku, sum]))).toEqual(
      Object.fromEntries([...sold].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, 100)),
    );
  },
  "days of stock": (rows) => {
    const sold = sums(
      soldIn(30),
      ({ sku }) => sku,
      ({ quantity }) => quantity,
    );
    expect(rows).toHaveLength(100);
    for (const { sku, quantity, days } of rows)
      expect(days).toBeCloseTo(Number(quantity) / ((sold.get(String(sku)) ?? 0) / 30), 0);
  },
};

describe(`docs/questions.md on ${ORDERS} orders`, () => {
  it("has statements that answer what they say, each in time", { timeout: 1_800_000 }, () => {
    const db = makeDatabase();
    const recipes = readRecipes(PAGE);
    expect(recipes.map(({ name }) => name)).toEqual(Object.keys(EXPECTED));
    for (const { name, sql } of recipes) {
      const [statement = ""] = statementsOf(sql);
      const values = { now: NOW, sku: "SKU-7" };
      const named = Object.fromEntries(Object.entries(values).filter(([key]) => statement.includes(`:${key}`)));
      const beganMs = performance.now();
      const rows = db.prepare<object, Row>(statement).all(named);
      expect(performance.now() - beganMs, name).toBeLessThan(LONGEST_MS);
      if (isWhole) console.log(`${name}: ${Math.round(performance.now() - beganMs)} ms`);
      expect(rows.length, name).toBeGreaterThan(0);
      EXPECTED[name]?.(rows);
    }
  });
});
