import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { HOUR_MS } from "../platform/durations.ts";

/** A notification. Contains fixed texts, names and numbers only. */
export interface AlertMessage {
  kind: "problem" | "recovery" | "digest" | "test";
  /** The alert's name for programs. */
  subject: string;
  text: Message | string;
}

/** A condition in the form that receivers are notified of. */
export interface Alertable {
  /** Code and subject. */
  key: string;
  /** The alert's name for programs. */
  subject: string;
  /** The count of the condition; 1 where it has none. */
  level: number;
  /** What is wrong, as a sentence. */
  problem: string;
  /** The text for when it ends. */
  recovery: string;
  /** Covered by another condition: opens no notification, and does not end an open one. */
  muted?: boolean;
}

/** What one receiver was notified of. Kept across restarts, so that no message is sent twice. */
export interface Notified {
  /** Open conditions by key, as of the last message. */
  open: Record<string, { level: number; subject: string; recovery: string }>;
  /** When messages were sent, by key and in all: the newest few, in milliseconds. */
  sentMs: Record<string, number[]>;
  allSentMs: number[];
}

export const NOTHING_NOTIFIED: Notified = { open: {}, sentMs: {}, allSentMs: [] };

/** A message, and the receiver's state once it has arrived. */
export interface PlannedAlert {
  message: AlertMessage;
  notified: Notified;
}

/**
 * Messages per subject and hour: two problems and two recoveries of one that alternates. Its state is sent when the
 * limit allows again.
 */
export const SUBJECT_PER_HOUR = 4;
/** Limit for all messages in an hour; the last one is a digest of the rest. */
export const ALL_PER_HOUR = 12;

interface Change {
  key: string;
  message: AlertMessage;
  /** Undefined where the condition has ended. */
  condition: Alertable | undefined;
}

/**
 * The next message for a receiver, from what it was notified of and the present conditions. Called until there is none.
 * What the limits suppress is sent later, because it remains in the difference between the two; a problem that ended
 * before its turn is never sent, and a restart repeats nothing.
 * @param settled the keys of conditions that have lasted long enough
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

/** Records lower counts without a message, so that a later rise sends one. Undefined where nothing is lower. */
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

/**
 * The message for a receiver that could not be reached and gets nothing else now: what it missed is over, or waits
 * for the limits. Without it the receiver would count as unreachable until the next problem.
 * @param since UTC, ISO 8601
 */
export function planMissed(notified: Notified, since: string): PlannedAlert {
  return { message: { kind: "recovery", subject: "alerts", text: m.health.alertsMissed({ since }) }, notified };
}

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

/**
 * Times within the last hour. A time in the future comes from a clock that was set back, and must not count for ever.
 */
function recent(times: readonly number[] | undefined, nowMs: number): number[] {
  return (times ?? []).filter((at) => at <= nowMs && nowMs - at < HOUR_MS);
}
