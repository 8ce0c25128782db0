import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CronTimes } from "../../src/daemon/cron-times.ts";
import { itSome, itWhole } from "../support/whole.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** The next runs from `at` on, each asked for when the one before is due. */
function runsFrom(at: string, pattern: string, zone: string, count: number): string[] {
  const times = new CronTimes(pattern, zone);
  vi.setSystemTime(at);
  return Array.from({ length: count }, () => {
    vi.setSystemTime(times.nextMs(Date.now()));
    return new Date().toISOString().slice(5, 16);
  });
}

const FORTH = "2026-03-29T00:50:00Z";
const BACK = "2026-10-24T23:50:00Z";

describe("a schedule", () => {
  it.each([
    ["41 2 * * *", "Asia/Vladivostok", "2026-06-01T00:00:00Z", ["06-01T16:41", "06-02T16:41"]],
    ["41 2 * * *", "+03:00", "2026-06-01T00:00:00Z", ["06-01T23:41", "06-02T23:41"]],
    ["0 * * * *", "Asia/Kolkata", "2026-06-01T00:00:00Z", ["06-01T00:30", "06-01T01:30"]],
    ["41 2 * * *", "UTC", "2026-06-01T00:00:00Z", ["06-01T02:41", "06-02T02:41"]],
  ])("%s is in %s", (pattern, zone, at, expected) => {
    expect(runsFrom(at, pattern, zone, 2)).toEqual(expected);
  });

  it.each([
    // 02:30 is left out: an hour later by the clocks of that day, and on the next day as always.
    ["30 2 * * *", FORTH, ["03-29T01:30", "03-30T00:30"]],
    ["0 5 * * *", FORTH, ["03-29T03:00", "03-30T03:00"]],
    ["*/20 * * * *", FORTH, ["03-29T01:00", "03-29T01:20", "03-29T01:40", "03-29T02:00"]],
    // 02:30 comes twice: once.
    ["30 2 * * *", BACK, ["10-25T01:30", "10-26T01:30"]],
    ["0 5 * * *", BACK, ["10-25T04:00", "10-26T04:00"]],
    ["*/20 * * * *", BACK, ["10-25T00:00", "10-25T00:20", "10-25T00:40", "10-25T01:00", "10-25T01:20"]],
    ["0 * * * *", BACK, ["10-25T00:00", "10-25T01:00", "10-25T02:00"]],
  ])("%s in a night in which the clocks of Berlin change (%s)", (pattern, at, expected) => {
    expect(runsFrom(at, pattern, "Europe/Berlin", expected.length)).toEqual(expected);
  });

  itSome(3)([
    ["* * * * * *", 1],
    ["*/7 * * * * *", 7],
    ["*/90 * * * * *", 60],
    ["* * * * *", 60],
    ["*/25 * * * *", 25 * 60],
    ["30 */5 * * * *", 5 * 60],
    ["17 * * * *", 60 * 60],
    ["17 3 * * *", 24 * 60 * 60],
    ["5 17 3 * * *", 24 * 60 * 60],
    ["17 3 * * 1", 7 * 24 * 60 * 60],
  ])("%s runs every %i s at most, as its runs show", (pattern, seconds) => {
    vi.setSystemTime("2026-06-01T00:00:00Z");
    const times = new CronTimes(pattern, "UTC");
    expect(times.longestIntervalMs()).toBe(seconds * 1_000);
    const runs = Array.from({ length: 70 }, () => {
      vi.setSystemTime(times.nextMs(Date.now()));
      return Date.now();
    });
    expect(Math.max(...runs.slice(1).map((at, index) => at - (runs[index] ?? at)))).toBe(seconds * 1_000);
  });

  itWhole("has the same longest distance in every zone", () => {
    vi.setSystemTime("2026-06-01T00:00:00Z");
    for (const zone of ["UTC", "Asia/Kolkata"]) {
      expect(new CronTimes("* * * * *", zone).longestIntervalMs()).toBe(60_000);
      expect(new CronTimes("*/10 8-20 * * *", zone).longestIntervalMs()).toBe((11 * 60 + 10) * 60_000);
    }
  });
});
