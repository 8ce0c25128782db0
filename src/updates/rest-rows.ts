/*
 * Where reading changes goes on after a pass that reached its bound. Apart from the watermark, which says what is covered:
 * without a rest, or with one that no longer fits, a pass begins anew at the watermark, and loses nothing but time.
 */

import { deleteMeta, loadMetaJson, type RestKey, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { loadBackfill } from "./backfill.ts";
import type { Asked } from "./follow.ts";

export interface Rest {
  asked: Asked;
  /** The service's time when reading began, as it sent it. */
  begunAt: string | undefined;
  /** The time from which a backfill has begun, and whether it has met records that do not say whose they are. */
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
  /** The configuration that it was read with; another one asks in another form. */
  signature: string;
}

export function loadRest(store: Store, key: RestKey, signature: string): Rest | undefined {
  const written = loadMetaJson<Written>(store, key);
  if (written?.signature !== signature) return undefined;
  const missedNs = written.missedNs === undefined ? undefined : BigInt(written.missedNs);
  // Whether its timestamp was seen is forgotten: it is then only asked for once more.
  const asked = { since: written.since, ns: BigInt(written.ns), isKnownTimestamp: false, missedNs };
  return { asked, begunAt: written.begunAt, backfill: written.backfill };
}

/** Whether changes from a time on that a person has named are still to be read. */
export function isBackfillOpen(store: Store): boolean {
  return loadBackfill(store) !== undefined || loadMetaJson<Written>(store, "sweep_rest")?.backfill !== undefined;
}

/** In the transaction that stores the last of what was read before it. */
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
