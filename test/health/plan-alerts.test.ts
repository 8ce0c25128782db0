import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AlertFacts, type Condition, isAllFresh, listConditions } from "../../src/health/alerts.ts";
import {
  ALL_PER_HOUR,
  type AlertMessage,
  NOTHING_TOLD,
  noteLess,
  planAlert,
  SUBJECT_PER_HOUR,
  type Told,
} from "../../src/health/plan-alerts.ts";

const NOW = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;

const quiet: AlertFacts = {
  flows: [],
  holds: [],
  quarantined: [],
  unreadBatches: 0,
  refusedConfirms: 0,
  unnamedBatches: 0,
  refusedRequests: 0,
  blockedByErp: 0,
  erpWaitingSince: null,
  written: [],
  walBytes: 0,
  notices: [],
};
const limits = { erpReadWithinMs: 24 * HOUR_MS, startedAtMs: NOW - 2 * HOUR_MS };
const iso = (agoMs: number) => new Date(NOW - agoMs).toISOString();
const flow = (more: Partial<AlertFacts["flows"][number]> = {}): AlertFacts["flows"][number] => ({
  flow: "orders",
  enabled: true,
  staleAfterS: 300,
  lastSuccessAt: iso(10_000),
  failingSince: null,
  errorCode: null,
  ...more,
});
const condition = (subject: string, level = 1): Condition => ({
  subject,
  level,
  problem: `${subject} is ill`,
  recovery: `${subject} is well`,
  settleMs: 0,
});

/** Everything that a receiver is told at one moment. */
function tellAll(
  told: Told,
  conditions: readonly Condition[],
  nowMs: number,
): { told: Told; messages: AlertMessage[] } {
  const messages: AlertMessage[] = [];
  let state = told;
  const settled = new Set(conditions.map(({ subject }) => subject));
  for (let plan = planAlert(state, { conditions, settled, nowMs }); plan !== undefined; ) {
    messages.push(plan.message);
    state = plan.told;
    plan = planAlert(state, { conditions, settled, nowMs });
  }
  return { told: noteLess(state, conditions) ?? state, messages };
}

describe("what is wrong", () => {
  it("is nothing while every flow has succeeded lately", () => {
    expect(listConditions({ ...quiet, flows: [flow()] }, NOW, limits)).toEqual([]);
  });

  it("is a flow that fails for longer than its staleness, but not one that has just begun to fail", () => {
    const failing = (agoMs: number) =>
      flow({ lastSuccessAt: iso(agoMs), failingSince: iso(agoMs - 1000), errorCode: "unreachable" });
    expect(listConditions({ ...quiet, flows: [failing(60_000)] }, NOW, limits)).toEqual([]);
    expect(listConditions({ ...quiet, flows: [failing(600_000)] }, NOW, limits)).toMatchObject([
      { subject: "flow orders", problem: "orders has not succeeded for 10 min (unreachable)." },
    ]);
  });

  it("is a flow that has not succeeded since the start, and not one that is switched off", () => {
    const facts = {
      ...quiet,
      flows: [flow({ lastSuccessAt: null }), flow({ flow: "prices", enabled: false, lastSuccessAt: null })],
    };
    expect(listConditions(facts, NOW, limits)).toMatchObject([{ problem: "orders has not succeeded yet." }]);
    expect(listConditions(facts, NOW, { ...limits, startedAtMs: NOW - 1000 })).toEqual([]);
  });

  it("is told of a hold once: the flow that is silent under it is muted", () => {
    const facts: AlertFacts = {
      ...quiet,
      flows: [flow({ flow: "stocks", lastSuccessAt: iso(HOUR_MS), failingSince: iso(HOUR_MS) })],
      holds: [{ area: "imports", reason: "payment", since: iso(HOUR_MS) }],
    };
    expect(listConditions(facts, NOW, limits)).toMatchObject([
      { subject: "hold imports payment", problem: "imports held (payment): the subscription is not paid." },
      { subject: "flow stocks", muted: true },
    ]);
  });

  it("is an ERP that leaves orders or writes nothing", () => {
    const facts = {
      ...quiet,
      erpWaitingSince: iso(25 * HOUR_MS),
      written: [{ feed: "stocks", at: iso(30 * HOUR_MS), withinMs: 26 * HOUR_MS }],
    };
    expect(listConditions(facts, NOW, limits).map(({ subject }) => subject)).toEqual([
      "erp reads",
      "erp writes stocks",
    ]);
  });

  it("lets the heartbeat go only while all flows that are on are fresh and none fails", () => {
    const isFresh = (...flows: AlertFacts["flows"]) => isAllFresh(flows, NOW, limits.startedAtMs);
    expect(isFresh(flow(), flow({ enabled: false, lastSuccessAt: null }))).toBe(true);
    expect(isFresh(flow({ lastSuccessAt: null }))).toBe(false);
    expect(isFresh(flow({ failingSince: iso(1) }))).toBe(false);
    expect(isFresh(flow({ lastSuccessAt: iso(301_000) }))).toBe(false);
    expect(isFresh(flow({ flow: "backup", staleAfterS: 3 * 86_400, lastSuccessAt: null }))).toBe(true);
  });
});

describe("what is told", () => {
  it("is a problem once, more of it once more, and its end once", () => {
    const first = tellAll(NOTHING_TOLD, [condition("a", 2)], NOW);
    expect(first.messages).toEqual([{ kind: "problem", subject: "a", text: "a is ill" }]);
    expect(tellAll(first.told, [condition("a", 2)], NOW + 1).messages).toEqual([]);
    const more = tellAll(first.told, [condition("a", 3)], NOW + 2);
    expect(more.messages).toMatchObject([{ kind: "problem" }]);
    const less = tellAll(more.told, [condition("a", 1)], NOW + 3);
    expect(less.messages).toEqual([]);
    expect(tellAll(less.told, [condition("a", 2)], NOW + 4).messages).toMatchObject([{ kind: "problem" }]);
    expect(tellAll(less.told, [], NOW + 5).messages).toEqual([{ kind: "recovery", subject: "a", text: "a is well" }]);
  });

  it("is not repeated by a restart that kept what was told", () => {
    const { told } = tellAll(NOTHING_TOLD, [condition("a"), condition("b")], NOW);
    const kept = JSON.parse(JSON.stringify(told)) as Told;
    expect(tellAll(kept, [condition("a"), condition("b")], NOW + HOUR_MS).messages).toEqual([]);
  });

  it("leaves out what has not stood long enough or is told already by its hold", () => {
    const muted = { ...condition("a"), muted: true };
    expect(planAlert(NOTHING_TOLD, { conditions: [condition("b")], settled: new Set(), nowMs: NOW })).toBeUndefined();
    expect(planAlert(NOTHING_TOLD, { conditions: [muted], settled: new Set(["a"]), nowMs: NOW })).toBeUndefined();
    const { told } = tellAll(NOTHING_TOLD, [condition("a")], NOW);
    expect(tellAll(told, [muted], NOW + 1).messages).toEqual([]);
  });

  it("sums up a flood in one message and tells each subject a few times an hour only", () => {
    const many = Array.from({ length: 40 }, (_, index) => condition(`s${index}`));
    const flood = tellAll(NOTHING_TOLD, many, NOW);
    expect(flood.messages).toHaveLength(ALL_PER_HOUR);
    expect(flood.messages.at(-1)).toMatchObject({ kind: "digest" });
    expect(Object.keys(flood.told.open)).toHaveLength(40);
    expect(tellAll(flood.told, [], NOW + 1000).messages).toEqual([]);
    const later = tellAll(flood.told, [], NOW + HOUR_MS);
    expect(later.messages.every(({ kind }) => kind === "recovery" || kind === "digest")).toBe(true);
    expect(later.told.open).toEqual({});

    let told = NOTHING_TOLD;
    let messages = 0;
    for (let minute = 0; minute < 50; minute++) {
      const said = tellAll(told, minute % 2 === 0 ? [condition("flap")] : [], NOW + minute * 60_000);
      told = said.told;
      messages += said.messages.length;
    }
    expect(messages).toBe(SUBJECT_PER_HOUR);
  });

  it("ends, whatever comes and goes, with the receiver knowing exactly what is wrong, within its limits", () => {
    const step = fc.record({
      minutes: fc.integer({ min: 0, max: 40 }),
      ill: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let told = NOTHING_TOLD;
        let nowMs = NOW;
        const sentMs: number[] = [];
        let ill: string[] = [];
        for (const { minutes, ill: now } of steps) {
          nowMs += minutes * 60_000;
          ill = now;
          const said = tellAll(
            told,
            ill.map((subject) => condition(subject)),
            nowMs,
          );
          told = said.told;
          for (const _ of said.messages) sentMs.push(nowMs);
        }
        for (const at of sentMs)
          expect(sentMs.filter((other) => other <= at && at - other < HOUR_MS).length).toBeLessThanOrEqual(
            ALL_PER_HOUR,
          );
        const settled = tellAll(
          told,
          ill.map((subject) => condition(subject)),
          nowMs + HOUR_MS,
        );
        expect(Object.keys(settled.told.open).sort()).toEqual([...ill].sort());
      }),
    );
  });
});
