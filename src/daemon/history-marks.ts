/*
 * How old rows are at least, whatever times stand in them: which number was the largest at a time that the service confirmed.
 * Numbers only grow, so that a row up to a mark is as old as the mark. SQL reads SQLite's own table of them.
 */
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

export interface Mark {
  atMs: number;
  /** The largest number that there was. */
  id: number;
}

export type History = "runs" | "events" | "batches" | "requests";

/** So many marks lie in the time that rows are kept: rows stay for a hundredth of it longer. */
const MARKS_IN_SPAN = 100;
/** Also where the time that rows are kept was lengthened or a clock has jumped. */
const MARKS_MAX = 3 * MARKS_IN_SPAN;

const NONE: Record<History, Mark[]> = { runs: [], events: [], batches: [], requests: [] };

/** Adds a mark; drops the last one where it is near, and all before the newest that is as old as rows are kept. */
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

/** The largest number that there was at that time or before; 0 where it is unknown. */
export function idAsOldAs(marks: readonly Mark[], atMs: number): number {
  return Math.max(0, ...marks.filter((mark) => mark.atMs <= atMs).map(({ id }) => id));
}

/** What cannot be read was not noted. */
export function loadMarks(store: Store): Record<History, Mark[]> {
  try {
    return { ...NONE, ...loadMetaJson<Partial<Record<History, Mark[]>>>(store, "history") };
  } catch {
    return NONE;
  }
}

export function saveMarks(store: Store, marks: Record<History, Mark[]>): void {
  saveMetaJson(store, "history", marks);
}

const TABLES = { runs: "runs", events: "order_event_rows", batches: "batches", requests: "status_requests" };

/** The largest number that each has ever given. */
export function loadLargest(store: Store): Record<History, number> {
  const largest = store.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").pluck();
  const of = (history: History) => Number(largest.get(TABLES[history]) ?? 0);
  return { runs: of("runs"), events: of("events"), batches: of("batches"), requests: of("requests") };
}
