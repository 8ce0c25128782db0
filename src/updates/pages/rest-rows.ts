/*
 * Where reading changes continues after a pass reached its limit. It is separate from the watermark, which covers
 * stored changes: without a valid rest a pass starts at the watermark and loses only time.
 */

import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { BACKFILL } from "../looks/backfill.ts";
import type { Asked } from "./follow.ts";

export interface Rest {
  asked: Asked;
  /** The service's time when reading began, as sent. */
  begunAt: string | undefined;
  /** Start of the backfill, and whether it has met records without an order id. */
  backfill?: Backfilled | undefined;
}

export interface Backfilled {
  from: string;
  hasUnnamed: boolean;
}

interface Written {
  since: string;
  ns: string;
  missedNs?: string;
  begunAt?: string;
  backfill?: Backfilled;
  /** Signature of the configuration; with another one, requests have another form. */
  signature: string;
}

/** For the regular pass, and for the wide re-poll. */
export const RESTS = {
  updates: new MetaValue<Written | undefined>("updates_rest"),
  sweep: new MetaValue<Written | undefined>("sweep_rest"),
};

export function loadRest(store: Store, of: keyof typeof RESTS, signature: string): Rest | undefined {
  const written = RESTS[of].load(store);
  if (written?.signature !== signature) return undefined;
  const missedNs = written.missedNs === undefined ? undefined : BigInt(written.missedNs);
  // `isKnownTimestamp` is not saved; without it one more request is made.
  const asked = { since: written.since, ns: BigInt(written.ns), isKnownTimestamp: false, missedNs };
  return { asked, begunAt: written.begunAt, backfill: written.backfill };
}

/** Whether a backfill requested by a person is not finished. */
export function isBackfillOpen(store: Store): boolean {
  return BACKFILL.load(store) !== undefined || RESTS.sweep.load(store)?.backfill !== undefined;
}

/** To be called inside the transaction that stores the last change before it. */
export function saveRest(
  store: Store,
  of: keyof typeof RESTS,
  { asked, begunAt, backfill }: Rest,
  signature: string,
): void {
  RESTS[of].save(store, {
    since: asked.since,
    ns: String(asked.ns),
    ...(asked.missedNs === undefined ? {} : { missedNs: String(asked.missedNs) }),
    ...(begunAt === undefined ? {} : { begunAt }),
    ...(backfill === undefined ? {} : { backfill }),
    signature,
  });
}
