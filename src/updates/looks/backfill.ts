/*
 * Reads changes from a time that a person names: of orders confirmed elsewhere, or before the bridge was installed. A
 * backfill is read as a wide re-poll, after new changes; from its first page on, the saved rest of the re-poll shows
 * where it continues. It is given up after several failed passes.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../../database/meta.ts";
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

/** To be called inside a write transaction. Replaces a backfill that has not begun. */
export function requestBackfill(store: Store, from: string, how: Pick<Backfill, "isOwn"> = {}): void {
  save(store, { from, tries: 0, ...how });
}

export function loadBackfill(store: Store): Backfill | undefined {
  return loadMetaJson<Backfill>(store, "backfill");
}

/** To be called inside a write transaction, when it has begun or there is nothing to read. */
export function endBackfill(store: Store): void {
  deleteMeta(store, "backfill");
}

/** Counts a failed pass, inside a write transaction. Returns whether the backfill was given up. */
export function failBackfill(store: Store): boolean {
  const backfill = loadBackfill(store);
  if (backfill === undefined) return false;
  const tries = backfill.tries + 1;
  if (tries < TRIES_MAX) save(store, { ...backfill, tries });
  else endBackfill(store);
  return tries >= TRIES_MAX;
}

function save(store: Store, backfill: Backfill): void {
  saveMetaJson(store, "backfill", backfill);
}
