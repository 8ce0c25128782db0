import type { Language } from "../messages/language.ts";
import type { ExitCode } from "../platform/errors.ts";
import { clockTime, describeCondition, statusWords } from "./condition-words.ts";
import {
  ageOf,
  type Condition,
  exitCodeOfAll,
  findReadsBehind,
  type Limits,
  listConditions,
  type Now,
  traitOf,
} from "./conditions.ts";
import type { Facts, FlowFacts } from "./facts.ts";

/** A condition with its texts, as programs read it. */
export type ReportedCondition = Condition & { severity: string; text: string; next: string; command: string | null };

export interface StatusReport {
  /** The overall state in one plain sentence. */
  sentence: string;
  /** Everything that needs attention, most important first; empty where nothing does. */
  attention: string[];
  exitCode: ExitCode;
  conditions: ReportedCondition[];
}

/** The status report from facts. */
export function describeStatus(facts: Facts, now: Now, limits: Limits, language: Language = "en"): StatusReport {
  return reportConditions(listConditions(facts, now, limits), facts, now, language);
}

/** The same from conditions that are known already. */
export function reportConditions(
  conditions: readonly Condition[],
  facts: Facts,
  { nowMs }: Pick<Now, "nowMs">,
  language: Language = "en",
): StatusReport {
  const reported = conditions.map((condition) => ({
    ...condition,
    severity: traitOf(condition).severity,
    ...describeCondition(condition, { nowMs, language }),
  }));
  const attention = reported.map(({ text }) => text);
  const lead = attention[0] ?? calmLead(facts, nowMs, language);
  return {
    sentence: `${lead} ${describeFreshness(facts, nowMs, language)}`,
    attention,
    exitCode: exitCodeOfAll(conditions),
    conditions: reported,
  };
}

/**
 * The status in one sentence for a place that shows it until it is replaced. Has times of day instead of ages, and the
 * time of writing, so that the text of a stopped program does not look current.
 */
export function describeStanding(facts: Facts, now: Now, limits: Limits, language: Language = "en"): string {
  const { nowMs } = now;
  const words = statusWords(language);
  const [worst] = listConditions(facts, now, limits);
  const lead =
    worst === undefined ? calmLead(facts, nowMs, language) : describeCondition(worst, { nowMs, language }).text;
  const orders = facts.flows.find(({ flow }) => flow === "orders");
  const parts = [
    isUnknown(orders, facts) ? [] : [words.askedAt(timeOf(orders?.lastSuccessAt ?? null, nowMs))],
    words.lastOrder(timeOf(facts.lastOrderAt, nowMs)),
  ].flat();
  const at = clockTime(new Date(nowMs).toISOString(), nowMs);
  return words.seenAt(at, `${lead} ${capitalized(parts.join("; "))}.`);
}

/** The first half of the status where no condition is present. */
function calmLead(facts: Facts, nowMs: number, language: Language): string {
  const { upToDate, catchingUp } = statusWords(language);
  return findReadsBehind(facts, nowMs) === undefined ? upToDate : catchingUp;
}

/** How fresh everything is, in one sentence: the second half of the status. */
export function describeFreshness(facts: Facts, nowMs: number, language: Language = "en"): string {
  const words = statusWords(language);
  const flow = (name: string) => facts.flows.find((row) => row.flow === name);
  const erp = flow("erp");
  const stocks = flow("stocks");
  const behind = findReadsBehind(facts, nowMs);
  const parts = [
    behind === undefined ? undefined : words.toRead(behind.count, ageOf(behind.since, nowMs)),
    isUnknown(flow("orders"), facts) ? undefined : words.asked(flow("orders")?.ageS ?? null),
    words.lastOrder(timeOf(facts.lastOrderAt, nowMs)),
    erp === undefined || facts.orders === 0
      ? undefined
      : words.waitingForErp(erp.waiting, ageOf(erp.waitingSince, nowMs)),
    stocks?.enabled ? words.stockAsOf(timeOf(stocks.asOf, nowMs)) : undefined,
  ].filter((part) => part !== undefined);
  return `${capitalized(parts.join("; "))}.`;
}

/** The flows cannot be read, so a missing one means nothing. */
function isUnknown(flow: FlowFacts | undefined, { changed }: Facts): boolean {
  return flow === undefined && changed !== undefined;
}

function timeOf(at: string | null, nowMs: number): string | null {
  return at === null ? null : clockTime(at, nowMs);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
