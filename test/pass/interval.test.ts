import { describe, expect, it } from "vitest";
import { Interval, leftMs } from "../../src/pass/interval.ts";
import { collectingLog, startTestBridge } from "../support/bridge.ts";

const HOUR_MS = 3_600_000;

describe("work at intervals", () => {
  it.each([
    ["never done", undefined, 0],
    ["done just now", "2026-03-01T12:00:00Z", HOUR_MS],
    ["done 20 minutes ago", "2026-03-01T11:40:00Z", 40 * 60_000],
    ["done an hour ago", "2026-03-01T11:00:00Z", 0],
    ["done while the clock was ahead", "2027-03-01T12:00:00Z", 0],
    ["a time that is none", "soon", 0],
  ])("is due after what is left of it: %s", (_, last, left) => {
    expect(leftMs(last, Date.parse("2026-03-01T12:00:00Z"), HOUR_MS)).toBe(left);
  });

  it("is due once an interval, where each pass is a process of its own too", async () => {
    const { bridge, clock } = await startTestBridge();
    const { signal } = new AbortController();
    const context = { store: bridge.store, clock, log: collectingLog([]) };
    const inNewProcess = () => new Interval(context, "held_read", HOUR_MS).begin(signal);
    expect(await inNewProcess()).toBe(true);
    const minutes: number[] = [];
    for (let minute = 1; minute <= 150; minute++) {
      clock.advance(60_000);
      if (await inNewProcess()) minutes.push(minute);
    }
    expect(minutes).toEqual([60, 120]);
    const stays = new Interval(context, "held_read", HOUR_MS);
    expect(await stays.begin(signal)).toBe(false);
    clock.advance(HOUR_MS);
    expect([await stays.begin(signal), await stays.begin(signal)]).toEqual([true, false]);
  });
});
