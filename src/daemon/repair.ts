/*
 * Repairs stored data beside the daemon: each write is a short transaction of its own, so that it works with or without
 * a running daemon.
 */

import { bringDeliveryBack } from "../batches/delivery-rows.ts";
import { loadUnreadBody } from "../batches/kept-rows.ts";
import { bringEmptyBack } from "../completeness/list-rows.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import type { Store } from "../database/store.ts";
import { saveErpWatch } from "../feeds/source/erp-writes.ts";
import { m } from "../messages/messages.ts";
import { loadMappingInUse, noteMapping, noteMappingOfRecords } from "../orders/mapping-rows.ts";
import { type RemapReport, remapOrders } from "../orders/remap-orders.ts";
import { loadQuarantined } from "../pass/held-rows.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import { bringFlowsBack } from "../pass/runs.ts";
import { BridgeError } from "../platform/errors.ts";
import { type Clock, isoTime, type Log } from "../platform/ports.ts";
import { retryHeld } from "../quarantine/retry-held.ts";
import { type RetryOutcome, retryQuarantined } from "../quarantine/retry-quarantined.ts";
import { feedRulesOf, orderRulesOf } from "./build-jobs.ts";

/** Adapts the database to the configuration at start, inside a write transaction. Returns whether `remap` is needed. */
export function applyConfiguration(store: Store, loaded: LoadedConfig, at: string): boolean {
  const { imports, erp } = loaded.config;
  for (const feed of FEED_NAMES) {
    const withinMs = imports[feed].path === null ? null : erp.write_within[feed];
    saveErpWatch(store, {
      feed,
      isOn: imports[feed].path !== null,
      withinS: withinMs === null ? null : withinMs / 1000,
      at,
    });
  }
  const rules = orderRulesOf(loaded);
  // Kept bodies may be readable now, so no probe is awaited.
  if (loadUnreadBody(store, rules.signature) !== undefined) deleteHold(store, "orders", "unread");
  return noteMapping(store, rules.columnSignature, at);
}

/**
 * At a start, inside a transaction: brings stored times that are still to come to the present, because this machine's clock was
 * ahead. Within a process waits run on the monotonic clock; where each pass is a process of its own, a wait that begins at
 * such a time would end only after it.
 */
export function bringTimesBack(store: Store, now: string): void {
  bringFlowsBack(store, now);
  bringDeliveryBack(store, now);
  bringEmptyBack(store, now);
}

export type { RemapReport };

export interface RemapCall {
  dryRun: boolean;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  onProgress: (report: RemapReport) => void;
}

/**
 * Derives columns and lines of all stored orders again. Sends no request.
 * @throws BridgeError `config_invalid` where a running daemon still reads new orders with another mapping
 */
export function remap(store: Store, loaded: LoadedConfig, call: RemapCall): Promise<RemapReport> {
  const rules = orderRulesOf(loaded);
  const inUse = loadMappingInUse(store);
  if (!call.dryRun && isLocked(store.path) !== undefined && inUse !== undefined && inUse !== rules.columnSignature) {
    throw new BridgeError("config_invalid", m.daemon.formerMapping, { hint: m.daemon.reloadFirst });
  }
  const { clock, log, dryRun, onProgress } = call;
  const context = { store, clock, log };
  const held = { store, rules, feeds: new Map(), dryRun };
  const tryHeld = (signal: AbortSignal) => retryHeld(context, held, signal);
  return remapOrders(context, { rules, dryRun, onProgress, retryHeld: tryHeld }, call.signal);
}

export interface Retried extends RetryOutcome {
  id: number;
  kind: string;
  reference: string | null;
}

/** Reads quarantined records again. Inside a write transaction. Skips rows that no longer exist. */
export function retryRecords(
  store: Store,
  loaded: LoadedConfig,
  ids: readonly number[],
  clock: Pick<Clock, "nowMs" | "monotonicMs">,
): Retried[] {
  const rules = orderRulesOf(loaded);
  const feeds = feedRulesOf(loaded);
  const options = { store, rules, feeds, at: isoTime(clock.nowMs()), machineMs: clock.monotonicMs() };
  noteMappingOfRecords(store, rules.columnSignature, options.at);
  return ids.flatMap((id) => {
    const row = loadQuarantined(store, id);
    if (row === undefined) return [];
    return [{ id, kind: row.kind, reference: row.reference, ...retryQuarantined(options, row) }];
  });
}
