/*
 * What a person can have been shown of the rows that the guard holds. `status` names their number, which stays the same where
 * other rows take the place of some; an approval of that number must not cover rows that nobody has seen.
 */

import type { FeedName } from "../../config/feed-names.ts";
import { MetaValue, unlessEmpty } from "../../database/meta.ts";
import { onlyRow } from "../../database/only-row.ts";
import type { Store } from "../../database/store.ts";
import type { Covered } from "../../pass/shown.ts";
import { HELD } from "./guard-rows.ts";

interface Shown {
  /** The largest number of rows that this hold has named, and when: whoever names it has seen the hold since. */
  most: number;
  mostMs: number;
}

const SHOWN = new MetaValue<Partial<Record<FeedName, Shown>>>("guard_shown", {});

function save(store: Store, name: FeedName, shown: Shown | undefined): void {
  const { [name]: former, ...others } = SHOWN.load(store);
  if (shown === undefined && former === undefined) return;
  SHOWN.save(store, shown === undefined ? unlessEmpty(others) : { ...others, [name]: shown });
}

/** To be called where the hold names another number, or its times are in the future: of a clock that was set back. */
export function noteNamed(store: Store, name: FeedName, { rows, nowMs }: { rows: number; nowMs: number }): void {
  const { most = 0, mostMs = nowMs } = SHOWN.load(store)[name] ?? {};
  save(store, name, rows > most ? { most: rows, mostMs: nowMs } : { most, mostMs: Math.min(mostMs, nowMs) });
}

/** To be called where the hold ends. */
export function forgetNamed(store: Store, name: FeedName): void {
  save(store, name, undefined);
}

/**
 * The rows that an approval of so many covers. All are shown that wait since before the hold began, or before it named so many
 * rows for the first time.
 */
export function coveredRows(
  store: Store,
  name: FeedName,
  { rows, deleteAfterMs }: { rows: number; deleteAfterMs: number },
): Covered {
  const { newestMs = 0, sinceMs = 0 } = loadTimes(store, name, deleteAfterMs);
  const shown = SHOWN.load(store)[name];
  const namedMs = shown !== undefined && rows >= shown.most ? shown.mostMs : sinceMs;
  return { what: String(newestMs), isShown: newestMs <= Math.max(sinceMs, namedMs) };
}

/** When the newest of the held rows began to wait, and when the hold began. A row that is away waits after `delete_after`. */
function loadTimes(
  store: Store,
  name: FeedName,
  deleteAfterMs: number,
): { newestMs: number | undefined; sinceMs: number | undefined } {
  const sql = `SELECT max(f.guard_since) AS since, max(x.dropped_at) FILTER (WHERE x.gone = 0) AS zero,
      max(x.dropped_at) FILTER (WHERE x.gone = 1) AS gone FROM ${HELD}`;
  type Times = Record<"since" | "zero" | "gone", string | null>;
  const { since, zero, gone } = onlyRow(store.prepare<Times>(sql).get(name));
  const times = [
    ...(zero === null ? [] : [Date.parse(zero)]),
    ...(gone === null ? [] : [Date.parse(gone) + deleteAfterMs]),
  ];
  return {
    newestMs: times.length === 0 ? undefined : Math.max(...times),
    sinceMs: since === null ? undefined : Date.parse(since),
  };
}
