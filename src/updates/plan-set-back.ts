/** A version of an order that the service had and has no more. */
export interface LostVersion {
  orderId: string;
  /** Its time by the service's clock, in milliseconds. */
  lostMs: number;
  /** The newest time by the same clock of what the service still has: of the order, or of the one before it. */
  keptMs: number;
  /** When this became known, by the service's clock where it is known: this machine's may be set in between. */
  atMs: number;
}

/** What was said of a service that went back: the state it has, and when that was noticed. */
export interface SetBack {
  lost: readonly LostVersion[];
  noticed?: {
    /** By the service's clock: what was accepted before has stayed. */
    keptMs: number;
    /** By the service's clock: what is lost of before then is lost by the same. */
    lostBeforeMs: number;
    /** When this was noticed, by the same. */
    atMs: number;
    /** A person has seen it. */
    isSeen?: true;
  };
}

/** One order may have been set back by a person, or deleted. */
const ORDERS_MIN = 2;
/** Orders are read again within a day, by `reconcile` at the latest; what lies further apart has nothing in common. */
const WITHIN_MS = 48 * 3_600_000;
const LOST_MAX = 50;

/**
 * Several orders have gone back, and there is one moment whose state the service has: it was restored to an earlier copy. All that
 * it is known to have is of before that moment, all that it has lost of after it. What else it has lost by the same is
 * nothing new.
 *
 * @example
 * // One has gone back from 12:13 to 9:00, the other from 12:31 to 10:00: the state of the service is not older than 10:00.
 * noteLost(noteLost({ lost: [] }, one, now), other, now).noticed // { keptMs: 10:00, … }
 * @param now.serviceMs by the service's clock
 */
export function noteLost(known: SetBack, version: LostVersion, now: { serviceMs: number }): SetBack {
  const { noticed } = known;
  const isOfBefore = noticed !== undefined && Math.abs(version.atMs - noticed.atMs) <= WITHIN_MS;
  if (isOfBefore && version.lostMs <= noticed.lostBeforeMs) return known;
  const others = known.lost.filter(
    ({ orderId, atMs }) => orderId !== version.orderId && Math.abs(version.atMs - atMs) <= WITHIN_MS,
  );
  const lost = [version, ...others].slice(0, LOST_MAX);
  const together = lost.filter((each) => isOfOneMoment(each, version));
  const keptMs = Math.max(...together.map((each) => each.keptMs));
  const isOneMoment = keptMs < Math.min(...together.map(({ lostMs }) => lostMs));
  if (together.length < ORDERS_MIN || !isOneMoment) return { ...known, lost };
  return { lost: [], noticed: { keptMs, lostBeforeMs: now.serviceMs, atMs: version.atMs } };
}

function isOfOneMoment(one: LostVersion, other: LostVersion): boolean {
  return Math.max(one.keptMs, other.keptMs) < Math.min(one.lostMs, other.lostMs);
}
