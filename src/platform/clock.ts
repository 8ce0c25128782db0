import { setTimeout as sleepFor } from "node:timers/promises";
import type { Clock } from "./ports.ts";

/** The machine's own time and chance. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Since the machine started, not since the process did: deadlines in the database outlive a restart of the bridge.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal }),
  random: () => Math.random(),
};

/** The name of this machine's time zone; UTC where it has none that is known. */
export function machineZone(): string {
  const zone: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone === undefined || zone === "Etc/Unknown" ? "UTC" : zone;
}
