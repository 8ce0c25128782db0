/*
 * The timeline of a database: begins anew where the database was found set back, or where a restore may lack something.
 * The numbers of two timelines cannot be compared: those of the later one are larger, and what it holds may be less.
 */
import { randomUUID } from "node:crypto";
import { loadMeta, saveMeta } from "./meta.ts";
import type { Store } from "./store.ts";

/** Undefined where the database was never set back. Each copy holds that of the database when it was made. */
export function loadTimeline(store: Store): string | undefined {
  return loadMeta(store, "timeline");
}

/** In the transaction that reports what may be missing. */
export function beginTimeline(store: Store): void {
  saveMeta(store, "timeline", randomUUID());
}
