/*
 * What the database already knows about the service, for `probe`: bodies that were stored or kept, and how confirms,
 * imports and requests went. Read-only, bounded, and of no consequence to anything else. SQL, because it counts and groups.
 */

import type { Store } from "../database/store.ts";
import { loadWatermark } from "../pass/position-rows.ts";
import type { Learned } from "../updates/follow.ts";
import { loadLearned } from "../updates/learned-rows.ts";

const PAYLOADS_MAX = 30;
const BODIES_MAX = 3;
const BODY_BYTES_MAX = 8 * 1024 * 1024;

export interface ProbeKnowledge {
  /** Newest payloads of whole orders. */
  payloads: string[];
  /** Bodies of batches that could not be read. */
  unreadBodies: string[];
  /** An order to read: in lower case, and as the service writes it. */
  order: { orderId: string; serviceId: string } | undefined;
  watermark: string | undefined;
  learned: Learned;
  batches: { state: string; hasId: boolean; count: number; largest: number }[];
  confirmError: string | null;
  statuses: { status: string | null; count: number }[];
  requests: { state: string; count: number }[];
  requestError: string | null;
  feeds: { name: string; acceptedAt: string | null; acceptedBy: string | null; chunk: number | null }[];
  errors: { job: string; code: string; count: number }[];
}

export function loadProbeKnowledge(store: Store): ProbeKnowledge {
  const all = <T>(sql: string, ...values: unknown[]) => store.db.prepare<unknown[], T>(sql).all(...values);
  const one = <T>(sql: string, ...values: unknown[]) => store.db.prepare<unknown[], T>(sql).get(...values);
  return {
    payloads: all<{ payload: string }>(
      "SELECT payload FROM orders WHERE length(payload) < ? ORDER BY order_key DESC LIMIT ?",
      BODY_BYTES_MAX,
      PAYLOADS_MAX,
    ).map(({ payload }) => payload),
    unreadBodies: all<{ body: Buffer }>(
      "SELECT body FROM batches WHERE state = 'unread' AND body IS NOT NULL AND length(body) < ? ORDER BY id DESC LIMIT ?",
      BODY_BYTES_MAX,
      BODIES_MAX,
    ).map(({ body }) => body.toString("utf8")),
    order: one(
      "SELECT order_id AS orderId, coalesce(service_id, order_id) AS serviceId FROM orders WHERE removed_at IS NULL ORDER BY order_key DESC LIMIT 1",
    ),
    watermark: loadWatermark(store, "updates"),
    learned: loadLearned(store),
    batches: all(
      `SELECT state, service_batch_id IS NOT NULL AS hasId, count(*) AS count, max(order_count) AS largest
       FROM batches GROUP BY state, hasId`,
    ),
    confirmError:
      one<{ error: string | null }>(
        "SELECT last_error AS error FROM batches WHERE state = 'refused' ORDER BY id DESC LIMIT 1",
      )?.error ?? null,
    statuses: all("SELECT status, count(*) AS count FROM orders GROUP BY status ORDER BY count DESC LIMIT 50"),
    requests: all("SELECT state, count(*) AS count FROM status_requests GROUP BY state"),
    requestError:
      one<{ error: string | null }>(
        "SELECT last_error AS error FROM status_requests WHERE last_error IS NOT NULL ORDER BY id DESC LIMIT 1",
      )?.error ?? null,
    feeds: all("SELECT name, accepted_at AS acceptedAt, accepted_by AS acceptedBy, chunk FROM feeds ORDER BY feed_id"),
    errors: all(
      "SELECT job, error_code AS code, count(*) AS count FROM runs WHERE error_code IS NOT NULL GROUP BY job, error_code ORDER BY count DESC LIMIT 30",
    ),
  };
}

/**
 * A record that the service acknowledged, of a row with nothing owed: sending it again changes nothing there as long
 * as no bridge sends a newer value meanwhile, so the caller holds the instance lock.
 */
export function loadAcknowledged(store: Store, feed: string): string | undefined {
  const row = store.db
    .prepare<unknown[], { record: string }>(
      `SELECT s.record FROM feed_sent s JOIN feeds f ON f.feed_id = s.feed_id
       WHERE f.name = ? AND s.gone = 0 AND NOT EXISTS (SELECT 1 FROM feed_outbox o WHERE o.feed_id = s.feed_id
         AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3) LIMIT 1`,
    )
    .get(feed);
  return row?.record;
}
