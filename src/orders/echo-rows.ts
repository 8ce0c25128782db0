/*
 * Updates the ERP's status requests when records of their orders arrive. SQL, because the ERP writes that table: its
 * ids may be larger than drizzle reads, and an order's requests are changed as a set.
 */
import { isOlder } from "../answers/timestamp.ts";
import { onlyRow } from "../database/only-row.ts";
import { isSameName } from "../database/same-name.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import { isWell } from "../pass/runs.ts";
import { type Echo, isStatusAlone, type LearnedEchoes, learnEcho } from "./learn-echo.ts";

/**
 * Condition on refused requests: the service answered that it does not have the order. They are reopened if it returns.
 */
export const NO_ORDER = "http_status IN (404, 410)";

/**
 * An accepted status that has not come back for so long is no longer expected: the same change then counts as another
 * client's.
 */
const ECHO_AGE = "-1 day";

export const ECHO_IS_FRESH = `(state = 'sending' OR answered_at >= strftime('%Y-%m-%dT%H:%M:%fZ', @at, '${ECHO_AGE}'))`;

/** A removed order is back: requests refused because it was missing become pending, unless a later status was sent. */
export function reopenRequests(store: Store, orderId: string): void {
  store
    .prepare(
      `UPDATE status_requests AS r SET state = 'pending', echo = NULL, http_status = NULL, answered_at = NULL, last_error = NULL,
         first_sent_at = NULL
       WHERE order_id = ? AND state = 'refused' AND ${NO_ORDER} AND NOT EXISTS (
         SELECT 1 FROM status_requests s WHERE s.order_id = r.order_id AND s.state = 'sent' AND s.id > r.id)`,
    )
    .run(orderId);
}

/** A request sent so often is not reopened: the service goes back to the older version each time. */
const SENT_MAX = 5;

const GONE_BACK = "the service has gone back to an earlier version of the order";

/**
 * The service went back to an older version of an order and lost the status sent last: requests sent since that version
 * become pending. Returns their number.
 */
export function reopenLost(
  store: Store,
  order: {
    orderId: string;
    lost: { status: string | null };
    kept: { status: string | null; timestamp: string | null };
    timezone: string;
  },
): number {
  const { orderId, lost, kept, timezone } = order;
  const sent = store
    .prepare<{
      id: bigint;
      status: string;
      before: string | null;
      timestamp: string | null;
      attempts: bigint;
    }>(
      `SELECT id, status_sent AS status, status_before AS before, stamp_before AS timestamp, attempts FROM status_requests
       WHERE order_id = ? AND state = 'sent' AND status_sent IS NOT NULL ORDER BY answered_at DESC, id DESC LIMIT 100`,
    )
    .safeIntegers(true)
    .all(orderId);
  if (!isSameName(sent[0]?.status, lost.status) || isSameName(lost.status, kept.status)) return 0;
  const isLost = ({ status, before, timestamp }: (typeof sent)[number]) => {
    if (isOlder(kept.timestamp, timestamp, timezone)) return true;
    // With equal timestamps, or none, this request may have made the kept version.
    if (isSameName(status, kept.status)) return false;
    return timestamp === null ? isSameName(before, kept.status) : !isOlder(timestamp, kept.timestamp, timezone);
  };
  const stays = sent.findIndex((request) => !isLost(request) || request.attempts >= SENT_MAX);
  const reopen = store.prepare(
    `UPDATE status_requests SET state = 'pending', echo = NULL, http_status = NULL, answered_at = NULL, first_sent_at = NULL,
       unshown_since = NULL, last_error = '${GONE_BACK}' WHERE id = ?`,
  );
  const reopened = stays < 0 ? sent : sent.slice(0, stays);
  for (const { id } of reopened) reopen.run(id);
  return reopened.length;
}

/**
 * A request that was in flight when the service lost earlier ones of its order has arrived: the earlier ones are not
 * sent after it.
 */
export function settleOvertaken(store: Store, id: bigint, at: string): void {
  store
    .prepare(
      `UPDATE status_requests AS r SET state = 'sent', answered_at = @at, last_error = NULL
       WHERE order_id = (SELECT order_id FROM status_requests WHERE id = @id) AND id < @id AND state = 'pending'
         AND last_error = '${GONE_BACK}'`,
    )
    .run({ id, at });
}

/**
 * The last status that the service accepted and that no read has shown; `leftAt`: when the request was sent, by the
 * service's clock.
 */
export function loadAccepted(
  store: Store,
  orderId: string,
  at: string,
): { status: string; leftAt: string | null } | undefined {
  return store
    .prepare<{ status: string; leftAt: string | null }>(
      `SELECT status_sent AS status, left_at AS leftAt FROM status_requests
       WHERE order_id = @orderId AND echo IS NOT NULL AND state = 'sent' AND http_status IS NOT NULL AND status_sent IS NOT NULL
         AND ${ECHO_IS_FRESH} ORDER BY id DESC LIMIT 1`,
    )
    .get({ orderId, at });
}

/**
 * To be called when the status of an order changes. Returns whether it changed to one that we sent and have not read
 * since; that request and those before it are then settled, and one that was given up with its outcome unknown becomes
 * `sent`. After any other status no answered request is expected to show any more.
 */
export function settleEchoes(store: Store, orderId: string, status: string | null, at: string): boolean {
  const echoes = "FROM status_requests WHERE order_id = @orderId AND echo IS NOT NULL";
  const { id } = onlyRow(
    store
      .prepare<{ id: bigint | null }>(
        `SELECT max(id) AS id ${echoes} AND is_same_name(status_sent, @status) AND ${ECHO_IS_FRESH}`,
      )
      .safeIntegers(true)
      .get({ orderId, status, at }),
  );
  const settled = id === null ? "state <> 'sending'" : "id <= @id";
  store
    .prepare(
      `UPDATE status_requests SET echo = NULL, unshown_since = NULL,
         shown_at = CASE WHEN is_same_name(status_sent, @status) THEN @at ELSE shown_at END,
         last_error = CASE WHEN is_same_name(status_sent, @status) AND (state = 'refused' OR unshown_since IS NOT NULL) THEN NULL ELSE last_error END,
         state = CASE WHEN state = 'refused' AND is_same_name(status_sent, @status) THEN 'sent' ELSE state END
       WHERE id IN (SELECT id ${echoes}) AND ${settled}`,
    )
    .run({ orderId, status, at, ...(id === null ? {} : { id }) });
  return id !== null;
}

const ECHOES = new LearnedTopic<LearnedEchoes>("changes", {});

/**
 * Whether a status that came back was the only change, and learns from it; learns nothing while changes are not
 * followed. To be called inside a transaction.
 */
export function judgeEcho(store: Store, echo: Echo): boolean {
  const learned = ECHOES.load(store, "echoes");
  if (isWell(store, "updates")) ECHOES.save(store, "echoes", learnEcho(learned, echo));
  return isStatusAlone(learned, echo);
}

/** Services that apply a status with a delay have done so by then. */
const SHOWN_WITHIN = "-15 minutes";

/**
 * To be called when a read has shown an order to be as it is stored. If it still has the status from before a request
 * that was accepted long ago, the request is marked. Several such orders raise a condition (`loadFacts`).
 */
export function saveUnshown(store: Store, orderId: string, at: string): void {
  const unshown = store
    .prepare<{ id: bigint; answeredAt: string; status: string | null }>(
      `SELECT r.id, r.answered_at AS answeredAt, o.status FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id)
       WHERE r.order_id = @orderId AND r.echo IS NOT NULL AND r.state = 'sent' AND r.http_status IS NOT NULL AND r.unshown_since IS NULL
         AND is_same_name(r.status_sent, o.status) IS NOT 1
         AND (r.status_before IS o.status OR is_same_name(r.status_before, o.status))
         AND r.answered_at <= strftime('%Y-%m-%dT%H:%M:%fZ', @at, '${SHOWN_WITHIN}')`,
    )
    .safeIntegers(true)
    .all({ orderId, at });
  const save = store.prepare("UPDATE status_requests SET unshown_since = ?, last_error = ? WHERE id = ?");
  for (const { id, answeredAt, status } of unshown)
    save.run(at, store.textOf(m.statuses.unshown({ answeredAt, status: JSON.stringify(status) })), id);
}
