import { counted } from "../messages/counted.ts";
import type { Condition } from "./alerts.ts";

/** What somebody is told. Closed words, names and numbers only. */
export interface AlertMessage {
  kind: "problem" | "recovery" | "digest" | "test";
  subject: string;
  text: string;
}

/** What one receiver has been told. Kept across restarts, so that nothing is told twice. */
export interface Told {
  /** Open problems by subject, as they were told last. */
  open: Record<string, { level: number; recovery: string }>;
  /** When messages went out, by subject, and when any did: the newest few, milliseconds. */
  sentMs: Record<string, number[]>;
  allSentMs: number[];
}

export const NOTHING_TOLD: Told = { open: {}, sentMs: {}, allSentMs: [] };

/** A message and what the receiver knows once it has arrived. */
export interface PlannedAlert {
  message: AlertMessage;
  told: Told;
}

const HOUR_MS = 3_600_000;
/** A subject that comes and goes is told twice an hour; what it is by then follows later. */
export const SUBJECT_PER_HOUR = 4;
/** Messages an hour in all; the last one sums up whatever else has happened. */
export const ALL_PER_HOUR = 12;

interface Owed {
  message: AlertMessage;
  condition: Condition | undefined;
}

/**
 * Decides what a receiver is to be told next, from what it was told and what is wrong now. Called until it has
 * nothing more to say. What its limits suppress stays owed: it is the difference between what was told and what is,
 * so a problem that was over before its turn is never told at all, and a restart repeats nothing.
 * @param settled the subjects that have stood long enough
 */
export function planAlert(
  told: Told,
  now: { conditions: readonly Condition[]; settled: ReadonlySet<string>; nowMs: number },
): PlannedAlert | undefined {
  const { nowMs } = now;
  const owed = listOwed(told, now.conditions, now.settled);
  const lately = recent(told.allSentMs, nowMs);
  const free = owed.filter(({ message }) => recent(told.sentMs[message.subject], nowMs).length < SUBJECT_PER_HOUR);
  const [first] = free;
  if (first === undefined || lately.length >= ALL_PER_HOUR) return undefined;
  if (lately.length < ALL_PER_HOUR - 1 || free.length === 1)
    return { message: first.message, told: after(told, [first], nowMs) };
  return { message: digestOf(free), told: after(told, free, nowMs) };
}

/** Fewer of the same are noted without a message, so that the next more is told. Undefined where nothing is to be noted. */
export function noteLess(told: Told, conditions: readonly Condition[]): Told | undefined {
  const levels = new Map(conditions.map(({ subject, level }) => [subject, level]));
  const less = Object.entries(told.open).filter(([subject, { level }]) => (levels.get(subject) ?? level) < level);
  if (less.length === 0) return undefined;
  const open = { ...told.open };
  for (const [subject, entry] of less) open[subject] = { ...entry, level: levels.get(subject) ?? entry.level };
  return { ...told, open };
}

function listOwed(told: Told, conditions: readonly Condition[], settled: ReadonlySet<string>): Owed[] {
  const owed: Owed[] = [];
  for (const condition of conditions) {
    const { subject, level, problem } = condition;
    const before = told.open[subject];
    const isNews = before === undefined ? settled.has(subject) && condition.muted !== true : level > before.level;
    if (isNews) owed.push({ message: { kind: "problem", subject, text: problem }, condition });
  }
  const standing = new Set(conditions.map(({ subject }) => subject));
  for (const [subject, { recovery }] of Object.entries(told.open)) {
    if (!standing.has(subject))
      owed.push({ message: { kind: "recovery", subject, text: recovery }, condition: undefined });
  }
  return owed;
}

const DIGEST_LINES_MAX = 30;

function digestOf(owed: readonly Owed[]): AlertMessage {
  const lines = owed.slice(0, DIGEST_LINES_MAX).map(({ message }) => message.text);
  const more = owed.length > lines.length ? [`and ${owed.length - lines.length} more`] : [];
  return {
    kind: "digest",
    subject: "digest",
    text: [`${counted(owed.length, "change")} at once:`, ...lines, ...more].join("\n"),
  };
}

function after(told: Told, sent: readonly Owed[], nowMs: number): Told {
  const open = { ...told.open };
  const sentMs = Object.fromEntries(
    Object.entries(told.sentMs)
      .map(([subject, times]) => [subject, recent(times, nowMs)] as const)
      .filter(([, times]) => times.length > 0),
  );
  for (const { message, condition } of sent) {
    if (condition === undefined) delete open[message.subject];
    else open[message.subject] = { level: condition.level, recovery: condition.recovery };
    sentMs[message.subject] = [...(sentMs[message.subject] ?? []), nowMs];
  }
  return { open, sentMs, allSentMs: [...recent(told.allSentMs, nowMs), nowMs] };
}

/** Times of the last hour. One from the future belongs to a clock that was set back; it must not count for ever. */
function recent(times: readonly number[] | undefined, nowMs: number): number[] {
  return (times ?? []).filter((at) => at <= nowMs && nowMs - at < HOUR_MS);
}
