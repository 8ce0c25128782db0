import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carriedOver } from "../../src/health/alert-names.ts";
import {
  ALL_PER_HOUR,
  type Alertable,
  type AlertMessage,
  lowerLevel,
  NOTHING_NOTIFIED,
  type Notified,
  planAlert,
  SUBJECT_PER_HOUR,
} from "../../src/health/plan-alerts.ts";

const NOW = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;

const condition = (subject: string, level = 1): Alertable => ({
  key: subject,
  subject,
  level,
  problem: `${subject} is ill`,
  recovery: `${subject} is well`,
});

/** Everything that a receiver is told at one moment. */
function tellAll(
  told: Notified,
  conditions: readonly Alertable[],
  nowMs: number,
): { told: Notified; messages: AlertMessage[] } {
  const messages: AlertMessage[] = [];
  let state = told;
  const settled = new Set(conditions.map(({ subject }) => subject));
  for (let plan = planAlert(state, { conditions, settled, nowMs }); plan !== undefined; ) {
    messages.push(plan.message);
    state = plan.notified;
    plan = planAlert(state, { conditions, settled, nowMs });
  }
  return { told: lowerLevel(state, conditions) ?? state, messages };
}

describe("notifications", () => {
  it("is a problem once, more of it once more, and its end once", () => {
    const first = tellAll(NOTHING_NOTIFIED, [condition("a", 2)], NOW);
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
    const { told } = tellAll(NOTHING_NOTIFIED, [condition("a"), condition("b")], NOW);
    const kept = JSON.parse(JSON.stringify(told)) as Notified;
    expect(tellAll(kept, [condition("a"), condition("b")], NOW + HOUR_MS).messages).toEqual([]);
  });

  it("leaves out what has not stood long enough or is told already by its hold", () => {
    const muted = { ...condition("a"), muted: true };
    expect(
      planAlert(NOTHING_NOTIFIED, { conditions: [condition("b")], settled: new Set(), nowMs: NOW }),
    ).toBeUndefined();
    expect(planAlert(NOTHING_NOTIFIED, { conditions: [muted], settled: new Set(["a"]), nowMs: NOW })).toBeUndefined();
    const { told } = tellAll(NOTHING_NOTIFIED, [condition("a")], NOW);
    expect(tellAll(told, [muted], NOW + 1).messages).toEqual([]);
  });

  it("sums up a flood in one message and tells each subject a few times an hour only", () => {
    const many = Array.from({ length: 40 }, (_, index) => condition(`s${index}`));
    const flood = tellAll(NOTHING_NOTIFIED, many, NOW);
    expect(flood.messages).toHaveLength(ALL_PER_HOUR);
    expect(flood.messages.at(-1)).toMatchObject({ kind: "digest" });
    expect(Object.keys(flood.told.open)).toHaveLength(40);
    expect(tellAll(flood.told, [], NOW + 1000).messages).toEqual([]);
    const later = tellAll(flood.told, [], NOW + HOUR_MS);
    expect(later.messages.every(({ kind }) => kind === "recovery" || kind === "digest")).toBe(true);
    expect(later.told.open).toEqual({});

    let told = NOTHING_NOTIFIED;
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
        let told = NOTHING_NOTIFIED;
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

describe("what a former version has notified", () => {
  const entry = (level = 1) => ({ level, recovery: "over" }) as Notified["open"][string];

  it("is known by the keys of this one, so that an upgrade sends nothing", () => {
    const former = {
      open: {
        "hold orders hand-out lost": entry(),
        "flow stocks": entry(),
        "quarantine change": entry(2),
        "quarantine snapshot": entry(3),
        "erp writes prices": entry(),
        "refused status requests": entry(4),
        database: entry(),
      },
      sentMs: { "flow stocks": [NOW] },
      allSentMs: [NOW],
    };
    const notified = carriedOver(former);
    const levels = Object.entries(notified.open).map(([key, { level, subject }]) => [key, level, subject]);
    expect(levels).toEqual([
      ["hold_hand_out_lost orders", 1, "hold orders hand-out lost"],
      ["flow_stale stocks", 1, "flow stocks"],
      ["quarantined updates", 5, "quarantine change"],
      ["erp_silent prices", 1, "erp writes prices"],
      ["refused_statuses statuses", 4, "refused status requests"],
      ["database_trouble database", 1, "database"],
    ]);
    expect(notified.sentMs).toEqual({ "flow_stale stocks": [NOW] });
    expect(carriedOver(notified)).toEqual(notified);
    const standing = [{ ...condition("flow stocks"), key: "flow_stale stocks" }];
    const rest = Object.keys(notified.open)
      .slice(2)
      .map((key) => condition(key, 1));
    const same = [condition("hold_hand_out_lost orders"), ...standing, ...rest];
    expect(tellAll(notified, same, NOW + HOUR_MS).messages).toEqual([]);
  });
});
