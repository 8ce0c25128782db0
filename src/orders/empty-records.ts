/*
 * Records without content in batches are quarantined at once, because the service may never serve their orders. They are
 * released when their batch comes without them: it holds those orders then. Runs inside the transactions of the batch.
 */

import { hash } from "node:crypto";
import { type ConfirmForm, confirmNamesOrders } from "../confirm/confirm-form.ts";
import { MetaValue, unlessEmpty } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { releaseEmpty } from "../pass/held-rows.ts";

/** As `isEmptyRecord` finds them. */
const EMPTY = /^(?:null|\{\s*\}|\[\s*\]|"")$/;

/** By batch: when the first of its records without content was held, UTC, ISO 8601. */
const EMPTY_HELD = new MetaValue<Record<string, string>>("empty_held", {});

/** Batches that are waited for; a service has few at a time. */
const BATCHES_MAX = 20;
/** The orders behind such records are in no confirm that names orders, and come with a later batch. */
const ANY_BATCH = "any";

/** Identifies the batch with and without its records that hold nothing. */
export function keyOfBatch(
  { batchId, fingerprint }: { batchId: string | null; fingerprint: string },
  confirm: ConfirmForm,
): string {
  if (confirmNamesOrders(confirm, batchId)) return ANY_BATCH;
  return batchId === null ? fingerprint : hash("sha256", batchId, "hex");
}

/** To be called where a record without content of the batch is held. */
export function noteEmptyHeld(store: Store, batch: string, at: string): void {
  const { [batch]: own, ...others } = EMPTY_HELD.load(store);
  const kept = Object.entries(others).slice(1 - BATCHES_MAX);
  EMPTY_HELD.save(store, { ...Object.fromEntries(kept), [batch]: own ?? at });
}

/** To be called where the batch is stored to be confirmed. */
export function settleEmpty(store: Store, batch: string, { hasEmpty }: { hasEmpty: boolean }): void {
  const { [batch]: own, ...others } = EMPTY_HELD.load(store);
  if (hasEmpty) {
    // Its orders may be lost, and one record stands for the equal ones of all batches.
    EMPTY_HELD.save(store, own === undefined ? undefined : { [batch]: own });
    return;
  }
  if (own === undefined) return;
  releaseEmpty(store, { kind: "order", since: own, isEmpty: (payload) => EMPTY.test(payload) });
  EMPTY_HELD.save(store, unlessEmpty(others));
}
