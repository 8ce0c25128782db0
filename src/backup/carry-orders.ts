/*
 * Brings orders, their lines and their history over from the database that a restore replaces. Guarantees that nothing
 * confirmed is lost: an order gets the newest content that either file has, and one that cannot be read there, or whose
 * payload does not match its hash, is read from the service again. Numbers of events are never assigned twice. Writes
 * only to the new file, so a crash leaves nothing but that file.
 */

import { hash } from "node:crypto";
import { requestReadAs } from "../pass/position-rows.ts";
import {
  type CarryReport,
  columnList,
  eachRow,
  hasTable,
  insertInto,
  keepBytes,
  type Pair,
  type Row,
  sharedColumns,
  type Value,
} from "./rows.ts";

const ORDERS_PER_COMMIT = 500;
/** Tables with rows of an order; replaced together with it. */
const CHILDREN = ["order_line_rows", "compared_orders"];

export interface CarryOptions extends Pair {
  report: CarryReport;
  /** The replaced database continues the copy: equal keys mean the same row. */
  continues: boolean;
  /** It was verified: rows that it lacks were deleted, not lost. */
  isSound: boolean;
  /** UTC, ISO 8601. */
  at: string;
}

/** Keys of orders in the replaced file to their keys here. */
export type OrderKeys = Map<bigint, bigint>;

export function carryOrders(options: CarryOptions): OrderKeys {
  const { to, report } = options;
  const keys: OrderKeys = new Map();
  if (!hasTable(options.from, "orders")) return keys;
  const carry = prepareCarry(options);
  const ids = listOrders(options);
  for (let start = 0; start < ids.length; start += ORDERS_PER_COMMIT) {
    to.write(() => {
      for (const { key, orderId } of ids.slice(start, start + ORDERS_PER_COMMIT)) {
        const mine = report.tolerate("orders", () => carry(key, orderId));
        if (mine === undefined) queueRead(options, orderId);
        else keys.set(key, mine);
      }
    });
  }
  return keys;
}

/** Reads the index on ids, which may be intact where the table is not; else as much of the table as can be read. */
function listOrders({ from, report }: CarryOptions): { key: bigint; orderId: string }[] {
  const list: { key: bigint; orderId: string }[] = [];
  const read = (order: string) => {
    list.length = 0;
    for (const [key, orderId] of eachRow(from, `SELECT order_key, order_id FROM orders ORDER BY ${order}`)) {
      list.push({ key: key as bigint, orderId: String(orderId) });
    }
    return true;
  };
  if (report.tolerate("orders", () => read("order_id")) === undefined)
    report.tolerate("orders", () => read("order_key"));
  return list.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Returns a function that brings one order over and returns its key here; it throws where the order cannot be read. */
function prepareCarry(options: CarryOptions): (key: bigint, orderId: string) => bigint {
  const { from, to, report } = options;
  const columns = sharedColumns(options, "orders").filter((column) => column !== "order_key");
  const marks = columns.filter((column) => column !== "payload");
  const revisionAt = marks.indexOf("revision");
  const select = `SELECT order_key, ${columnList(marks)} FROM orders WHERE`;
  const theirMarks = from.prepare(`${select} order_key = ?`).raw(true).safeIntegers(true);
  const myMarks = to.db.prepare(`${select} order_id = ?`).raw(true).safeIntegers(true);
  const theirRow = from
    .prepare(`SELECT ${columnList(columns)} FROM orders WHERE order_key = ?`)
    .raw(true)
    .safeIntegers(true);
  const isKeyTaken = to.db.prepare("SELECT 1 FROM orders WHERE order_key = ?");
  const insert = to.db.prepare(insertInto("orders", ["order_key", ...columns]));
  const update = to.db.prepare(
    `UPDATE orders SET ${columns.map((column) => `"${column}" = ?`).join(", ")} WHERE order_key = ?`,
  );
  const children = CHILDREN.flatMap((table) => prepareChildren(options, table));
  return (key, orderId) => {
    const mine = myMarks.get(orderId) as Row | undefined;
    const theirs = theirMarks.get(key) as Row | undefined;
    if (theirs === undefined) throw Object.assign(new Error("the row is gone"), { code: "SQLITE_CORRUPT" });
    if (mine !== undefined) {
      const isOlder = (theirs[revisionAt + 1] as bigint) < (mine[revisionAt + 1] as bigint);
      if (isOlder || isSameRow(mine.slice(1), theirs.slice(1))) return mine[0] as bigint;
    }
    const row = theirRow.get(key) as Row;
    verify(columns, row);
    const rowsOfChildren = children.map((child) => child.read(key));
    const myKey = (mine?.[0] as bigint | undefined) ?? (isKeyTaken.get(key) === undefined ? key : null);
    const kept = mine === undefined ? BigInt(insert.run(myKey, ...row).lastInsertRowid) : (mine[0] as bigint);
    if (mine !== undefined) update.run(...row, kept);
    const named = Object.fromEntries(columns.map((column, index) => [column, row[index]]));
    keepBytes(options, "orders", { key: "order_key", theirs: key, mine: kept, row: named });
    for (const [index, child] of children.entries()) child.write(kept, rowsOfChildren[index] ?? []);
    report.add("orders", 1);
    return kept;
  };
}

function prepareChildren(options: CarryOptions, table: string) {
  const { from, to } = options;
  if (!hasTable(from, table)) return [];
  const columns = sharedColumns(options, table).filter((column) => column !== "order_key");
  const select = from
    .prepare(`SELECT ${columnList(columns)} FROM ${table} WHERE order_key = ?`)
    .raw(true)
    .safeIntegers(true);
  const remove = to.db.prepare(`DELETE FROM ${table} WHERE order_key = ?`);
  const insert = to.db.prepare(insertInto(table, ["order_key", ...columns]));
  return [
    {
      read: (key: bigint) => select.all(key) as Row[],
      write: (key: bigint, rows: readonly Row[]) => {
        remove.run(key);
        for (const row of rows) insert.run(key, ...row);
      },
    },
  ];
}

/** SQLite does not notice every damaged page; the hash of the payload does. */
function verify(columns: readonly string[], row: Row): void {
  const payload = String(row[columns.indexOf("payload")]);
  const stored = row[columns.indexOf("payload_hash")];
  if (Buffer.isBuffer(stored) && hash("sha256", payload, "buffer").equals(stored)) return;
  throw Object.assign(new Error("the payload does not fit its hash"), { code: "SQLITE_CORRUPT" });
}

function isSameRow(a: Row, b: Row): boolean {
  return a.every((value, index) => isSame(value, b[index] ?? null));
}

function isSame(a: Value, b: Value): boolean {
  return Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : a === b;
}

function queueRead({ to, report, at }: CarryOptions, orderId: string): void {
  report.damagedOrders.push(orderId);
  requestReadAs(to, { orderId: orderId.toLowerCase(), serviceId: orderId }, at);
}

/**
 * Brings the history over. If the file continues the copy, events keep their numbers; those of another file are
 * appended as new ones.
 */
export function carryEvents(options: CarryOptions, keys: OrderKeys, known: ReadonlySet<bigint>): void {
  const { from, to, report, continues } = options;
  const table = "order_event_rows";
  if (!hasTable(from, table)) return;
  const columns = sharedColumns(options, table).filter((column) => column !== "seq" && column !== "order_key");
  const kindAt = columns.indexOf("kind");
  const last = continues ? lastNumber(to.db, table) : -1n;
  const sql = `SELECT seq, order_key, ${columnList(columns)} FROM ${table} WHERE seq > ? ORDER BY seq`;
  to.write(() => {
    const insert = to.db.prepare(insertInto(table, ["seq", "order_key", ...columns]));
    report.tolerate(table, () => {
      for (const [seq, theirKey, ...rest] of eachRow(from, sql, last)) {
        const key = keys.get(theirKey as bigint);
        // The order was here before, and has its first event.
        const isBegun = !continues && rest[kindAt] === "created" && key !== undefined && known.has(key);
        if (key === undefined || isBegun) continue;
        insert.run(continues ? seq : null, key, ...rest);
        report.add("events", 1);
      }
    });
  });
}

/** The largest number ever assigned in a table. */
export function lastNumber(db: Pair["from"], table: string): bigint {
  const row = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").pluck().safeIntegers(true).get(table) as
    | bigint
    | undefined;
  return row ?? 0n;
}

/** Keys of the orders that were here before anything is brought over. */
export function listOrderKeys({ to }: Pair): Set<bigint> {
  return new Set(to.db.prepare<unknown[], bigint>("SELECT order_key FROM orders").pluck().safeIntegers(true).all());
}
