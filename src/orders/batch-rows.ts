/*
 * Batches and the mark of an open delivery. A batch becomes `stored` in the transaction that stores its last orders;
 * only then may it be confirmed. After a crash, `stored` rows say which confirms are still to be sent and `pull_mark` says
 * whether an answer of GET /orders may be missing. SQL, because each poll runs it, and names the index of the few batches in
 * that state.
 */

import { type BodyPlace, bodyLength } from "../database/body-parts.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyRow, onlyValue } from "../database/only-row.ts";
import { deleteRows, findRow, select, updateRows } from "../database/queries.ts";
import { columnList, type NamedRow } from "../database/row.ts";
import { batches, openDelivery as openDeliveries } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import type { Old } from "../pass/runs.ts";
import type { AnswerForm } from "../service/answer-form.ts";

const BATCH = ["id", "fingerprint", "state", "confirmAttempts", "orderIds", "receivedAt"] as const;
/**
 * `orderIds`: JSON array of the ids served, as written; null once nothing is to be confirmed. `journalOwed`: 1 where its body must still go
 * to the journal; until then it is not confirmed.
 */
export type BatchRow = NamedRow<typeof batches, (typeof BATCH)[number]> & {
  batchId: string | null;
  journalOwed: number;
};

const COLUMNS = `${columnList(batches, BATCH)}, service_batch_id AS batchId,
  state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL) AS journalOwed`;

export function loadBatch(store: Store, fingerprint: string): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${COLUMNS} FROM batches WHERE fingerprint = ?`).get(fingerprint);
}

/** Stored batches that are to be confirmed, least tried first, so that one that always fails never keeps the others waiting. */
export function loadUnconfirmed(store: Store, limit: number): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${COLUMNS} FROM batches INDEXED BY batches_stored WHERE state = 'stored' AND body IS NULL AND body_id IS NULL
       ORDER BY confirm_attempts, id LIMIT ?`,
    )
    .all(limit);
}

/** Refused confirms that are still tried now and then, least tried first. */
export function loadRefusedConfirms(
  store: Store,
  { triesMax, limit }: { triesMax: number; limit: number },
): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${COLUMNS} FROM batches INDEXED BY batches_refused
       WHERE state = 'refused' AND confirm_attempts < ? AND order_ids IS NOT NULL ORDER BY confirm_attempts, id LIMIT ?`,
    )
    .all(triesMax, limit);
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
    /** Kept where it could not be written to the journal. */
    kept: BodyPlace;
  },
): BatchRow {
  return onlyRow(
    store
      .prepare<BatchRow>(
        `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirm_attempts, order_ids, body, body_id)
       VALUES (?, ?, ?, ?, 'stored', ?, ?, ?, ?) RETURNING ${COLUMNS}`,
      )
      .get(
        batch.fingerprint,
        batch.batchId,
        batch.at,
        batch.orderCount,
        batch.confirmAttempts,
        batch.orderIds,
        batch.kept.body,
        batch.kept.bodyId,
      ),
  );
}

/**
 * A batch that was stored before was served with newer content, which must go to the journal before it is confirmed. The
 * batch is owed to it, and its confirm waits, also if it was confirmed or refused as it was before.
 */
export function saveJournalOwed(store: Store, id: number, owed: { orderIds: string } & BodyPlace): void {
  store
    .prepare(
      "UPDATE batches SET state = 'stored', order_ids = ?, body = ?, body_id = ? WHERE id = ? AND state <> 'unread'",
    )
    .run(owed.orderIds, owed.body, owed.bodyId, id);
}

// ------------------------------------------------------------------------------------- bodies owed to the journal

const JOURNAL_OWED = ["id", "fingerprint", "body", "bodyId"] as const;
export type JournalOwed = NamedRow<typeof batches, (typeof JOURNAL_OWED)[number]>;

/** The oldest stored batch whose body could not be written to the journal. */
export function loadJournalOwed(store: Store): JournalOwed | undefined {
  const rest = `INDEXED BY batches_stored
    WHERE state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL) ORDER BY id LIMIT 1`;
  return select(store, batches, JOURNAL_OWED, rest).get();
}

/** Fenced by the body that was written: a newer one that was served meanwhile still has to be written. */
export function markJournaled(store: Store, { id, body, bodyId }: Pick<JournalOwed, "id" | "body" | "bodyId">): void {
  updateRows(store, batches, { id, state: "stored", body, bodyId }, { body: null, bodyId: null });
}

/** There is no journal any more. */
export function forgetJournalOwed(store: Store): void {
  store
    .prepare(
      "UPDATE batches SET body = NULL, body_id = NULL WHERE state = 'stored' AND (body IS NOT NULL OR body_id IS NOT NULL)",
    )
    .run();
}

export function markConfirmBegun(store: Store, id: number): void {
  store.prepare("UPDATE batches SET confirm_attempts = confirm_attempts + 1 WHERE id = ?").run(id);
}

/**
 * The confirm of the other ids of a batch was accepted. An attempt at these begins with this commit (`begun`), or with another one: none
 * before it named them.
 */
export function saveUnconfirmedIds(store: Store, id: number, { rest, begun }: { rest: string; begun: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET order_ids = ?, confirm_attempts = CASE state WHEN 'stored' THEN ? ELSE confirm_attempts END
       WHERE id = ? AND state IN ('stored', 'refused')`,
    )
    .run(rest, begun ? 1 : 0, id);
}

/**
 * Returns whether the row changed. Other rows that this confirm covers are confirmed with it: the same batch in another
 * composition, and a refused one of which every order has come again.
 */
export function markConfirmed(store: Store, batch: Pick<BatchRow, "id" | "batchId" | "orderIds">, at: string): boolean {
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id = ? AND state <> 'confirmed'`,
    )
    .run(at, batch.id);
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'refused' AND (service_batch_id = @batchId OR (order_ids <> '[]' AND NOT EXISTS (
         SELECT 1 FROM json_each(order_ids) mine WHERE length(mine.value) IS NOT 36 OR NOT EXISTS (
           SELECT 1 FROM json_each(@orderIds) theirs WHERE theirs.value IS mine.value))))`,
    )
    .run({ at, batchId: batch.batchId, orderIds: batch.orderIds ?? "[]" });
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND service_batch_id = ?`,
    )
    .run(at, batch.batchId);
  return changes > 0;
}

/** A confirm that names orders was accepted: other stored batches, of which it has named every order that is left, are confirmed too. */
export function markCoveredConfirmed(store: Store, orderIds: string, at: string): void {
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND body IS NULL AND body_id IS NULL AND order_ids <> '[]'
         AND NOT EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE length(mine.value) IS NOT 36
           OR mine.value NOT IN (SELECT value FROM json_each(@orderIds) WHERE value IS NOT NULL))`,
    )
    .run({ at, orderIds });
}

/** A confirm that names nothing was accepted: it covered every batch stored up to now. How many were not before. */
export function markAllConfirmed(store: Store, at: string): number {
  return store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id IN (SELECT id FROM batches WHERE state = 'stored' UNION ALL SELECT id FROM batches WHERE state = 'refused')`,
    )
    .run(at).changes;
}

/** A refusal is final until the batch is served again. Returns whether the row changed. */
export function markConfirmRefused(store: Store, id: number, message: Message): boolean {
  const error = String(message);
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'refused', last_error = ?
       WHERE id = ? AND state <> 'confirmed' AND (state <> 'refused' OR last_error IS NOT ?)`,
    )
    .run(error, id, error);
  if (changes > 0) store.textOf(message);
  return changes > 0;
}

/**
 * To be tried again. An attempt that never reached the service, or was refused by it, does not count: nothing can have come
 * of it. The outcome of any other is unknown, also for a batch that was refused before.
 */
export function markConfirmFailed(store: Store, id: number, failure: { error: Message; reached: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET last_error = @error, confirm_attempts = max(0, confirm_attempts - @left),
         state = CASE WHEN @left = 0 THEN 'stored' ELSE state END
       WHERE id = @id AND state IN ('stored', 'refused')`,
    )
    .run({ error: store.textOf(failure.error), left: failure.reached ? 0 : 1, id });
}

// ------------------------------------------------------------------------------------------------ unread bodies

export interface UnreadBody extends BodyPlace {
  id: number;
  /** The `Date` header that came with it. */
  date: string | null;
  /** {@link headText} of the answer. */
  head: string | null;
}

/** The next kept body that this mapping has not been tried on. */
export function loadUnreadBody(store: Store, mapping: string): UnreadBody | undefined {
  return store
    .prepare<UnreadBody>(
      `SELECT id, body, body_id AS bodyId, service_date AS date, head FROM batches INDEXED BY batches_unread
       WHERE state = 'unread' AND (body IS NOT NULL OR body_id IS NOT NULL) AND read_with IS NOT ? ORDER BY id LIMIT 1`,
    )
    .get(mapping);
}

/** The service's time when the oldest body that is still unread was delivered. */
export function loadOldestUnreadDate(store: Store): string | undefined {
  const rest = "INDEXED BY batches_unread WHERE state = 'unread' AND service_date IS NOT NULL ORDER BY id LIMIT 1";
  return select(store, batches, ["serviceDate"], rest).get()?.serviceDate ?? undefined;
}

export function countUnread(store: Store): { count: number; bytes: number } {
  return onlyRow(
    store
      .prepare<{ count: number; bytes: number }>(
        `SELECT count(*) AS count, coalesce(sum(${bodyLength("batches")}), 0) AS bytes FROM batches INDEXED BY batches_unread
       WHERE state = 'unread'`,
      )
      .get(),
  );
}

/** The batch that no confirm can name and that came last, and how often the service has served it. */
export interface ServedUnnamed {
  batch: number;
  times: number;
}

/** What is kept of the times at which confirms are tried again. */
export interface ConfirmTimes {
  /** `refusedUntil`: what the service said keeps its confirm from leaving before. */
  waits: { id: number; tries: number; dueAt: string; refusedUntil?: string }[];
  /** Refused after an attempt of unknown outcome, or answered in another way than usual: confirmed once the service has not served it for long. */
  doubts: { id: number; since: string; polls: number; form?: AnswerForm | undefined; count?: string | undefined }[];
  refused: number[];
  /** A confirm takes no more ids, until then. */
  idsMax?: { size: number; until: string };
  refusedAgainAt: string;
}

export function loadConfirmTimes(store: Store): ConfirmTimes | undefined {
  return loadMetaJson<ConfirmTimes>(store, "confirms");
}

export function saveConfirmTimes(store: Store, times: ConfirmTimes): void {
  saveMetaJson(store, "confirms", times);
}

export function loadBatchOf(store: Store, id: number): BatchRow | undefined {
  return store.prepare<BatchRow>(`SELECT ${COLUMNS} FROM batches WHERE id = ?`).get(id);
}

/** How long a kept body of the same orders stays the newer one. */
const KEPT_ANEW = "-1 hour";

/** The body that is kept under this fingerprint; `isNew`: it stays, whatever has come. */
export function loadKeptUnder(
  store: Store,
  fingerprint: string,
  at: string,
): (BodyPlace & { id: number; isNew: boolean }) | undefined {
  const row = store
    .prepare<BodyPlace & { id: number; isNew: number }>(
      `SELECT id, body, body_id AS bodyId, received_at >= strftime('%Y-%m-%dT%H:%M:%fZ', ?, '${KEPT_ANEW}') AS isNew FROM batches
       WHERE fingerprint = ? AND state = 'unread'`,
    )
    .get(at, fingerprint);
  return row === undefined ? undefined : { ...row, isNew: row.isNew === 1 };
}

/** Keeps a body that could not be read. The same twice is one row; of the same orders it holds the newest, an hour old at most. */
export function saveUnreadBody(
  store: Store,
  unread: {
    fingerprint: string;
    place: BodyPlace;
    date: string | undefined;
    head: string | null;
    /** The mapping that failed on it; null where none has been tried to its end. */
    mapping: string | null;
    error: Message | null;
    at: string;
  },
): number {
  store
    .prepare(
      `INSERT INTO batches (fingerprint, received_at, order_count, state, last_error, read_with, service_date, head, body, body_id)
       VALUES (?, ?, 0, 'unread', ?, ?, ?, ?, ?, ?)
       ON CONFLICT (fingerprint) DO UPDATE
       SET body = excluded.body, body_id = excluded.body_id, head = excluded.head, received_at = excluded.received_at
       WHERE state = 'unread' AND (body IS NOT excluded.body OR body_id IS NOT excluded.body_id)
         AND received_at < strftime('%Y-%m-%dT%H:%M:%fZ', excluded.received_at, '${KEPT_ANEW}')`,
    )
    .run(
      unread.fingerprint,
      unread.at,
      unread.error === null ? null : store.textOf(unread.error),
      unread.mapping,
      unread.date ?? null,
      unread.head,
      unread.place.body,
      unread.place.bodyId,
    );
  return onlyValue(store, "SELECT id FROM batches WHERE fingerprint = ?", unread.fingerprint);
}

/** The body was read: what it held is stored in the same transaction. */
export function deleteUnread(store: Store, id: number): void {
  deleteRows(store, batches, { id, state: "unread" });
}

export function markUnreadTried(store: Store, id: number, mapping: string, error: Message): void {
  updateRows(store, batches, { id }, { readWith: mapping, lastError: store.textOf(error) });
}

/** A path has matched for the first time: what failed for the lack of it is now its records' fault, and can be read. */
export function markUnreadUntried(store: Store): void {
  store
    .prepare(
      "UPDATE batches INDEXED BY batches_unread SET read_with = NULL WHERE state = 'unread' AND read_with IS NOT NULL",
    )
    .run();
}

// ------------------------------------------------------------------------------------- the mark of a delivery

export interface OpenDelivery {
  /** When the oldest GET whose answer is missing left. */
  openedAt: string;
  /** The answer of an earlier GET is missing: whatever it delivered is not stored. */
  lost: boolean;
}

/**
 * Before a GET. A GET that was still open then is one whose answer never came: it is lost, and the service has to
 * come round once more from here.
 */
export function openDelivery(store: Store, at: string): OpenDelivery {
  const row = onlyRow(
    store
      .prepare<{ openedAt: string; lost: number }>(
        `INSERT INTO pull_mark (id, opened_at, is_open, lost) VALUES (1, ?, 1, 0)
       ON CONFLICT (id) DO UPDATE SET lost = 1, is_open = 1,
         last_batch_id = CASE WHEN is_open THEN (SELECT max(id) FROM batches) ELSE last_batch_id END,
         first_served = CASE WHEN is_open THEN NULL ELSE first_served END
       RETURNING opened_at AS openedAt, lost`,
      )
      .get(at),
  );
  return { openedAt: row.openedAt, lost: row.lost === 1 };
}

export function loadDelivery(store: Store): OpenDelivery | undefined {
  const row = findRow(store, openDeliveries, {});
  return row === undefined ? undefined : { openedAt: row.openedAt, lost: row.lost };
}

/** The GET that opened the mark is accounted for. An earlier lost one stays lost. */
export function closeDelivery(store: Store): void {
  deleteRows(store, openDeliveries, { lost: false });
  updateRows(store, openDeliveries, { isOpen: true }, { isOpen: false });
}

/**
 * A batch was served and is stored now; `known` where it was stored before. A batch that was first served after the
 * loss and now comes again says that the service has come round, the lost delivery included: the mark ends. One that
 * was served before the loss says nothing, because it may stand in the row before the lost one. True where it ended.
 */
export function settleDelivery(store: Store, fingerprint: string, known: { id: number } | undefined): boolean {
  const ended = store
    .prepare("DELETE FROM pull_mark WHERE lost = 1 AND (first_served = ? OR coalesce(last_batch_id, 0) < ?)")
    .run(fingerprint, known?.id ?? -1).changes;
  if (ended > 0) return true;
  updateRows(store, openDeliveries, { lost: true, firstServed: null }, { firstServed: fingerprint });
  return false;
}

/** A person decided: nothing is missing any more. */
export function clearDelivery(store: Store): void {
  deleteRows(store, openDeliveries, {});
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
