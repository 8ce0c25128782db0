import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** A notification. Closed words, names and numbers only. */
export interface AlertMessage {
  kind: "problem" | "recovery" | "digest" | "test";
  /** A name for programs. */
  subject: string;
  text: Message | string;
}

/** A condition as receivers are notified of it. */
export interface Alertable {
  /** Code and subject. */
  key: string;
  /** Its name for programs. */
  subject: string;
  /** Counts what can become more of the same; the others are 1. */
  level: number;
  /** What is wrong, as a sentence. */
  problem: string;
  /** What is said when it is over. */
  recovery: string;
  /** Covered by another condition: it opens nothing new, and does not end what was notified. */
  muted?: boolean;
}

/** What one receiver was notified of. Kept across restarts, so that no message goes out twice. */
export interface Notified {
  /** Open conditions by key, as they were at the last message. */
  open: Record<string, { level: number; subject: string; recovery: string }>;
  /** When messages went out, by key, and when any did: the newest few, milliseconds. */
  sentMs: Record<string, number[]>;
  allSentMs: number[];
}

export const NOTHING_NOTIFIED: Notified = { open: {}, sentMs: {}, allSentMs: [] };

/** A message, and what the receiver was notified of once it has arrived. */
export interface PlannedAlert {
  message: AlertMessage;
  notified: Notified;
}

const HOUR_MS = 3_600_000;
/** Of a subject that comes and goes a message leaves twice an hour; what it is by then follows later. */
export const SUBJECT_PER_HOUR = 4;
/** Messages an hour in all; the last one sums up whatever else has happened. */
export const ALL_PER_HOUR = 12;

interface Change {
  key: string;
  message: AlertMessage;
  /** Undefined where it is over. */
  condition: Alertable | undefined;
}

/**
 * The next message for a receiver, from what it was notified of and what is wrong now. Called until there is none. What the
 * limits suppress comes later: it is the difference between what was notified and what is, so a problem that was over before
 * its turn is never sent at all, and a restart repeats nothing.
 * @param settled the keys that have stood long enough
 */
export function planAlert(
  notified: Notified,
  now: { conditions: readonly Alertable[]; settled: ReadonlySet<string>; nowMs: number },
): PlannedAlert | undefined {
  const { nowMs } = now;
  const changes = listChanges(notified, now.conditions, now.settled);
  const lately = recent(notified.allSentMs, nowMs);
  const free = changes.filter(({ key }) => recent(notified.sentMs[key], nowMs).length < SUBJECT_PER_HOUR);
  const [first] = free;
  if (first === undefined || lately.length >= ALL_PER_HOUR) return undefined;
  if (lately.length < ALL_PER_HOUR - 1 || free.length === 1)
    return { message: first.message, notified: after(notified, [first], nowMs) };
  return { message: digestOf(free), notified: after(notified, free, nowMs) };
}

/** Fewer of the same are noted without a message, so that the next more is one. Undefined where nothing is to be noted. */
export function lowerLevel(notified: Notified, conditions: readonly Alertable[]): Notified | undefined {
  const levels = new Map(conditions.map(({ key, level }) => [key, level]));
  const less = Object.entries(notified.open).filter(([key, { level }]) => (levels.get(key) ?? level) < level);
  if (less.length === 0) return undefined;
  const open = { ...notified.open };
  for (const [key, entry] of less) open[key] = { ...entry, level: levels.get(key) ?? entry.level };
  return { ...notified, open };
}

function listChanges(notified: Notified, conditions: readonly Alertable[], settled: ReadonlySet<string>): Change[] {
  const changes: Change[] = [];
  for (const condition of conditions) {
    const { key, subject, level, problem } = condition;
    const before = notified.open[key];
    const isNews = before === undefined ? settled.has(key) && condition.muted !== true : level > before.level;
    if (isNews) changes.push({ key, message: { kind: "problem", subject, text: problem }, condition });
  }
  const standing = new Set(conditions.map(({ key }) => key));
  for (const [key, { subject, recovery }] of Object.entries(notified.open)) {
    if (!standing.has(key))
      changes.push({ key, message: { kind: "recovery", subject, text: recovery }, condition: undefined });
  }
  return changes;
}

const DIGEST_LINES_MAX = 30;

function digestOf(changes: readonly Change[]): AlertMessage {
  const lines = changes.slice(0, DIGEST_LINES_MAX).map(({ message }) => message.text);
  const rest = changes.length - lines.length;
  const more = rest > 0 ? [m.config.more({ count: rest })] : [];
  return {
    kind: "digest",
    subject: "digest",
    text: m.common.lines({ lines: [m.health.changesAtOnce({ count: changes.length }), ...lines, ...more] }),
  };
}

function after(notified: Notified, sent: readonly Change[], nowMs: number): Notified {
  const open = { ...notified.open };
  const sentMs = Object.fromEntries(
    Object.entries(notified.sentMs)
      .map(([key, times]) => [key, recent(times, nowMs)] as const)
      .filter(([, times]) => times.length > 0),
  );
  for (const { key, condition } of sent) {
    if (condition === undefined) delete open[key];
    else open[key] = { level: condition.level, subject: condition.subject, recovery: condition.recovery };
    sentMs[key] = [...(sentMs[key] ?? []), nowMs];
  }
  return { open, sentMs, allSentMs: [...recent(notified.allSentMs, nowMs), nowMs] };
}

/** Times of the last hour. One from the future belongs to a clock that was set back; it must not count for ever. */
function recent(times: readonly number[] | undefined, nowMs: number): number[] {
  return (times ?? []).filter((at) => at <= nowMs && nowMs - at < HOUR_MS);
}
