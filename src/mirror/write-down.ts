/*
 * The statements of the way down. Each takes all of its rows as one JSON parameter, which PostgreSQL takes apart: one round trip for
 * two thousand orders. A row that is refused is found by halving and written without what may be at fault; nothing waits for it.
 */
import type { MirrorTx } from "./connection.ts";
import type { JsonRow, OrderRow } from "./down-rows.ts";
import { MirrorError } from "./mirror-error.ts";

const ORDER_COLUMNS = {
  order_id: "uuid",
  service_id: "text",
  number: "text",
  status: "text",
  is_cancelled: "boolean",
  is_open: "boolean",
  service_created_at: "text",
  service_updated_at: "text",
  currency: "text",
  total: "text",
  revision: "bigint",
  erp_revision: "bigint",
  received_at: "timestamptz",
  changed_at: "timestamptz",
  removed_at: "timestamptz",
  lines: "jsonb",
  payload: "jsonb",
  payload_text: "text",
  hash: "text",
};

const EVENT_COLUMNS = {
  seq: "bigint",
  order_id: "uuid",
  revision: "bigint",
  kind: "text",
  status_changed: "boolean",
  lines_changed: "boolean",
  fields_changed: "boolean",
  old_status: "text",
  new_status: "text",
  changes: "jsonb",
  source: "text",
  at: "timestamptz",
};

const BATCH_COLUMNS = {
  id: "bigint",
  service_batch_id: "text",
  received_at: "timestamptz",
  order_count: "integer",
  state: "text",
  confirm_attempts: "integer",
  confirmed_at: "timestamptz",
  last_error: "text",
};

const HELD_COLUMNS = {
  id: "bigint",
  kind: "text",
  reference: "text",
  reason: "text",
  state: "text",
  first_seen_at: "timestamptz",
  last_seen_at: "timestamptz",
  times: "integer",
};

const CONDITION_COLUMNS = {
  rank: "integer",
  code: "text",
  severity: "text",
  subject: "text",
  since: "timestamptz",
  params: "jsonb",
  text: "text",
  command: "text",
  seen_at: "timestamptz",
};

type Columns = Readonly<Record<string, string>>;

/** `r (order_id uuid, …)` */
function recordOf(columns: Columns): string {
  return `r (${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`;
}

function upsertOf(table: string, columns: Columns, key: readonly string[]): string {
  const names = Object.keys(columns);
  const set = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${table} (shop, ${names.join(", ")})
    SELECT $1, ${names.map((name) => `r.${name}`).join(", ")} FROM jsonb_to_recordset($2::jsonb) AS ${recordOf(columns)}
    ON CONFLICT (shop, ${key.join(", ")}) DO UPDATE SET ${set.join(", ")}`;
}

const ORDER_NAMES = Object.keys(ORDER_COLUMNS);

/** What was read before is never written over what was read later. */
const ORDERS = `INSERT INTO orders (shop, ${ORDER_NAMES.join(", ")}, epoch, seq)
  SELECT $1, ${ORDER_NAMES.map((name) => `r.${name}`).join(", ")}, $3, $4
  FROM jsonb_to_recordset($2::jsonb) AS ${recordOf(ORDER_COLUMNS)}
  ON CONFLICT (shop, order_id) DO UPDATE SET
    ${ORDER_NAMES.slice(1)
      .map((name) => `${name} = excluded.${name}`)
      .join(", ")}, epoch = excluded.epoch, seq = excluded.seq
  WHERE (orders.epoch, orders.seq) <= (excluded.epoch, excluded.seq)`;

/** What an ERP had marked in the shop before it came here; what is marked here counts. */
const MARKS = `INSERT INTO erp_orders (shop, order_id, erp_number, seen_revision, state, block_reason, note)
  SELECT $1, r.order_id, m.erp_number, m.seen_revision, m.state, m.block_reason, m.note
  FROM jsonb_to_recordset($2::jsonb) AS r (order_id uuid, mark jsonb)
  CROSS JOIN jsonb_to_record(r.mark) AS m (erp_number text, seen_revision bigint, state text, block_reason text, note text)
  WHERE r.mark IS NOT NULL
  ON CONFLICT DO NOTHING`;

const PENDING = `INSERT INTO erp_queue (shop, order_id, since)
  SELECT o.shop, o.order_id, o.changed_at FROM orders o
  LEFT JOIN erp_orders e ON e.shop = o.shop AND e.order_id = o.order_id
  WHERE o.shop = $1 AND o.order_id = ANY ($2::uuid[]) AND o.erp_revision > coalesce(e.seen_revision, 0)
  ON CONFLICT DO NOTHING`;

const EVENTS = upsertOf("order_events", EVENT_COLUMNS, ["seq"]);
const BATCHES = upsertOf("batches", BATCH_COLUMNS, ["id"]);
const HELD = upsertOf("quarantine", HELD_COLUMNS, ["id"]);
const CONDITIONS = upsertOf("conditions", CONDITION_COLUMNS, ["rank"]);

/** A row that PostgreSQL does not take in any form. */
export interface Refused {
  key: number;
  why: string;
}

/** As of the newest event `seq` of the shop when they were read. */
export async function writeOrders(
  tx: MirrorTx,
  { shop, epoch, seq }: { shop: string; epoch: number; seq: number },
  rows: readonly OrderRow[],
): Promise<Refused[]> {
  if (rows.length === 0) return [];
  const refused = await writeInHalves(tx, rows, async (some) => {
    const json = listOf(some);
    await tx.run(ORDERS, [shop, json, epoch, seq]);
    if (some.some(({ json: one }) => one.includes('"mark":'))) await tx.run(MARKS, [shop, json]);
  });
  await notePending(
    tx,
    shop,
    rows.map(({ orderId }) => orderId),
  );
  return refused;
}

/** What the ERP has not taken is in its queue. */
export async function notePending(tx: MirrorTx, shop: string, orderIds: readonly string[]): Promise<void> {
  await tx.run(PENDING, [shop, orderIds]);
}

export async function writeEvents(tx: MirrorTx, shop: string, rows: readonly JsonRow[]): Promise<Refused[]> {
  return await writeInHalves(tx, rows, (some) => tx.run(EVENTS, [shop, listOf(some)]));
}

/** `gone`: numbers of rows that are not there any more. */
export async function writeBatches(tx: MirrorTx, shop: string, rows: readonly JsonRow[], gone: readonly number[]) {
  const refused = await writeInHalves(tx, rows, (some) => tx.run(BATCHES, [shop, listOf(some)]));
  if (gone.length > 0) await tx.run("DELETE FROM batches WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, gone]);
  return refused;
}

export async function writeHeld(tx: MirrorTx, shop: string, rows: readonly JsonRow[], gone: readonly number[]) {
  const refused = await writeInHalves(tx, rows, (some) => tx.run(HELD, [shop, listOf(some)]));
  if (gone.length > 0) await tx.run("DELETE FROM quarantine WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, gone]);
  return refused;
}

/** All of them, in the place of those that were there. */
export async function writeConditions(tx: MirrorTx, shop: string, json: string): Promise<void> {
  await tx.run(CONDITIONS, [shop, json]);
  await tx.run("DELETE FROM conditions WHERE shop = $1 AND rank > jsonb_array_length($2::jsonb)", [shop, json]);
}

/** What is here of these orders. */
export async function loadHashes(
  tx: MirrorTx,
  shop: string,
  orderIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ order_id: string; hash: string }>(
    "SELECT order_id, hash FROM orders WHERE shop = $1 AND order_id = ANY ($2::uuid[])",
    [shop, orderIds],
  );
  return new Map(rows.map((row) => [row.order_id, row.hash]));
}

export async function countOrders(tx: MirrorTx, shop: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>("SELECT count(*) FROM orders WHERE shop = $1", [shop]);
  return row?.count ?? 0;
}

function listOf(rows: readonly JsonRow[]): string {
  return `[${rows.map(({ json }) => json).join()}]`;
}

/** Writes all rows, and all but those at fault where some are. */
async function writeInHalves<R extends JsonRow>(
  tx: MirrorTx,
  rows: readonly R[],
  write: (rows: readonly R[]) => Promise<unknown>,
): Promise<Refused[]> {
  if (rows.length === 0) return [];
  try {
    await tx.savepoint(() => write(rows));
    return [];
  } catch (error) {
    if (!(error instanceof MirrorError && error.isOfData)) throw error;
    const [only] = rows;
    if (only === undefined || rows.length > 1) {
      const middle = Math.ceil(rows.length / 2);
      const first = await writeInHalves(tx, rows.slice(0, middle), write);
      return [...first, ...(await writeInHalves(tx, rows.slice(middle), write))];
    }
    const plain = only.plain();
    if (plain === only.json) return [{ key: only.key, why: error.message }];
    return await writeInHalves(tx, [{ ...only, json: plain, plain: () => plain }], write);
  }
}
