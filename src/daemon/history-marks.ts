/*
 * Marks for the age of rows that do not rely on times in the rows: the largest id that existed at a time which the
 * service confirmed. Ids only grow, so a row up to a mark is at least as old as the mark. Reads SQLite's own table
 * `sqlite_sequence`.
 */
import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

export interface Mark {
  atMs: number;
  /** The largest id at that time. */
  id: number;
}

export type History = "runs" | "events" | "batches" | "requests";

/** Marks within the retention time; rows are kept longer by at most a hundredth of it. */
const MARKS_IN_SPAN = 100;
/** Also a limit where the retention time was raised or a clock has jumped. */
const MARKS_MAX = 3 * MARKS_IN_SPAN;

const NONE: Record<History, Mark[]> = { runs: [], events: [], batches: [], requests: [] };

export const MARKS = new MetaValue<Partial<Record<History, Mark[]>>>("history", {});

/**
 * Adds a mark. Drops the last one where it is too near, and all before the newest one that is as old as the retention
 * time.
 */
export function addMark(marks: readonly Mark[], mark: Mark, keptMs: number): Mark[] {
  const [nearMs, foreMs] = [marks.at(-1)?.atMs, marks.at(-2)?.atMs];
  const isCrowded =
    nearMs !== undefined &&
    foreMs !== undefined &&
    foreMs <= nearMs &&
    nearMs <= mark.atMs &&
    mark.atMs - foreMs < keptMs / MARKS_IN_SPAN;
  const kept = isCrowded ? marks.slice(0, -1) : marks;
  const oldId = idAsOldAs(kept, mark.atMs - keptMs);
  return [...kept.filter(({ id }) => id >= oldId), mark].slice(-MARKS_MAX);
}

/** The largest id that existed at that time or before; 0 where it is unknown. */
export function idAsOldAs(marks: readonly Mark[], atMs: number): number {
  return Math.max(0, ...marks.filter((mark) => mark.atMs <= atMs).map(({ id }) => id));
}

/** Unreadable marks count as none. */
export function loadMarks(store: Store): Record<History, Mark[]> {
  try {
    return { ...NONE, ...MARKS.load(store) };
  } catch {
    return NONE;
  }
}

const TABLES = { runs: "runs", events: "order_event_rows", batches: "batches", requests: "status_requests" };

/** The largest id ever assigned, by history. */
export function loadLargest(store: Store): Record<History, number> {
  const largest = store.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").pluck();
  const of = (history: History) => Number(largest.get(TABLES[history]) ?? 0);
  return { runs: of("runs"), events: of("events"), batches: of("batches"), requests: of("requests") };
}
