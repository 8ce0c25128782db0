/*
 * What stands beside the lists of answers as a rule, by endpoint, and the batches that were confirmed although they may have held more.
 */

import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import type { LearnedMetadata } from "./plan-completeness.ts";

export const NOTHING_LEARNED: LearnedMetadata = { hasEmpty: false, known: {} };

export const LISTS = new LearnedTopic<LearnedMetadata>("list", NOTHING_LEARNED);

/** Batches that were confirmed although they may have held more; undefined where there are none of which nobody was told. */
export function loadShort(store: Store): LearnedMetadata["short"] {
  return LISTS.load(store, "orders").short;
}

export function markShortSeen(store: Store): void {
  const { short: _, ...learned } = LISTS.load(store, "orders");
  LISTS.save(store, "orders", learned);
}
