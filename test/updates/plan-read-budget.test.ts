import { describe, expect, it } from "vitest";
import type { HoldPlan } from "../../src/pass/holds.ts";
import {
  isLongWait,
  nextRoomMs,
  planAfterWait,
  planTaking,
  type ReadBudget,
  roomOf,
} from "../../src/updates/reads/plan-read-budget.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const AT = Date.UTC(2026, 2, 1, 12);
const NONE: ReadBudget = { reads: [] };

const take = (budget: ReadBudget, wanted: number, nowMs = AT) => planTaking(budget, { wanted, nowMs }).budget;
const limited = (perHour: number, { sinceMs = AT, days = 1 } = {}): ReadBudget => ({
  reads: [],
  limit: { perHour, sinceMs, days },
});
/** As many reads as there is room for are wanted all the time; returns those of the hour. */
function readFor(budget: ReadBudget, hours: number, fromMs = AT): { made: number; budget: ReadBudget } {
  let now = budget;
  let made = 0;
  for (let minute = 0; minute < hours * 60; minute++) {
    const planned = planTaking(now, { wanted: 1_000, nowMs: fromMs + minute * MINUTE_MS });
    made += planned.taken;
    now = planned.budget;
  }
  return { made, budget: now };
}

describe("reads in the background", () => {
  it("have no limit while the service asks for no long wait", () => {
    expect(readFor(NONE, 1).made).toBe(60_000);
    expect(roomOf(NONE, AT)).toBe(Number.POSITIVE_INFINITY);
  });

  it.each<[string, ReadBudget, number | undefined]>([
    ["half of those of the last hour", take(NONE, 556), 278],
    ["half of those of all its minutes", take(take(NONE, 300, AT - 50 * MINUTE_MS), 300), 300],
    ["without those of the hour before", take(take(NONE, 3_000, AT - 70 * MINUTE_MS), 100), 50],
    ["no limit where hardly any were made: they were not the cause", take(NONE, 39), undefined],
    ["no limit where they were made long before", take(NONE, 600, AT - 2 * HOUR_MS), undefined],
    ["at least as many that nothing waits for ever", take(NONE, 40), 20],
    ["half of the former limit", readFor(limited(278), 1, AT - HOUR_MS).budget, 139],
    ["the former limit where hardly any were made", take(limited(278), 20), 278],
  ])("are afterwards limited to %s", (_, before, perHour) => {
    expect(planAfterWait(before, AT).limit?.perHour).toBe(perHour);
  });

  it("are halved again with each further wait, down to the least", () => {
    let budget: ReadBudget = take(NONE, 600);
    const limits: (number | undefined)[] = [];
    for (let hours = 0; hours < 6; hours++) {
      budget = planAfterWait(budget, AT + hours * HOUR_MS);
      limits.push(budget.limit?.perHour);
      budget = readFor(budget, 1, AT + hours * HOUR_MS).budget;
    }
    expect(limits).toEqual([300, 150, 75, 37, 20, 20]);
  });

  it("count once where several flows are answered with the same wait", () => {
    const first = planAfterWait(take(NONE, 600), AT);
    expect(planAfterWait(take(first, 10, AT + MINUTE_MS), AT + MINUTE_MS).limit?.perHour).toBe(300);
  });

  it.each([20, 100, 278, 1_000])("are spread over the hour: %s", (perHour) => {
    const { made, budget } = readFor(limited(perHour), 1);
    expect(made).toBeGreaterThanOrEqual(perHour);
    expect(made).toBeLessThan(perHour + 12);
    expect(Math.max(...budget.reads.map(([, count]) => count))).toBe(Math.ceil(perHour / 12));
    expect(roomOf(budget, AT + HOUR_MS - 1)).toBe(0);
    expect(roomOf(budget, AT + HOUR_MS - 1 + nextRoomMs(AT + HOUR_MS - 1))).toBe(Math.ceil(perHour / 12));
  });

  it("of the comparison leave half of it to others", () => {
    expect(roomOf(limited(240), AT, 0.5)).toBe(10);
    expect(roomOf(take(limited(240), 10), AT, 0.5)).toBe(0);
    expect(roomOf(take(limited(240), 10), AT)).toBe(10);
    expect(roomOf(limited(20), AT, 0.5)).toBe(1);
  });

  it("are doubled after a day without such a wait, until there is no limit", () => {
    let budget = limited(278);
    const limits: (number | undefined)[] = [];
    for (let day = 0; day <= 6; day++) {
      budget = take(budget, 1, AT + day * DAY_MS);
      limits.push(budget.limit?.perHour);
    }
    expect(limits).toEqual([278, 556, 1_112, 2_224, 4_448, 8_896, undefined]);
    expect(take(limited(278), 1, AT + DAY_MS - 1).limit?.perHour).toBe(278);
  });

  it("are doubled after more and more days where the quota stays", () => {
    const again = planAfterWait(readFor(limited(556, { sinceMs: AT }), 1).budget, AT + HOUR_MS);
    expect(again.limit).toEqual({ perHour: 278, sinceMs: AT + HOUR_MS, days: 2 });
    expect(take(again, 1, AT + 1.5 * DAY_MS).limit?.perHour).toBe(278);
    expect(take(again, 1, AT + 2.1 * DAY_MS).limit?.perHour).toBe(556);
    expect(planAfterWait(readFor(limited(556, { days: 16 }), 1).budget, AT + HOUR_MS).limit?.days).toBe(16);
  });

  it("are not doubled while such waits go on, whatever causes them", () => {
    const waiting = planAfterWait(limited(100), AT + 20 * HOUR_MS);
    expect(take(waiting, 1, AT + 30 * HOUR_MS).limit?.perHour).toBe(100);
  });

  it("go on where the clock was set back, or was ahead", () => {
    const ahead = take(limited(120, { sinceMs: AT + 365 * DAY_MS }), 10, AT + 365 * DAY_MS);
    expect(roomOf(ahead, AT)).toBeGreaterThanOrEqual(10);
    // Once for all the time that was jumped over.
    expect(take(limited(120), 1, AT + 365 * DAY_MS).limit?.perHour).toBe(240);
  });
});

describe("a long wait", () => {
  const plan = (over: Partial<HoldPlan>): HoldPlan => ({
    area: "orders",
    scope: "area",
    reason: "rate limit",
    probeAfterMs: 40 * MINUTE_MS,
    ...over,
  });

  it.each<[string, boolean, Partial<HoldPlan>]>([
    ["a quota of an hour", true, {}],
    ["five minutes", true, { probeAfterMs: 5 * MINUTE_MS }],
    ["a limit of some requests a second", false, { probeAfterMs: 2_000 }],
    ["a limit of some requests a minute", false, { probeAfterMs: MINUTE_MS }],
    ["one path, while others are answered", false, { area: "updates", scope: "flow" }],
    ["one order", false, { area: "reconcile", scope: "flow" }],
    ["imports alone", false, { area: "imports" }],
    ["refused credentials", false, { reason: "credentials" }],
    ["what a person ends", false, { probeAfterMs: null }],
  ])("of %s: %s", (_, isLong, over) => {
    expect(isLongWait(plan(over))).toBe(isLong);
  });
});
