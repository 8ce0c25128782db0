import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { Learned } from "./follow.ts";

/** What the updates answers taught. Unreadable means nothing learned: it is never needed for correctness. */
export function loadLearned(store: Store): Learned {
  const text = loadMeta(store, "learned");
  const learned = text === undefined ? {} : (JSON.parse(text) as Partial<Learned>);
  const { boundary, pageMax = 0, form, cutSize, limits } = learned;
  return { boundary, pageMax, form, cutSize, limits };
}

/** Another account: nothing is known of what answers there. */
export function forgetLearned(store: Store): void {
  deleteMeta(store, "learned");
}

export function saveLearned(store: Store, learned: Learned): void {
  saveMeta(store, "learned", JSON.stringify(learned));
}
