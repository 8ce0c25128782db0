/*
 * Batches. A batch becomes `stored` in the transaction that stores its last orders; only then may it be confirmed. After a crash, `stored`
 * rows say which confirms are still to be sent. SQL, because each poll runs it, and names the index of the few batches in that state.
 */

import { bodyLength } from "../database/body-parts.ts";
import { onlyRow } from "../database/only-row.ts";
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
] as const;
/** `orderIds`: JSON array of the ids served, as written; null once nothing is to be confirmed. */
export type BatchRow = NamedRow<typeof batches, (typeof BATCH)[number]> & { batchId: string | null };

/** Of {@link BatchRow}. */
export const BATCH_COLUMNS = `${columnList(batches, BATCH)}, service_batch_id AS batchId`;

/** Condition of a batch that this account served, or an unknown one: its confirm goes to no other one. */
export const SERVED_HERE = "(account IS NULL OR account = @account)";

export function isServedBy({ account }: Pick<BatchRow, "account">, here: string): boolean {
  return account === null || account === here;
}

export function loadBatch(store: Store, fingerprint: string): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${BATCH_COLUMNS} FROM batches WHERE fingerprint = ?`).get(fingerprint);
}

export function loadBatchOf(store: Store, id: number): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${BATCH_COLUMNS} FROM batches WHERE id = ?`).get(id);
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
    /** Who served it. */
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

/** A stored batch is served under another name: that is the one to confirm, and no attempt named it. A confirmed one keeps its name. */
export function renameBatch(store: Store, batch: BatchRow, batchId: string | null): BatchRow {
  if (batch.state === "confirmed") return { ...batch, batchId };
  store
    .prepare("UPDATE batches SET service_batch_id = ?, confirm_attempts = 0 WHERE id = ? AND state <> 'confirmed'")
    .run(batchId, batch.id);
  return { ...batch, batchId, confirmAttempts: 0 };
}

/** A batch that another account served before is served here: it is confirmed here, and no attempt was made here. */
export function claimBatch(store: Store, batch: BatchRow, account: string): BatchRow {
  if (isServedBy(batch, account)) return batch;
  updateRows(store, batches, { id: batch.id }, { account, confirmAttempts: 0 });
  return { ...batch, account, confirmAttempts: 0 };
}

/** How many batches of an account wait to be confirmed, or to be read before. */
export function countUnconfirmedOf(store: Store, account: string): number {
  const sql = `SELECT (SELECT count(*) FROM batches INDEXED BY batches_stored WHERE state = 'stored' AND account = @account)
    + (SELECT count(*) FROM batches INDEXED BY batches_unread WHERE state = 'unread' AND account = @account) AS count`;
  return onlyRow(store.prepare<{ count: number }>(sql).get({ account })).count;
}

/** A batch that was stored before was served with newer content: its confirm is due, also if it was confirmed or refused as it was before. */
export function reopenBatch(store: Store, id: number, orderIds: string): void {
  store
    .prepare("UPDATE batches SET state = 'stored', order_ids = ? WHERE id = ? AND state <> 'unread'")
    .run(orderIds, id);
}

// ---------------------------------------------------------------- bodies that must still go to the journal

const UNJOURNALED = ["id", "fingerprint", "account", "receivedAt", "isPart", "body", "bodyId"] as const;
export type UnjournaledBody = NamedRow<typeof unjournaledBodies, (typeof UNJOURNALED)[number]>;

/** Each stays until it is in the journal: what was stored from it may stand in no later one. */
export function saveUnjournaled(store: Store, body: typeof unjournaledBodies.$inferInsert): void {
  insertRow(store, unjournaledBodies, body);
}

/** Whether there are any. Until then nothing is confirmed: another batch may name the orders of one of them. */
export function hasUnjournaled(store: Store): boolean {
  return store.prepare("SELECT 1 FROM unjournaled_bodies LIMIT 1").get() !== undefined;
}

export function loadOldestUnjournaled(store: Store): UnjournaledBody | undefined {
  return select(store, unjournaledBodies, UNJOURNALED, "ORDER BY id LIMIT 1").get();
}

/** Of this batch. */
export function loadNewestUnjournaled(store: Store, fingerprint: string): UnjournaledBody | undefined {
  return select(store, unjournaledBodies, UNJOURNALED, "WHERE fingerprint = ? ORDER BY id DESC LIMIT 1").get(
    fingerprint,
  );
}

/** How many of this batch there are, and their bytes together. */
export function countUnjournaled(store: Store, fingerprint: string): { count: number; bytes: number } {
  const sql = `SELECT count(*) AS count, coalesce(sum(${bodyLength("unjournaled_bodies")}), 0) AS bytes
    FROM unjournaled_bodies WHERE fingerprint = ?`;
  return onlyRow(store.prepare<{ count: number; bytes: number }>(sql).get(fingerprint));
}

/** It is in the journal. */
export function deleteUnjournaled(store: Store, id: number): void {
  deleteRows(store, unjournaledBodies, { id });
}

/** There is no journal any more. */
export function deleteAllUnjournaled(store: Store): void {
  deleteRows(store, unjournaledBodies, {});
}

/** What earlier passes have left besides confirms, each of them rare: asked at once before each pass. */
export interface LeftWork {
  /** Parts of bodies, which a row may name or not. */
  hasParts: number;
  /** A body that must still go to the journal. */
  hasUnjournaled: number;
  /** A body that could not be read. */
  hasUnread: number;
}

export function loadLeftWork(store: Store): LeftWork {
  const sql = `SELECT EXISTS (SELECT 1 FROM body_parts) AS hasParts,
    EXISTS (SELECT 1 FROM unjournaled_bodies) AS hasUnjournaled,
    EXISTS (SELECT 1 FROM batches INDEXED BY batches_unread WHERE state = 'unread') AS hasUnread`;
  return onlyRow(store.prepare<LeftWork>(sql).get());
}

/**
 * Removes confirmed batches that are old, a bounded number at a time. The newest batch stays, because it says
 * when orders came last. One that is served again afterwards is stored anew, without a change to its orders.
 */
export function deleteConfirmedBefore(store: Store, { upTo, before, now }: Old, limit: number): number {
  return store
    .prepare(
      `DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE state = 'confirmed' AND id <= ?
         AND (confirmed_at < ? OR confirmed_at > ?) AND id < (SELECT max(id) FROM batches) ORDER BY id LIMIT ?)`,
    )
    .run(upTo, before, now, limit).changes;
}
