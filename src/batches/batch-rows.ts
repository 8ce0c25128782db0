/*
 * Rows of batches. A batch becomes `stored` in the transaction that stores its last orders; only then may it be
 * confirmed. After a crash, the `stored` rows are the confirms still to be sent. SQL, because each poll runs it; it
 * names the partial index of the state.
 */

import { bodyLength } from "../database/body-parts.ts";
import { onlyRow, onlyValue } from "../database/only-row.ts";
import { columnList, deleteRows, insertRow, select, updateRows } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { batches, unjournaledBodies } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Old } from "../pass/runs.ts";

const BATCH = [
  "id",
  "fingerprint",
  "state",
  "confirmAttempts",
  "orderIds",
  "orderCount",
  "receivedAt",
  "account",
  "journaledElsewhere",
] as const;
/** `orderIds`: JSON array of the ids served, each as its original literal; null once nothing is left to confirm. */
export type BatchRow = NamedRow<typeof batches, (typeof BATCH)[number]> & { batchId: string | null };

/** The columns of {@link BatchRow}. */
export const BATCH_COLUMNS = `${columnList(batches, BATCH)}, service_batch_id AS batchId`;

const servedTo = (account: string) => `(account IS NULL OR account = ${account})`;
/** Condition on batches that this account served, or an unknown one; a confirm is never sent to another account. */
export const SERVED_HERE = servedTo("@account");
/** The same of the account that the database is bound to. */
export const SERVED_TO_OWN = servedTo("(SELECT value FROM meta WHERE key = 'account')");

export function isServedBy({ account }: Pick<BatchRow, "account">, here: string): boolean {
  return account === null || account === here;
}

export function loadBatch(store: Store, fingerprint: string): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${BATCH_COLUMNS} FROM batches WHERE fingerprint = ?`).get(fingerprint);
}

export function loadBatchOf(store: Store, id: number): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${BATCH_COLUMNS} FROM batches WHERE id = ?`).get(id);
}

/** Ids of the rows whose confirm is still to be accepted, of every account. */
export function loadUnconfirmedIds(store: Store): number[] {
  const sql = `SELECT id FROM batches INDEXED BY batches_stored WHERE state = 'stored'
    UNION ALL SELECT id FROM batches INDEXED BY batches_refused WHERE state = 'refused' ORDER BY id`;
  return store.prepare<number>(sql).pluck().all() as number[];
}

/** The journal begins in another folder: the batches that are not confirmed yet are saved by `unconfirmed-bodies.ts`. */
export function markJournaledElsewhere(store: Store): void {
  store.prepare("UPDATE batches SET journaled_elsewhere = 1 WHERE state = 'confirmed'").run();
}

export function unmarkJournaledElsewhere(store: Store, id: number): void {
  updateRows(store, batches, { id }, { journaledElsewhere: null });
}

/** Batches up to this id have no row any more (`retention.batches`). */
export function loadForgottenId(store: Store): number {
  return onlyValue<number>(store, "SELECT coalesce(min(id), 1) - 1 FROM batches");
}

export function saveStoredBatch(
  store: Store,
  batch: {
    fingerprint: string;
    batchId: string | null;
    orderCount: number;
    orderIds: string;
    at: string;
    /** 1 where the confirm follows directly: this commit counts its first attempt. */
    confirmAttempts: number;
    /** The account that served it. */
    account: string | null;
  },
): BatchRow {
  return onlyRow(
    store
      .prepare<BatchRow>(
        `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirm_attempts, order_ids, account)
       VALUES (?, ?, ?, ?, 'stored', ?, ?, ?) RETURNING ${BATCH_COLUMNS}`,
      )
      .get(
        batch.fingerprint,
        batch.batchId,
        batch.at,
        batch.orderCount,
        batch.confirmAttempts,
        batch.orderIds,
        batch.account,
      ),
  );
}

/**
 * A stored batch is served under a new name, which the confirm must use; no attempt has used it yet. A confirmed batch
 * keeps its name.
 */
export function renameBatch(store: Store, batch: BatchRow, batchId: string | null): BatchRow {
  if (batch.state === "confirmed") return { ...batch, batchId };
  store
    .prepare("UPDATE batches SET service_batch_id = ?, confirm_attempts = 0 WHERE id = ? AND state <> 'confirmed'")
    .run(batchId, batch.id);
  return { ...batch, batchId, confirmAttempts: 0 };
}

/** A batch of another account is now served to this one, which confirms it; this account has made no attempt. */
export function claimBatch(store: Store, batch: BatchRow, account: string): BatchRow {
  if (isServedBy(batch, account)) return batch;
  updateRows(store, batches, { id: batch.id }, { account, confirmAttempts: 0 });
  return { ...batch, account, confirmAttempts: 0 };
}

/** Number of the account's batches that are still to be confirmed or read. */
export function countUnconfirmedOf(store: Store, account: string): number {
  const sql = `SELECT (SELECT count(*) FROM batches INDEXED BY batches_stored WHERE state = 'stored' AND account = @account)
    + (SELECT count(*) FROM batches INDEXED BY batches_unread WHERE state = 'unread' AND account = @account) AS count`;
  return onlyRow(store.prepare<{ count: number }>(sql).get({ account })).count;
}

/**
 * A stored batch was served with newer content: it is to be confirmed again, even if it was confirmed or refused
 * before.
 */
export function reopenBatch(store: Store, id: number, orderIds: string): void {
  store
    .prepare("UPDATE batches SET state = 'stored', order_ids = ? WHERE id = ? AND state <> 'unread'")
    .run(orderIds, id);
}

// ---------------------------------------------------------------- bodies that are not in the journal yet

const UNJOURNALED = ["id", "fingerprint", "account", "receivedAt", "isPart", "body", "bodyId"] as const;
export type UnjournaledBody = NamedRow<typeof unjournaledBodies, (typeof UNJOURNALED)[number]>;

/**
 * The row stays until this body is in the journal: a later body of the batch may lack what was stored from this one.
 */
export function saveUnjournaled(store: Store, body: typeof unjournaledBodies.$inferInsert): void {
  insertRow(store, unjournaledBodies, body);
}

/** While there are any, nothing is confirmed: another batch's confirm may name the orders of one of them. */
export function hasUnjournaled(store: Store): boolean {
  return store.prepare("SELECT 1 FROM unjournaled_bodies LIMIT 1").get() !== undefined;
}

export function loadOldestUnjournaled(store: Store): UnjournaledBody | undefined {
  return select(store, unjournaledBodies, UNJOURNALED, "ORDER BY id LIMIT 1").get();
}

/** The newest of this batch. */
export function loadNewestUnjournaled(store: Store, fingerprint: string): UnjournaledBody | undefined {
  return select(store, unjournaledBodies, UNJOURNALED, "WHERE fingerprint = ? ORDER BY id DESC LIMIT 1").get(
    fingerprint,
  );
}

/** Number of this batch's bodies that are not in the journal, and their total size in bytes. */
export function countUnjournaled(store: Store, fingerprint: string): { count: number; bytes: number } {
  const sql = `SELECT count(*) AS count, coalesce(sum(${bodyLength("unjournaled_bodies")}), 0) AS bytes
    FROM unjournaled_bodies WHERE fingerprint = ?`;
  return onlyRow(store.prepare<{ count: number; bytes: number }>(sql).get(fingerprint));
}

/** To be called when the body is in the journal. */
export function deleteUnjournaled(store: Store, id: number): void {
  deleteRows(store, unjournaledBodies, { id });
}

/** To be called when no journal is configured any more. */
export function deleteAllUnjournaled(store: Store): void {
  deleteRows(store, unjournaledBodies, {});
}

/**
 * Work left by earlier passes, besides confirms. All of it is rare, so one statement before each pass checks for it.
 */
export interface LeftWork {
  /** There are parts of bodies, named by a row or not. */
  hasParts: number;
  /** A body is not in the journal yet. */
  hasUnjournaled: number;
  /** A body could not be read. */
  hasUnread: number;
}

export function loadLeftWork(store: Store): LeftWork {
  const sql = `SELECT EXISTS (SELECT 1 FROM body_parts) AS hasParts,
    EXISTS (SELECT 1 FROM unjournaled_bodies) AS hasUnjournaled,
    EXISTS (SELECT 1 FROM batches INDEXED BY batches_unread WHERE state = 'unread') AS hasUnread`;
  return onlyRow(store.prepare<LeftWork>(sql).get());
}

/**
 * Removes old confirmed batches, at most `limit`. The newest batch stays, because it shows when orders last came. A
 * removed batch that is served again is stored anew and changes none of its orders.
 */
export function deleteConfirmedBefore(store: Store, { upTo, before, now }: Old, limit: number): number {
  return store
    .prepare(
      `DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE state = 'confirmed' AND id <= ?
         AND (confirmed_at < ? OR confirmed_at > ?) AND id < (SELECT max(id) FROM batches) ORDER BY id LIMIT ?)`,
    )
    .run(upTo, before, now, limit).changes;
}
