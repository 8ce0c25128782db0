/*
 * Reads the data of metrics and charts, beside the status. Read-only; every read uses an index and is bounded. Raw SQL,
 * because it sums up JSON and says where no index helps.
 */
import { onlyValue } from "../database/only-row.ts";
import { listRows } from "../database/queries.ts";
import { watermarks } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

export type WatermarkRow = typeof watermarks.$inferSelect;

export function loadWatermarks(store: Store): WatermarkRow[] {
  return listRows(store, watermarks, {}, ["stream"]);
}

/** Size of the database, including pages that are only in its log. */
export function databaseBytes(store: Store): number {
  const pragma = (name: string) => Number(store.db.pragma(name, { simple: true }));
  return pragma("page_count") * pragma("page_size");
}

/** The id of the newest run, 0 where there is none. */
export function loadLastRunId(store: Store): number {
  return onlyValue<number>(store, "SELECT coalesce(max(id), 0) FROM runs");
}

export interface RunTotals {
  outcomes: { job: string; outcome: string; count: number }[];
  /** Sums of the runs' counts, for example `created` of `orders` and `accepted` of `stocks`. */
  counts: { job: string; what: string; sum: number }[];
}

/**
 * Totals of runs after `fromId` up to `toId`. Without NOT INDEXED the planner scans the index on job because of the
 * grouping.
 */
export function loadRunTotals(store: Store, fromId: number, toId: number): RunTotals {
  const outcomes = store
    .prepare<RunTotals["outcomes"][number]>(
      "SELECT job, outcome, count(*) AS count FROM runs NOT INDEXED WHERE id > ? AND id <= ? GROUP BY job, outcome",
    )
    .all(fromId, toId);
  const counts = store
    .prepare<RunTotals["counts"][number]>(
      `SELECT r.job, c.key AS what, sum(c.value) AS sum FROM runs r NOT INDEXED, json_each(r.counts) c
       WHERE r.id > ? AND r.id <= ? GROUP BY r.job, c.key`,
    )
    .all(fromId, toId);
  return { outcomes, counts };
}

/** When successful passes of a job ended, oldest first: those since `since`, and the last one before. */
export function loadSuccesses(store: Store, job: string, since: string, limit: number): string[] {
  const rows = store
    .prepare<{ at: string; outcome: string }>(
      "SELECT finished_at AS at, outcome FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?",
    )
    .iterate(job, limit);
  const times: string[] = [];
  for (const { at, outcome } of rows) {
    if (outcome !== "idle" && outcome !== "done") continue;
    times.push(at);
    if (at < since) break;
  }
  return times.reverse();
}

/** One more than the key of the newest order. */
export function nextOrderKey(store: Store): number {
  return onlyValue<number>(store, "SELECT coalesce(max(order_key), 0) + 1 FROM orders");
}

interface Point {
  key: number;
  atMs: number;
}

/**
 * The smallest key whose order was received at `bound` (ISO) or later; `nextOrderKey` where there is none. Keys grow
 * with the time of receipt and have no gaps, so the difference of two keys is the number of orders in between, without
 * counting rows. Interpolation search, as orders arrive about evenly; every other step halves the rest, for shops where
 * they do not.
 */
export function firstOrderKeySince(store: Store, bound: string): number {
  const pointAt = (key: number) => loadPoint(store, key);
  const boundMs = Date.parse(bound);
  const first = pointAt(0);
  const last = pointAt(nextOrderKey(store) - 1);
  if (first === undefined || last === undefined || last.atMs < boundMs) return nextOrderKey(store);
  if (first.atMs >= boundMs) return first.key;
  let before: Point = first;
  let after: Point = last;
  for (let step = 0; after.key - before.key > 1; step++) {
    const share = step % 2 === 0 ? (boundMs - before.atMs) / (after.atMs - before.atMs) : 0.5;
    const guess = before.key + Math.round(share * (after.key - before.key));
    const point = pointAt(Math.min(after.key - 1, Math.max(before.key + 1, guess)));
    if (point === undefined || point.key >= after.key) break;
    if (point.atMs < boundMs) before = point;
    else after = point;
  }
  return after.key;
}

/** The order with this key, or the next one. */
function loadPoint(store: Store, key: number): Point | undefined {
  const row = store
    .prepare<{ key: number; at: string }>(
      "SELECT order_key AS key, received_at AS at FROM orders WHERE order_key >= ? ORDER BY order_key LIMIT 1",
    )
    .get(key);
  return row === undefined ? undefined : { key: row.key, atMs: Date.parse(row.at) };
}
