/*
 * Batches. A batch becomes `stored` in the transaction that stores its last orders; only then may it be confirmed. After a crash, `stored`
 * rows say which confirms are still to be sent. SQL, because each poll runs it, and names the index of the few batches in that state.
 */

import type { BodyPlace } from "../database/body-parts.ts";
import { onlyRow } from "../database/only-row.ts";
import { columnList, select, updateRows } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { batches } from "../database/schema.ts";
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
/**
 * `orderIds`: JSON array of the ids served, as written; null once nothing is to be confirmed. `isUnjournaled`: 1 where its body must still go
 * to the journal; until then it is not confirmed.
 */
export type BatchRow = NamedRow<typeof batches, (typeof BATCH)[number]> & {
  batchId: string | null;
  isUnjournaled: number;
};

/** Of {@link BatchRow}. */
export const BATCH_COLUMNS = `${columnList(batches, BATCH)}, service_batch_id AS batchId,
  state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL) AS isUnjournaled`;

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
    /** Kept where it could not be written to the journal. */
    kept: BodyPlace;
  },
): BatchRow {
  return onlyRow(
    store
      .prepare<BatchRow>(
        `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirm_attempts, order_ids, account, body, body_id)
       VALUES (?, ?, ?, ?, 'stored', ?, ?, ?, ?, ?) RETURNING ${BATCH_COLUMNS}`,
      )
      .get(
        batch.fingerprint,
        batch.batchId,
        batch.at,
        batch.orderCount,
        batch.confirmAttempts,
        batch.orderIds,
        batch.account,
        batch.kept.body,
        batch.kept.bodyId,
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

/**
 * A batch that was stored before was served with newer content, which must go to the journal before it is confirmed. The
 * body waits for it, and so does its confirm, also if it was confirmed or refused as it was before.
 */
export function saveUnjournaled(store: Store, id: number, batch: { orderIds: string } & BodyPlace): void {
  store
    .prepare(
      "UPDATE batches SET state = 'stored', order_ids = ?, body = ?, body_id = ? WHERE id = ? AND state <> 'unread'",
    )
    .run(batch.orderIds, batch.body, batch.bodyId, id);
}

const UNJOURNALED = ["id", "fingerprint", "body", "bodyId", "account"] as const;
export type UnjournaledBatch = NamedRow<typeof batches, (typeof UNJOURNALED)[number]>;

/** The oldest stored batch whose body could not be written to the journal. */
export function loadUnjournaled(store: Store): UnjournaledBatch | undefined {
  const rest = `INDEXED BY batches_stored
    WHERE state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL) ORDER BY id LIMIT 1`;
  return select(store, batches, UNJOURNALED, rest).get();
}

/** Fenced by the body that was written: a newer one that was served meanwhile still has to be written. */
export function markJournaled(
  store: Store,
  { id, body, bodyId }: Pick<UnjournaledBatch, "id" | "body" | "bodyId">,
): void {
  updateRows(store, batches, { id, state: "stored", body, bodyId }, { body: null, bodyId: null });
}

/** There is no journal any more. */
export function forgetUnjournaled(store: Store): void {
  store
    .prepare(
      "UPDATE batches SET body = NULL, body_id = NULL WHERE state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL)",
    )
    .run();
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
    EXISTS (SELECT 1 FROM batches INDEXED BY batches_stored
      WHERE state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL)) AS hasUnjournaled,
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
