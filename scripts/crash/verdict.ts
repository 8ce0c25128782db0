import Database from "better-sqlite3";
import type { LedgerEntry } from "../../src/sandbox/ledger.ts";
import { KEPT_IDS, type Scene } from "./scene.ts";

interface SentRow {
  key: string;
  sent: string | null;
  doubt: string | null;
}

/**
 * What must hold at every moment, also in the middle of a crash: each sentence says what does not. Looks at a database
 * in the light of what the service had accepted by then.
 */
export function findLost(
  database: string,
  accepted: readonly LedgerEntry[],
  servedVersions?: (orderId: string) => readonly string[],
): string[] {
  // Read-only: the log stays as the crash left it, for the program to recover from.
  const db = new Database(database, { readonly: true, fileMustExist: true });
  try {
    const all = <T>(sql: string) => db.prepare(sql).all() as T[];
    const integrity = db.pragma("integrity_check", { simple: true });
    if (integrity !== "ok") return [`the database is damaged: ${String(integrity)}`];
    const problems = db.pragma("foreign_key_check") as unknown[];
    const found = problems.length > 0 ? [`${problems.length} rows refer to nothing`] : [];
    const isMade = all("SELECT 1 FROM sqlite_schema WHERE name = 'feed_outbox'").length > 0;
    const confirmed = new Set(accepted.flatMap(({ effect }) => (effect?.kind === "confirmed" ? effect.orderIds : [])));
    const kept = new Set(isMade ? all<{ id: string }>(KEPT_IDS).map(({ id }) => id) : []);
    const lost = [...confirmed].filter((id) => !kept.has(id));
    if (lost.length > 0) found.push(`${lost.length} confirmed orders are not in the database`);
    if (!isMade) return found;
    const isDoubted = all("SELECT 1 FROM holds WHERE reason = 'restored'").length > 0;
    if (isDoubted) found.push("the database was taken for an older one");
    found.push(...findForgottenPushes(all<SentRow>(SENT), accepted));
    const twice = all("SELECT 1 FROM order_events WHERE kind = 'created' GROUP BY order_id HAVING count(*) <> 1");
    if (twice.length > 0) found.push(`${twice.length} orders were created more than once`);
    if (servedVersions !== undefined) {
      const stored = all<{ id: string; payload: string }>("SELECT order_id AS id, payload FROM orders");
      const strange = stored.filter(({ id, payload }) => !servedVersions(id).includes(payload));
      if (strange.length > 0) found.push(`${strange.length} orders hold what the service never sent`);
    }
    return found;
  } finally {
    db.close();
  }
}

const SENT = `
  SELECT json_array(k0, k1) AS key, max(record) AS sent, max(doubt) AS doubt FROM (
    SELECT k0, k1, record, NULL AS doubt FROM feed_sent
    UNION ALL SELECT k0, k1, NULL, doubt_record FROM feed_outbox)
  GROUP BY k0, k1`;

/** A value that reached the site is known to be there, or known to be in doubt: else an older one would count as sent. */
function findForgottenPushes(rows: readonly SentRow[], accepted: readonly LedgerEntry[]): string[] {
  const known = new Map(rows.map((row) => [row.key, row]));
  const site = new Map<string, string>();
  for (const { effect } of accepted) {
    if (effect?.kind === "import") for (const { key, record } of effect.accepted) site.set(key, record);
  }
  const forgotten = [...site].filter(([key, record]) => {
    const row = known.get(key);
    return row === undefined || (row.doubt === null && row.sent !== record);
  });
  return forgotten.length === 0 ? [] : [`${forgotten.length} pushed values are neither known as sent nor in doubt`];
}

/** The same for a scene as it stands. */
export function findLostIn(scene: Scene): string[] {
  const { ledger } = scene.sandbox;
  const found = [...scene.tooEarly, ...findLost(scene.database, ledger.entries, (id) => ledger.servedVersions(id))];
  scene.tooEarly.length = 0;
  return found;
}

/** And at the end: everything that the service has is stored at its newest content, and everything owed is done. */
export function findUnfinished(scene: Scene): string[] {
  const db = new Database(scene.database, { readonly: true, fileMustExist: true });
  try {
    return [...findUnfinishedOrders(db, scene), ...findOwed(db, scene)];
  } finally {
    db.close();
  }
}

function findUnfinishedOrders(db: Database.Database, { sandbox, badIds }: Scene): string[] {
  const orders = sandbox.service.orders();
  const rows = db.prepare("SELECT order_id AS id, status, payload FROM orders").all();
  const stored = new Map((rows as { id: string; status: string; payload: string }[]).map((row) => [row.id, row]));
  const good = orders.filter(({ id }) => !badIds.has(id));
  const stale = good.filter(
    ({ id, status }) => stored.get(id)?.status !== status || stored.get(id)?.payload !== sandbox.ledger.newest(id),
  );
  return inWords([
    ["orders are not stored at their newest content", stale.length],
    ["stored orders are unknown to the service", stored.size - good.filter(({ id }) => stored.has(id)).length],
    ["orders are not confirmed", orders.filter(({ confirmed }) => !confirmed).length],
  ]);
}

function findOwed(db: Database.Database, scene: Scene): string[] {
  const count = (from: string) => (db.prepare(`SELECT count(*) AS n FROM ${from}`).get() as { n: number }).n;
  return inWords([
    ["batches are owed a confirm", count("batches WHERE state <> 'confirmed'")],
    ["orders are owed a read", countOwedReads(db, scene)],
    // One that a crash cut off before it left is marked as lost until the next batch comes round: nobody can tell it.
    ["hand-outs are open", count("pull_mark WHERE is_open = 1")],
    ["values of stock are owed", count("feed_outbox")],
    ["values of stock differ from the site", differingStock(db, scene)],
  ]);
}

/** One that the service itself answers broken is read again for a day. */
function countOwedReads(db: Database.Database, { badIds }: Scene): number {
  const ids = db.prepare<[], string>("SELECT order_id FROM owed_reads").pluck().all();
  return ids.filter((id) => !badIds.has(id)).length;
}

function inWords(counts: readonly (readonly [what: string, n: number])[]): string[] {
  return counts.filter(([, n]) => n > 0).map(([what, n]) => `${n} ${what}`);
}

function differingStock(db: Database.Database, { sandbox }: Scene): number {
  const site = sandbox.service.imported("stocks");
  const rows = db
    .prepare("SELECT json_array(sku, warehouse) AS key, max(quantity - reserved, 0) AS free FROM stock")
    .all() as { key: string; free: number }[];
  return rows.filter(({ key, free }) => {
    const record = site.get(key);
    return record === undefined || (JSON.parse(record) as { quantity: number }).quantity !== free;
  }).length;
}
