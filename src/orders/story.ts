import { kindOf, memberOf, membersOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import type { OrderStory, StoryEvent } from "./story-rows.ts";

/** One event, or, without a time, a present state. */
export interface StoryLine {
  at: string | null;
  what:
    | "received"
    | "stored"
    | "confirmed"
    | "changed"
    | "cancelled"
    | "removed"
    | "remapped"
    | "request"
    | "quarantine"
    | "read owed"
    | "erp";
  text: Message;
}

const FROM: Record<StoryEvent["source"], Message> = {
  batch: m.story.fromBatch,
  update: m.story.fromUpdates,
  snapshot: m.story.fromService,
  own: m.story.own,
  remap: m.story.byRemap,
};
const CHANGES_SHOWN = 6;

/** The story in the order of time; events of one moment in the order in which they happen. */
export function tellOrder(story: OrderStory): StoryLine[] {
  const lines = [
    ...story.batches.map(batchLine),
    ...story.events.map(eventLine),
    ...story.batches.map(confirmLine),
    ...story.quarantined.map(quarantineLine),
    ...story.requests.flatMap(requestLines),
  ];
  const timed = lines
    .map((line, index) => ({ line, index }))
    .sort((a, b) => compareTimes(a.line.at, b.line.at) || a.index - b.index);
  const queued: StoryLine[] =
    story.queuedSince === null
      ? []
      : [{ at: null, what: "read owed", text: m.story.readQueued({ at: story.queuedSince }) }];
  return [...timed.map(({ line }) => line), ...queued, { at: null, what: "erp", text: erpText(story) }];
}

/** `1001 (id): paid, 12.50 EUR, open, revision 3` */
export function headOf({ order }: OrderStory): Message {
  const { number, orderId, status, total, currency, revision } = order;
  const name = number === null ? orderId : `${shortWords(number)} (${orderId})`;
  const amount = total === null ? [] : [`${shortWords(total)}${currency === null ? "" : ` ${shortWords(currency)}`}`];
  const state = order.removedAt !== null ? m.story.removed : order.isOpen === 1 ? m.story.open : m.story.closed;
  const said = status === null ? m.story.noStatus : shortWords(status);
  const parts = [said, ...amount, state, m.story.revision({ revision })];
  return m.common.about({ subject: name, text: m.common.listed({ parts }) });
}

function batchLine({ batchId, orderCount, receivedAt }: OrderStory["batches"][number]): StoryLine {
  const text =
    batchId === null
      ? m.story.inBatch({ orders: orderCount })
      : m.story.inNamedBatch({ id: shortWords(batchId), orders: orderCount });
  return { at: receivedAt, what: "received", text };
}

function eventLine({ at, kind, revision, source, oldStatus, newStatus, changes }: StoryEvent): StoryLine {
  const from = FROM[source];
  if (kind === "created") {
    const text =
      newStatus === null
        ? m.story.stored({ revision, from })
        : m.story.storedWith({ revision, from, status: shortWords(newStatus) });
    return { at, what: "stored", text };
  }
  const moved = oldStatus === newStatus ? [] : [m.story.status({ was: value(oldStatus), is: value(newStatus) })];
  const parts = [...moved, ...changesOf(changes)];
  const subject = m.story.changed({ revision, from });
  return { at, what: kind, text: parts.length === 0 ? subject : because(subject, m.common.joined({ parts })) };
}

function changesOf(text: string | null): (string | Message)[] {
  if (text === null) return [];
  const bytes = Buffer.from(text, "utf8");
  const places = membersOf(bytes, scanJson(bytes));
  const shown = places.slice(0, CHANGES_SHOWN).map(({ key, value: change }) => {
    const [was, is] = [literalOf(bytes, change, "was"), literalOf(bytes, change, "is")];
    if (was === undefined && is === undefined) return shortWords(key);
    return m.story.change({ place: shortWords(key), was: was ?? m.story.nothing, is: is ?? m.story.nothing });
  });
  const count = places.length - shown.length;
  return count > 0 ? [...shown, m.config.more({ count })] : shown;
}

/** The original literal, because `JSON.parse` would round numbers. */
function literalOf(bytes: Buffer, change: Span, key: string): string | undefined {
  const found = memberOf(bytes, change, key);
  if (found === undefined || kindOf(bytes, found) === "null") return undefined;
  return shortWords(kindOf(bytes, found) === "string" ? stringOf(bytes, found) : textOf(bytes, found));
}

function confirmLine({ confirmedAt, receivedAt, state, lastError }: OrderStory["batches"][number]): StoryLine {
  if (confirmedAt !== null) return { at: confirmedAt, what: "confirmed", text: m.story.confirmed };
  const text = state === "refused" ? m.story.confirmRefused : m.story.confirmDue;
  return { at: receivedAt, what: "confirmed", text: because(text, lastError) };
}

function quarantineLine({ id, kind, state, reason, firstSeenAt }: OrderStory["quarantined"][number]): StoryLine {
  const text = m.story.quarantined({ id, kind, state, reason: withTexts(reason, shortWords) });
  return { at: firstSeenAt, what: "quarantine", text };
}

function requestLines(request: OrderStory["requests"][number]): StoryLine[] {
  const { id, state, httpStatus, answeredAt, requestedAt, lastError: why } = request;
  const what = "request" as const;
  const wanted = { id, status: value(request.status) };
  if (answeredAt === null || state === "pending" || state === "sending")
    return [{ at: requestedAt, what, text: because(m.story.waiting({ ...wanted, state }), why) }];
  const settled =
    httpStatus === null
      ? m.story.settled({ ...wanted, state })
      : m.story.answered({ ...wanted, state, code: httpStatus });
  return [
    { at: requestedAt, what, text: m.story.wanted(wanted) },
    { at: answeredAt, what, text: because(settled, why) },
  ];
}

function erpText({ order, erp, waiting }: OrderStory): Message {
  const hasNumber = erp?.erpNumber !== null && erp?.erpNumber !== undefined;
  const number = value(erp?.erpNumber);
  const seen = erp?.seenRevision ?? 0;
  if (waiting?.blocked === 1) {
    const why = erp?.error === undefined || erp.error === null ? null : value(erp.error);
    const said = typeof why === "string" ? m.common.foreign({ text: why }) : why;
    return because(m.story.blocked({ since: waiting.since }), said);
  }
  if (waiting !== undefined) {
    const taken = hasNumber ? m.story.takenUpToAs({ number, seen }) : m.story.takenUpTo({ seen });
    const before = seen === 0 ? m.story.notTaken : taken;
    return m.story.waits({ before, revision: order.erpRevision, since: waiting.since });
  }
  const last = order.revision;
  return hasNumber ? m.story.takenAs({ number, seen, last }) : m.story.taken({ seen, last });
}

function because(subject: Message, text: Message | null): Message {
  return text === null ? subject : m.common.about({ subject, text: withTexts(text, shortWords) });
}

function value(of: unknown): string | Message {
  if (of === null || of === undefined) return m.story.nothing;
  if (Buffer.isBuffer(of)) return m.story.binary;
  return shortWords(typeof of === "string" ? of : JSON.stringify(of));
}

/** Compares ISO times as text; the ERP may have written anything, or nothing, into its own column. */
function compareTimes(a: string | null, b: string | null): number {
  const [left, right] = [a ?? "", b ?? ""];
  return left < right ? -1 : left > right ? 1 : 0;
}
