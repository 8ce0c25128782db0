import { setTimeout as sleepFor } from "node:timers/promises";
import type { Clock } from "./ports.ts";

/** The system's time and randomness. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Counts from the machine's start, not the process's: deadlines in the database outlive a restart of the bridge.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal }),
  random: () => Math.random(),
};

/** IANA name of this machine's time zone; `UTC` where it is unknown. */
export function machineZone(): string {
  const zone: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone === undefined || zone === "Etc/Unknown" ? "UTC" : zone;
}
