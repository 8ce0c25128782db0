/*
 * Batches and the mark of an open hand-out. A batch becomes `stored` in the transaction that stores its last orders;
 * only then may it be confirmed. After a crash, `stored` rows say which confirms are still owed and `pull_mark` says
 * whether an answer of GET /orders may be missing.
 */
import type { Store } from "./store.ts";

export interface BatchRow {
  id: number;
  fingerprint: string;
  batchId: string | null;
  state: "unread" | "stored" | "confirmed" | "refused";
  confirmAttempts: number;
  /** JSON array of the ids served, as written; null once nothing is owed. */
  orderIds: string | null;
}

const COLUMNS = `id, fingerprint, service_batch_id AS batchId, state, confirm_attempts AS confirmAttempts,
  order_ids AS orderIds`;

export function loadBatch(store: Store, fingerprint: string): BatchRow | undefined {
  return store.prepare(`SELECT ${COLUMNS} FROM batches WHERE fingerprint = ?`).get(fingerprint) as BatchRow | undefined;
}

/** Stored batches whose confirm is owed, oldest first. */
export function loadUnconfirmed(store: Store, limit: number): BatchRow[] {
  return store
    .prepare(`SELECT ${COLUMNS} FROM batches INDEXED BY batches_stored WHERE state = 'stored' ORDER BY id LIMIT ?`)
    .all(limit) as BatchRow[];
}

export function saveStoredBatch(
  store: Store,
  batch: {
    fingerprint: string;
    batchId: string | null;
    orderCount: number;
    orderIds: string;
    at: string;
    /** 1 where the confirm follows at once: the first attempt begins with this commit. */
    confirmAttempts: number;
  },
): BatchRow {
  return store
    .prepare(
      `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirm_attempts, order_ids)
       VALUES (?, ?, ?, ?, 'stored', ?, ?) RETURNING ${COLUMNS}`,
    )
    .get(
      batch.fingerprint,
      batch.batchId,
      batch.at,
      batch.orderCount,
      batch.confirmAttempts,
      batch.orderIds,
    ) as BatchRow;
}

export function markConfirmBegun(store: Store, id: number): void {
  store.prepare("UPDATE batches SET confirm_attempts = confirm_attempts + 1 WHERE id = ?").run(id);
}

export function markConfirmed(store: Store, id: number, at: string): void {
  store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id = ? AND state <> 'confirmed'`,
    )
    .run(at, id);
}

/** A confirm that names nothing was accepted: it covered every batch stored up to now. */
export function markAllConfirmed(store: Store, at: string): void {
  store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE state = 'stored'`,
    )
    .run(at);
}

export function markConfirmFailed(
  store: Store,
  id: number,
  failure: { refused: boolean; error: string },
): void {
  store
    .prepare(
      `UPDATE batches SET state = CASE WHEN ? THEN 'refused' ELSE state END, last_error = ?
       WHERE id = ? AND state <> 'confirmed' AND (last_error IS NOT ? OR state <> 'refused')`,
    )
    .run(Number(failure.refused), failure.error, id, failure.error);
}

// ------------------------------------------------------------------------------------------------ unread bodies

export interface UnreadBody {
  id: number;
  body: Buffer;
}

/** The next kept body that this mapping has not been tried on. */
export function loadUnreadBody(store: Store, mapping: string): UnreadBody | undefined {
  return store
    .prepare(
      `SELECT id, body FROM batches INDEXED BY batches_unread
       WHERE state = 'unread' AND body IS NOT NULL AND read_with IS NOT ? ORDER BY id LIMIT 1`,
    )
    .get(mapping) as UnreadBody | undefined;
}

export function countUnread(store: Store): { count: number; bytes: number } {
  return store
    .prepare(
      `SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM batches INDEXED BY batches_unread
       WHERE state = 'unread'`,
    )
    .get() as { count: number; bytes: number };
}

/** Keeps a body that could not be read. The same body twice is one row. */
export function saveUnreadBody(
  store: Store,
  unread: { fingerprint: string; body: Buffer; mapping: string | null; error: string | null; at: string },
): number {
  store
    .prepare(
      `INSERT INTO batches (fingerprint, received_at, order_count, state, last_error, read_with, body)
       VALUES (?, ?, 0, 'unread', ?, ?, ?)
       ON CONFLICT (fingerprint) DO NOTHING`,
    )
    .run(unread.fingerprint, unread.at, unread.error, unread.mapping, unread.body);
  return (store.prepare("SELECT id FROM batches WHERE fingerprint = ?").get(unread.fingerprint) as { id: number }).id;
}

/** The body was read: what it held is stored in the same transaction. */
export function deleteUnread(store: Store, id: number): void {
  store.prepare("DELETE FROM batches WHERE id = ? AND state = 'unread'").run(id);
}

export function markUnreadTried(store: Store, id: number, mapping: string, error: string): void {
  store.prepare("UPDATE batches SET read_with = ?, last_error = ? WHERE id = ?").run(mapping, error, id);
}

// ------------------------------------------------------------------------------------- the mark of a hand-out

export interface PullMark {
  openedAt: string;
  /** The answer of an earlier GET is missing: whatever it handed out is not stored. */
  lost: boolean;
}

/** Before a GET. A mark that is already there belongs to a GET whose answer never came: it is lost from now on. */
export function openPullMark(store: Store, at: string): PullMark {
  const row = store
    .prepare(
      `INSERT INTO pull_mark (id, opened_at, lost) VALUES (1, ?, 0)
       ON CONFLICT (id) DO UPDATE SET lost = 1 RETURNING opened_at AS openedAt, lost`,
    )
    .get(at) as { openedAt: string; lost: number };
  return { openedAt: row.openedAt, lost: row.lost === 1 };
}

export function loadPullMark(store: Store): PullMark | undefined {
  const row = store.prepare("SELECT opened_at AS openedAt, lost FROM pull_mark WHERE id = 1").get() as
    | { openedAt: string; lost: number }
    | undefined;
  return row === undefined ? undefined : { openedAt: row.openedAt, lost: row.lost === 1 };
}

/** The GET that opened the mark is accounted for. An earlier lost one stays open. */
export function closePullMark(store: Store): void {
  store.prepare("DELETE FROM pull_mark WHERE lost = 0").run();
}

/** A stored batch was served again, or a person decided: nothing is missing any more. */
export function clearPullMark(store: Store): void {
  store.prepare("DELETE FROM pull_mark").run();
}
