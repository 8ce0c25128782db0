/*
 * Statements that write to PostgreSQL. Each takes many rows, as one array per column. A refused row is found by halving
 * and written without the values that may be the cause; other rows do not wait for it.
 */

import { m } from "../../messages/messages.ts";
import type { MirrorTx } from "../connection.ts";
import { inHalves, refusalOf } from "../in-halves.ts";
import { MirrorError } from "../mirror-error.ts";
import type { Refused } from "../mirror-state.ts";
import {
  BATCH_COLUMNS,
  CONDITION_COLUMNS,
  type Columns,
  type DownRow,
  EVENT_COLUMNS,
  HELD_COLUMNS,
  type ID_COLUMNS,
  MARK_COLUMNS,
  ORDER_COLUMNS,
  type Values,
} from "./down-columns.ts";
import { kindOf, RowsBuffer } from "./rows-buffer.ts";

/** `unnest($2::text[], $3::jsonb[]) AS r (status, lines)`; the first parameter is the shop. */
function rowsOf(columns: Columns): string {
  const arrays = Object.values(columns).map((type, at) => `$${at + 2}::${kindOf(type)}[]`);
  return `unnest(${arrays.join(", ")}) AS r (${Object.keys(columns).join(", ")})`;
}

/** `r.order_id::uuid, r.number::text` */
function valuesOf(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, type]) => `r.${name}::${type}`)
    .join(", ");
}

function setOf(columns: Columns, key: readonly string[]): string {
  const names = Object.keys(columns).filter((name) => !key.includes(name));
  return names.map((name) => `${name} = excluded.${name}`).join(", ");
}

function insertOf(table: string, columns: Columns): string {
  return `INSERT INTO ${table} (shop, ${Object.keys(columns).join(", ")}) SELECT $1, ${valuesOf(columns)} FROM ${rowsOf(columns)}`;
}

function upsertOf(table: string, columns: Columns, key: readonly string[]): string {
  return `${insertOf(table, columns)} ON CONFLICT (shop, ${key.join(", ")}) DO UPDATE SET ${setOf(columns, key)}`;
}

const ORDER_NAMES = Object.keys(ORDER_COLUMNS);
const [EPOCH, SEQ] = [`$${ORDER_NAMES.length + 2}`, `$${ORDER_NAMES.length + 3}`];

/**
 * Overwrites unconditionally: only the holder of the position's lock writes here, and it has just read the order, so the
 * stored row is older or changed by another client. `content`: a hash of all columns, which detects such changes.
 */
const ORDERS = `INSERT INTO orders (shop, ${ORDER_NAMES.join(", ")}, content, epoch, seq)
  SELECT $1, ${valuesOf(ORDER_COLUMNS)}, hash_record_extended(ROW(${valuesOf(ORDER_COLUMNS)}), 0), ${EPOCH}::integer, ${SEQ}::bigint
  FROM ${rowsOf(ORDER_COLUMNS)}
  ON CONFLICT (shop, order_id) DO UPDATE SET
    ${setOf(ORDER_COLUMNS, ["order_id"])}, content = excluded.content, epoch = excluded.epoch, seq = excluded.seq`;

/** Whether the ERP has deleted its row in `erp_orders`: the deletion is in `touched` until the shop has applied it. */
const unmarked = (order: string) =>
  `EXISTS (SELECT 1 FROM touched t WHERE t.shop = $1 AND t.tbl = 'erp_orders' AND (t.k0 IS NULL OR t.k0 = ${order}::text))`;

/** `hash`: null where another client has changed the order. `hasMark`: `erp_orders` has a row of it, or the ERP deleted it. */
const HASHES = `SELECT order_id,
    CASE WHEN content = hash_record_extended(ROW(${ORDER_NAMES.join(", ")}), 0) THEN hash END AS hash,
    EXISTS (SELECT 1 FROM erp_orders e WHERE e.shop = $1 AND e.order_id = o.order_id) OR ${unmarked("o.order_id")} AS "hasMark"
  FROM orders o WHERE shop = $1 AND order_id = ANY ($2::uuid[])`;

/** Rows that the ERP has written in the shop's `erp_orders`; those in PostgreSQL take precedence. */
const MARKS = `${insertOf("erp_orders", MARK_COLUMNS)} WHERE NOT ${unmarked("r.order_id")} ON CONFLICT DO NOTHING`;

const WAITING = `INSERT INTO erp_queue (shop, order_id, since)
  SELECT shop, order_id, changed_at FROM orders WHERE shop = $1 AND order_id = ANY ($2::text[]::uuid[])
  ON CONFLICT DO NOTHING`;

const TAKEN = "DELETE FROM erp_queue WHERE shop = $1 AND order_id = ANY ($2::text[]::uuid[])";

const EVENTS = upsertOf("order_events", EVENT_COLUMNS, ["seq"]);
const BATCHES = upsertOf("batches", BATCH_COLUMNS, ["id"]);
const HELD = upsertOf("quarantine", HELD_COLUMNS, ["id"]);
const CONDITIONS = upsertOf("conditions", CONDITION_COLUMNS, ["rank"]);

/** Rows that were read into a buffer. */
export interface ReadRows<C extends Columns> {
  rows: RowsBuffer<C>;
  /** Reads the rows again, one by one, for when PostgreSQL refuses one of them. */
  again: () => DownRow<C>[];
}

export interface ReadOrders extends ReadRows<typeof ORDER_COLUMNS> {
  /** The orders' rows in the shop's `erp_orders`. */
  marks: readonly Values<typeof MARK_COLUMNS>[];
}

/** @param seq the newest event of the shop when the orders were read */
export async function writeOrders(
  tx: MirrorTx,
  { shop, epoch, seq }: { shop: string; epoch: number; seq: number },
  orders: ReadOrders,
): Promise<Refused[]> {
  const refused = await writeRead(tx, ORDER_COLUMNS, orders, (rows) => tx.runRows(ORDERS, [shop, rows, epoch, seq]));
  const marks = orders.marks.map((values) => ({ key: 0, values }));
  await writeInHalves(tx, MARK_COLUMNS, marks, async (rows) => {
    await tx.runRows(MARKS, [shop, rows]);
    return rows.count;
  });
  return refused;
}

export interface QueueRows {
  waiting: RowsBuffer<typeof ID_COLUMNS>;
  taken: RowsBuffer<typeof ID_COLUMNS>;
}

/** Makes the queue in PostgreSQL equal to the shop's for these orders, also where the shop refuses a row of `erp_orders`. */
export async function refreshQueue(tx: MirrorTx, shop: string, { waiting, taken }: QueueRows): Promise<void> {
  if (taken.count > 0) await tx.runRows(TAKEN, [shop, taken]);
  if (waiting.count > 0) await tx.runRows(WAITING, [shop, waiting]);
}

export async function writeEvents(tx: MirrorTx, shop: string, events: ReadRows<typeof EVENT_COLUMNS>) {
  return await writeRead(tx, EVENT_COLUMNS, events, (rows) => tx.runRows(EVENTS, [shop, rows]));
}

/** `gone`: ids of deleted rows. */
export interface Changed<C extends Columns> {
  rows: readonly DownRow<C>[];
  gone: readonly number[];
}

export async function writeBatches(tx: MirrorTx, shop: string, { rows, gone }: Changed<typeof BATCH_COLUMNS>) {
  if (gone.length > 0) await tx.run("DELETE FROM batches WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, gone]);
  return await writeInHalves(tx, BATCH_COLUMNS, rows, (part) => tx.runRows(BATCHES, [shop, part]));
}

export async function writeHeld(tx: MirrorTx, shop: string, { rows, gone }: Changed<typeof HELD_COLUMNS>) {
  if (gone.length > 0) await tx.run("DELETE FROM quarantine WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, gone]);
  return await writeInHalves(tx, HELD_COLUMNS, rows, (part) => tx.runRows(HELD, [shop, part]));
}

/** Replaces all conditions. */
export async function writeConditions(tx: MirrorTx, shop: string, rows: readonly DownRow<typeof CONDITION_COLUMNS>[]) {
  const refused = await writeInHalves(tx, CONDITION_COLUMNS, rows, (part) => tx.runRows(CONDITIONS, [shop, part]));
  await tx.run("DELETE FROM conditions WHERE shop = $1 AND rank > $2", [shop, rows.at(-1)?.key ?? 0]);
  return refused;
}

/** Hashes of these orders in PostgreSQL. */
export async function loadHashes(
  tx: MirrorTx,
  shop: string,
  orderIds: readonly string[],
): Promise<Map<string, { hash: string | null; hasMark: boolean }>> {
  const rows = await tx.query<{ order_id: string; hash: string | null; hasMark: boolean }>(HASHES, [shop, orderIds]);
  return new Map(rows.map((row) => [row.order_id, row]));
}

export async function countOrders(tx: MirrorTx, shop: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>("SELECT count(*) FROM orders WHERE shop = $1", [shop]);
  return row?.count ?? 0;
}

/** A row was refused in a transaction that has no savepoints. */
export class NeedsSavepoints extends MirrorError {}

/** Rows are rarely refused: without a savepoint a statement takes one round trip instead of three. */
export function withoutSavepoints(tx: MirrorTx): MirrorTx {
  return {
    query: (sql, params) => tx.query(sql, params),
    run: (sql, params) => tx.run(sql, params),
    runRows: (sql, params) => tx.runRows(sql, params),
    savepoint: async (work) => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof MirrorError) || !error.isOfData) throw error;
        throw new NeedsSavepoints("mirror_failed", error.text, { cause: error });
      }
    },
  };
}

type Write<C extends Columns> = (rows: RowsBuffer<C>) => Promise<number>;

/** Writes the rows; where PostgreSQL refuses some, all but the refused ones. */
async function writeRead<C extends Columns>(
  tx: MirrorTx,
  columns: C,
  { rows, again }: ReadRows<C>,
  write: Write<C>,
): Promise<Refused[]> {
  if (rows.count === 0) return [];
  const why = await refusalOf(tx, () => writtenWhole(rows, write));
  return why === undefined ? [] : await writeInHalves(tx, columns, again(), write);
}

/** Writes all rows except refused ones; each of these is first tried in its plain form. */
async function writeInHalves<C extends Columns>(
  tx: MirrorTx,
  columns: C,
  rows: readonly DownRow<C>[],
  write: Write<C>,
): Promise<Refused[]> {
  const writePart = (part: readonly { values: Values<C> }[]) => {
    const values = part.map((row) => row.values);
    return writtenWhole(new RowsBuffer(columns, values), write);
  };
  const refused: Refused[] = [];
  for (const { row, why } of await inHalves(tx, rows, writePart)) {
    const { key, plain } = row;
    const left = plain === undefined ? why : await refusalOf(tx, () => writePart([{ values: plain() }]));
    if (left !== undefined) refused.push({ key, why: left });
  }
  return refused;
}

/** Returns a reason where fewer rows were written than sent: a trigger or a rule dropped some without an error. */
async function writtenWhole<C extends Columns>(rows: RowsBuffer<C>, write: Write<C>): Promise<string | undefined> {
  return (await write(rows)) < rows.count ? String(m.mirror.dropped) : undefined;
}
