import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import type { Learned } from "./follow.ts";

const NOTHING: Learned = { boundary: undefined, pageMax: 0, form: undefined, cutSize: undefined, limits: undefined };
const CHANGES = new LearnedTopic<Learned>("changes", NOTHING);

/** What the answers with changes taught. */
export function loadLearned(store: Store): Learned {
  return CHANGES.load(store, "updates");
}

/** A person has seen that times name no zone any more. */
export function markZoneSeen(store: Store): void {
  const learned = loadLearned(store);
  if (learned.zoneLost !== undefined)
    saveLearned(store, { ...learned, zoneLost: { ...learned.zoneLost, isSeen: true } });
}

export function saveLearned(store: Store, learned: Learned): void {
  CHANGES.save(store, "updates", learned);
}
