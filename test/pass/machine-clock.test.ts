import { describe, expect, it } from "vitest";
import { hasLasted, leastAgoMs } from "../../src/pass/machine-clock.ts";

describe("how long ago a time of the machine's clock was at least", () => {
  it.each([
    ["within one run of the machine", 5, 65, 60],
    ["at once", 5, 5, 0],
    ["before the machine's last start", 100, 30, 30],
  ])("%s", (_name, then, now, ago) => {
    expect(leastAgoMs(then, now)).toBe(ago);
  });
});

describe("whether something has lasted for a day", () => {
  const DAY_MS = 86_400_000;
  it.each([
    ["by both clocks", { days: 1, thenMs: 5, nowMs: DAY_MS + 5 }, true],
    ["not by the time of day", { days: 0.9, thenMs: 5, nowMs: DAY_MS + 5 }, false],
    ["by a time of day that was set ahead", { days: 365, thenMs: 5, nowMs: DAY_MS / 24 }, false],
    ["on a machine that was off meanwhile", { days: 1, thenMs: DAY_MS, nowMs: DAY_MS / 6 }, true],
    ["on a machine that has just been started", { days: 3, thenMs: DAY_MS, nowMs: DAY_MS / 24 }, false],
    ["since an unknown time of the machine", { days: 1, thenMs: null, nowMs: DAY_MS / 6 }, true],
  ])("%s", (_name, { days, thenMs, nowMs }, expected) => {
    const since = { at: new Date(0).toISOString(), machineMs: thenMs };
    const now = { at: new Date(days * DAY_MS).toISOString(), machineMs: nowMs };
    expect(hasLasted(since, now, DAY_MS)).toBe(expected);
  });
});
