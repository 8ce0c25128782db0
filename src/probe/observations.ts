/*
 * What was noticed about the service, and how far the history of orders has been looked at. Written apart from the
 * orders, in small transactions of its own; after a crash the same orders are looked at again, and what is known
 * already is no second row and no write.
 */

import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { listRows, updateRows } from "../database/queries.ts";
import { observations } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { OrderSource } from "../records/order-mapping.ts";
import { listNotices, markNoticesRead } from "./learned-notices.ts";
import type { Observation } from "./observation.ts";
import type { Misses } from "./observe.ts";

export interface ObservationRow extends Observation {
  firstSeenAt: string;
  state: "new" | "dismissed" | "over";
}

/** How far the history was looked at. `paths` is a memory of what matched; losing it only delays a notice. */
export interface ObservedMark {
  seq: number;
  misses: Misses;
}

export function loadObservations(store: Store): ObservationRow[] {
  return [
    ...listNotices(store).map((notice): ObservationRow => ({ ...notice, state: "new" })),
    ...listRows(store, observations, {}, ["firstSeenAt", "kind", "name"]),
  ];
}

/** A row the first time; a path that went away again after it was over is new again. */
export function saveObservation(store: Store, observation: Observation, at: string): boolean {
  return (
    store
      .prepare(
        `INSERT INTO observations (kind, name, sample, first_seen_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (kind, name) DO UPDATE SET state = 'new', sample = excluded.sample WHERE state = 'over'`,
      )
      .run(observation.kind, observation.name, observation.sample, at).changes > 0
  );
}

/** What was noticed has ended by itself. */
export function markObservationOver(store: Store, kind: Observation["kind"], name: string): void {
  if (kind !== "field" && kind !== "status" && kind !== "path") return;
  updateRows(store, observations, { kind, name, state: "new" }, { state: "over" });
}

/** A person has read them. Returns the names that were dismissed. */
export function dismissObservations(store: Store): string[] {
  const notices = listNotices(store);
  markNoticesRead(store);
  const rows = store
    .prepare<{ kind: string; name: string }>(
      "UPDATE observations SET state = 'dismissed' WHERE state = 'new' RETURNING kind, name",
    )
    .all();
  return [...notices, ...rows].map(({ kind, name }) => `${kind} ${name}`);
}

export interface ObservedOrder {
  /** The event by which the order came or changed. */
  seq: number;
  status: string | null;
  source: OrderSource;
  payload: string;
}

/** Orders that came or changed after `seq`, each with its newest content, in the order of history. */
export function loadOrdersSince(store: Store, seq: number, limit: number): ObservedOrder[] {
  return store
    .prepare<ObservedOrder>(
      `SELECT e.seq, o.status, o.payload_source AS source, o.payload
       FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key
       WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
    )
    .all(seq, limit);
}

/** What cannot be read means that nothing was looked at: the names are known all the same. */
export function loadObservedMark(store: Store): ObservedMark {
  const mark: Partial<ObservedMark> = loadMetaJson(store, "observed") ?? {};
  return { seq: mark.seq ?? 0, misses: mark.misses ?? {} };
}

export function saveObservedMark(store: Store, mark: ObservedMark): void {
  saveMetaJson(store, "observed", mark);
}
