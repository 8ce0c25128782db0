/*
 * Writes rows of PostgreSQL into the shop's tables, inside the caller's transaction. A row that SQLite refuses does not
 * affect others: its error text is returned to the ERP. SQL, because the tables are the ERP's; equal rows are not written,
 * unless `rewriteRow` is called.
 */
import { faultCodeOf } from "../../database/sqlite-errors.ts";
import type { Store } from "../../database/store.ts";
import { storedText } from "../../database/stored-text.ts";
import type { SourceRow } from "../../feeds/feed-record.ts";
import { ERP_TABLES, type ErpTable, type Key, localValue, type RemoteRow, type TouchedRow } from "./erp-tables.ts";

/** Errors of a single row: a constraint, a trigger, an invalid value. */
const OF_ROW = /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|TOOBIG)/;

export interface Applied {
  changed: boolean;
  /** Why SQLite refused it. */
  error: string | null;
}

/**
 * Runs `act` for one row; a refusal is returned as text.
 * @throws errors of the database or its disk, and errors that have aborted the transaction
 */
export function unlessRefused(store: Store, act: () => boolean): Applied {
  try {
    return { changed: act(), error: null };
  } catch (error) {
    if (!isOfRow(error) || !store.db.inTransaction) throw error;
    return { changed: false, error: wordsOf(error) };
  }
}

/** Whether an error is about the written row, not about the machine. */
export function isOfRow(error: unknown): boolean {
  return OF_ROW.test(faultCodeOf(error) ?? "");
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns whether anything changed. `leavesZeros`: deleted stock becomes a zero, because the site may have rows unknown here. */
export function applyRow(store: Store, touched: TouchedRow, { leavesZeros = false } = {}): boolean {
  const { table, row } = touched;
  if (row === null && leavesZeros && table === "stock") return upsertRow(store, table, touched, ZERO);
  if (row === null) return deleteRow(store, table, touched);
  if (table === "erp_orders") return applyMark(store, touched.k0, row);
  return upsertRow(store, table, touched, row);
}

const ZERO = { values: { quantity: "0", reserved: "0" } };

function deleteRow(store: Store, table: ErpTable, key: Key): boolean {
  const { key: names } = ERP_TABLES[table];
  const where = names.map(({ name }) => `${name} = ${markOf(key)}`).join(" AND ");
  return store.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...keyValues(table, key)).changes > 0;
}

function upsertRow(store: Store, table: ErpTable, key: Key, row: Pick<RemoteRow, "values">): boolean {
  const { key: names, columns } = ERP_TABLES[table];
  const keys = names.map(({ name }) => name);
  const own = columns.map(({ name }) => name);
  const all = [...keys, ...own];
  const marks = [...keys.map(() => markOf(key)), ...own.map(() => "?")];
  const set = own.map((name) => `${name} = excluded.${name}`).join(", ");
  const isOther = own.map((name) => `${table}.${name} IS NOT excluded.${name}`).join(" OR ");
  const values = columns.map(({ name, kind }) => localValue(row.values[name], kind));
  return (
    store
      .prepare(
        `INSERT INTO ${table} (${all.join(", ")}) VALUES (${marks.join(", ")})
         ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${set} WHERE ${isOther}`,
      )
      .run(...keyValues(table, key), ...values).changes > 0
  );
}

/**
 * Writes the values that the row has already, as the ERP did in PostgreSQL. The feeds' triggers note that the table was
 * written, and of an image that its file may be another one. Inside the transaction in which the row was applied.
 */
export function rewriteRow(store: Store, table: ErpTable, key: Key): boolean {
  const { key: names, columns } = ERP_TABLES[table];
  const where = names.map(({ name }) => `${name} = ${markOf(key)}`).join(" AND ");
  const set = columns.slice(0, 1).map(({ name }) => `${name} = ${name}`);
  return store.prepare(`UPDATE ${table} SET ${set} WHERE ${where}`).run(...keyValues(table, key)).changes > 0;
}

/** The row here; undefined where there is none. */
export function findLocal(store: Store, table: ErpTable, key: Key): SourceRow | undefined {
  const { key: names, columns } = ERP_TABLES[table];
  const where = names.map(({ name }) => `${name} = ${markOf(key)}`).join(" AND ");
  const own = columns.map(({ name }) => name).join(", ");
  return store
    .prepare<SourceRow>(`SELECT ${own} FROM ${table} WHERE ${where}`)
    .safeIntegers(true)
    .get(...keyValues(table, key));
}

function keyValues(table: ErpTable, { k0, k1, stored }: Key): (string | bigint | Buffer | null)[] {
  if (stored !== undefined) return [...stored];
  return ERP_TABLES[table].key.map(({ kind }, at) => localValue(at === 0 ? k0 : k1, kind));
}

function markOf({ stored }: Key): string {
  return stored === undefined ? "?" : "CAST(? AS TEXT)";
}

/**
 * A block applies to the revision that PostgreSQL showed when it was written. A newer one stays pending, unless the ERP has marked it as
 * seen. A block that is written again after a change had brought the order back counts once more.
 */
function applyMark(store: Store, orderId: string, row: RemoteRow): boolean {
  const before = findQueued(store, orderId);
  const changed = upsertRow(store, "erp_orders", { k0: orderId, k1: "" }, row);
  if (row.values["state"] !== "blocked" || before === undefined) return changed;
  if (before.erpRevision > Number(row.blockedAt ?? 0)) {
    const isSeen = Number(row.values["seen_revision"] ?? 0) >= before.erpRevision;
    store
      .prepare(
        isSeen
          ? "DELETE FROM erp_queue WHERE order_key = ?"
          : "UPDATE erp_queue SET blocked = 0 WHERE order_key = ? AND blocked = 1",
      )
      .run(before.orderKey);
    return changed;
  }
  if (changed || before.blocked !== 0) return changed;
  store.prepare("UPDATE erp_orders SET state = 'blocked' WHERE order_id = ?").run(orderId);
  return true;
}

interface Queued {
  orderKey: number;
  erpRevision: number;
  /** Null where the order is not in the ERP's queue. */
  blocked: number | null;
}

function findQueued(store: Store, orderId: string): Queued | undefined {
  return store
    .prepare<Queued>(
      `SELECT o.order_key AS orderKey, o.erp_revision AS erpRevision, q.blocked
       FROM orders o LEFT JOIN erp_queue q ON q.order_key = o.order_key WHERE o.order_id = ?`,
    )
    .get(orderId);
}

/** The next keys of a local table. */
export function listKeys(store: Store, table: ErpTable, after: Key | undefined, limit: number): Key[] {
  const { key } = ERP_TABLES[table];
  const names = key.map(({ name }) => name).join(", ");
  const beyond = after === undefined ? "" : `WHERE (${names}) > (${key.map(() => markOf(after)).join(", ")})`;
  const bound = after === undefined ? [] : keyValues(table, after);
  const columns = (type: string) => key.map(({ name }) => `CAST(${name} AS ${type})`).join(", ");
  const sql = `SELECT ${columns("TEXT")}, ${columns("BLOB")} FROM ${table} ${beyond} ORDER BY ${names} LIMIT ?`;
  const texts = storedText(store.db);
  return store
    .prepare<(string | Buffer)[]>(sql)
    .raw(true)
    .all(...bound, limit)
    .map((row) => {
      const [k0 = "", k1 = ""] = row.slice(0, key.length) as string[];
      const stored = row.slice(key.length) as Buffer[];
      const isExact = [k0, k1].every((text, at) => !texts.mayDiffer(text) || texts.isExact(text, stored[at] as Buffer));
      return isExact ? { k0, k1 } : { k0, k1, stored };
    });
}
