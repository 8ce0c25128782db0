/* What answers and the order itself say of a status that was sent: whether it was taken, is to be sent again, or is refused. Pure. */

import { isOlder, isStrictlyNewer, parseTimestamp, readTimestamp, stepNs } from "../answers/timestamp.ts";
import { unitNs } from "../answers/timestamp-form.ts";
import { isSameName } from "../database/same-name.ts";
import { backoffMs } from "../platform/backoff.ts";
import { MINUTE_MS, SECOND_NS } from "../platform/durations.ts";
import { ServiceError } from "../service/service-error.ts";

/** What a failed request says of the status it carried. */
export type StatusFailure =
  /** The service refuses this status for this order. Whether the refusal counts is decided later. */
  | "refused"
  /** No such place: either the order does not exist or the path is wrong, and only a read can show which. */
  | "nowhere"
  /** It may have arrived: the order is read before anything is sent again. */
  | "unknown"
  /** It may have arrived, and the service asks to wait before anything else. */
  | "later"
  /** It cannot have had an effect: the request waits. */
  | "untouched";

export function classifyStatusFailure(error: unknown): StatusFailure {
  if (!(error instanceof ServiceError)) return "later";
  const { status } = error;
  if (status === 404 || status === 405 || status === 410) return "nowhere";
  // A web page is a proxy's or a deployment's and says nothing of an order.
  if ((status === 400 || status === 409 || status === 422) && !error.isWebPage) return "refused";
  if (error.effect === "none") return "untouched";
  return error.retryAfterMs === undefined ? "unknown" : "later";
}

/** What is remembered of a request that the service has refused in words of its own. */
export interface Refusals {
  /** How often, the last time included; each time the order was read and did not have the status. */
  times: number;
  /** Statuses of other requests that the service has accepted since the first time. */
  acceptedSince: number;
}

/**
 * Whether a refusal is the service's word about this status and not its trouble: it says it again after it has accepted another
 * request in between. How long it says so proves nothing, because that is how long the trouble lasts.
 */
export function isRefusalProven({ times, acceptedSince }: Refusals): boolean {
  if (times < 2) return false;
  return acceptedSince > 0;
}

/** A change by another client is read again after this time before a request is given up for it: a replica may lag. */
export const MOVED_AGAIN_MS = 10 * MINUTE_MS;

const RETRY_FIRST_MS = MINUTE_MS;
const RETRY_LONGEST_MS = 15 * MINUTE_MS;

/** How long a request that was tried so often waits before it is tried again. */
export function statusRetryMs(attempts: number): number {
  return backoffMs({ firstMs: RETRY_FIRST_MS, longestMs: RETRY_LONGEST_MS }, attempts);
}

/** After so long a status that was answered in a new form, and does not show at its order, is sent again. */
const UNSEEN_REPEATS_MS = [60 * MINUTE_MS, 24 * 60 * MINUTE_MS] as const;
const UNSEEN_LONGEST_MS = 60 * MINUTE_MS;

/**
 * What becomes of a status that was accepted and that its order does not show: the service may set it later, once for each request.
 * @param isOtherAccepted another status was accepted since: it goes again after its last time too, because the answer then decides
 */
export function planUnseen({
  sinceMs,
  repeats,
  isOtherAccepted,
}: {
  sinceMs: number;
  repeats: number;
  isOtherAccepted: boolean;
}): { kind: "repeat" } | { kind: "wait"; ms: number; repeatMs: number | undefined } {
  const repeatMs = UNSEEN_REPEATS_MS[repeats];
  if (repeatMs === undefined ? isOtherAccepted : sinceMs >= repeatMs) return { kind: "repeat" };
  // Ever more seldom, by what it has waited already.
  const ms = Math.min(Math.max(sinceMs, RETRY_FIRST_MS), UNSEEN_LONGEST_MS);
  return { kind: "wait", ms: Math.min(ms, (repeatMs ?? Number.POSITIVE_INFINITY) - sinceMs), repeatMs };
}

/** What became known of an order since a request for it left. */
export interface OrderMoves {
  /** The status that was sent has been seen on the order. */
  hasComeBack: boolean;
  /** The statuses that the order has had since, oldest first. */
  statusesSince: readonly (string | null)[];
  /**
   * The status that the order has now was sent by the bridge and accepted: `unseen` where no status was seen on the order
   * between that request and this one, `last` where it was the last one sent before this one.
   */
  ownStatus: "unseen" | "last" | null;
  /**
   * All that is stored of the order is as it was, but for its timestamp. So it counts also where it is not known when the request left,
   * after a copy was restored: the time since the copy is so long that another change explains nothing.
   */
  isSameContent: boolean;
  timestampBefore: string | null;
  timestamp: string | null;
  /** When the request left, by the service's own clock. */
  leftAt: string | null;
  /** The order as it was stored when the last request before this one left whose status was accepted and not seen since. */
  beforeAccepted: { status: string | null; timestamp: string | null } | null;
}

/**
 * What an order that was read says of a status that may have arrived.
 *
 * - `former`: the request has not arrived. The same holds for a status that the bridge sent before: the order was read from a
 *   copy that lagged when the request left. And for an order that is older than it was then: it was set back, unless the service's clock was. And for one
 *   whose last change was made before the request left: {@link isMadeBefore}.
 * - `moved`: the order has the former status and was changed since, in a way that may well be the wanted status that came and
 *   went. A newer timestamp says that only where nothing else explains it.
 * - `another`: another client has changed the status.
 * - `lagging`: the order is as it was before a status that the service has accepted since: the answer is older than that and decides
 *   nothing about what was asked for afterwards.
 * - `nothing`: what stands in the place of the status is none (null, empty, `true`, a number where statuses are words), and may have
 *   come to stand there since.
 *
 * `moved` and `another` count once the order was read again {@link MOVED_AGAIN_MS} later and shows the same. What is `lagging` for so long
 * is `former`: what was accepted has had no effect.
 */
export function compareStatus(
  now: { status: string | null; timestamp: string | null },
  request: { statusSent: string | null; statusBefore: string | null },
  moves: OrderMoves,
  timezone: string,
): "wanted" | "former" | "moved" | "another" | "lagging" | "nothing" {
  const { status } = now;
  if (moves.hasComeBack) return "wanted";
  if (isOfBeforeAccepted(now, moves, timezone)) return "lagging";
  if (isSameName(status, request.statusSent)) return "wanted";
  const isSetBack = isOlder(now.timestamp, moves.timestampBefore, timezone) && !isClockSetBack(now, moves, timezone);
  if (moves.ownStatus === "unseen" || isSetBack) return "former";
  if (moves.ownStatus === "last" && !isStrictlyNewer(now.timestamp, moves.timestampBefore, timezone)) return "former";
  const isOfBefore = isMadeBefore(now.timestamp, moves, timezone);
  if (isSameName(status, request.statusBefore)) {
    if (isOfBefore) return "former";
    const isTimestampAlone = moves.isSameContent && isOneFormNewer(moves.timestamp, moves.timestampBefore, timezone);
    const hasChanged = moves.statusesSince.some((since) => !isSameName(since, status) && isStatus(since, request));
    return hasChanged || isTimestampAlone ? "moved" : "former";
  }
  // Whatever stands there, it stood there before the request left.
  if (isOfBefore) return "former";
  if (!isStatus(status, request)) return "nothing";
  // What the order was before is not known: nothing shows that it was changed.
  return request.statusBefore === null || isStatus(request.statusBefore, request) ? "another" : "former";
}

/** What the order and the answers to a request show of its status. */
export interface ShownStatus {
  /** As in {@link compareStatus}; `wanted` also where the order was moved on from the status that was sent. */
  compared: ReturnType<typeof compareStatus>;
  /** The status other than the former one that both the answer and the order name: the order was moved. */
  named: string | undefined;
}

/**
 * Compares the order that was read with the request, and with the status that the answer to the request has shown.
 * @param known.shown that status
 * @param known.place the place of the answer that may name a status (`key=value`); only the order shows whether it does
 * @param known.isAgain the order showed the same {@link MOVED_AGAIN_MS} ago
 * @param known.isReadBefore the order was read before the request left the last time
 */
export function compareShown(
  now: { status: string | null; timestamp: string | null },
  request: { statusSent: string | null; statusBefore: string | null },
  known: {
    moves: OrderMoves;
    shown: string | undefined;
    place: string | undefined;
    isAgain: boolean;
    isReadBefore: boolean;
    cancelled: ReadonlySet<string>;
  },
  timezone: string,
): ShownStatus {
  const { moves, shown, place, isReadBefore } = known;
  const word = now.status ?? undefined;
  // Only the order shows that a word of the answer is a status: no other order may have had it yet.
  const named = shown ?? (place?.endsWith(`=${word}`) ? word : undefined);
  const isShown = named !== undefined && isSameName(word, named);
  // The answer and the order name one status, which the order had not before: whatever its timestamp says, it was moved.
  const isAnother = isShown && !isSameName(named, request.statusBefore);
  const shows = isAnother ? "another" : compareStatus(now, request, moves, timezone);
  const isMovedOn =
    isShown && !known.cancelled.has(named) && isMadeAfter(now.timestamp, { ...moves, isReadBefore }, timezone);
  const compared = isMovedOn ? "wanted" : shows === "lagging" && known.isAgain ? "former" : shows;
  return { compared, named: isAnother ? named : undefined };
}

function isOfBeforeAccepted(
  now: { status: string | null; timestamp: string | null },
  { beforeAccepted }: OrderMoves,
  timezone: string,
): boolean {
  if (beforeAccepted === null || !isSameName(now.status, beforeAccepted.status)) return false;
  return !isStrictlyNewer(now.timestamp, beforeAccepted.timestamp, timezone);
}

/** The clock that writes timestamps and the one that answers need not be one. */
const CLOCKS_DIFFER_NS = 10_000_000_000n;

/**
 * Whether the last change of an order was made before the request left, although it became known only afterwards: the
 * timestamp has moved with that change, and not even its last unit reaches the time of leaving. What a request sets bears a later one.
 */
function isMadeBefore(timestamp: string | null, { timestampBefore, leftAt }: OrderMoves, timezone: string): boolean {
  const change = readTimestamp(timestamp, timezone);
  const left = readTimestamp(leftAt, timezone);
  if (change === undefined || left === undefined || !isStrictlyNewer(timestamp, timestampBefore, timezone))
    return false;
  return change.instantNs + stepNs(change) + CLOCKS_DIFFER_NS <= left.instantNs;
}

/**
 * Whether the service's clock was set back, and not the order: what the order was before bears a time that was still to come when the request left,
 * and what it is now bears none from before that.
 */
function isClockSetBack(
  now: { timestamp: string | null },
  { timestampBefore, leftAt }: OrderMoves,
  timezone: string,
): boolean {
  const change = readTimestamp(now.timestamp, timezone);
  const before = readTimestamp(timestampBefore, timezone);
  const left = readTimestamp(leftAt, timezone);
  if (change === undefined || before === undefined || left === undefined) return false;
  const isOfFuture = before.instantNs > left.instantNs + CLOCKS_DIFFER_NS;
  return isOfFuture && change.instantNs + stepNs(change) + CLOCKS_DIFFER_NS > left.instantNs;
}

/**
 * Whether the last change of an order was made after the request left: its timestamp has moved with that change, and either shows the second,
 * or it is newer than what was read before the request left (`isReadBefore`).
 */
export function isMadeAfter(
  timestamp: string | null,
  { timestampBefore, leftAt, isReadBefore }: OrderMoves & { isReadBefore: boolean },
  timezone: string,
): boolean {
  if (!isStrictlyNewer(timestamp, timestampBefore, timezone)) return false;
  if (isReadBefore) return true;
  const change = readTimestamp(timestamp, timezone);
  const left = readTimestamp(leftAt, timezone);
  if (change === undefined || left === undefined || unitNs(change.form) > SECOND_NS) return false;
  return change.instantNs + SECOND_NS >= left.instantNs;
}

/** Whether a text can be the name of a status, beside the one that was sent. */
function isStatus(text: string | null, { statusSent }: { statusSent: string | null }): boolean {
  const name = text?.trim() ?? "";
  if (name === "" || name === "true" || name === "false") return false;
  return !isNumber(name) || statusSent === null || isNumber(statusSent);
}

function isNumber(text: string): boolean {
  return Number.isFinite(Number(text));
}

/** Answers of two kinds may cut one timestamp to different lengths; only alike ones show that it is another. */
function isOneFormNewer(now: string | null, before: string | null, timezone: string): boolean {
  const forms = [now, before].map((text) => (text === null ? undefined : parseTimestamp(text, timezone)?.form));
  const [one, other] = forms.map((form) => form && `${form.kind} ${form.precision} ${form.fraction}`);
  return one === other && isStrictlyNewer(now, before, timezone);
}
