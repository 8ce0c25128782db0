/*
 * Copies the ERP's status requests from PostgreSQL into the shop's table, each exactly once: the client's UUID is stored in
 * the transaction that inserts the row. SQL, because the ERP writes that table too, with ids of any size.
 */

import type { Store } from "../../database/store.ts";
import { m } from "../../messages/messages.ts";
import { beginAnew } from "../../statuses/status-rows.ts";
import { loadOwnOrder, planFormer } from "./former-orders.ts";
import type { Outcome, RemoteRequest, TouchedRequest } from "./remote-rows.ts";

/** Written by the ERP, these columns may hold any number; PostgreSQL's are 32 bits wide. */
const INTEGER_MAX = 2_147_483_647;

interface LocalRequest {
  orderId: string;
  status: string | null;
  comment: string | null;
  data: string | null;
  knownRevision: string | null;
  state: string;
}

/**
 * `isAgain`: the shop's database was restored or made anew, so a request that it lacks may already have been sent: the order is
 * read before it is sent. The outcome of one that it has as open is PostgreSQL's.
 */
export interface RequestRules {
  isAgain: boolean;
  /** The service's names of statuses, by those of the ERP. */
  statusMap: Readonly<Record<string, string>>;
  at: string;
}

export interface AppliedRequest {
  /** Why the request is refused; null where it is not. */
  reason: string | null;
  isNew: boolean;
}

const NOTHING_NEW = { reason: null, isNew: false };

export function applyRequest(store: Store, touched: TouchedRequest, rules: RequestRules): AppliedRequest {
  const { id, request } = touched;
  const known = store
    .prepare<{ requestId: bigint | null }>("SELECT request_id AS requestId FROM mirror_requests WHERE request_uuid = ?")
    .safeIntegers(true)
    .get(id);
  if (known === undefined) return request === null ? NOTHING_NEW : addRequest(store, { ...touched, request }, rules);
  if (known.requestId === null) return NOTHING_NEW;
  if (request === null) {
    takeBack(store, id, known.requestId);
    return NOTHING_NEW;
  }
  if (rules.isAgain && takeOutcome(store, known.requestId, request, rules)) return NOTHING_NEW;
  return { reason: compareRequest(store, known.requestId, request), isNew: false };
}

function addRequest(
  store: Store,
  { id, request, former }: TouchedRequest & { request: RemoteRequest },
  rules: RequestRules,
): AppliedRequest {
  const save = (requestId: number | bigint | null) =>
    store
      .prepare("INSERT INTO mirror_requests (request_uuid, request_id, taken_at) VALUES (?, ?, ?)")
      .run(id, requestId, rules.at);
  // Another database of this shop has processed it.
  if (request.state !== "pending" && !(rules.isAgain && request.state === "sending")) {
    save(null);
    return NOTHING_NEW;
  }
  const { orderId, status, comment, data, requestedAt, knownRevision } = request;
  const order = loadOwnOrder(store, orderId, { knownRevision, isAlone: former === undefined });
  // Also one of an order that this database lacks may have been sent, unless it was refused.
  const isFound = order !== undefined || (rules.isAgain && request.error === null);
  if (!isFound) return { reason: String(m.mirror.orderUnknown), isNew: false };
  // What the shop has by now says nothing of what the ERP knew: without a revision it knew none.
  const { lastInsertRowid } = store
    .prepare(
      "INSERT INTO status_requests (order_id, status, comment, data, requested_at, known_revision) VALUES (?, ?, ?, ?, ?, coalesce(CAST(? AS INTEGER), 0))",
    )
    .run(orderId, status, comment, data, requestedAt ?? rules.at, knownRevision);
  if (rules.isAgain) {
    const wanted = wantedBy(request, rules);
    const before = planFormer({ request: { wanted, hasLeft: request.state === "sending" }, former, own: order });
    store
      .prepare(
        `UPDATE status_requests SET state = 'sending', status_sent = ?, status_before = ?, revision_before = ?, stamp_before = ?,
           echo = ? WHERE id = ?`,
      )
      .run(
        wanted,
        before.status,
        before.revision,
        before.updatedAt,
        before.hasComeBack ? null : "awaited",
        lastInsertRowid,
      );
  }
  save(lastInsertRowid);
  return { reason: null, isNew: true };
}

/** The service's name of the status. */
function wantedBy({ status }: RemoteRequest, { statusMap }: RequestRules): string | null {
  return status !== null && Object.hasOwn(statusMap, status) ? (statusMap[status] ?? status) : status;
}

/**
 * Ends a request with the outcome that it had before this database went back. One that was opened again since (`pending`, with a note), or sent
 * again, is later than that outcome. Returns whether it was open as before.
 */
function takeOutcome(store: Store, requestId: bigint, request: RemoteRequest, rules: RequestRules): boolean {
  if (request.state !== "sent" && request.state !== "refused") return false;
  const { orderId, status, comment, data, knownRevision, state, attempts, httpStatus, answeredAt, lastError } = request;
  const wasSent = attempts > 0;
  return (
    store
      .prepare(
        `UPDATE status_requests SET order_id = @orderId, status = @status, comment = @comment, data = @data,
           known_revision = coalesce(CAST(@knownRevision AS INTEGER), known_revision), state = @state, attempts = @attempts,
           http_status = @httpStatus, answered_at = @answeredAt, last_error = @lastError, status_sent = @sent, echo = @echo,
           new_form = NULL, unshown_since = NULL, lost_ms = NULL
         WHERE id = @requestId AND (state = 'sending' AND coalesce(first_sent_at <= @answeredAt, 1)
           OR state = 'pending' AND NOT EXISTS (SELECT 1 FROM mirror_changes WHERE kind = 'request' AND key = @requestId))`,
      )
      .run({
        requestId,
        orderId,
        status,
        comment,
        data,
        knownRevision,
        state,
        attempts,
        httpStatus,
        answeredAt,
        lastError,
        sent: wasSent ? wantedBy(request, rules) : null,
        echo: wasSent && state === "sent" ? "owed" : null,
      }).changes > 0
  );
}

/** Cancels a request that the ERP has deleted, unless it was already sent. */
function takeBack(store: Store, id: string, requestId: bigint): void {
  const { changes } = store.prepare("DELETE FROM status_requests WHERE id = ? AND state = 'pending'").run(requestId);
  if (changes > 0) store.prepare("DELETE FROM mirror_requests WHERE request_uuid = ?").run(id);
}

function compareRequest(store: Store, requestId: bigint, request: RemoteRequest): string | null {
  const local = store
    .prepare<LocalRequest>(
      `SELECT order_id AS orderId, CAST(status AS TEXT) AS status, CAST(comment AS TEXT) AS comment, CAST(data AS TEXT) AS data, state,
         CAST(known_revision AS TEXT) AS knownRevision FROM status_requests WHERE id = ?`,
    )
    .get(requestId);
  const { orderId, status, comment, data } = request;
  const isSameOrder = local?.orderId.toLowerCase() === orderId;
  // Without a revision of another order its writer knew none.
  const knownRevision = request.knownRevision ?? (isSameOrder ? local.knownRevision : "0");
  const isSame =
    local === undefined ||
    (isSameOrder &&
      local.status === status &&
      local.comment === comment &&
      local.data === data &&
      knownRevision === local.knownRevision);
  // Also after refusals of the service: what waits has had no effect.
  if (!isSame && local.state === "pending") {
    store
      .prepare(
        `UPDATE status_requests SET order_id = ?, status = ?, comment = ?, data = ?,
           known_revision = CAST(? AS INTEGER) WHERE id = ?`,
      )
      .run(orderId, status, comment, data, knownRevision, requestId);
    // After the values: of a row that was sent it would forget the revision known of another order.
    beginAnew(store, requestId, { orderId });
    return null;
  }
  // PostgreSQL was restored to a state before the outcome.
  if (local?.state !== request.state) noteOutcome(store, requestId);
  return isSame ? null : String(m.mirror.requestLeft);
}

function noteOutcome(store: Store, requestId: number | bigint): void {
  store.prepare("DELETE FROM mirror_changes WHERE kind = 'request' AND key = ?").run(requestId);
  store.prepare("INSERT INTO mirror_changes (kind, key) VALUES ('request', ?)").run(requestId);
}

export interface OutcomeNote {
  noteId: number;
  outcome: Outcome;
}

/** The next outcomes that are not yet written to PostgreSQL. */
export function listOutcomes(store: Store, limit: number): OutcomeNote[] {
  return store
    .prepare<Outcome & { noteId: number }>(
      `SELECT c.id AS noteId, q.request_uuid AS id, lower(r.order_id) AS order_id, CAST(r.status AS TEXT) AS status,
         CAST(r.comment AS TEXT) AS comment, CASE WHEN json_valid(CAST(r.data AS TEXT)) THEN CAST(r.data AS TEXT) END AS data, r.requested_at,
         coalesce(r.state, 'refused') AS state, min(max(coalesce(r.attempts, 0), 0), ${INTEGER_MAX}) AS attempts, r.http_status, r.answered_at,
         CASE WHEN r.id IS NULL THEN ? ELSE r.last_error END AS last_error
       FROM mirror_changes c JOIN mirror_requests q ON q.request_id = c.key LEFT JOIN status_requests r ON r.id = c.key
       WHERE c.kind = 'request' ORDER BY c.id LIMIT ?`,
    )
    .all(String(m.mirror.requestDeleted), limit)
    .map(({ noteId, ...outcome }) => ({ noteId, outcome }));
}

export function hasOutcomes(store: Store): boolean {
  return store.prepare("SELECT 1 FROM mirror_changes WHERE kind = 'request' LIMIT 1").get() !== undefined;
}

/** Deletes exactly these notes: an outcome that changed since has a new one. */
export function deleteOutcomeNotes(store: Store, noteIds: readonly number[]): void {
  const drop = store.prepare("DELETE FROM mirror_changes WHERE id = ? AND kind = 'request'");
  for (const id of noteIds) drop.run(id);
}

/** PostgreSQL's ids of the requests that are open here. */
export function listOpenRequests(store: Store): string[] {
  return store
    .prepare<string>(
      `SELECT q.request_uuid FROM status_requests r JOIN mirror_requests q ON q.request_id = r.id
       WHERE r.state IN ('pending', 'sending')`,
    )
    .pluck()
    .all();
}

/** The next requests that came from PostgreSQL. */
export function listRequestIds(store: Store, after: number, limit: number): number[] {
  return store
    .prepare<{ id: number }>(
      "SELECT request_id AS id FROM mirror_requests WHERE request_id > ? ORDER BY request_id LIMIT ?",
    )
    .all(after, limit)
    .map(({ id }) => id);
}

/** Makes the outcomes of these requests be written to PostgreSQL again. */
export function noteOutcomes(store: Store, requestIds: readonly number[]): void {
  for (const id of requestIds) noteOutcome(store, id);
}
