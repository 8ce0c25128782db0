/*
 * The mark of an open delivery. After a crash it says whether an answer of GET /orders may be missing. Where confirms name their batch it
 * keeps nothing back, and what is lost matters once they name nothing: there a note for each process takes its place.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyRow } from "../database/only-row.ts";
import { deleteRows, findRow, updateRows } from "../database/queries.ts";
import { openDelivery as openDeliveries } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

export interface OpenDelivery {
  /** When the oldest GET whose answer is missing left. */
  openedAt: string;
  /** The answer of an earlier GET is missing: whatever it delivered is not stored. */
  lost: boolean;
}

/** Before a GET. A GET that was still open then is one whose answer never came: it is lost, and the service has to come round once more from here. */
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

/** Of GETs whose confirms name their batch: the first of a process, or of the first one that has lost an answer. */
export interface Unanswered {
  since: string;
  isLost: boolean;
  /** The newest batch that was still to be confirmed when a GET left that is not accounted for. */
  due?: number | undefined;
  loss?: AnswerLoss | undefined;
}

/** Answers are missing that may have handed out other batches under the names of these. */
export interface AnswerLoss {
  /** The newest of these batches. */
  upTo: number;
  /** The first answer that is missing, and the last. */
  since: string;
  at: string;
  /** How often the service has answered since what it has to deliver. */
  polls: number;
}

export function loadUnanswered(store: Store): Unanswered | undefined {
  return loadMetaJson<Unanswered>(store, "unanswered");
}

export function saveUnanswered(store: Store, unanswered: Unanswered): void {
  saveMetaJson(store, "unanswered", unanswered);
}

/** The newest batch that is still to be confirmed, or to be read before. */
export function loadNewestDue(store: Store): number | undefined {
  const sql = `SELECT max(id) AS newest FROM (
      SELECT max(id) AS id FROM batches INDEXED BY batches_stored WHERE state = 'stored'
      UNION ALL SELECT max(id) FROM batches INDEXED BY batches_refused WHERE state = 'refused'
      UNION ALL SELECT max(id) FROM batches INDEXED BY batches_unread WHERE state = 'unread')`;
  return onlyRow(store.prepare<{ newest: number | null }>(sql).get()).newest ?? undefined;
}

/** A kept body is a row of its own once it is read: as old as the body, whatever its number. */
export function moveDue(store: Store, from: number, to: number): void {
  const unanswered = loadUnanswered(store);
  if (unanswered === undefined) return;
  const { due = 0, loss } = unanswered;
  saveUnanswered(store, {
    ...unanswered,
    ...(from <= due && { due: to }),
    ...(loss !== undefined && from <= loss.upTo && { loss: { ...loss, upTo: to } }),
  });
}

/** Whatever the GET that has left last delivered is stored, or kept: it has delivered nothing unseen under the name of a batch that waits. */
export function noteAccounted(store: Store): void {
  const unanswered = loadUnanswered(store);
  if (unanswered?.due === undefined) return;
  const { due: _, ...accounted } = unanswered;
  saveUnanswered(store, accounted);
}

/** Every GET was answered, or is marked in another way. */
export function deleteUnanswered(store: Store): void {
  deleteMeta(store, "unanswered");
}

/** Confirms name nothing from now on: what may have been lost before is a lost delivery. */
export function loseUnanswered(store: Store): void {
  const unanswered = loadUnanswered(store);
  if (unanswered === undefined) return;
  openDelivery(store, unanswered.since);
  deleteUnanswered(store);
}

export function loadDelivery(store: Store): OpenDelivery | undefined {
  const row = findRow(store, openDeliveries, {});
  return row === undefined ? undefined : { openedAt: row.openedAt, lost: row.lost };
}

/** The GET that opened the mark is accounted for. An earlier lost one stays lost. */
export function closeDelivery(store: Store): void {
  noteAccounted(store);
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

/** Another account is asked from now on: what was served before proves nothing about a mark from before (`lostAt`). */
export function loseAgain(store: Store, lostAt: string | undefined): void {
  if (lostAt !== undefined && loadDelivery(store) === undefined) openDelivery(store, lostAt);
  store
    .prepare("UPDATE pull_mark SET first_served = NULL, last_batch_id = (SELECT max(id) FROM batches) WHERE lost = 1")
    .run();
}

/** A person decided: nothing is missing any more. */
export function clearDelivery(store: Store): void {
  deleteRows(store, openDeliveries, {});
}
