/*
 * What was noticed about the service, and the position in the history of orders up to which it was checked. Written
 * apart from the orders, in small transactions; after a crash the same orders are checked again, and what is already
 * known is not written twice.
 */

import { MetaValue } from "../database/meta.ts";
import { listRows, updateRows } from "../database/queries.ts";
import { observations } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Covered } from "../pass/shown.ts";
import type { OrderSource } from "../records/order-mapping.ts";
import { listNotices, markNoticesRead } from "./learned-notices.ts";
import type { Observation } from "./observation.ts";
import type { Misses } from "./observe.ts";

export interface ObservationRow extends Observation {
  firstSeenAt: string;
  state: "new" | "dismissed" | "over";
}

/** Position in the history. `misses` counts missing paths; losing it only delays a notice. */
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

/** Inserts a new observation, or reopens one that was over. Returns whether it is new. */
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

/** What {@link dismissObservations} would dismiss: those are not shown that came after others. */
export function coveredObservations(store: Store): Covered & { names: string[] } {
  const fresh = loadObservations(store).filter(({ state }) => state === "new");
  const names = fresh.map(({ kind, name }) => `${kind} ${name}`);
  return { what: names.join("\n"), isShown: new Set(fresh.map(({ firstSeenAt }) => firstSeenAt)).size <= 1, names };
}

/** Marks all as read. Returns the names that were dismissed. */
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
  /** The event with which the order came or changed. */
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

export const OBSERVED_MARK = new MetaValue<Partial<ObservedMark>>("observed", {});

/** An unreadable position counts as the start: known names are not reported again. */
export function loadObservedMark(store: Store): ObservedMark {
  const { seq, misses } = OBSERVED_MARK.load(store);
  return { seq: seq ?? 0, misses: misses ?? {} };
}
