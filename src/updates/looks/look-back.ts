/*
 * Changes without a usable order id: the position moves over them, so that a bad record does not block others, but
 * changes of that time are requested again at growing intervals, until they have ids or a week is over. If the service
 * does not go back so far, every order is read instead (`find-cut-changes.ts`). A row exists from the transaction that
 * quarantines the first of them; each request is a backfill, whose changes are stored as usual.
 */

import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { releaseUnnamed } from "../../pass/held-rows.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { BACKFILL, requestBackfill } from "./backfill.ts";

/** After trouble of any length ends, the next request follows within the same length plus half an hour. */
const WAITS_MS = [30, 60, 120, 240, 480].map((minutes) => minutes * MINUTE_MS);
const LAST_MS = 12 * 60 * MINUTE_MS;
/** By then the nightly re-polls have requested them too, and `reconcile` has read the orders. */
const GIVEN_UP_MS = 7 * 24 * 60 * MINUTE_MS;

interface LookBack {
  /** UTC, ISO 8601: changes are requested from here. */
  from: string;
  /** When the first record was held, by this machine's clock. */
  since: string;
  step: number;
  dueAt: string;
}

export const LOOK_BACK = new MetaValue<LookBack | undefined>("look_back");

/**
 * To be called inside the transaction that holds the record. @param note.from undefined: the service has no time to
 * start from
 */
export function noteUnnamed(store: Store, { from, at }: { from: string | undefined; at: string }): void {
  if (from === undefined) return;
  const standing = LOOK_BACK.load(store);
  if (standing !== undefined && standing.from <= from) return;
  LOOK_BACK.save(
    store,
    standing === undefined ? { from, since: at, step: 0, dueAt: dueAfter(at, 0) } : { ...standing, from },
  );
}

/** Whether changes are due to be requested again, and no other backfill runs. */
export function isLookBackDue(store: Store, nowMs: number): boolean {
  const standing = LOOK_BACK.load(store);
  if (standing === undefined || BACKFILL.load(store) !== undefined) return false;
  const dueMs = Date.parse(standing.dueAt);
  // No wait is so long: the clock was set back.
  return dueMs <= nowMs || dueMs > nowMs + 2 * LAST_MS;
}

/** To be called inside a write transaction. */
export function requestLookBack(store: Store, at: string): void {
  const standing = LOOK_BACK.load(store);
  if (standing === undefined) return;
  requestBackfill(store, standing.from, { isOwn: true });
  const step = standing.step + 1;
  LOOK_BACK.save(store, { ...standing, step, dueAt: dueAfter(at, step) });
}

/**
 * To be called when all changes from `from` on were served, inside the transaction that stores them. If each had an
 * order id, the held ones are among them and are released. Returns how many were released.
 */
export function settleLookBack(
  store: Store,
  { from, isNamed, at }: { from: string; isNamed: boolean; at: string },
): number {
  const standing = LOOK_BACK.load(store);
  if (standing === undefined || standing.from < from) return 0;
  const isOver = Date.parse(at) - Date.parse(standing.since) > GIVEN_UP_MS;
  if (isNamed || isOver) LOOK_BACK.delete(store);
  return isNamed ? releaseUnnamed(store, "change", standing.since) : 0;
}

function dueAfter(at: string, step: number): string {
  return isoTime(Date.parse(at) + (WAITS_MS[step] ?? LAST_MS));
}
