import Database from "better-sqlite3";
import type pg from "pg";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import type { ErpBook } from "./erp-worker.ts";

export interface Difference {
  missing: string[];
  differing: string[];
  doubled: string[];
  /** What is still under way. */
  waiting: string[];
}

export interface Compared extends Difference {
  /** The shop's newest event: while it grows, what differs may be under way. */
  newest: number;
}

interface Sides {
  database: string;
  erp: pg.Client;
  shop: string;
  sandbox: Sandbox;
  book: ErpBook;
}

/** Compares the service, the shop's database and PostgreSQL, and what the ERP has written with what arrived of it. */
export async function compareMirror(sides: Sides): Promise<Compared> {
  const found: Compared = { missing: [], differing: [], doubled: [], waiting: [], newest: 0 };
  const db = new Database(sides.database, { readonly: true, fileMustExist: true, timeout: 10_000 });
  try {
    const { rows: notes } = await sides.erp.query("SELECT count(*)::int AS n FROM touched WHERE shop = $1", [
      sides.shop,
    ]);
    if (notes[0].n > 0) found.waiting.push(`${notes[0].n} notes of touched rows`);
    found.newest = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM order_event_rows").pluck().get() ?? 0;
    await compareOrders(db, sides, found);
    for (const table of TABLES) await compareTable(db, sides, table, found);
    await compareRequests(db, sides, found);
  } finally {
    db.close();
  }
  return found;
}

/** Rows of the ERP's that the shop has. */
export function countUp(database: string): number {
  const db = new Database(database, { readonly: true, fileMustExist: true, timeout: 10_000 });
  try {
    const sql = "SELECT (SELECT count(*) FROM stock) + (SELECT count(*) FROM prices)";
    return db.prepare<[], number>(sql).pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

async function compareOrders(db: Database.Database, { erp, shop, sandbox }: Sides, found: Difference): Promise<void> {
  const local = new Map(
    db
      .prepare<[], { id: string; revision: number; status: string; total: string; payload: string }>(
        "SELECT order_id AS id, revision, status, total, payload FROM orders",
      )
      .all()
      .map((row) => [row.id, row]),
  );
  const { rows } = await erp.query(
    "SELECT order_id::text AS id, revision::int AS revision, status, total, payload FROM orders WHERE shop = $1",
    [shop],
  );
  const remote = new Map(rows.map((row) => [row.id as string, row]));
  for (const { id, status } of sandbox.service.orders()) {
    if (!local.has(id)) found.missing.push(`order ${id} in the shop's database`);
    else if (local.get(id)?.status !== status) found.differing.push(`status of order ${id} in the shop's database`);
    if (!remote.has(id)) found.missing.push(`order ${id} in PostgreSQL`);
  }
  for (const [id, row] of local) {
    const there = remote.get(id);
    if (there === undefined) continue;
    const isSame =
      there.revision === row.revision &&
      there.status === row.status &&
      there.total === row.total &&
      canonical(there.payload) === canonical(JSON.parse(row.payload));
    if (!isSame) found.differing.push(`order ${id} in PostgreSQL (revision ${there.revision}, here ${row.revision})`);
  }
}

/** Keys of objects in one order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const TABLES = [
  { name: "stock", key: "sku || '/' || warehouse", local: "CAST(quantity AS TEXT)", remote: "quantity::text" },
  { name: "prices", key: "sku || '/' || price_type", local: "CAST(price AS TEXT)", remote: "price::text" },
  {
    name: "erp_orders",
    key: "order_id",
    local: "erp_number || ' ' || seen_revision || ' ' || state",
    remote: "erp_number || ' ' || seen_revision || ' ' || state",
  },
] as const;

async function compareTable(
  db: Database.Database,
  { erp, shop }: Sides,
  { name, key, local, remote }: (typeof TABLES)[number],
  found: Difference,
): Promise<void> {
  const here = new Map(
    db
      .prepare<[], { key: string; value: string }>(`SELECT ${key} AS key, ${local} AS value FROM ${name}`)
      .all()
      .map((row) => [row.key, row.value]),
  );
  const { rows } = await erp.query(
    `SELECT ${name === "erp_orders" ? "order_id::text" : key} AS key, ${remote} AS value, error FROM ${name} WHERE shop = $1`,
    [shop],
  );
  for (const row of rows) {
    if (row.error !== null) found.differing.push(`${name} ${row.key} was refused: ${row.error}`);
    else if (!here.has(row.key)) found.missing.push(`${name} ${row.key}`);
    else if (here.get(row.key) !== row.value)
      found.differing.push(`${name} ${row.key}: ${here.get(row.key)}, there ${row.value}`);
    here.delete(row.key);
  }
  for (const left of here.keys()) found.differing.push(`${name} ${left} is gone in PostgreSQL`);
}

async function compareRequests(
  db: Database.Database,
  { erp, shop, sandbox, book }: Sides,
  found: Difference,
): Promise<void> {
  const local = Map.groupBy(
    db
      .prepare<[], { id: string; state: string; orderId: string }>(
        "SELECT comment AS id, state, order_id AS orderId FROM status_requests WHERE comment IS NOT NULL",
      )
      .all(),
    ({ id }) => id,
  );
  const { rows } = await erp.query("SELECT id::text AS id, state, error FROM status_requests WHERE shop = $1", [shop]);
  const remote = new Map(rows.map((row) => [row.id as string, row]));
  for (const id of book.requests) {
    const here = local.get(id) ?? [];
    const there = remote.get(id);
    if (here.length === 0) found.missing.push(`request ${id}`);
    if (there === undefined) found.missing.push(`request ${id} in PostgreSQL`);
    const [one] = here;
    if (one !== undefined && (one.state === "pending" || one.state === "sending")) found.waiting.push(`request ${id}`);
    else if (one !== undefined && there !== undefined && there.state !== one.state)
      found.differing.push(`request ${id}: ${one.state}, there ${there.state}`);
  }
  for (const [id, here] of local) if (here.length > 1) found.doubled.push(`request ${id}`);
  // One status was asked for each order.
  const sent = Map.groupBy(sandbox.ledger.effects("status"), ({ orderId }) => orderId);
  for (const [orderId, effects] of sent)
    if (effects.length > 1) found.doubled.push(`a status of order ${orderId} at the service`);
}
