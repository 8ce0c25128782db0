import { setTimeout as sleepFor } from "node:timers/promises";
import type { Clock } from "../domain/ports.ts";

/** The machine's own time and chance. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal }),
  random: () => Math.random(),
};
