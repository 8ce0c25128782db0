/*
 * Whether the pages of a feed of changes leave a gap behind them. A service that answers the newest changes first and so many
 * a page leaves out the oldest; one whose pages are in an order of their own, as that of ids, leaves out any. A position that
 * moved over such a page would lose them. All of it is pure; `judge-pages.ts` asks, `plan-position.ts` decides.
 */
import type { ServedTimestamp } from "../answers/timestamp.ts";
import { doubtNs, type TimestampForm, unitNs } from "../answers/timestamp-form.ts";

/** A change that is covered: its order must be in every whole answer from before it, with this timestamp or a later one. */
export interface Anchor {
  orderId: string;
  ns: bigint;
}

/** Enough that not all of their orders change again before the next poll; asking for them brings little more. */
const ANCHORS_MAX = 10;
/** Older ones may have left the feed. */
export const ANCHOR_VALID_NS = 7n * 86_400n * 1_000_000_000n;
/** Fewer are what a quiet service answers: they are taken for all unless something says else ({@link mayBeLimit}). */
export const CUT_MIN = 10;
/** After so many searches that found nothing, pages of so few changes are taken for whole. */
const FRUITLESS_MAX = 3;

/** The newest of both, one for each order, none after `upToNs`. */
export function mergeAnchors(known: readonly Anchor[], served: readonly Anchor[], upToNs: bigint): Anchor[] {
  const newest = new Map<string, bigint>();
  for (const { orderId, ns } of [...known, ...served]) {
    if (ns <= upToNs && ns > (newest.get(orderId) ?? -1n)) newest.set(orderId, ns);
  }
  return [...newest]
    .map(([orderId, ns]) => ({ orderId, ns }))
    .sort((a, b) => (a.ns < b.ns ? 1 : a.ns > b.ns ? -1 : 0))
    .slice(0, ANCHORS_MAX);
}

/** Adds one to a list that {@link mergeAnchors} would make, where it belongs to the newest. */
export function addAnchor(anchors: Anchor[], anchor: Anchor): void {
  if (anchors.length === ANCHORS_MAX && anchors.at(-1)!.ns >= anchor.ns) return;
  const at = anchors.findIndex(({ ns }) => ns < anchor.ns);
  anchors.splice(at === -1 ? anchors.length : at, 0, anchor);
  if (anchors.length > ANCHORS_MAX) anchors.pop();
}

/**
 * Whether a page may have been cut at its old end: its timestamps do not rise, unless by chance, and none of them reaches down to what is covered.
 *
 * @param mayBeChance it holds a few changes, and may be as full as the service's limit
 * @example
 * mayLackOldest([5n, 4n, 3n], 1n); // true: where are those between 1 and 3?
 * mayLackOldest([5n, 3n, 1n], 1n); // false: it goes down to what was known before
 * mayLackOldest([3n, 4n, 5n], 1n); // false: the oldest come first, so a limit has cut the newest
 * mayLackOldest([3n, 4n, 5n], 1n, true); // true: or they are the newest three, in any order
 */
export function mayLackOldest(
  timestamps: readonly (Pick<ServedTimestamp, "instantNs"> | undefined)[],
  coveredNs: bigint,
  mayBeChance = false,
): boolean {
  let first: bigint | undefined;
  let last: bigint | undefined;
  let isRising = true;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    const ns = timestamp.instantNs;
    if (ns <= coveredNs) return false;
    if (last !== undefined && ns < last) isRising = false;
    first ??= ns;
    last = ns;
  }
  return first !== undefined && (mayBeChance || !(isRising && last !== first));
}

/**
 * Whether all changes of a page are from before `since`, also where their times name another zone or are less precise. An answer to what was asked has
 * none of them; there are services that list a change later than its timestamp says, and by itself such a page proves nothing ({@link showsOtherQuestion}).
 */
export function liesBefore(
  timestamps: readonly (ServedTimestamp | undefined)[],
  asked: { ns: bigint; form: TimestampForm | undefined },
): boolean {
  const reachesNs = ({ instantNs, form }: ServedTimestamp) => instantNs + unitNs(form) + doubtNs(form, asked.form);
  return (
    timestamps.some((timestamp) => timestamp !== undefined) &&
    timestamps.every((timestamp) => timestamp === undefined || reachesNs(timestamp) <= asked.ns)
  );
}

/**
 * Whether a page that {@link liesBefore} what was asked answers another question: a change that is known to have come after `since` is not in it.
 * A whole answer has its order, with that change or a later one, whatever else it brings.
 * @param asked `nowNs`: the service's time, where it is known
 * @param isCurrent whether the pass has brought the newest known change of the order, or one that was not known
 */
export function showsOtherQuestion(
  anchors: readonly Anchor[],
  asked: { ns: bigint; nowNs: bigint | undefined },
  isCurrent: (orderId: string) => boolean,
): boolean {
  return anchors.some(({ orderId, ns }) => ns > asked.ns && isYoungAnchor(ns, asked.nowNs) && !isCurrent(orderId));
}

function isYoungAnchor(ns: bigint, nowNs: bigint | undefined): boolean {
  return nowNs === undefined || nowNs - ns < ANCHOR_VALID_NS;
}

/** Fewer are in some order by chance, and a question about them costs more than it shows. */
const MIXED_MIN = 3;
/**
 * The shares of a page, from its oldest change, that narrower answers leave out: so much room they have for what the page lacked. First only the
 * oldest, so that nothing that was left out behind it is passed over. Another one is asked only where the one before was as full as the page, and
 * that with changes that are newer.
 */
export const NARROWER: readonly number[] = [0, 0.1, 0.3, 0.6, 0.8];

type Timestamps = readonly (Pick<ServedTimestamp, "instantNs"> | undefined)[];

/**
 * The timestamps of a page, without those from before what was asked for: such a change stands in it for another reason, as where an order shows the
 * time of an earlier version, and no page reaches down to it. Where all are from before, `since` is compared in another way, and each counts.
 *
 * @param askedNs from when on changes were asked for
 */
export function withoutEarlier(
  timestamps: readonly (ServedTimestamp | undefined)[],
  askedNs: bigint,
): readonly (ServedTimestamp | undefined)[] {
  const isEarlier = (timestamp: ServedTimestamp | undefined) =>
    timestamp !== undefined && timestamp.instantNs + unitNs(timestamp.form) <= askedNs;
  if (!timestamps.some(isEarlier)) return timestamps;
  const kept = timestamps.map((timestamp) => (isEarlier(timestamp) ? undefined : timestamp));
  return kept.some((timestamp) => timestamp !== undefined) ? kept : timestamps;
}

/** Whether the oldest come first, so that a limit has cut the newest. Of one change nothing else can be said. */
export function isRising(timestamps: Timestamps): boolean {
  let first: bigint | undefined;
  let last: bigint | undefined;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (last !== undefined && timestamp.instantNs < last) return false;
    first ??= timestamp.instantNs;
    last = timestamp.instantNs;
  }
  return timestamps.length === 1 || first !== last;
}

/** Whether the newest come first down to what is covered, so that a limit has cut what is older than that. */
export function fallsTo(timestamps: Timestamps, coveredNs: bigint | undefined): boolean {
  if (coveredNs === undefined || timestamps.length < MIXED_MIN) return false;
  let last: bigint | undefined;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (last !== undefined && timestamp.instantNs > last) return false;
    last = timestamp.instantNs;
  }
  return last !== undefined && last <= coveredNs;
}

/** Whether a page that goes on behind an instant has all that was changed then: a limit may have cut one of its ends, or any. */
export function isWholeDownTo(
  served: readonly (ServedTimestamp | undefined)[],
  { askedNs, ns }: { askedNs: bigint; ns: bigint },
): boolean {
  const timestamps = withoutEarlier(served, askedNs);
  if (timestamps.length < CUT_MIN || isRising(timestamps)) return true;
  const reaches = timestamps.some((timestamp) => timestamp !== undefined && timestamp.instantNs <= ns);
  return reaches && !mayLackAny(timestamps, timestamps.length);
}

/**
 * Whether a page may have been cut anywhere: its timestamps neither rise nor fall, and it is as full as pages get or large. What it reaches
 * down to then proves nothing.
 *
 * @example
 * mayLackAny([5n, 3n, 4n], 3); // true: three is the most that was ever served, and it is in the order of something else
 * mayLackAny([5n, 4n, 3n], 3); // false: newest first, so that the oldest are missing or none
 */
export function mayLackAny(timestamps: Timestamps, pageMax: number): boolean {
  if (timestamps.length < MIXED_MIN || (timestamps.length < CUT_MIN && timestamps.length < pageMax)) return false;
  let [hasRisen, hasFallen] = [false, false];
  let last: bigint | undefined;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (last !== undefined && timestamp.instantNs > last) hasRisen = true;
    if (last !== undefined && timestamp.instantNs < last) hasFallen = true;
    last = timestamp.instantNs;
  }
  return hasRisen && hasFallen;
}

/**
 * The timestamp behind which such a page is asked for once more. The answer has room then: a service that had cut the
 * page, in whatever order, fills it with some of what was left out. Undefined where all have one timestamp.
 */
export function planNarrower(timestamps: Timestamps, share = 0): bigint | undefined {
  const sorted = timestamps
    .flatMap((timestamp) => (timestamp === undefined ? [] : [timestamp.instantNs]))
    .sort((a, b) => (a < b ? -1 : 1));
  const behind = sorted[Math.floor(sorted.length * share)];
  const newest = sorted.at(-1);
  return behind === undefined || newest === undefined || behind >= newest ? undefined : behind;
}

/** Whether a narrower answer has something that the page did not have and should have had: older than its newest, and not too old. */
export function showsHole(page: Timestamps, narrower: Timestamps, behindNs: bigint): boolean {
  const left = new Map<bigint, number>();
  let newest = 0n;
  for (const timestamp of page) {
    if (timestamp === undefined) continue;
    left.set(timestamp.instantNs, (left.get(timestamp.instantNs) ?? 0) + 1);
    if (timestamp.instantNs > newest) newest = timestamp.instantNs;
  }
  return narrower.some((timestamp) => {
    if (timestamp === undefined || timestamp.instantNs <= behindNs || timestamp.instantNs >= newest) return false;
    const count = left.get(timestamp.instantNs) ?? 0;
    left.set(timestamp.instantNs, count - 1);
    return count <= 0;
  });
}

/** A search for what pages of a few changes may have left out has found nothing. */
export interface FewWhole {
  /** How many changes the page held: the most of all such searches. */
  size: number;
  /** How many of the searches were for pages of that size. */
  times: number;
}

/** What the answers have taught of how many changes one holds. */
export interface PageSizes {
  /** The most that one held. */
  pageMax: number;
  fewWhole?: FewWhole | undefined;
}

/**
 * Whether a page may be as full as the service's limit. One of a few changes that no answer has exceeded may be, until so many searches have found
 * nothing: a quiet service is searched a few times in all.
 */
export function mayBeLimit(size: number, { pageMax, fewWhole }: PageSizes): boolean {
  if (size >= CUT_MIN) return true;
  if (size < MIXED_MIN || size < pageMax) return false;
  const { size: known = 0, times = 0 } = fewWhole ?? {};
  return size > known || (size === known && times < FRUITLESS_MAX);
}

/** A search that a page of a few changes began has found nothing. */
export function noteFewWhole(known: FewWhole | undefined, size: number): FewWhole {
  if (known === undefined || size > known.size) return { size, times: 1 };
  return size === known.size ? { size, times: known.times + 1 } : known;
}

/** What an answer from before the oldest anchor has shown of a page that may lack its oldest changes. */
export interface Wider {
  /** How many changes the page held. */
  size: number;
  /** All of them have the same timestamp: where the page was cut, the order of equal timestamps is open. */
  isLevel: boolean;
  /** Whether the wider answer goes down to what was covered before the page. */
  isReached: boolean;
  anchors: readonly Anchor[];
  /** Whether the order was in any page of the pass. */
  isMet: (orderId: string) => boolean;
  /** The service's time, where it is known. */
  nowNs: bigint | undefined;
  /** How many changes the smallest page held that was proved to be cut. */
  cutSize: number | undefined;
  /** Whether the page may be as full as the service's limit: {@link mayBeLimit}. */
  isFull: boolean;
}

/** `whole`: nothing is missing, or nothing shows it. `cut`: changes that are known to exist were left out. `unsure`: nothing proves either. */
export function judgePage(wider: Wider): "whole" | "unsure" | "cut" {
  const { size, isLevel, isReached, anchors, isMet, nowNs, cutSize, isFull } = wider;
  if (isReached) return "whole";
  if (anchors.some(({ orderId, ns }) => isYoungAnchor(ns, nowNs) && !isMet(orderId))) return "cut";
  if (cutSize !== undefined && size >= cutSize) return "cut";
  return isFull && !isLevel ? "unsure" : "whole";
}
