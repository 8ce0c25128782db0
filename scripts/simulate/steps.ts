/* Steps of which the drawn situations are made, and their times in milliseconds. */
import { integerBetween, pickOne, type Random } from "../../src/sandbox/random.ts";
import type { Step } from "./schedule.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
/** A little longer than from one pass to the next. */
export const PASS = MINUTE + 5 * SECOND;

export const pass = (): Step => ({ after: PASS, do: "wait" });
export const orders = (count: number): Step => ({ after: 0, do: "orders", count });
/** Empty answers, from which their usual form is learned. */
export const idle = (times: number): Step[] => Array.from({ length: times }, pass);
export const change = (random: Random): Step => {
  const what = pickOne(random, ["status", "lines"] as const);
  return { after: 2 * SECOND, do: "change", order: integerBetween(random, 0, 30), what, timestamp: "now" };
};
