/*
 * What the service has said of an order and what is not stored: the record that waits for the order's read, because that could not be made
 * since (`owed_reads`), the records of the order that are held in quarantine, and those that were read and are about to be stored. A status
 * that leaves meanwhile might undo it.
 */
import { isOlder, isStrictlyNewer, isZoneUnclear, parseTimestamp } from "../answers/timestamp.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { loadHeldOf } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { BAD_KIND, type OrderSource } from "../records/order-mapping.ts";
import { fieldOf } from "../records/same-order.ts";
import { findUnstored } from "../records/unstored-records.ts";
import { isOfFuture } from "./latest-time.ts";
import { CANCELLED_TRIES, takeCancellation } from "./take-cancellation.ts";

type Context = Pick<JobContext, "store" | "client" | "clock" | "log">;

/** One status that the service has named for an order, and that is not stored. */
export interface KeptWord {
  status: string;
  /** It may be later than what is stored; false: it surely is, and is no cancellation. */
  isCancelled: boolean;
  /** Since when the order waits for its read, or the record is held. */
  since: string;
  /** The order could not be read for so long that nothing waits for it any more. */
  isOver: boolean;
}

const HOUR_MS = 3_600_000;
/** A status that is no cancellation: the order is stored later with the status by then, whatever was sent. */
const NEWER_FOR_MS = HOUR_MS;
/** As long as an order is read again whose answers are bad. */
const CANCELLED_FOR_MS = 24 * HOUR_MS;

interface Word {
  status: string | undefined;
  updatedAt: string | null;
  since: string;
  /** Tries of a read that waits; undefined: the record is held in quarantine. */
  attempts?: number;
  /** Whether it was tried lately: after a long stop its day has only begun. */
  isTried: boolean;
}

/**
 * Words of an order that nothing stored covers. A cancellation that has waited for a day, and is not older than what is stored, is taken
 * over first. Inside the transaction that decides about a status.
 * @param stored its status and timestamp
 */
export function findKeptWords(
  context: Context,
  rules: OrderRules,
  { orderId, stored, at }: { orderId: string; stored: { status: string | null; updatedAt: string | null }; at: string },
): KeptWord[] {
  const words = loadWords(context, rules, orderId, at).flatMap((word) => judge(context, rules, { word, stored, at }));
  const isLate = words.some(({ isCancelled, isOver }) => isCancelled && isOver);
  return isLate && takeCancellation(context, rules, { orderId, at, isLate }) ? [] : words;
}

function judge(
  context: Context,
  { plan }: OrderRules,
  { word, stored, at }: { word: Word; stored: { status: string | null; updatedAt: string | null }; at: string },
): KeptWord[] {
  const { status, updatedAt, since, attempts, isTried } = word;
  const { timezone, cancelled } = plan;
  if (status === undefined || status === stored.status || isOlder(updatedAt, stored.updatedAt, timezone)) return [];
  const waitedMs = Date.parse(at) - Date.parse(since);
  if (cancelled.has(status)) {
    if (cancelled.has(stored.status ?? "")) return [];
    return [{ status, since, isCancelled: true, isOver: waitedMs >= CANCELLED_FOR_MS && isTried }];
  }
  const [form, other] = [updatedAt, stored.updatedAt].map((text) =>
    text === null ? undefined : parseTimestamp(text, timezone)?.form,
  );
  const isNewer = isStrictlyNewer(updatedAt, stored.updatedAt, timezone) && !isZoneUnclear(form, other);
  if (attempts === undefined || !isNewer || isOfFuture(context, updatedAt ?? "", timezone)) return [];
  return [{ status, since, isCancelled: false, isOver: waitedMs >= NEWER_FOR_MS || attempts >= CANCELLED_TRIES }];
}

function loadWords({ store }: Context, rules: OrderRules, orderId: string, at: string): Word[] {
  const read = (text: string, source: OrderSource) => ({
    status: fieldOf({ text, mapping: rules[source] }, "status"),
    updatedAt: fieldOf({ text, mapping: rules[source] }, "updated_at") ?? null,
  });
  const owed = loadQueuedRead(store, orderId);
  const triedSince = isoTime(Date.parse(at) - HOUR_MS);
  const waiting =
    owed === undefined || owed.record === ""
      ? []
      : [{ ...owed, ...read(owed.record, owed.source), isTried: (owed.dueAt ?? "") > triedSince }];
  const held = (["batch", "update", "snapshot"] as const).flatMap((source) =>
    loadHeldOf(store, BAD_KIND[source], orderId).map(({ payload, since }) => ({
      ...read(payload, source),
      since,
      isTried: true,
    })),
  );
  const unstored = findUnstored(store, orderId).map(({ text, source, at: since }) => ({
    ...read(text, source),
    since,
    attempts: 0,
    isTried: false,
  }));
  return [...waiting, ...held, ...unstored];
}
