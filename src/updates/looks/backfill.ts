/*
 * Reads changes from a time that a person names: of orders confirmed elsewhere, or before the bridge was installed. A
 * backfill is read as a wide re-poll, after new changes; from its first page on, the saved rest of the re-poll shows
 * where it continues. It is given up after several failed passes.
 */

import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";

const TRIES_MAX = 5;

interface Backfill {
  /** UTC, ISO 8601. */
  from: string;
  /** Number of failed passes. */
  tries: number;
  /** Started by the bridge itself: it is no failure if the service does not go back so far. */
  isOwn?: true;
}

/** To be deleted when it has begun or there is nothing to read. */
export const BACKFILL = new MetaValue<Backfill | undefined>("backfill");

/** To be called inside a write transaction. Replaces a backfill that has not begun. */
export function requestBackfill(store: Store, from: string, how: Pick<Backfill, "isOwn"> = {}): void {
  BACKFILL.save(store, { from, tries: 0, ...how });
}

/** Counts a failed pass, inside a write transaction. Returns whether the backfill was given up. */
export function failBackfill(store: Store): boolean {
  const backfill = BACKFILL.load(store);
  if (backfill === undefined) return false;
  const tries = backfill.tries + 1;
  BACKFILL.save(store, tries < TRIES_MAX ? { ...backfill, tries } : undefined);
  return tries >= TRIES_MAX;
}
