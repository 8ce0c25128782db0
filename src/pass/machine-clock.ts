/**
 * At least how long ago a time of the machine's monotonic clock was, also where another process noted it. One that is later
 * than now was noted before the machine's last start.
 */
export function leastAgoMs(thenMs: number, nowMs: number): number {
  return thenMs <= nowMs ? nowMs - thenMs : nowMs;
}
