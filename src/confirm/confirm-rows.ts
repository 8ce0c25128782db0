/*
 * State of confirms. After a crash, batches in state `stored` are the confirms still to be sent, and `confirm_attempts`
 * says whether an earlier one may have been accepted. SQL, because each poll runs it; it names the partial index of the
 * state.
 */

import { BATCH_COLUMNS, type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { SIGHTING_GAP } from "../pass/quarantine-rows.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import type { NamedOrder } from "./plan-repeat.ts";

/**
 * The refusal may have been a fault of the service, so it is retried this often; then a person decides, unless the batch
 * only repeats confirmed orders.
 */
export const REFUSED_TRIES_MAX = 48;
/** A confirm that has failed so often while pulls were answered is retried alone: the service is not down. */
export const FAILURES_OF_ONE_MAX = 3;
/** Only so many of the newest batches are compared with what is served, to bound the time of the statement. */
const COMPARED_MAX = 500;

/** Which batches may be confirmed now. */
export interface DueOptions {
  account: string;
  limit: number;
  /** Named batches with ids up to `upTo` wait, except those named in the JSON array `except`. */
  held?: { upTo: number; except: string } | undefined;
}

const IS_DUE = `NOT (id <= @upTo AND service_batch_id IS NOT NULL
  AND service_batch_id NOT IN (SELECT value FROM json_each(@except)))`;

function dueParameters({ account, limit, held = { upTo: 0, except: "[]" } }: DueOptions) {
  return { account, limit, ...held };
}

/**
 * Stored batches to confirm to this account, least tried first, so that one that always fails does not block the
 * others.
 */
export function loadUnconfirmed(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_stored
       WHERE state = 'stored' AND ${SERVED_HERE} AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** Other unconfirmed rows of the batch: as it was served before, with other orders under the same name. */
export function loadOthersOf(
  store: Store,
  { id, batchId }: Pick<BatchRow, "id" | "batchId">,
  account: string,
): BatchRow[] {
  const inState = (state: string) => `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND service_batch_id = @batchId AND id <> @id AND ${SERVED_HERE}`;
  return store.prepare<BatchRow>(`${inState("stored")} UNION ALL ${inState("refused")}`).all({ id, batchId, account });
}

/** The ids, as JSON literals, of orders that were refused alone: the confirm of an earlier batch names nothing else. */
export function loadRefusedAlone(store: Store, { id }: Pick<BatchRow, "id">, account: string): string[] {
  const inState = (state: string, more = "") => `SELECT order_ids AS ids FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND id < @id AND ${SERVED_HERE} AND json_array_length(order_ids) = 1 ${more}`;
  const sql = `${inState("stored", `AND confirm_attempts >= ${FAILURES_OF_ONE_MAX}`)} UNION ALL ${inState("refused")}`;
  const rows = store.prepare<{ ids: string }>(sql).all({ id, account });
  return rows.map(({ ids }) => ids.slice(1, -1).trim());
}

/** Refused confirms, least tried first. */
export function loadRefusedConfirms(store: Store, options: DueOptions): BatchRow[] {
  return store
    .prepare<BatchRow>(
      `SELECT ${BATCH_COLUMNS} FROM batches INDEXED BY batches_refused
       WHERE state = 'refused' AND order_ids IS NOT NULL AND ${SERVED_HERE} AND ${IS_DUE}
       ORDER BY confirm_attempts, id LIMIT @limit`,
    )
    .all(dueParameters(options));
}

/** What is stored of these orders (JSON array of ids in lower case), which a refused confirm of the batch names. */
export function loadNamedOrders(
  store: Store,
  { id, orderIds, account }: Pick<BatchRow, "id"> & { orderIds: string; account: string },
): NamedOrder[] {
  const before = (state: string) => `SELECT order_ids FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND id < @id AND ${SERVED_HERE}`;
  return store
    .prepare<Record<Exclude<keyof NamedOrder, "source">, number> & Pick<NamedOrder, "source">>(
      `SELECT last.source AS source, orders.removed_at IS NOT NULL AS isRemoved,
         coalesce(last.at IN (SELECT received_at FROM batches
           WHERE state = 'confirmed' AND id < @id AND ${SERVED_HERE}), 0) AS isConfirmed,
         ids.value IN (SELECT lower(theirs.value) FROM (${before("stored")} UNION ALL ${before("refused")}) due,
           json_each(due.order_ids) theirs) AS isUnconfirmed,
         ids.value IN (SELECT order_id FROM owed_reads) OR EXISTS (SELECT 1 FROM quarantine INDEXED BY quarantine_record
           WHERE kind IN ('order', 'change', 'snapshot') AND state = 'held'
             AND coalesce(reference, '') >= ids.value AND coalesce(reference, '') < ids.value || '!') AS mayHaveChanged
       FROM json_each(@orderIds) ids LEFT JOIN orders ON order_id = ids.value
       LEFT JOIN order_event_rows last ON last.seq = (SELECT seq FROM order_event_rows mine
         WHERE mine.order_key = orders.order_key AND mine.source <> 'remap' ORDER BY seq DESC LIMIT 1)`,
    )
    .all({ id, orderIds, account })
    .map(({ source, isConfirmed, isUnconfirmed, mayHaveChanged, isRemoved }) => ({
      source,
      isRemoved: isRemoved === 1,
      isConfirmed: isConfirmed === 1,
      isUnconfirmed: isUnconfirmed === 1,
      mayHaveChanged: mayHaveChanged === 1,
    }));
}

/** Whether a record that came then may have been quarantined. A sighting is saved only if the one before is old enough. */
export function hasQuarantined(store: Store, { receivedAt }: Pick<BatchRow, "receivedAt">): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM quarantine
    WHERE kind = 'order' AND first_seen_at <= @receivedAt
      AND last_seen_at >= strftime('%Y-%m-%dT%H:%M:%fZ', @receivedAt, '${SIGHTING_GAP}'))`;
  return onlyValue<number>(store, sql, { receivedAt }) === 1;
}

/** Whether an unconfirmed batch up to `upTo` with another name holds one of these orders (JSON array). */
export function isServedAnew(store: Store, { upTo, batchId, orderIds }: Anew): boolean {
  const dueIn = (state: string) => `SELECT * FROM (SELECT id, service_batch_id, order_ids
    FROM batches INDEXED BY batches_${state} WHERE state = '${state}' ORDER BY id DESC LIMIT ${COMPARED_MAX})`;
  const sql = `SELECT EXISTS (SELECT 1 FROM (${dueIn("stored")} UNION ALL ${dueIn("refused")}) due, json_each(due.order_ids) mine
    WHERE due.id <= @upTo AND due.service_batch_id IS NOT NULL AND due.service_batch_id IS NOT @batchId
      AND mine.value IN (SELECT value FROM json_each(@orderIds)))`;
  return onlyValue<number>(store, sql, { upTo, batchId, orderIds: orderIds ?? "[]" }) === 1;
}

type Anew = Pick<BatchRow, "batchId" | "orderIds"> & { upTo: number };

/**
 * Whether the confirm of the order's batch is still to be sent: until then the service may refuse other requests for
 * the order.
 */
export function isConfirmPending(
  store: Store,
  { orderId, serviceId }: { orderId: string; serviceId: string },
): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM (
      SELECT order_ids FROM batches INDEXED BY batches_stored WHERE state = 'stored'
      UNION ALL SELECT order_ids FROM batches INDEXED BY batches_refused
        WHERE state = 'refused' AND confirm_attempts < ${REFUSED_TRIES_MAX}
    ) pending, json_each(pending.order_ids) mine WHERE lower(mine.value) IN (?, lower(?)))`;
  return onlyValue<number>(store, sql, orderId, serviceId) === 1;
}

/** When the batch was first confirmed; undefined if it is not confirmed. */
export function loadConfirmedAt(store: Store, id: number): string | undefined {
  const row = store
    .prepare<{ at: string | null }>("SELECT confirmed_at AS at FROM batches WHERE id = ? AND state = 'confirmed'")
    .get(id);
  return row?.at ?? undefined;
}

export function markConfirmBegun(store: Store, id: number): void {
  store.prepare("UPDATE batches SET confirm_attempts = confirm_attempts + 1 WHERE id = ?").run(id);
}

/**
 * The confirm of the batch's other ids was accepted; `rest` is left. `begun`: the first attempt at it starts with this
 * commit.
 */
export function saveUnconfirmedIds(store: Store, id: number, { rest, begun }: { rest: string; begun: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET order_ids = ?, confirm_attempts = CASE state WHEN 'stored' THEN ? ELSE confirm_attempts END
       WHERE id = ? AND state IN ('stored', 'refused')`,
    )
    .run(rest, begun ? 1 : 0, id);
}

/** The account that accepted a confirm, and the time. */
interface Accepted {
  account: string;
  at: string;
}

/**
 * Also confirms other rows that this confirm covers, of the same account only: the same batch with other orders, and a
 * refused batch whose orders are all confirmed by now. Returns whether the batch's own row changed.
 */
export function markConfirmed(
  store: Store,
  batch: Pick<BatchRow, "id" | "batchId" | "orderIds">,
  { account, at }: Accepted,
): boolean {
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL, last_error = NULL
       WHERE id = ? AND (state <> 'confirmed' OR last_error IS NOT NULL)`,
    )
    .run(at, batch.id);
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'refused' AND ${SERVED_HERE} AND service_batch_id = @batchId`,
    )
    .run({ account, at, batchId: batch.batchId });
  saveCoveredIds(store, batch.orderIds ?? "[]", { account, at });
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND service_batch_id = @batchId AND ${SERVED_HERE}`,
    )
    .run({ account, at, batchId: batch.batchId });
  return changes > 0;
}

/**
 * Removes these confirmed orders from refused batches, so that only the others are confirmed later; a refused batch of
 * which none is left becomes confirmed.
 */
export function saveCoveredIds(store: Store, orderIds: string, { account, at }: Accepted): void {
  const isCovered =
    "length(mine.value) IS 36 AND mine.value IN (SELECT value FROM json_each(@orderIds) WHERE value IS NOT NULL)";
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'refused' AND ${SERVED_HERE} AND order_ids <> '[]'
         AND NOT EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE NOT (${isCovered}))`,
    )
    .run({ account, at, orderIds });
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_refused
       SET order_ids = (SELECT json_group_array(mine.value) FROM json_each(order_ids) mine WHERE NOT (${isCovered}))
       WHERE state = 'refused' AND ${SERVED_HERE} AND EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE ${isCovered})`,
    )
    .run({ account, orderIds });
}

/**
 * A confirm by order ids was accepted: also confirms other stored batches whose remaining orders it named completely.
 */
export function markCoveredConfirmed(store: Store, orderIds: string, { account, at }: Accepted): void {
  store
    .prepare(
      `UPDATE batches INDEXED BY batches_stored
       SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE state = 'stored' AND ${SERVED_HERE} AND order_ids <> '[]'
         AND NOT EXISTS (SELECT 1 FROM json_each(order_ids) mine WHERE length(mine.value) IS NOT 36
           OR mine.value NOT IN (SELECT value FROM json_each(@orderIds) WHERE value IS NOT NULL))`,
    )
    .run({ account, at, orderIds });
}

/**
 * A confirm that names nothing was accepted: it covers every stored or refused batch of the account. Returns how many
 * rows changed.
 */
export function markAllConfirmed(store: Store, { account, at }: Accepted): number {
  return store
    .prepare(
      `UPDATE batches SET state = 'confirmed', confirmed_at = @at, order_ids = NULL, last_error = NULL
       WHERE ${SERVED_HERE}
         AND id IN (SELECT id FROM batches WHERE state = 'stored' UNION ALL SELECT id FROM batches WHERE state = 'refused')`,
    )
    .run({ account, at }).changes;
}

/**
 * A refused confirm is retried only now and then, or when the batch is served again. So is one that counted as confirmed
 * ({@link markRefusedConfirmed}). Returns whether the row changed.
 */
export function markConfirmRefused(store: Store, { id, orderIds }: BatchRow, message: Message): boolean {
  const error = String(message);
  const { changes } = store
    .prepare(
      `UPDATE batches SET state = 'refused', last_error = @error, confirmed_at = NULL, order_ids = coalesce(order_ids, @orderIds)
       WHERE id = @id AND (state <> 'confirmed' OR last_error IS NOT NULL) AND (state <> 'refused' OR last_error IS NOT @error)`,
    )
    .run({ id, orderIds, error });
  if (changes > 0) store.textOf(message);
  return changes > 0;
}

/** The refused batch counts as confirmed. Only such a confirmed batch has a `last_error`: the refusal. */
export function markRefusedConfirmed(store: Store, id: number, at: string): void {
  store
    .prepare(
      "UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL WHERE id = ? AND state = 'refused'",
    )
    .run(at, id);
}

/**
 * The confirm is to be retried. An attempt that did not reach the service, or that it refused, had no effect and is not
 * counted. After any other the outcome is unknown, and the batch becomes `stored` again.
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

/** The last batch that no confirm can name, and how often it was served. */
export interface ServedUnnamed {
  batch: number;
  times: number;
}

/** Saved times of retries. */
export interface ConfirmTimes {
  /** `refusedUntil`: an answer of the service forbids this confirm until then. */
  waits: { id: number; tries: number; dueAt: string; refusedUntil?: string }[];
  /**
   * Confirms of unknown outcome (see `ConfirmWaits`): they count as accepted once the batch has not been served for
   * long enough.
   */
  doubts: { id: number; since: string; polls: number; form?: AnswerForm | undefined; count?: string | undefined }[];
  refused: number[];
  /** Refused batches that repeat confirmed orders, and how many retries were refused while none of these was served. */
  repeats?: [id: number, retries: number][];
  /** Refused batches that the service does not have, as retries were answered (see `ConfirmWaits.countGone`). */
  gone?: { id: number; retries: number; isOtherAccepted: boolean }[];
  /** Refused confirms whose division was broken off (see `Division`). */
  divisions?: { id: number; waiting: string[][]; alone: string[] }[];
  /** Batches whose confirm was refused in a row; none is sent before that time. */
  forbidden?: { batches: number[]; until: string };
  /** The largest number of ids that a confirm may name, until then. */
  idsMax?: { size: number; until: string };
  refusedAgainAt: string;
}

export function loadConfirmTimes(store: Store): ConfirmTimes | undefined {
  return loadMetaJson<ConfirmTimes>(store, "confirms");
}

export function saveConfirmTimes(store: Store, times: ConfirmTimes): void {
  saveMetaJson(store, "confirms", times);
}

/** Retries of refused confirms that may end them are counted anew. */
export function forgetRepeats(store: Store): void {
  const times = loadConfirmTimes(store);
  if (times?.repeats === undefined && times?.gone === undefined) return;
  const { repeats: _former, gone: _counted, ...others } = times;
  saveConfirmTimes(store, others);
}
