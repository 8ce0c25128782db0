/*
 * What the database already has about the service, for `probe`: stored bodies, and the results of confirms, imports and
 * requests. Read-only and bounded. Raw SQL, because it counts and groups.
 */

import { select } from "../database/queries.ts";
import type { NamedRow } from "../database/row.ts";
import { batches, feedSent, feeds, orders, statusRequests } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { loadWatermark, UPDATES_STREAM } from "../pass/position-rows.ts";
import type { Candidate } from "../updates/reads/control-rows.ts";
import { loadLearned } from "../updates/times/learned-rows.ts";

const PAYLOADS_MAX = 30;
const BODIES_MAX = 3;
const BODY_BYTES_MAX = 8 * 1024 * 1024;

export type ProbeKnowledge = ReturnType<typeof loadProbeKnowledge>;

export function loadProbeKnowledge(store: Store) {
  const isSmall = (column: string) => `length(${column}) < ${BODY_BYTES_MAX} ORDER BY`;
  const all = <Row>(sql: string) => store.prepare<Row>(sql).all();
  return {
    /** Newest payloads of whole orders. */
    payloads: select(store, orders, ["payload"], `WHERE ${isSmall("payload")} order_key DESC LIMIT ${PAYLOADS_MAX}`)
      .all()
      .map(({ payload }) => payload),
    /** Bodies of batches that could not be read. */
    unreadBodies: select(
      store,
      batches,
      ["body"],
      `WHERE state = 'unread' AND ${isSmall("body")} id DESC LIMIT ${BODIES_MAX}`,
    )
      .all()
      .map(({ body }) => body?.toString("utf8") ?? ""),
    /** An order to read: in lower case, and as the service writes it. */
    order: store
      .prepare<Omit<Candidate, "orderKey">>(
        `SELECT order_id AS orderId, coalesce(service_id, order_id) AS serviceId FROM orders WHERE removed_at IS NULL
         ORDER BY order_key DESC LIMIT 1`,
      )
      .get(),
    watermark: loadWatermark(store, UPDATES_STREAM),
    learned: loadLearned(store),
    batches: all<Pick<NamedRow<typeof batches>, "state"> & { hasId: number; count: number; largest: number }>(
      `SELECT state, service_batch_id IS NOT NULL AS hasId, count(*) AS count, max(order_count) AS largest
       FROM batches GROUP BY state, hasId`,
    ),
    confirmError:
      select(store, batches, ["lastError"], "WHERE state = 'refused' ORDER BY id DESC LIMIT 1").get()?.lastError ??
      null,
    statuses: all<Pick<NamedRow<typeof orders>, "status"> & { count: number }>(
      "SELECT status, count(*) AS count FROM orders GROUP BY status ORDER BY count DESC LIMIT 50",
    ),
    requests: all<Pick<NamedRow<typeof statusRequests>, "state"> & { count: number }>(
      "SELECT state, count(*) AS count FROM status_requests GROUP BY state",
    ),
    requestError:
      select(store, statusRequests, ["lastError"], "WHERE last_error IS NOT NULL ORDER BY id DESC LIMIT 1").get()
        ?.lastError ?? null,
    feeds: select(store, feeds, ["name", "acceptedAt", "acceptedBy", "chunk"], "ORDER BY feed_id").all(),
    errors: all<{ job: string; code: string; count: number }>(
      `SELECT job, error_code AS code, count(*) AS count FROM runs WHERE error_code IS NOT NULL GROUP BY job, error_code
       ORDER BY count DESC LIMIT 30`,
    ),
  };
}

/**
 * A record that the service acknowledged, of a row without pending changes. Sending it again has no effect as long as
 * no bridge sends a newer value meanwhile, so the caller holds the instance lock.
 */
export function loadAcknowledged(store: Store, feed: string): string | undefined {
  const rest = `s JOIN feeds f ON f.feed_id = s.feed_id
    WHERE f.name = ? AND s.gone = 0 AND NOT EXISTS (SELECT 1 FROM feed_outbox o WHERE o.feed_id = s.feed_id
      AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3) LIMIT 1`;
  return select(store, feedSent, ["record"], rest).get(feed)?.record;
}
