/*
 * The times at which a page of changes may have been cut within equal timestamps. Saved in the transaction of the hold
 * that reports it; after a crash before that the same page comes again.
 */

import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import type { Message } from "../../messages/message.ts";
import { deleteHold, saveHold } from "../../pass/hold-rows.ts";

/** Changes in it may not have been served; both ends included. */
export interface TimestampRange {
  fromNs: bigint;
  toNs: bigint;
  /** The service's time from which on no later change falls into it, and its orders are read. */
  overNs: bigint;
  /** They were read, and are read once more at that time: a change may appear late, within the overlap. */
  isLate?: boolean;
}

const TIE = new MetaValue<[from: string, to: string, over?: string, late?: string] | undefined>("tie");

/**
 * @param equal.range undefined where the end is unknown
 * @returns whether the hold is new
 */
export function saveEqualTimestamps(
  store: Store,
  equal: { at: string; detail: Message; range: TimestampRange | undefined },
): boolean {
  const known = loadEqualTimestamps(store);
  const hold = { area: "updates", reason: "tie" as const, since: equal.at, nextProbeAt: null, detail: equal.detail };
  const isNew = saveHold(store, hold);
  const { range } = equal;
  // If one cause has no known end, the hold does not end by itself.
  if (range === undefined || !(isNew || known !== undefined)) TIE.delete(store);
  else {
    const fromNs = isNew || known === undefined || range.fromNs < known.fromNs ? range.fromNs : known.fromNs;
    save(store, { ...(isNew || known === undefined || range.toNs > known.toNs ? range : known), fromNs });
  }
  return isNew;
}

function save(store: Store, { fromNs, toNs, overNs, isLate }: TimestampRange): void {
  const ends: [string, string, string] = [String(fromNs), String(toNs), String(overNs)];
  TIE.save(store, isLate === true ? [...ends, "late"] : ends);
}

export function loadEqualTimestamps(store: Store): TimestampRange | undefined {
  const saved = TIE.load(store);
  if (saved === undefined) return undefined;
  const [from, to, over = to, late] = saved;
  return { fromNs: BigInt(from), toNs: BigInt(to), overNs: BigInt(over), isLate: late !== undefined };
}

/**
 * To be called when the orders that may have changed in the range up to `tieNs` were read. Before the overlap after it is over, they are
 * read again at its end.
 */
export function settleEqualTimestamps(
  store: Store,
  tieNs: bigint,
  { nowNs, overlapMs }: { nowNs: bigint | undefined; overlapMs: number },
): void {
  const range = loadEqualTimestamps(store);
  if (range !== undefined && range.toNs > tieNs) return;
  const lateNs = (range?.overNs ?? 0n) + BigInt(overlapMs) * 1_000_000n;
  if (range === undefined || range.isLate === true || (nowNs !== undefined && nowNs >= lateNs))
    deleteEqualTimestamps(store);
  else save(store, { ...range, overNs: lateNs, isLate: true });
}

/**
 * To be called when everything in the range was served and stored, or its orders were read. Returns whether the row
 * changed.
 */
export function deleteEqualTimestamps(store: Store): boolean {
  TIE.delete(store);
  return deleteHold(store, "updates", "tie");
}
