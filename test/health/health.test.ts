import { describe, expect, it } from "vitest";
import { listConditions, measureAges } from "../../src/health/conditions.ts";
import type { Facts } from "../../src/health/facts.ts";
import { listHealthProblems } from "../../src/health/health.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 12);
const ago = (minutes: number) => new Date(NOW_MS - minutes * 60_000).toISOString();
const LIMITS = { erpReadWithinMs: 3_600_000 };

function factsOf(flow: object, over: object = {}): Facts {
  const row = { flow: "orders", enabled: true, staleAfterS: 300, waitingSince: null, held: null, ...flow };
  return {
    flows: [{ lastSuccessAt: ago(1), failingSince: null, ...row }],
    holds: [],
    ...over,
  } as unknown as Facts;
}

function problems(facts: Facts, startedMinutesAgo = 600) {
  const now = { nowMs: NOW_MS, startedAtMs: NOW_MS - startedMinutesAgo * 60_000 };
  const conditions = listConditions(measureAges(facts, now), { nowMs: NOW_MS, isRunning: true }, LIMITS);
  return listHealthProblems(conditions).map(
    ({ flow, reason, since }) => `${flow} ${reason} ${(NOW_MS - Date.parse(since ?? "")) / 60_000}`,
  );
}

describe("what is unhealthy", () => {
  it.each<[string, object, number, string[]]>([
    ["a fresh flow is not", {}, 600, []],
    ["a silent one is, since its last success", { lastSuccessAt: ago(6) }, 600, ["orders stale 6"]],
    ["one that fails but succeeded lately is not", { failingSince: ago(1) }, 600, []],
    ["one that never succeeded has time from the start", { lastSuccessAt: null }, 5, []],
    ["and is unhealthy after that", { lastSuccessAt: null }, 6, ["orders stale 6"]],
    ["one that is switched off never is", { enabled: false, lastSuccessAt: ago(999) }, 600, []],
    ["old news from before the start count", { lastSuccessAt: ago(60) }, 0, ["orders stale 60"]],
    ["a clock that went back makes nothing stale", { lastSuccessAt: ago(-60) }, 600, []],
  ])("%s", (_, flow, startedMinutesAgo, expected) => {
    expect(problems(factsOf(flow), startedMinutesAgo)).toEqual(expected);
  });

  it.each([
    ["credentials", ["orders credentials 2"]],
    ["hand-out lost", ["orders hand-out lost 2"]],
    ["rate limit", []],
    ["restored", []],
    ["mapping", []],
  ])("a hold because of %s", (reason, expected) => {
    const holds = [{ area: "orders", reason, since: ago(2), detail: null }];
    expect(problems(factsOf({ held: reason }, { holds }))).toEqual(expected);
  });

  it("tells a held flow once, and one that is stale behind a passing hold all the same", () => {
    const hold = (reason: string) => [{ area: "orders", reason, since: ago(20), detail: null }];
    expect(problems(factsOf({ lastSuccessAt: ago(20) }, { holds: hold("payment") }))).toEqual(["orders payment 20"]);
    expect(problems(factsOf({ lastSuccessAt: ago(20) }, { holds: hold("rate limit") }))).toEqual(["orders stale 20"]);
  });

  it("batches that cannot be read, orders left untaken and tables left unwritten", () => {
    expect(problems(factsOf({}, { unread: 1, unreadSince: ago(3) }))).toEqual(["orders unread 3"]);
    expect(problems(factsOf({ flow: "erp", waitingSince: ago(61) }))).toEqual(["erp untaken 61"]);
    expect(problems(factsOf({ flow: "erp", waitingSince: ago(59) }))).toEqual([]);
    const erpWrites = [{ feed: "stocks", since: ago(70), withinS: 3_600 }];
    expect(problems(factsOf({}, { erpWrites }))).toEqual(["stocks unwritten 70"]);
  });
});
