/*
 * Finds stored payloads that are no longer what was stored: a flipped bit on the disk, or a program that wrote where
 * it should not. No check of SQLite's own finds that; the hash beside each payload does. What is found is quarantined
 * with the damaged text, and the order is read again from the service. After a crash the same rows are looked at again.
 */

import { hash } from "node:crypto";
import { m } from "../messages/messages.ts";
import { loadOrderMark } from "../orders/order-rows.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { saveQuarantined } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { loadPayloadBytes, loadPayloads, type Round, type StoredPayload } from "./reconcile-rows.ts";

/** Payloads in one step: some milliseconds in which nothing else runs. */
const PAYLOADS_PER_READ = 50;

export interface ScrubResult {
  /** The last order that was looked at; undefined where the range held none. */
  last: number | undefined;
  looked: number;
  bytes: number;
  damaged: string[];
}

/** Looks at the next payloads in the range. */
export async function scrubPayloads(
  context: JobContext,
  range: { after: number; upTo: number; round: Pick<Round, "left"> },
  signal: AbortSignal,
): Promise<ScrubResult> {
  const { store, clock, log } = context;
  const rows = loadPayloads(store, {
    after: range.after,
    upTo: range.upTo,
    limit: Math.min(PAYLOADS_PER_READ, range.round.left),
  });
  const damaged = rows.filter(({ payload, payloadHash }) => !hash("sha256", payload, "buffer").equals(payloadHash));
  if (damaged.length > 0) {
    const at = isoTime(clock.nowMs());
    await commit(context, signal, () => {
      for (const row of damaged) keepDamaged(context, row, at);
    });
    const orders = damaged.map(({ orderId }) => orderId);
    log.error({ orders }, m.reconcile.damagedFound({ count: orders.length }));
  }
  return {
    last: rows.at(-1)?.orderKey,
    looked: rows.length,
    bytes: rows.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0),
    damaged: damaged.map(({ orderId }) => orderId),
  };
}

function keepDamaged({ store }: JobContext, row: StoredPayload, at: string): void {
  // Stored anew since it was read: then it is whole again.
  if (!loadOrderMark(store, row.orderId)?.payloadHash.equals(row.payloadHash)) return;
  const bytes = loadPayloadBytes(store, row.orderKey);
  saveQuarantined(store, {
    kind: "payload",
    reference: row.orderId,
    reason: m.reconcile.payloadDiffers,
    payload: row.payload,
    hash: hash("sha256", bytes, "buffer"),
    at,
  });
}
