/* Whether long steps of the timestamps of orders were noticed (`plan-long-steps.ts`), and whether a person has seen that. */
import type { Store } from "../database/store.ts";
import { LearnedTopic } from "../pass/learned-rows.ts";

export interface LongSteps {
  /** One of the timestamps, and when they were noticed; both are missing where nothing was noticed. */
  text?: string;
  at?: string;
  isSeen?: boolean;
}

const TOPIC = new LearnedTopic<LongSteps>("changes", {});
const PLACE = "steps";

/** Inside a transaction. Returns whether they were noticed for the first time. */
export function noteLongSteps(store: Store, text: string | undefined, at: string): boolean {
  const isTold = TOPIC.load(store, PLACE).text !== undefined;
  if (isTold === (text !== undefined)) return false;
  TOPIC.save(store, PLACE, text === undefined ? {} : { text, at, isSeen: false });
  return !isTold;
}
