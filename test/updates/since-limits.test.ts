import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Asked, type FollowRules, instantOf } from "../../src/updates/pages/follow.ts";
import {
  ageOf,
  isRefused,
  noteAnswered,
  noteRefused,
  planSince,
  type SinceLimits,
} from "../../src/updates/pages/since-limits.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = "2026-03-20T12:00:00Z";
const NOW_MS = Date.parse(NOW);
const MINUTES = 60_000;
const rules = (overlapMs: number, plainOverlapMs = overlapMs) => ({
  since: "iso" as const,
  timezone: "UTC",
  overlapMs,
  plainOverlapMs,
});
const before = (ms: number) => new Date(NOW_MS - ms).toISOString();
const askedAt = (ms: number): Pick<Asked, "ns"> => ({ ns: BigInt(NOW_MS - ms) * 1_000_000n });
const limits = (more: Partial<SinceLimits>): SinceLimits => ({
  refusedMs: 3 * DAY_MS,
  refusedUpToMs: NOW_MS - 3 * DAY_MS,
  atMs: NOW_MS - HOUR_MS,
  isProven: true,
  ...more,
});

function plan(
  age: number,
  known: SinceLimits | undefined,
  how: { sweep?: number; now?: string; least?: string; newest?: string; gapTo?: string; isFirst?: true } = {},
) {
  const { asked, isNarrowed } = planSince(
    {
      position: how.isFirst ? undefined : before(age),
      serviceNow: "now" in how ? how.now : NOW,
      leastNow: how.least ?? ("now" in how ? how.now : NOW),
      newest: how.newest,
      gapTo: how.gapTo,
      learned: { form: undefined, limits: known },
    },
    rules(how.sweep ?? 10 * MINUTES, 10 * MINUTES),
  );
  return { ageMs: NOW_MS - Date.parse(asked.since), isNarrowed };
}

describe("the first since of a pass", () => {
  it.each<[string, number, SinceLimits | undefined, object, number, boolean]>([
    ["nothing was refused", 9 * DAY_MS, undefined, {}, 9 * DAY_MS + 10 * MINUTES, false],
    ["younger than what was refused", DAY_MS, limits({}), {}, DAY_MS + 10 * MINUTES, false],
    ["widened", 2 * DAY_MS, limits({}), { sweep: 2 * DAY_MS }, 2 * DAY_MS + 10 * MINUTES, true],
    ["the overlap is too much", 3 * DAY_MS - MINUTES, limits({}), {}, 3 * DAY_MS - MINUTES + 1, true],
    ["the position is too old", 4 * DAY_MS, limits({}), {}, 1.5 * DAY_MS, true],
    ["and an age is known", 4 * DAY_MS, limits({ answeredMs: DAY_MS }), {}, DAY_MS, true],
    [
      "the widest that is answered",
      HOUR_MS,
      limits({ answeredMs: 2 * DAY_MS }),
      { sweep: 5 * DAY_MS },
      2 * DAY_MS,
      true,
    ],
    [
      "never wider than is wanted",
      HOUR_MS,
      limits({ refusedMs: HOUR_MS, answeredMs: 50 * MINUTES }),
      {},
      50 * MINUTES,
      true,
    ],
    [
      "what was learned has expired",
      4 * DAY_MS,
      limits({ atMs: NOW_MS - 8 * DAY_MS }),
      {},
      4 * DAY_MS + 600_000,
      false,
    ],
    [
      "no time is known: from the newest order",
      4 * DAY_MS,
      limits({ refusedMs: undefined }),
      { now: undefined, newest: before(HOUR_MS) },
      HOUR_MS,
      true,
    ],
    [
      "no time is sent: by the least that it can be",
      4 * DAY_MS,
      limits({ answeredMs: DAY_MS }),
      { now: undefined, least: NOW },
      DAY_MS,
      true,
    ],
    [
      "no position: nothing older than the orders that are stored is of use",
      0,
      limits({ refusedMs: NOW_MS, refusedUpToMs: 0 }),
      { newest: before(HOUR_MS), isFirst: true },
      HOUR_MS,
      true,
    ],
    [
      "no position, and the orders are refused as well",
      0,
      limits({ refusedMs: 2 * HOUR_MS }),
      { newest: before(2 * HOUR_MS), isFirst: true },
      HOUR_MS,
      true,
    ],
    [
      "no time and no newer order: from the position",
      4 * DAY_MS,
      limits({ refusedMs: undefined, refusedUpToMs: NOW_MS - 4 * DAY_MS }),
      { now: undefined },
      4 * DAY_MS + 1,
      true,
    ],
    [
      "the age that is known was refused within the same second: half of it",
      4 * DAY_MS,
      limits({ refusedMs: DAY_MS + 600, answeredMs: DAY_MS }),
      {},
      DAY_MS / 2,
      true,
    ],
    [
      "the least that the time can be lies before the position: from the newest order",
      HOUR_MS,
      limits({ refusedMs: undefined, refusedUpToMs: NOW_MS - 50 * MINUTES }),
      { now: undefined, least: before(DAY_MS), newest: before(10 * MINUTES) },
      10 * MINUTES,
      true,
    ],
    [
      "no time is known, and a gap is searched: from its end, as before",
      4 * DAY_MS,
      limits({ refusedMs: undefined }),
      { now: undefined, newest: before(HOUR_MS), gapTo: before(2 * HOUR_MS) },
      2 * HOUR_MS,
      true,
    ],
    [
      "no position, and a gap is searched: from its end",
      0,
      limits({ refusedMs: NOW_MS, refusedUpToMs: 0 }),
      { newest: before(HOUR_MS), gapTo: before(2 * HOUR_MS), isFirst: true },
      2 * HOUR_MS,
      true,
    ],
    [
      "the end of the gap is refused since: from the newest order",
      0,
      limits({ refusedMs: 2 * HOUR_MS }),
      { newest: before(HOUR_MS), gapTo: before(2 * HOUR_MS), isFirst: true },
      HOUR_MS,
      true,
    ],
    [
      "a gap that was narrower: from the newest order before its end",
      0,
      limits({ refusedMs: 2 * HOUR_MS }),
      { newest: before(HOUR_MS), gapTo: before(MINUTES), isFirst: true },
      HOUR_MS,
      true,
    ],
    [
      "the time is known: the end of a gap makes no difference",
      4 * DAY_MS,
      limits({ answeredMs: DAY_MS }),
      { gapTo: before(2 * DAY_MS) },
      DAY_MS,
      true,
    ],
  ])("%s", (_, age, known, how, expectedMs, isNarrowed) => {
    expect(plan(age, known, how)).toEqual({ ageMs: expectedMs, isNarrowed });
  });
});

describe("what is learned", () => {
  it("counts to the last digit where the service's time is unknown", () => {
    const asked = { ns: askedAt(HOUR_MS).ns + 593_999n };
    expect(isRefused(asked, noteRefused(undefined, asked, undefined, undefined), undefined)).toBe(true);
  });

  it.each<[string, SinceLimits | undefined, Partial<SinceLimits> | undefined]>([
    [
      "of a first refusal",
      noteRefused(undefined, askedAt(DAY_MS), NOW, HOUR_MS),
      { refusedMs: DAY_MS, answeredMs: HOUR_MS },
    ],
    ["of a smaller one", noteRefused(limits({}), askedAt(DAY_MS), NOW, undefined), { refusedMs: DAY_MS }],
    ["of a larger one", noteRefused(limits({}), askedAt(9 * DAY_MS), NOW, undefined), { refusedMs: 3 * DAY_MS }],
    [
      "the age that was answered is refused now",
      noteRefused(limits({ answeredMs: DAY_MS }), askedAt(DAY_MS), NOW, 5),
      { refusedMs: DAY_MS },
    ],
    [
      "more was answered than was worth a write",
      noteRefused(limits({ answeredMs: HOUR_MS }), askedAt(DAY_MS), NOW, HOUR_MS + MINUTES),
      { refusedMs: DAY_MS, answeredMs: HOUR_MS + MINUTES },
    ],
    [
      "more was kept than this process was answered",
      noteRefused(limits({ answeredMs: HOUR_MS }), askedAt(DAY_MS), NOW, MINUTES),
      { answeredMs: HOUR_MS },
    ],
    ["minutes are refused: it is not the age", noteRefused(limits({}), askedAt(MINUTES), NOW, undefined), undefined],
    ["what was refused is answered", noteAnswered(limits({}), askedAt(3 * DAY_MS), NOW), undefined],
    [
      "something younger is answered",
      noteAnswered(limits({}), askedAt(DAY_MS), NOW),
      { refusedMs: 3 * DAY_MS, answeredMs: DAY_MS },
    ],
    [
      "hardly more than was known is no news",
      noteAnswered(limits({ answeredMs: DAY_MS }), askedAt(DAY_MS + HOUR_MS), NOW),
      { answeredMs: DAY_MS },
    ],
  ])("%s", (_, learned, expected) => {
    if (expected === undefined) expect(learned).toBeUndefined();
    else expect(learned).toMatchObject(expected);
  });
});

it.each<[string, Partial<FollowRules>]>([
  ["seconds", { since: "unix" }],
  ["milliseconds", { since: "unix_ms" }],
])("asks for no more than the age that is known, in whole %s", (_, how) => {
  const answeredMs = 50 * MINUTES - 60.5;
  const { asked } = planSince(
    {
      position: before(4 * DAY_MS),
      serviceNow: NOW,
      leastNow: NOW,
      newest: undefined,
      learned: { form: undefined, limits: limits({ answeredMs }) },
    },
    { ...rules(10 * MINUTES), ...how },
  );
  const age = ageOf(asked, NOW) ?? 0;
  expect(age).toBeLessThanOrEqual(Math.round(answeredMs));
  expect(age).toBeGreaterThan(answeredMs - 1_000);
});

it("comes to a since that is answered, whatever the limit, and stays there", () => {
  const age = fc.integer({ min: 10 * MINUTES, max: 400 * DAY_MS });
  fc.assert(
    fc.property(age, age, age, fc.option(age, { nil: undefined }), (limitMs, positionMs, sweepMs, wasAnsweredMs) => {
      const follow: FollowRules & { plainOverlapMs: number } = rules(sweepMs, 10 * MINUTES);
      const answered = wasAnsweredMs !== undefined && wasAnsweredMs < limitMs ? wasAnsweredMs : undefined;
      let known: SinceLimits | undefined;
      const ask = () =>
        planSince(
          {
            position: before(positionMs),
            serviceNow: NOW,
            leastNow: NOW,
            newest: undefined,
            learned: { form: undefined, limits: known },
          },
          follow,
        ).asked;
      let refused = 0;
      let asked = ask();
      for (; (ageOf(asked, NOW) as number) > limitMs; asked = ask()) {
        const next = noteRefused(known, asked, NOW, answered);
        // Each refusal makes the next request a later one.
        expect(next?.refusedMs ?? 0).toBeLessThan(known?.refusedMs ?? Number.POSITIVE_INFINITY);
        known = next;
        refused += 1;
        expect(refused).toBeLessThan(24);
      }
      known = noteAnswered(known, asked, NOW);
      expect(isRefused(ask(), known, NOW)).toBe(false);
      expect(ask().ns).toBeLessThanOrEqual(asked.ns);
      expect(instantOf(asked.since, "UTC")).toBe(asked.ns);
    }),
  );
});
