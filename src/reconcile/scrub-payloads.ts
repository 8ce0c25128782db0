/*
 * Finds stored payloads that have changed on the disk: a flipped bit, or a program that wrote to the wrong place.
 * SQLite's own checks do not find that; the hash beside each payload does. A damaged payload is quarantined, and the
 * order is read from the service again. After a crash the same rows are checked again.
 */

import { hash } from "node:crypto";
import { m } from "../messages/messages.ts";
import { loadOrderMark } from "../orders/order-rows.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { saveQuarantined } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { loadPayloadBytes, loadPayloads, type Round, type StoredPayload } from "./reconcile-rows.ts";

/** Payloads per step, which blocks the event loop for some milliseconds. */
const PAYLOADS_PER_READ = 50;

export interface ScrubResult {
  /** Key of the last order checked; undefined where the range was empty. */
  last: number | undefined;
  looked: number;
  bytes: number;
  damaged: string[];
}

/** Checks the next payloads in the range. */
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
  // Stored again since it was read, so it is intact.
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
