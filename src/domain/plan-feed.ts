import { compareDecimals, parseDecimal } from "./decimal.ts";
import { type FeedRules, isSameRecord, levelOf, renderDeletion } from "./feed.ts";

/** What is known of one key of a feed. */
export interface FeedKeyState {
  sent: { record: string; gone: boolean } | undefined;
  outbox: OutboxState | undefined;
}

export interface OutboxState {
  record: string;
  gone: boolean;
  state: "waiting" | "doubt" | "guarded" | "refused";
  /** Sent once, outcome unknown: whatever is newest must be sent, even if it equals what was acknowledged. */
  doubtRecord: string | null;
}

/** What the ERP's table says of that key now. */
export type LocalRow = { kind: "row"; record: string } | { kind: "bad"; reason: string } | { kind: "absent" };

export type RowPlan =
  | { kind: "keep" }
  /** The service has it: nothing is owed. */
  | { kind: "settled" }
  | { kind: "bad"; reason: string }
  | { kind: "owe"; record: string; gone: boolean; isDrop: boolean; priority: number };

/** Zeros first, because they stop sales of what is not there; then decreases; then everything else. */
const PRIORITY = { zero: 0, decrease: 1, rest: 2 } as const;

/**
 * Decides what is owed for one key. Pure, so that the same rule serves changed keys, full comparisons and dry runs.
 */
export function planRow(rules: FeedRules, local: LocalRow, known: FeedKeyState): RowPlan {
  const { sent, outbox } = known;
  if (local.kind === "bad") return outbox?.state === "refused" && outbox.record === "null" ? { kind: "keep" } : { kind: "bad", reason: local.reason };
  const inDoubt = outbox?.doubtRecord ?? null;
  if (local.kind === "absent") return planAbsent(rules, known);
  if (outbox?.state === "refused" && outbox.record === local.record) return { kind: "keep" };
  if (inDoubt === null && sent !== undefined && !sent.gone && isSameRecord(local.record, sent.record)) {
    return outbox === undefined ? { kind: "keep" } : { kind: "settled" };
  }
  if (outbox !== undefined && !outbox.gone && outbox.state !== "refused" && outbox.record === local.record) return { kind: "keep" };
  return { kind: "owe", record: local.record, gone: false, ...weigh(rules, local.record, sent) };
}

function planAbsent(rules: FeedRules, { sent, outbox }: FeedKeyState): RowPlan {
  const last = outbox?.doubtRecord ?? sent?.record;
  if (last === undefined) return outbox === undefined ? { kind: "keep" } : { kind: "settled" };
  const record = renderDeletion(rules, last);
  if (record === undefined) return outbox === undefined ? { kind: "keep" } : { kind: "settled" };
  if (outbox?.gone && outbox.state !== "refused" && outbox.record === record) return { kind: "keep" };
  const inDoubt = outbox !== undefined && outbox.doubtRecord !== null;
  if (!inDoubt && sent !== undefined && (sent.gone || isSameRecord(record, sent.record))) {
    return outbox === undefined ? { kind: "keep" } : { kind: "settled" };
  }
  if (outbox?.gone && outbox.state === "refused" && outbox.record === record) return { kind: "keep" };
  return { kind: "owe", record, gone: true, isDrop: isLive(rules, sent), priority: PRIORITY.zero };
}

function weigh(rules: FeedRules, record: string, sent: FeedKeyState["sent"]): { isDrop: boolean; priority: number } {
  const level = parseDecimal(levelOf(rules, record) ?? "");
  if (level === undefined) return { isDrop: false, priority: PRIORITY.rest };
  if (level.coefficient <= 0n) return { isDrop: isLive(rules, sent), priority: PRIORITY.zero };
  const before = sent === undefined ? undefined : parseDecimal(levelOf(rules, sent.record) ?? "");
  const isLess = before !== undefined && compareDecimals(level, before) < 0;
  return { isDrop: false, priority: isLess ? PRIORITY.decrease : PRIORITY.rest };
}

/** Whether the site shows this row as something to buy: acknowledged, not gone, and above zero where it has a number. */
export function isLive(rules: FeedRules, sent: FeedKeyState["sent"]): boolean {
  if (sent === undefined || sent.gone) return false;
  const level = parseDecimal(levelOf(rules, sent.record) ?? "");
  return level === undefined || level.coefficient > 0n;
}

/**
 * Whether the rows that go to zero or away must wait for a person.
 * @param counts `pending`: such rows not approved; `recent`: such rows sent within `guard.over`; `live`: rows the site
 *   sells now.
 */
export function isGuarded(
  guard: FeedRules["guard"],
  counts: { pending: number; recent: number; live: number },
): boolean {
  const dropping = counts.pending + counts.recent;
  const before = counts.live + counts.recent;
  return counts.pending > 0 && dropping >= guard.from && dropping * 100 > guard.percent * before;
}
