/*
 * The times at which a page of changes may have been cut within equal timestamps. Saved in the transaction of the hold
 * that reports it; after a crash before that the same page comes again.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import type { Message } from "../../messages/message.ts";
import { deleteHold, saveHold } from "../../pass/hold-rows.ts";

/** Changes in it may not have been served; both ends included. */
export interface TimestampRange {
  fromNs: bigint;
  toNs: bigint;
  /** The service's time from which on no later change falls into it. */
  overNs: bigint;
}

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
  if (range === undefined || !(isNew || known !== undefined)) deleteMeta(store, "tie");
  else {
    const fromNs = isNew || known === undefined || range.fromNs < known.fromNs ? range.fromNs : known.fromNs;
    const { toNs, overNs } = isNew || known === undefined || range.toNs > known.toNs ? range : known;
    saveMetaJson(store, "tie", [fromNs, toNs, overNs].map(String));
  }
  return isNew;
}

export function loadEqualTimestamps(store: Store): TimestampRange | undefined {
  const range = loadMetaJson<[from: string, to: string, over?: string]>(store, "tie");
  return range && { fromNs: BigInt(range[0]), toNs: BigInt(range[1]), overNs: BigInt(range[2] ?? range[1]) };
}

/**
 * To be called when everything in the range was served and stored, or its orders were read. Returns whether the row
 * changed.
 */
export function deleteEqualTimestamps(store: Store): boolean {
  deleteMeta(store, "tie");
  return deleteHold(store, "updates", "tie");
}
