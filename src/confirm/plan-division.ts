/*
 * How a refused confirm is divided in halves, so that the orders which the service refuses are left alone. One bad order
 * would otherwise keep all others unconfirmed, and a service that serves the oldest ones only would deliver nothing new.
 */

/** Limit of requests by which a pass divides a refused confirm. */
export const DIVIDED_MAX = 200;
/** After so many orders that are refused alone, and none accepted, the service refuses all. */
const ALONE_MAX = 3;

/** Ids are JSON literals. */
export interface Division {
  /** Parts still to be sent. */
  waiting: string[][];
  /** Orders that were refused alone. */
  alone: string[];
}

/** A division that goes on now. */
export interface Progress extends Division {
  /** What is not confirmed of the batch. */
  left: Set<string>;
  accepted: Set<string>;
  /** So many of `alone` do not count towards "the service refuses all". */
  uncounted: number;
}

/** @param rest ids after the part that was refused, which was as large as the service accepts */
export function beginDivision(refused: readonly string[], rest: readonly string[]): Division {
  return {
    waiting: [...halvesOf(refused), ...partsOf(rest, refused.length)],
    alone: refused.length === 1 ? [...refused] : [],
  };
}

/** What is left of a division that was broken off, of a batch that has these ids now. */
export function resumeDivision({ waiting, alone }: Division, ids: readonly string[]): Division | undefined {
  const known = new Set(ids);
  const named = (some: readonly string[]) => some.filter((id) => known.has(id));
  const left = waiting.map(named).filter((some) => some.length > 0);
  return left.length === 0 ? undefined : { waiting: left, alone: named(alone) };
}

/**
 * The part to be sent next; undefined at the end. A division that goes on ends with an order that is refused now.
 * @param isRefused the service has refused a part in this pass
 */
export function nextPart({ waiting, alone, left }: Progress, isRefused: boolean): readonly string[] | undefined {
  if (waiting[0] !== undefined || isRefused) return waiting[0];
  const again = alone.find((id) => left.has(id));
  return again === undefined ? undefined : [again];
}

/** Whether the service refuses every order, not some of them. */
export function refusesAll({ alone, accepted, uncounted }: Progress): boolean {
  return accepted.size === 0 && alone.length - uncounted >= ALONE_MAX;
}

export function settleAccepted({ waiting, left, accepted }: Progress, part: readonly string[]): void {
  waiting.shift();
  for (const id of part) {
    left.delete(id);
    accepted.add(id);
  }
}

export function divideRefused({ waiting, alone }: Progress, part: readonly string[]): void {
  waiting.shift();
  waiting.unshift(...halvesOf(part));
  if (part.length === 1) alone.push(...part);
}

function halvesOf(ids: readonly string[]): string[][] {
  return ids.length > 1 ? partsOf(ids, Math.ceil(ids.length / 2)) : [];
}

function partsOf(ids: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, at) => ids.slice(at * size, (at + 1) * size));
}
