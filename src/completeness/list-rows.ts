/* The stored usual fields beside the lists of answers, by endpoint. */

import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import type { LearnedMetadata } from "./plan-completeness.ts";

export const NOTHING_LEARNED: LearnedMetadata = { hasEmpty: false, known: {} };

export const LISTS = new LearnedTopic<LearnedMetadata>("list", NOTHING_LEARNED);

/**
 * Call inside a transaction: a batch was confirmed although it may contain more than was served. A person is notified.
 */
export function saveShortBatch(store: Store, short: { at: string; what: string }): void {
  const learned = LISTS.load(store, "orders");
  LISTS.save(store, "orders", withShortBatch(learned, short));
}

export function withShortBatch(learned: LearnedMetadata, short: { at: string; what: string }): LearnedMetadata {
  return { ...learned, short: { batches: (learned.short?.batches ?? 0) + 1, ...short } };
}
