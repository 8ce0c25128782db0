/*
 * Whether a coarse resolution of orders' timestamps was noticed (`plan-long-steps.ts`), and whether a person has seen
 * the notice.
 */
import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";

export interface LongSteps {
  /** One of the timestamps, and when it was noticed; both are missing where nothing was. */
  text?: string;
  at?: string;
  isSeen?: boolean;
}

const TOPIC = new LearnedTopic<LongSteps>("changes", {});
const PLACE = "steps";

/** Inside a transaction. Returns whether it was noticed for the first time. */
export function noteLongSteps(store: Store, text: string | undefined, at: string): boolean {
  const wasNoticed = TOPIC.load(store, PLACE).text !== undefined;
  if (wasNoticed === (text !== undefined)) return false;
  TOPIC.save(store, PLACE, text === undefined ? {} : { text, at, isSeen: false });
  return !wasNoticed;
}
