import { compareDecimals, parseDecimal } from "../../answers/decimal.ts";
import { applyDeletion, type RecordPlace } from "../../config/feed-level.ts";
import type { Message } from "../../messages/message.ts";
import type { FeedRules } from "../feed.ts";
import { isSameRecord, levelOf, renderDeletion } from "../feed-record.ts";

/** The stored state of one key of a feed. */
export interface FeedKeyState {
  sent: SentState | undefined;
  outbox: OutboxState | undefined;
  /** Places of the level in records of earlier templates. */
  formerLevels?: readonly RecordPlace[];
}

export interface SentState {
  record: string;
  gone: boolean;
  /** Whether the article is on sale on the site. */
  live: boolean;
  /** Whether the acknowledgement is valid; otherwise it shows what was on the site, not what is there now. */
  current: boolean;
  /** It is off sale, and another row that may name its article is on sale and was sent before it. */
  isLastWord?: boolean;
}

export interface OutboxState {
  /** `null` where the row cannot be rendered. */
  record: string;
  gone: boolean;
  state: "waiting" | "refused";
  /** Record of a request with unknown outcome: the newest value must be sent even if it equals the acknowledged one. */
  flightRecord: string | null;
  lastError: string | null;
  /** Key of the row that must be on the site before this one. */
  parent?: string | null;
  /** When it went to zero or away; null where it did not, or where a person has approved it. */
  droppedAt?: string | null;
  /** It goes once more, although its value is acknowledged. */
  goesAgain?: boolean;
}

/** The ERP's current row with that key. */
export type LocalRow = { kind: "row"; record: string } | { kind: "bad"; reason: Message } | { kind: "absent" };

export type RowPlan =
  | { kind: "keep" }
  /** The service already has it: the row leaves the outbox. */
  | { kind: "settled" }
  | { kind: "bad"; reason: Message }
  | { kind: "send"; record: string; gone: boolean; isDrop: boolean; priority: number };

/** Zeros first, because they stop sales of what is out of stock; then decreases; then everything else. */
const PRIORITY = { zero: 0, decrease: 1, rest: 2 } as const;

/** Decides what is sent for one key. Pure, and used for changed keys, full comparisons and dry runs. */
export function planRow(rules: FeedRules, local: LocalRow, known: FeedKeyState): RowPlan {
  const { sent, outbox } = known;
  if (local.kind === "bad") return { kind: "bad", reason: local.reason };
  if (local.kind === "absent") return planAbsent(rules, known);
  // Already waiting, or refused with exactly this content: only another content is tried again.
  if (outbox !== undefined && !outbox.gone && outbox.record === local.record) return { kind: "keep" };
  if (isSettled(known) && sent?.gone === false && isSameRecord(local.record, sent.record)) return nothingToSend(outbox);
  return { kind: "send", record: local.record, gone: false, ...prioritize(rules, local.record, known) };
}

function planAbsent(rules: FeedRules, known: FeedKeyState): RowPlan {
  const { sent, outbox } = known;
  const last = outbox?.flightRecord ?? sent?.record;
  const record = last === undefined ? undefined : renderDeletion(rules, last, known.formerLevels);
  if (record === undefined) return nothingToSend(outbox);
  if (outbox?.gone && outbox.record === record) return { kind: "keep" };
  // Whether another row names its article is checked when the deletion is due.
  const isOwn = rules.scope === "changed" && !rules.sharesArticles;
  // What its article is on sale for goes once more after it.
  const isQuiet = isOwn && sent?.isLastWord !== true;
  const isSame = sent !== undefined && (sent.gone || (isQuiet && isSameRecord(record, sent.record)));
  if (isSettled(known) && isSame) return nothingToSend(outbox);
  return { kind: "send", record, gone: true, isDrop: isOnSite(rules, known), priority: PRIORITY.zero };
}

/** Whether no outcome is unknown, the acknowledgement is valid, and the row does not go once more. */
function isSettled({ sent, outbox }: FeedKeyState): boolean {
  return (outbox?.flightRecord ?? null) === null && outbox?.goesAgain !== true && sent?.current === true;
}

function nothingToSend(outbox: OutboxState | undefined): RowPlan {
  return { kind: outbox === undefined ? "keep" : "settled" };
}

/** Whether a record takes an article off sale, and its priority. */
export function prioritize(
  rules: FeedRules,
  record: string,
  known: FeedKeyState,
): { isDrop: boolean; priority: number } {
  const level = parseDecimal(levelOf(rules, record) ?? "");
  if (level === undefined && isOffSale(rules, record, known))
    return { isDrop: isOnSite(rules, known), priority: PRIORITY.zero };
  if (level === undefined) return { isDrop: false, priority: PRIORITY.rest };
  if (level.coefficient <= 0n) return { isDrop: isOnSite(rules, known), priority: PRIORITY.zero };
  const before = known.sent === undefined ? undefined : parseDecimal(levelOf(rules, known.sent.record) ?? "");
  const isLess = before !== undefined && compareDecimals(level, before) < 0;
  return { isDrop: false, priority: isLess ? PRIORITY.decrease : PRIORITY.rest };
}

/** Whether the record equals that of a deleted row, such as of a deactivated article, and the site may have the article. */
function isOffSale(rules: FeedRules, record: string, { sent, outbox }: FeedKeyState): boolean {
  if (sent === undefined && (outbox?.flightRecord ?? null) === null) return false;
  return isDeletion(rules, record);
}

/** Whether a record without a level is what its row sends when it is deleted: that of a deactivated article. */
function isDeletion({ deletion }: FeedRules, record: string): boolean {
  return deletion !== null && isSameRecord(record, applyDeletion(deletion, record, []));
}

/** Whether the site sells the article, or may sell it because of an unanswered request. */
function isOnSite(rules: FeedRules, { sent, outbox }: FeedKeyState): boolean {
  // Earlier versions counted deactivated articles as live.
  if (sent?.live && isLive(rules, sent)) return true;
  const doubt = outbox?.flightRecord ?? null;
  return doubt !== null && isLive(rules, { record: doubt, gone: false });
}

/** Whether a record is on sale: not deleted, above zero where it has a quantity, else not deactivated. */
export function isLive(rules: FeedRules, sent: { record: string; gone: boolean }): boolean {
  if (sent.gone) return false;
  const level = parseDecimal(levelOf(rules, sent.record) ?? "");
  return level === undefined ? !isDeletion(rules, sent.record) : level.coefficient > 0n;
}
