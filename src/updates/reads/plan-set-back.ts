/** A version of an order that the service had and has lost. */
export interface LostVersion {
  orderId: string;
  /** Its time by the service's clock (ms since 1970). */
  lostMs: number;
  /** By the same clock: the newest time that the service still has, of the order or of the one before it. */
  keptMs: number;
  /** When this became known, by the service's clock where known, because this machine's may be changed in between. */
  atMs: number;
}

/** State of a service that was restored to an earlier copy. */
export interface SetBack {
  lost: readonly LostVersion[];
  noticed?: {
    /** By the service's clock: versions up to here have stayed. */
    keptMs: number;
    /** By the service's clock: losses of versions from before this time belong to the same restore. */
    lostBeforeMs: number;
    /** When it was noticed, by the same clock. */
    atMs: number;
    /** A person has seen it. */
    isSeen?: true;
  };
}

/** One order may have been set back or deleted by a person. */
const ORDERS_MIN = 2;
/** Every order is read again within a day, by `reconcile` at the latest; losses further apart have different causes. */
const WITHIN_MS = 48 * 3_600_000;
const LOST_MAX = 50;

/**
 * Adds a lost version. If several orders were set back and one moment fits all of them, the service was restored to a
 * copy of that moment: all that it is known to have is older, all that it lost is newer. Further losses of the same
 * restore change nothing.
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
