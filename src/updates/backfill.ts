/*
 * Changes from a time on that a person names: orders that were confirmed elsewhere, or before the bridge was. They are read as a
 * sweep that begins so far back, after what is new; from its first page on the sweep's rest says where it goes on. A service that
 * does not take that, again and again, is not asked for it any more.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

const TRIES_MAX = 5;

interface Backfill {
  /** UTC, ISO 8601. */
  from: string;
  /** Passes that failed. */
  tries: number;
  /** It is not waited for: where the service does not go back so far, that is no failure. */
  isOwn?: true;
}

/** Inside a write transaction. Another one that has not begun is replaced. */
export function requestBackfill(store: Store, from: string, how: Pick<Backfill, "isOwn"> = {}): void {
  save(store, { from, tries: 0, ...how });
}

export function loadBackfill(store: Store): Backfill | undefined {
  return loadMetaJson<Backfill>(store, "backfill");
}

/** It has begun, or there is nothing to begin. Inside a write transaction. */
export function endBackfill(store: Store): void {
  deleteMeta(store, "backfill");
}

/** A pass failed. True: it was the last. Inside a write transaction. */
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
