import { HOUR_MS } from "../platform/durations.ts";

/** A moment by the time of day, and in milliseconds since the machine's start. */
export interface MachineTime {
  at: string;
  machineMs: number;
}

/**
 * At least how long ago a time of the machine's monotonic clock was, also where another process noted it. One that is later
 * than now was noted before the machine's last start.
 */
export function leastAgoMs(thenMs: number, nowMs: number): number {
  return thenMs <= nowMs ? nowMs - thenMs : nowMs;
}

/** At least this part of a long time by the machine's clock, which a machine that is off at night reaches each day. */
const ON_MACHINE_MS = 4 * HOUR_MS;

/**
 * Whether something has lasted for so long by the time of day and by the machine's clock: the former can be set, the latter
 * begins anew when the machine starts.
 * @param since.machineMs null where it is not known
 */
export function hasLasted(since: { at: string; machineMs: number | null }, now: MachineTime, forMs: number): boolean {
  const onMachineMs = since.machineMs === null ? now.machineMs : leastAgoMs(since.machineMs, now.machineMs);
  return Date.parse(now.at) - Date.parse(since.at) >= forMs && onMachineMs >= Math.min(forMs, ON_MACHINE_MS);
}
