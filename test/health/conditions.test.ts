import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { alertNameOf } from "../../src/health/alert-names.ts";
import { CONDITIONS } from "../../src/health/condition-traits.ts";
import { describeCondition, describeRecovery } from "../../src/health/condition-words.ts";
import { exitCodeOfAll, isHeldBy, listConditions, listCovered } from "../../src/health/conditions.ts";
import type { Facts, FlowFacts } from "../../src/health/facts.ts";
import { listHealthProblems } from "../../src/health/health.ts";
import { describeStanding, describeStatus } from "../../src/health/status.ts";
import { listMetrics } from "../../src/web/list-metrics.ts";
import {
  ago,
  CODES,
  conditionsOf,
  factsOf,
  flowOf,
  LIMITS,
  NOW_MS,
  RUNNING,
  SAMPLES,
  sampleOf,
} from "../support/conditions.ts";

const hold = (area: string, reason: string, scope?: "area" | "flow") => ({
  area,
  reason,
  since: ago(5),
  detail: null,
  ...(scope === undefined ? {} : { scope }),
});

describe("conditions", () => {
  it.each(CODES)("%s comes of its facts alone, with words, a name and its next step in both languages", (code) => {
    const conditions = conditionsOf(code);
    expect(conditions.map((condition) => condition.code)).toEqual([code]);
    const [condition] = conditions;
    if (condition === undefined) return;
    for (const language of ["en", "ru"] as const) {
      const { text, next, command } = describeCondition(condition, { nowMs: NOW_MS, language });
      expect(text).toMatch(/^\S.*[.:]$/s);
      expect(describeRecovery(condition, language)).toMatch(/\.$/);
      const params = Object.entries(condition.params).map(([name, value]) => [
        name,
        typeof value === "string" && Number.isNaN(Date.parse(value)) ? `\u001b${value}` : value,
      ]);
      const hostile = { ...condition, params: Object.fromEntries(params) };
      expect(describeCondition(hostile, { nowMs: NOW_MS, language }).text).not.toContain("\u001b");
      // What is to be typed comes after a colon; otherwise the step is a whole sentence.
      expect(next).toMatch(command === null ? /(\.|'[a-z]+')$/ : /:$/);
    }
    if (CONDITIONS[code].alert !== null) expect(alertNameOf(condition)).not.toMatch(/\$|other/);
  });

  it("are all in the table of docs/monitoring.md", () => {
    const rows = readFileSync("docs/monitoring.md", "utf8").matchAll(/^\| `(\w+)` \| (?:[^|]+ \| ){4}[^|]+ \|$/gm);
    expect([...rows].map(([, code]) => code).filter((code) => CODES.some((one) => one === code))).toEqual(CODES);
  });

  it("are none where all is well", () => {
    expect(listConditions(factsOf(), RUNNING, LIMITS)).toEqual([]);
  });

  it.each(CODES)("%s is named alike by the status, the health, the metrics and the exit code", (code) => {
    const { facts, now } = sampleOf(code);
    const conditions = listConditions(facts, now, LIMITS);
    const report = describeStatus(facts, now, LIMITS);
    expect(report.conditions.map((condition) => condition.code)).toEqual([code]);
    expect(report.attention).toEqual(report.conditions.map(({ text }) => text));
    expect(describeStanding(facts, now, LIMITS)).toContain(report.attention[0]);
    const problems = listHealthProblems(conditions);
    expect(problems).toHaveLength(CONDITIONS[code].unhealthy === false ? 0 : 1);
    expect(report.exitCode === 0).toBe(CONDITIONS[code].exit === null);
    const metrics = listMetrics({
      reading: { facts, conditions, problems, nowMs: NOW_MS, startedAtMs: NOW_MS, tookS: 0 },
      counted: { runs: [], items: [] },
      watermarks: [],
      timezone: "UTC",
      databaseBytes: 0,
      longestWriteS: 0,
      loop: { maxS: 0, p99S: 0 },
      process: { rssBytes: 0, heapBytes: 0, cpuS: 0, startedAtS: 0 },
      versions: { version: "", node: "" },
    });
    const samples = metrics.find(({ name }) => name === "erp_bridge_condition")?.samples;
    expect(samples?.map(({ labels }) => labels?.["code"])).toEqual([code]);
  });

  it("come most important first, and the exit code is that of the first in the order of precedence", () => {
    const facts = factsOf({
      ...SAMPLES.refused_statuses,
      ...SAMPLES.disk_low,
      holds: [hold("imports", "rate limit"), hold("imports", "payment")],
      flows: [flowOf("orders", { failingSince: ago(2), errorCode: "unreachable" })],
    });
    const conditions = listConditions(facts, RUNNING, LIMITS);
    expect(conditions.map(({ code }) => code)).toEqual([
      "hold_payment",
      "flow_failing",
      "refused_statuses",
      "disk_low",
      "hold_rate_limit",
    ]);
    expect(exitCodeOfAll(conditions)).toBe(77);
    expect(exitCodeOfAll(conditions.slice(1))).toBe(69);
    expect(exitCodeOfAll(conditions.slice(2))).toBe(2);
    expect(exitCodeOfAll([])).toBe(0);
  });

  it("say a flow once: not again beside its hold, unless that passes by itself and the flow stays silent", () => {
    const silent = flowOf("stocks", { isStale: true, ageS: 9_000 });
    const codes = (over: Partial<Facts>) => listConditions(factsOf(over), RUNNING, LIMITS).map(({ code }) => code);
    expect(codes({ flows: [silent], holds: [hold("imports", "payment")] })).toEqual(["hold_payment"]);
    expect(codes({ flows: [silent], holds: [hold("imports", "payment", "flow")] })).toEqual([
      "hold_payment",
      "flow_stale",
    ]);
    expect(codes({ flows: [silent], holds: [hold("stocks", "refused", "flow")] })).toEqual(["hold_refused"]);
    expect(codes({ flows: [silent], holds: [hold("imports", "rate limit")] })).toEqual([
      "flow_stale",
      "hold_rate_limit",
    ]);
    const failing = flowOf("stocks", { failingSince: ago(1), errorCode: "rate_limited" });
    expect(codes({ flows: [failing], holds: [hold("imports", "rate limit")] })).toEqual(["hold_rate_limit"]);
    expect(codes({ flows: [failing], holds: [hold("stocks", "guard")] })).toEqual(["hold_guard", "flow_failing"]);
    const covered = listCovered(factsOf({ flows: [silent], holds: [hold("imports", "payment")] }), RUNNING);
    expect(covered).toMatchObject([{ code: "flow_stale", subject: "stocks" }]);
  });

  it("of statuses that are switched off tell what waits to be sent, and nothing else", () => {
    const flows = (over: Partial<FlowFacts>) => [flowOf("statuses", over)];
    const asked = { ...SAMPLES.unsettled_statuses, ...SAMPLES.unshown_statuses, ...SAMPLES.refused_statuses };
    const codes = (over: Partial<FlowFacts>) =>
      listConditions(factsOf({ ...asked, flows: flows(over) }), RUNNING, LIMITS).map(({ code }) => code);
    expect(codes({})).toEqual(["unsettled_statuses", "unshown_statuses", "refused_statuses"]);
    expect(codes({ enabled: false })).toEqual([]);
    expect(codes({ enabled: false, waiting: 3, waitingSince: ago(60) })).toEqual(["unsent_statuses"]);
  });

  it("tell one that is failing for long with its cause, and keeps the exit code of it", () => {
    const flow = flowOf("orders", { isStale: true, ageS: 7_300, failingSince: ago(100), errorCode: "timed_out" });
    const { attention, exitCode } = describeStatus(factsOf({ flows: [flow] }), RUNNING, LIMITS);
    expect(attention).toEqual(["Orders without success for 2 h: the service does not answer in time."]);
    expect(exitCode).toBe(69);
  });
});

describe("a hold", () => {
  it.each([
    ["imports", "area", "stocks", true],
    ["imports", "area", "reconcile", false],
    ["orders", "area", "reconcile", true],
    ["orders", "flow", "reconcile", false],
    ["orders", "flow", "orders", true],
    ["stocks", "flow", "stocks", true],
    ["stocks", "flow", "prices", false],
  ] as const)("of %s (%s) concerns %s: %s", (area, scope, flow, expected) => {
    expect(isHeldBy({ area, scope }, flow)).toBe(expected);
  });
});
