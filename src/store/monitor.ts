/* What metrics and plots are made from, beside the status. Read-only; every read is by index and bounded. */
import type { Store } from "./store.ts";

export interface WatermarkRow {
  stream: string;
  value: string;
  updatedAt: string;
}

export function loadWatermarks(store: Store): WatermarkRow[] {
  return store
    .prepare("SELECT stream, value, updated_at AS updatedAt FROM watermarks ORDER BY stream")
    .all() as WatermarkRow[];
}

/** The database with what still stands in its log alone. */
export function databaseBytes(store: Store): number {
  const pragma = (name: string) => Number(store.db.pragma(name, { simple: true }));
  return pragma("page_count") * pragma("page_size");
}

/** The number of the newest run, 0 where there is none. */
export function loadLastRunId(store: Store): number {
  return (store.prepare("SELECT max(id) AS id FROM runs").get() as { id: number | null }).id ?? 0;
}

export interface RunTotals {
  outcomes: { job: string; outcome: string; count: number }[];
  /** Sums of what the runs counted: `orders` `created`, `stocks` `accepted`. */
  counts: { job: string; what: string; sum: number }[];
}

/** Runs after `fromId` up to `toId`. */
export function loadRunTotals(store: Store, fromId: number, toId: number): RunTotals {
  const outcomes = store
    .prepare("SELECT job, outcome, count(*) AS count FROM runs WHERE id > ? AND id <= ? GROUP BY job, outcome")
    .all(fromId, toId) as RunTotals["outcomes"];
  const counts = store
    .prepare(
      `SELECT r.job, c.key AS what, sum(c.value) AS sum FROM runs r, json_each(r.counts) c
       WHERE r.id > ? AND r.id <= ? GROUP BY r.job, c.key`,
    )
    .all(fromId, toId) as RunTotals["counts"];
  return { outcomes, counts };
}

/** When the passes of a job ended that succeeded, oldest first: those since `since` and the last one before. */
export function loadSuccesses(store: Store, job: string, since: string, limit: number): string[] {
  const rows = store
    .prepare("SELECT finished_at AS at, outcome FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?")
    .iterate(job, limit) as IterableIterator<{ at: string; outcome: string }>;
  const times: string[] = [];
  for (const { at, outcome } of rows) {
    if (outcome !== "idle" && outcome !== "done") continue;
    times.push(at);
    if (at < since) break;
  }
  return times.reverse();
}

/**
 * How many orders were received between each two of `bounds` (ISO times, ascending). Keys of orders grow with the time of
 * receipt and leave no gaps, so finding the key at each bound is enough; counting would read every order in between.
 */
export function countOrdersBetween(store: Store, bounds: readonly string[]): number[] {
  const { first, last } = store
    .prepare("SELECT coalesce(min(order_key), 1) AS first, coalesce(max(order_key), 0) AS last FROM orders")
    .get() as { first: number; last: number };
  const keys = bounds.map((bound) => firstKeySince(store, bound, first, last));
  return keys.slice(1).map((key, index) => Math.max(0, key - (keys[index] ?? key)));
}

/** The smallest key whose order was received at `bound` or later; one past the last where there is none. */
function firstKeySince(store: Store, bound: string, first: number, last: number): number {
  const at = store.prepare(
    "SELECT order_key AS key, received_at AS at FROM orders WHERE order_key >= ? ORDER BY order_key LIMIT 1",
  );
  let low = first;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = at.get(middle) as { key: number; at: string } | undefined;
    if (row !== undefined && row.at < bound) low = row.key + 1;
    else high = middle;
  }
  return low;
}
