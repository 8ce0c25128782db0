/*
 * Changes that name no order: the position moves over them, so that one bad record never keeps the others waiting, but the changes of that time
 * are asked for again, ever more seldom, until they name their orders or a week is over; where the service does not go back so far, every order is
 * read instead (`find-cut-changes.ts`). Written in the transaction that quarantines the first
 * of them; each time is a backfill, and what it brings is stored like any other change.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { releaseUnnamed } from "../pass/held-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { loadBackfill, requestBackfill } from "./backfill.ts";

const MINUTE_MS = 60_000;
/** Waits: trouble of any length is over no later than as long again after it ended, and half an hour. */
const WAITS_MS = [30, 60, 120, 240, 480].map((minutes) => minutes * MINUTE_MS);
const LAST_MS = 12 * 60 * MINUTE_MS;
/** What is not named by then never is: the sweep of each night has asked as well, and `reconcile` has read the orders. */
const GIVEN_UP_MS = 7 * 24 * 60 * MINUTE_MS;

interface LookBack {
  /** UTC, ISO 8601: from when on changes are asked for. */
  from: string;
  /** When the first record was held, by this machine's clock. */
  since: string;
  step: number;
  dueAt: string;
}

/** Inside the transaction that holds the record. @param note.from undefined: the service sends no time to ask from */
export function noteUnnamed(store: Store, { from, at }: { from: string | undefined; at: string }): void {
  if (from === undefined) return;
  const standing = load(store);
  if (standing !== undefined && standing.from <= from) return;
  save(store, standing === undefined ? { from, since: at, step: 0, dueAt: dueAfter(at, 0) } : { ...standing, from });
}

/** Whether the changes are to be asked for again now, and nothing else is asked for so. */
export function isLookBackDue(store: Store, nowMs: number): boolean {
  const standing = load(store);
  if (standing === undefined || loadBackfill(store) !== undefined) return false;
  const dueMs = Date.parse(standing.dueAt);
  // No wait is so long: the clock was set back.
  return dueMs <= nowMs || dueMs > nowMs + 2 * LAST_MS;
}

/** Inside a write transaction. */
export function requestLookBack(store: Store, at: string): void {
  const standing = load(store);
  if (standing === undefined) return;
  requestBackfill(store, standing.from, { isOwn: true });
  const step = standing.step + 1;
  save(store, { ...standing, step, dueAt: dueAfter(at, step) });
}

/**
 * All changes from `from` on were served. Where each named its order, what is held of that time is among them. Inside the transaction
 * that stores them. Returns how many records that released.
 */
export function settleLookBack(
  store: Store,
  { from, isNamed, at }: { from: string; isNamed: boolean; at: string },
): number {
  const standing = load(store);
  if (standing === undefined || standing.from < from) return 0;
  const isOver = Date.parse(at) - Date.parse(standing.since) > GIVEN_UP_MS;
  if (isNamed || isOver) deleteMeta(store, "look_back");
  return isNamed ? releaseUnnamed(store, "change", standing.since) : 0;
}

/** The service does not go back so far: every order is read instead. Inside the transaction that begins that. */
export function endLookBack(store: Store): void {
  deleteMeta(store, "look_back");
}

function dueAfter(at: string, step: number): string {
  return isoTime(Date.parse(at) + (WAITS_MS[step] ?? LAST_MS));
}

function load(store: Store): LookBack | undefined {
  return loadMetaJson<LookBack>(store, "look_back");
}

function save(store: Store, standing: LookBack): void {
  saveMetaJson(store, "look_back", standing);
}
