/*
 * Whether pages of a feed of changes leave a gap. A service that returns the newest changes first, up to a limit,
 * leaves out the oldest; one with another order, such as by id, leaves out any. A position that moved over such a page
 * would lose them. Pure; `judge-pages.ts` sends requests, `plan-position.ts` decides.
 */
import type { ServedTimestamp } from "../../answers/timestamp.ts";
import { type TimestampForm, uncertaintyNs, unitNs } from "../../answers/timestamp-form.ts";

/** A known change: every complete answer from before it has its order, with this timestamp or a later one. */
export interface Anchor {
  orderId: string;
  ns: bigint;
}

/** Enough that not all of their orders change again before the next poll; more would not help. */
const ANCHORS_MAX = 10;
/** Older ones may have left the feed. */
export const ANCHOR_VALID_NS = 7n * 86_400n * 1_000_000_000n;
/**
 * Fewer changes are normal for a quiet service: such pages count as whole unless something else shows a cut
 * ({@link mayBeLimit}).
 */
export const CUT_MIN = 10;
/** After so many searches without a result, pages of so few changes count as whole. */
const FRUITLESS_MAX = 3;

/** The newest of both, one per order, none after `upToNs`. */
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

/** Adds one to a list as {@link mergeAnchors} returns it, if it is among the newest. */
export function addAnchor(anchors: Anchor[], anchor: Anchor): void {
  if (anchors.length === ANCHORS_MAX && anchors.at(-1)!.ns >= anchor.ns) return;
  const at = anchors.findIndex(({ ns }) => ns < anchor.ns);
  anchors.splice(at === -1 ? anchors.length : at, 0, anchor);
  if (anchors.length > ANCHORS_MAX) anchors.pop();
}

/**
 * Whether a page may have been cut at its old end: it is not rising, unless by chance, and no timestamp reaches down to
 * what is covered.
 *
 * @param mayBeChance it may be rising although it is cut: by chance, or because the newest are listed so
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
 * Whether all changes of a page are before `since`, even if their zone or precision is unclear. A correct answer has
 * none of them. Some services list a change later than its timestamp, so such a page alone proves nothing
 * ({@link showsOtherQuestion}).
 */
export function liesBefore(
  timestamps: readonly (ServedTimestamp | undefined)[],
  asked: { ns: bigint; form: TimestampForm | undefined },
): boolean {
  const reachesNs = ({ instantNs, form }: ServedTimestamp) =>
    instantNs + unitNs(form) + uncertaintyNs(form, asked.form);
  return (
    timestamps.some((timestamp) => timestamp !== undefined) &&
    timestamps.every((timestamp) => timestamp === undefined || reachesNs(timestamp) <= asked.ns)
  );
}

/**
 * Whether a page that {@link liesBefore} answers another question: it lacks an order that is known to have changed
 * after `since`, which a correct answer must have, with that change or a later one.
 * @param asked `nowNs`: the service's time, where known
 * @param isCurrent whether the pass has brought the newest known change of the order, or a new one
 */
export function showsOtherQuestion(
  anchors: readonly Anchor[],
  asked: { ns: bigint; nowNs: bigint | undefined },
  isCurrent: (orderId: string) => boolean,
): boolean {
  return anchors.some(({ orderId, ns }) => ns > asked.ns && isYoungAnchor(ns, asked.nowNs) && !isCurrent(orderId));
}

/**
 * Whether a complete answer from `askedNs` on has known changes, where the service includes the boundary.
 * @param nowNs the service's time; undefined: however old the changes are
 */
export function hasAnchors(anchors: readonly Anchor[], askedNs: bigint, nowNs: bigint | undefined): boolean {
  return anchors.some(({ ns }) => ns >= askedNs && isYoungAnchor(ns, nowNs));
}

function isYoungAnchor(ns: bigint, nowNs: bigint | undefined): boolean {
  return nowNs === undefined || nowNs - ns < ANCHOR_VALID_NS;
}

/** Fewer may be in any order by chance, and a request for them is not worth its cost. */
const MIXED_MIN = 3;
/**
 * The shares of a page, from its oldest change, that narrower requests leave out, so that the answer has room for what
 * was missing. First the oldest change only, so that nothing left out after it is missed. The next one is used only if
 * the answer before was as full as the page, with newer changes.
 */
export const NARROWER: readonly number[] = [0, 0.1, 0.3, 0.6, 0.8];

type Timestamps = readonly (Pick<ServedTimestamp, "instantNs"> | undefined)[];

/**
 * The timestamps of a page without those before the requested time: such a change is listed for another reason, for
 * example with the time of an earlier version, and does not show that the page reaches down to it. If all are earlier,
 * `since` is compared in another way and all count.
 *
 * @param askedNs start of the requested time
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

/** Whether the oldest come first, so that a limit cuts the newest. True for a single change. */
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

/** Whether the newest come first, down to what is covered, so that a limit cuts only older changes. */
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

/**
 * Whether a page that continues after an instant has every change made then: a limit may have cut either end, or
 * anything.
 */
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
 * Whether a page may have been cut anywhere: it is neither rising nor falling, and as full as pages get or large. Its
 * oldest timestamp then proves nothing.
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
 * The timestamp after which such a page is requested again. The answer then has room: a service that cut the page, in
 * whatever order, adds some of what was left out. Undefined where all have one timestamp.
 */
export function planNarrower(timestamps: Timestamps, share = 0): bigint | undefined {
  const sorted = timestamps
    .flatMap((timestamp) => (timestamp === undefined ? [] : [timestamp.instantNs]))
    .sort((a, b) => (a < b ? -1 : 1));
  const behind = sorted[Math.floor(sorted.length * share)];
  const newest = sorted.at(-1);
  return behind === undefined || newest === undefined || behind >= newest ? undefined : behind;
}

/** Whether a narrower answer has a change that the page should have had: older than its newest, and not too old. */
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

/** Searches for what pages of few changes may have left out, without a result. */
export interface FewWhole {
  /** Number of changes on the page: the largest of all such searches. */
  size: number;
  /** How many searches were for pages of that size. */
  times: number;
}

/** What was learned of the size of pages. */
export interface PageSizes {
  /** The largest page so far. */
  pageMax: number;
  fewWhole?: FewWhole | undefined;
}

/**
 * Whether a page may be as full as the service's limit. One of few changes may be, if no page was larger, until so many
 * searches have found nothing: a quiet service causes a few searches in total.
 */
export function mayBeLimit(size: number, { pageMax, fewWhole }: PageSizes): boolean {
  if (size >= CUT_MIN) return true;
  if (size < MIXED_MIN || size < pageMax) return false;
  const { size: known = 0, times = 0 } = fewWhole ?? {};
  return size > known || (size === known && times < FRUITLESS_MAX);
}

/** Counts a search that a page of few changes began and that found nothing. */
export function noteFewWhole(known: FewWhole | undefined, size: number): FewWhole {
  if (known === undefined || size > known.size) return { size, times: 1 };
  return size === known.size ? { size, times: known.times + 1 } : known;
}

/** What an answer from before the oldest anchor shows about a page that may lack its oldest changes. */
export interface Wider {
  /** Number of changes on the page. */
  size: number;
  /** All have the same timestamp: then it is open which of them a cut leaves out. */
  isLevel: boolean;
  /** Whether the wider answer reaches down to what was covered before the page. */
  isReached: boolean;
  anchors: readonly Anchor[];
  /** Whether any page of the pass had the order. */
  isMet: (orderId: string) => boolean;
  /** The service's time, where known. */
  nowNs: bigint | undefined;
  /** Size of the smallest page that was proved to be cut. */
  cutSize: number | undefined;
  /** Whether the page may be as full as the service's limit: {@link mayBeLimit}. */
  isFull: boolean;
}

/** `whole`: nothing shows a gap. `cut`: changes that are known to exist were left out. `unsure`: neither is proved. */
export function judgePage(wider: Wider): "whole" | "unsure" | "cut" {
  const { size, isLevel, isReached, anchors, isMet, nowNs, cutSize, isFull } = wider;
  if (isReached) return "whole";
  if (anchors.some(({ orderId, ns }) => isYoungAnchor(ns, nowNs) && !isMet(orderId))) return "cut";
  if (cutSize !== undefined && size >= cutSize) return "cut";
  return isFull && !isLevel ? "unsure" : "whole";
}
