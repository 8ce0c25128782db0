/*
 * Where reading changes continues after a pass reached its limit. It is separate from the watermark, which covers
 * stored changes: without a valid rest a pass starts at the watermark and loses only time.
 */

import { deleteMeta, loadMetaJson, type RestKey, saveMetaJson } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { loadBackfill } from "../looks/backfill.ts";
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

export function loadRest(store: Store, key: RestKey, signature: string): Rest | undefined {
  const written = loadMetaJson<Written>(store, key);
  if (written?.signature !== signature) return undefined;
  const missedNs = written.missedNs === undefined ? undefined : BigInt(written.missedNs);
  // `isKnownTimestamp` is not saved; without it one more request is made.
  const asked = { since: written.since, ns: BigInt(written.ns), isKnownTimestamp: false, missedNs };
  return { asked, begunAt: written.begunAt, backfill: written.backfill };
}

/** Whether a backfill requested by a person is not finished. */
export function isBackfillOpen(store: Store): boolean {
  return loadBackfill(store) !== undefined || loadMetaJson<Written>(store, "sweep_rest")?.backfill !== undefined;
}

/** To be called inside the transaction that stores the last change before it. */
export function saveRest(store: Store, key: RestKey, { asked, begunAt, backfill }: Rest, signature: string): void {
  const written: Written = {
    since: asked.since,
    ns: String(asked.ns),
    ...(asked.missedNs === undefined ? {} : { missedNs: String(asked.missedNs) }),
    ...(begunAt === undefined ? {} : { begunAt }),
    ...(backfill === undefined ? {} : { backfill }),
    signature,
  };
  saveMetaJson(store, key, written);
}

export function deleteRest(store: Store, key: RestKey): void {
  deleteMeta(store, key);
}
