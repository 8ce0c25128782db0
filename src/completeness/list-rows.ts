/* The stored usual fields beside the lists of answers, by endpoint. */

import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import type { LearnedMetadata } from "./learned-metadata.ts";

export const NOTHING_LEARNED: LearnedMetadata = { hasEmpty: false, known: {} };

export const LISTS = new LearnedTopic<LearnedMetadata>("list", NOTHING_LEARNED);

/** A batch was confirmed although it may contain more than was served. A person is notified. */
export function withShortBatch(learned: LearnedMetadata, short: { at: string; what: string }): LearnedMetadata {
  return { ...learned, short: { batches: (learned.short?.batches ?? 0) + 1, ...short } };
}

/** Brings times after `now`, from which empty batches are waited for, to it: the clock was ahead. To be called inside a transaction. */
export function bringEmptyBack(store: Store, now: string): void {
  for (const { endpoint, learned } of LISTS.list(store)) {
    if (learned.emptySince === undefined) continue;
    const times = Object.entries(learned.emptySince).map(([batch, since]) => [batch, since > now ? now : since]);
    LISTS.save(store, endpoint, { ...learned, emptySince: Object.fromEntries(times) });
  }
}
