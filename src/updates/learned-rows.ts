import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";
import type { Learned } from "./follow.ts";

const NOTHING: Learned = { boundary: undefined, pageMax: 0, form: undefined, cutSize: undefined, limits: undefined };
const CHANGES = new LearnedTopic<Learned>("changes", NOTHING);

/** What the answers with changes taught. */
export function loadLearned(store: Store): Learned {
  return CHANGES.load(store, "updates");
}

export function saveLearned(store: Store, learned: Learned): void {
  CHANGES.save(store, "updates", learned);
}
