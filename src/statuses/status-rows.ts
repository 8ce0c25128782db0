/*
 * Status requests of the ERP: an outbox, ordered per order. A request is `sending` from before it is sent until its
 * outcome is known, so that after a crash nothing is sent again before the order was read. Every update names the
 * expected state, because the ERP may change or delete its rows at any time; an outcome is written only where the row is
 * still the request that it is of (`isReplaced`). `echo` shows whether the status has come
 * back with the order; until then that change is our own. SQL, because the ERP writes this table: ids and numbers of
 * any size, which drizzle cannot read, and values too large to read.
 */

import { digestOf } from "../answers/digest.ts";
import { countAsked } from "../database/log/progress-note.ts";
import { onlyValue } from "../database/only-row.ts";
import { findRow, upsertRow } from "../database/queries.ts";
import { matchedPaths } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { findAltered } from "../database/stored-text.ts";
import type { Message } from "../messages/message.ts";
import { ECHO_IS_FRESH, settleOvertaken } from "../orders/echo-rows.ts";
import type { Old } from "../pass/runs.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import type { RequestedOrder, WantedStatus } from "./plan-status.ts";

/** Larger values (together) are not read: a status needs no megabyte. */
const VALUES_BYTES_MAX = 1_000_000;
/** An id has 36 characters. */
const ID_CHARACTERS = 64;
/** Longer than any timestamp. */
export const STAMP_CHARACTERS = 64;
/** The ERP may write the largest integer into this column. */
const ATTEMPTS_MAX = 1_000_000;
export interface StatusRequest extends WantedStatus {
  id: bigint;
  state: "pending" | "sending";
  attempts: number;
  statusSent: string | null;
  statusBefore: string | null;
  /** The service has answered it without accepting it. */
  wasAnswered: boolean;
  /** Digest of what the ERP has written. */
  asked: string;
}

/** A request as it was read or sent; `statusSent` is left out where it may have been sent since. */
export type AskedStatus = Pick<StatusRequest, "id" | "asked"> & Partial<Pick<StatusRequest, "statusSent">>;

/** As SQLite returns it, integers without loss: the ERP may have written any. */
type RequestRow = Omit<StatusRequest, "isTooLarge" | "attempts" | "notUtf8" | "wasAnswered" | "asked"> & {
  isTooLarge: bigint;
  attempts: bigint;
  wasAnswered: bigint;
};

/** Of the ERP's values alone, so that they are read the same before and after the request has left. */
const TOO_LARGE = `coalesce(octet_length(r.status), 0) + coalesce(octet_length(r.comment), 0)
  + coalesce(octet_length(r.data), 0) > ${VALUES_BYTES_MAX}`;
export const unlessTooLarge = (column: string) => `CASE WHEN ${TOO_LARGE} THEN NULL ELSE r.${column} END`;
const ifShort = (column: string) => `CASE WHEN octet_length(r.${column}) <= ${VALUES_BYTES_MAX} THEN r.${column} END`;
/** `substr` ends at a NUL, and would make an id of a text that no order has. */
const ORDER_ID = `iif(instr(r.order_id, char(0)) > 0, '', substr(r.order_id, 1, ${ID_CHARACTERS}))`;
const COLUMNS = `r.id, ${ORDER_ID} AS orderId, r.state, r.attempts,
  ${unlessTooLarge("status")} AS status, ${unlessTooLarge("comment")} AS comment, ${unlessTooLarge("data")} AS data,
  ${ifShort("status_sent")} AS statusSent, ${ifShort("status_before")} AS statusBefore,
  ${TOO_LARGE} AS isTooLarge, r.http_status IS NOT NULL AS wasAnswered`;

const OPEN = "state IN ('pending', 'sending')";

/**
 * The next request of each order, least tried first, so that an order that cannot be settled does not block others. A
 * `sending` one comes before all others of its order, whatever ids the ERP gave them.
 */
export function loadNextRequests(store: Store, limit: number): StatusRequest[] {
  const rows = store
    .prepare<RequestRow>(
      `WITH next (id, tried) AS MATERIALIZED (
         SELECT CASE WHEN max(r.state) = 'sending'
             THEN (SELECT min(e.id) FROM status_requests e WHERE e.order_id = r.order_id AND e.${OPEN} AND e.state = 'sending')
             ELSE min(r.id) END AS id,
           total(r.attempts) AS tried
         FROM status_requests r INDEXED BY status_requests_open
         WHERE r.${OPEN} GROUP BY r.order_id ORDER BY tried, id LIMIT ?)
       SELECT ${COLUMNS} FROM next n JOIN status_requests r ON r.id = n.id ORDER BY n.tried, n.id`,
    )
    .safeIntegers(true)
    .all(limit);
  return rows.map((row) => readRow(store, row));
}

/** Whether another request of the order waits for this one. */
export function hasOtherRequest(store: Store, id: bigint): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM status_requests r JOIN status_requests o ON o.order_id = r.order_id
    WHERE r.id = ? AND o.id <> r.id AND o.${OPEN})`;
  return onlyValue<number>(store, sql, id) === 1;
}

/** Whether changes were followed completely since the request was made, so that the stored order is current. */
export function isFollowedSince(store: Store, id: bigint): boolean {
  const sql = `SELECT (SELECT started_at FROM runs WHERE job = 'updates' AND outcome IN ('done', 'idle') ORDER BY id DESC LIMIT 1)
    > substr(requested_at, 1, ${STAMP_CHARACTERS}) FROM status_requests WHERE id = ?`;
  return onlyValue<number | null>(store, sql, id) === 1;
}

/** The request's present row; undefined where it is no longer open. */
export function loadOpenRequest(store: Store, id: bigint): StatusRequest | undefined {
  const row = store
    .prepare<RequestRow>(`SELECT ${COLUMNS} FROM status_requests r WHERE r.id = ? AND r.${OPEN}`)
    .safeIntegers(true)
    .get(id);
  return row === undefined ? undefined : readRow(store, row);
}

function readRow(store: Store, row: RequestRow): StatusRequest {
  const { status, comment, data } = row;
  const notUtf8 = findAltered(store.db, { status, comment, data }, (column) => loadBytes(store, row.id, column));
  const wasAnswered = row.wasAnswered === 1n;
  const asked = digestAsked(row);
  return { ...row, isTooLarge: row.isTooLarge === 1n, attempts: Number(row.attempts), wasAnswered, notUtf8, asked };
}

function digestAsked({ orderId, status, comment, data }: RequestRow): string {
  const values = [status, comment, data].map((value) => {
    if (value === null) return null;
    return Buffer.isBuffer(value) ? `blob ${value.toString("hex")}` : `${typeof value} ${value}`;
  });
  return digestOf(JSON.stringify([orderId.toLowerCase(), ...values])).toString("base64url");
}

/**
 * Whether another request has the id now: the ERP has written its row anew, or other values into it. What became of the
 * former one says nothing of it. To be called in the transaction that would write the outcome.
 */
export function isReplaced(store: Store, { id, asked, statusSent }: AskedStatus): boolean {
  const row = loadOpenRequest(store, id);
  if (row === undefined) return false;
  if (row.asked !== asked) return true;
  // A row that is inserted anew was never sent.
  return statusSent !== undefined && statusSent !== null && row.statusSent === null;
}

/**
 * Nothing was sent yet for the request that has the id now. A row that was not inserted anew has the former request's
 * `known_revision`, which says nothing of another order.
 */
export function beginAnew(store: Store, id: bigint, former: { orderId: string }): void {
  store
    .prepare(
      `UPDATE status_requests SET state = 'pending', attempts = 0, status_sent = NULL, status_before = NULL, revision_before = NULL,
         stamp_before = NULL, left_at = NULL, first_sent_at = NULL, echo = NULL, http_status = NULL, answered_at = NULL, last_error = NULL,
         new_form = NULL, shown_at = NULL, unshown_since = NULL, lost_ms = NULL,
         known_revision = iif(status_sent IS NOT NULL AND order_id <> ?, 0, known_revision)
       WHERE id = ? AND ${OPEN}`,
    )
    .run(former.orderId, id);
}

function loadBytes(store: Store, id: bigint, column: "status" | "comment" | "data"): Buffer {
  return onlyValue<Buffer>(store, `SELECT CAST(${column} AS BLOB) FROM status_requests WHERE id = ?`, id);
}

/** Key of the method and path under which the service has accepted a status. */
const PATH_ROLE = "status.path";

export function hasStatusPathMatched(store: Store, path: string): boolean {
  return findRow(store, matchedPaths, { role: PATH_ROLE, path }) !== undefined;
}

export function saveStatusPathMatched(store: Store, path: string, at: string): void {
  upsertRow(store, matchedPaths, { role: PATH_ROLE, path, matchedAt: at }, { key: ["role", "path"], set: [] });
}

const IS_SENT_AGAIN = "is_same_name(status_sent, @status)";

/**
 * To be called before the request is sent. From here on only an answer or a read of the order shows its outcome. What
 * was answered to another status, which the row asked for before, does not count.
 */
export function markSending(
  store: Store,
  id: bigint,
  sent: {
    status: string;
    before: Pick<RequestedOrder, "status" | "revision" | "updatedAt"> | undefined;
    /** By the service's clock, where known. */
    leftAt: string | null;
    at: string;
  },
): boolean {
  const { status = null, revision = null, updatedAt = null } = sent.before ?? {};
  const isMarked =
    store
      .prepare(
        `UPDATE status_requests SET state = 'sending', status_sent = @status, status_before = @before, revision_before = @revision,
           stamp_before = @updatedAt, left_at = @leftAt, unshown_since = NULL, lost_ms = NULL, echo = 'awaited',
           first_sent_at = coalesce(iif(${IS_SENT_AGAIN}, first_sent_at, NULL), @at), new_form = iif(${IS_SENT_AGAIN}, new_form, NULL),
           http_status = iif(${IS_SENT_AGAIN}, http_status, NULL), answered_at = iif(${IS_SENT_AGAIN}, answered_at, NULL),
           attempts = max(0, min(attempts, ${ATTEMPTS_MAX})) + 1
         WHERE id = @id AND state = 'pending'`,
      )
      .run({ status: sent.status, before: status, revision, updatedAt, leftAt: sent.leftAt, at: sent.at, id }).changes >
    0;
  if (isMarked) countAsked(store);
  return isMarked;
}

/** The service accepted the status, or the order has it. If no read has shown it yet, a read becomes due. */
export function markSent(store: Store, id: bigint, answer: { httpStatus: number | null; at: string }): boolean {
  const isSent =
    store
      .prepare(
        `UPDATE status_requests SET state = 'sent', http_status = ?, answered_at = ?, last_error = NULL, new_form = NULL, unshown_since = NULL,
           echo = CASE WHEN echo IS NOT NULL THEN 'owed' END
         WHERE id = ? AND ${OPEN}`,
      )
      .run(answer.httpStatus, answer.at, id).changes > 0;
  if (isSent) settleOvertaken(store, id, answer.at);
  return isSent;
}

/** @param answer `mayArrive`: a read may still show the status, which then settles the request as sent */
export function markRequestRefused(
  store: Store,
  id: bigint,
  answer: { httpStatus: number | null; reason: Message; at: string; mayArrive?: boolean },
): boolean {
  return (
    store
      .prepare(
        `UPDATE status_requests SET state = 'refused', http_status = ?, answered_at = ?, last_error = ?, new_form = NULL, unshown_since = NULL,
           echo = CASE WHEN ? THEN echo END
         WHERE id = ? AND ${OPEN}`,
      )
      .run(answer.httpStatus, answer.at, store.textOf(answer.reason), Number(answer.mayArrive === true), id).changes > 0
  );
}

/** The request had no effect and waits as before. `refusedAt`: this counts as a refusal of the service. */
export function markPendingAgain(
  store: Store,
  id: bigint,
  failure: { httpStatus: number | null; reason: Message; refusedAt?: string | undefined } | null,
): void {
  store
    .prepare(
      "UPDATE status_requests SET state = 'pending', echo = NULL, unshown_since = NULL WHERE id = ? AND state = 'sending'",
    )
    .run(id);
  if (failure === null) return;
  store
    .prepare(
      `UPDATE status_requests SET http_status = coalesce(?, http_status), last_error = ?, answered_at = coalesce(?, answered_at)
       WHERE id = ? AND ${OPEN}`,
    )
    .run(failure.httpStatus, store.textOf(failure.reason), failure.refusedAt ?? null, id);
}

/** Requests among which an accepted one is looked for: few are made between two tries of a refused one. */
const NEWEST_REQUESTS = 1_000;

/** Whether the request was refused before, also to another process, and the service has accepted another one since. */
export function isAcceptedSinceRefusal(store: Store, id: bigint): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM status_requests r
      JOIN (SELECT state, http_status, answered_at FROM status_requests ORDER BY id DESC LIMIT ${NEWEST_REQUESTS}) o
        ON o.state = 'sent' AND o.http_status IS NOT NULL AND o.answered_at > r.answered_at
    WHERE r.id = ? AND r.${OPEN})`;
  return onlyValue<number>(store, sql, id) === 1;
}

/** A new form of answer to the request. */
export interface NewFormAnswer {
  form: AnswerForm;
  /** When it first came. */
  at: string;
  /** How often the request was sent again because the order did not show the status. */
  repeats: number;
  /** It was sent again, and that was not answered: it goes again as any request without an answer. */
  isRepeating?: boolean;
  /** Another status that the answer showed for the order; no acceptance is learned from it. */
  shown?: string;
  /** Another request was accepted since; only used with `shown`, for which a refusal needs it. */
  isOtherAccepted?: boolean;
  /**
   * HTTP status of a repeated answer with another status, after another request was accepted: a refusal if the order is
   * unchanged.
   */
  refusedWith?: number;
}

/** Undefined where the column was not written by the bridge. */
export function loadNewForm(store: Store, id: bigint): NewFormAnswer | undefined {
  const row = store
    .prepare<{ text: string | null }>("SELECT new_form AS text FROM status_requests WHERE id = ?")
    .get(id);
  try {
    const answer = JSON.parse(row?.text ?? "null") as NewFormAnswer | null;
    return answer === null || Number.isNaN(Date.parse(answer.at)) || !answer.form?.names ? undefined : answer;
  } catch {
    return undefined;
  }
}

export function saveNewForm(store: Store, id: bigint, answer: NewFormAnswer): void {
  store.prepare(`UPDATE status_requests SET new_form = ? WHERE id = ? AND ${OPEN}`).run(JSON.stringify(answer), id);
}

/** A status was accepted: from now on an answer that shows another status again is a refusal. */
export function noteOtherAccepted(store: Store, accepted: bigint): void {
  store
    .prepare(
      `UPDATE status_requests SET new_form = json_set(new_form, '$.isOtherAccepted', json('true'))
       WHERE ${OPEN} AND attempts > 0 AND new_form IS NOT NULL AND id <> ?
         AND iif(json_valid(new_form), json_type(new_form, '$.shown') = 'text' AND new_form ->> '$.isOtherAccepted' IS NULL, 0)`,
    )
    .run(accepted);
}

/** A person decides that answers in new forms were acceptances. Returns the number of requests affected. */
export function acceptNewForms(store: Store, at: string): number {
  const accepted = store
    .prepare<bigint>(
      `UPDATE status_requests SET state = 'sent', answered_at = ?, last_error = NULL, new_form = NULL, unshown_since = NULL,
         echo = CASE WHEN echo IS NOT NULL THEN 'owed' END
       WHERE state = 'sending' AND new_form IS NOT NULL RETURNING id`,
    )
    .pluck()
    .safeIntegers(true)
    .all(at);
  for (const id of accepted) settleOvertaken(store, id, at);
  return accepted.length;
}

export function hasNewForms(store: Store): boolean {
  return (
    store.prepare("SELECT 1 FROM status_requests WHERE state = 'sending' AND new_form IS NOT NULL LIMIT 1").get() !==
    undefined
  );
}

/** The outcome is still unknown; other requests are tried first. */
export function markUnsettled(store: Store, id: bigint, reason: Message): void {
  store
    .prepare(
      `UPDATE status_requests SET attempts = max(0, min(attempts, ${ATTEMPTS_MAX})) + 1, last_error = ? WHERE id = ? AND ${OPEN}`,
    )
    .run(store.textOf(reason), id);
}

/** Why the request is not settled; its attempt was counted when it was sent. */
export function saveRequestError(store: Store, id: bigint, reason: Message): void {
  store
    .prepare(`UPDATE status_requests SET last_error = @text WHERE id = @id AND ${OPEN} AND last_error IS NOT @text`)
    .run({ text: store.textOf(reason), id });
}

/** Since when the order is found changed by another client, by this machine's clock. */
export function loadUnshownSince(store: Store, id: bigint): string | null {
  const sql = `SELECT substr(unshown_since, 1, ${STAMP_CHARACTERS}) FROM status_requests WHERE id = ?`;
  return onlyValue<string | null>(store, sql, id);
}

export function saveUnshownSince(store: Store, id: bigint, since: string): void {
  store
    .prepare(
      `UPDATE status_requests SET unshown_since = @since WHERE id = @id AND ${OPEN} AND unshown_since IS NOT @since`,
    )
    .run({ id, since });
}

/** When the request left the last time, by the service's clock. */
export function loadLeftAt(store: Store, id: bigint): string | null {
  const sql = `SELECT substr(left_at, 1, ${STAMP_CHARACTERS}) FROM status_requests WHERE id = ?`;
  return onlyValue<string | null>(store, sql, id);
}

/** When the answer to the request was found missing, and its order lacked the status: milliseconds since the machine's start. */
export function loadLostMs(store: Store, id: bigint): number | undefined {
  return onlyValue<number | null>(store, "SELECT lost_ms FROM status_requests WHERE id = ?", id) ?? undefined;
}

export function saveLostMs(store: Store, id: bigint, lostMs: number): void {
  store.prepare(`UPDATE status_requests SET lost_ms = ? WHERE id = ? AND ${OPEN} AND lost_ms IS NULL`).run(lostMs, id);
}

/** Orders whose new status must be read back, oldest first. */
export function loadDueEchoes(store: Store, limit: number): { orderId: string; serviceId: string }[] {
  return store
    .prepare<{ orderId: string; serviceId: string }>(
      `SELECT o.order_id AS orderId, coalesce(o.service_id, o.order_id) AS serviceId
       FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id)
       WHERE r.echo = 'owed' AND r.state = 'sent' GROUP BY o.order_key ORDER BY min(r.id) LIMIT ?`,
    )
    .all(limit);
}

/**
 * The order was read after our status was accepted, so no read is due any more. Returns whether the read showed the
 * status.
 */
export function markEchoesRead(store: Store, orderId: string, status: string | null): boolean {
  const read = store
    .prepare<string | null>(
      `UPDATE status_requests SET echo = CASE WHEN is_same_name(status_sent, @status) THEN NULL ELSE 'awaited' END
       WHERE order_id = @orderId AND echo = 'owed' RETURNING echo`,
    )
    .pluck()
    .all({ orderId, status });
  return read.every((echo) => echo === null);
}

/** Gives up reads that failed for so long; the change list shows the order's state. */
export function forgetOldEchoes(store: Store, at: string): void {
  store.prepare(`UPDATE status_requests SET echo = NULL WHERE echo = 'owed' AND NOT ${ECHO_IS_FRESH}`).run({ at });
}

/** Removes requests that were sent before `before` and have come back with their order, at most `limit`. */
export function deleteSentBefore(store: Store, { upTo, before, now }: Old, limit: number): number {
  return store
    .prepare(
      `DELETE FROM status_requests WHERE id IN (SELECT id FROM status_requests
         WHERE state = 'sent' AND echo IS NOT 'owed' AND id <= ?
           AND (answered_at < ? OR answered_at > ?) ORDER BY id LIMIT ?)`,
    )
    .run(upTo, before, now, limit).changes;
}
