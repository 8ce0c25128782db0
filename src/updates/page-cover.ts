/*
 * Whether the pages of a feed of changes leave a gap behind them. A service that answers the newest changes first and so many
 * a page leaves out the oldest: a position that moved over such a page would lose them. All of it is pure;
 * `follow-updates.ts` asks and stores.
 */
import type { ServedStamp } from "../answers/stamp.ts";

/** A change that is covered: its order must be in every whole answer from before it, with this stamp or a later one. */
export interface Anchor {
  orderId: string;
  ns: bigint;
}

/** Enough that not all of their orders change again before the next poll; asking for them brings little more. */
const ANCHORS_MAX = 10;
/** Older ones may have left the feed. */
const ANCHOR_VALID_NS = 7n * 86_400n * 1_000_000_000n;
/** No service cuts its pages to fewer; fewer changes that nothing proves to be all are still believed. */
const CUT_MIN = 10;

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
 * Whether a page may have been cut at its old end: its stamps do not rise, and none of them reaches down to what is covered.
 *
 * @example
 * mayLackOldest([5n, 4n, 3n], 1n); // true: where are those between 1 and 3?
 * mayLackOldest([5n, 3n, 1n], 1n); // false: it goes down to what was known before
 * mayLackOldest([3n, 4n, 5n], 1n); // false: the oldest come first, so a limit has cut the newest
 */
export function mayLackOldest(
  stamps: readonly (Pick<ServedStamp, "instantNs"> | undefined)[],
  coveredNs: bigint,
): boolean {
  let first: bigint | undefined;
  let last: bigint | undefined;
  let isRising = true;
  for (const stamp of stamps) {
    if (stamp === undefined) continue;
    const ns = stamp.instantNs;
    if (ns <= coveredNs) return false;
    if (last !== undefined && ns < last) isRising = false;
    first ??= ns;
    last = ns;
  }
  return first !== undefined && !(isRising && last !== first);
}

/** What an answer from before the oldest anchor has shown of a page that may lack its oldest changes. */
export interface Wider {
  /** How many changes the page held. */
  size: number;
  /** All of them have the same stamp: where the page was cut, that is a tie, whatever the order. */
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
}

/**
 * `whole`: nothing is missing, or nothing speaks for it. `cut`: changes that are known to exist were left out. `unsure`: nothing
 * proves either.
 */
export function judgePage(wider: Wider): "whole" | "unsure" | "cut" {
  const { size, isLevel, isReached, anchors, isMet, nowNs, cutSize } = wider;
  if (isReached) return "whole";
  const isRecent = ({ ns }: Anchor) => nowNs === undefined || nowNs - ns < ANCHOR_VALID_NS;
  if (anchors.some((anchor) => isRecent(anchor) && !isMet(anchor.orderId))) return "cut";
  if (cutSize !== undefined && size >= cutSize) return "cut";
  return size >= CUT_MIN && !isLevel ? "unsure" : "whole";
}
