/*
 * Derives columns and lines of all stored orders again from their payloads, after the mapping was corrected. Makes no
 * request. Reading and deciding hold no lock; each write is a transaction of its own, fenced by what was read, so that
 * newer content from a running daemon stays. After a crash it is run again and does the rest.
 */

import type { Message } from "../messages/message.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { loadMappingInUse, markRemapped, noteMapping } from "./mapping-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import { type ColumnChange, type MappedOrder, planRemap, type RemapPlan } from "./remap-order.ts";
import { applyRemapped, isUnchanged, loadMappedAfter, loadMappedOrder } from "./remap-rows.ts";

/** Orders per transaction: holds the write lock for some ten milliseconds. */
const ORDERS_PER_COMMIT = 200;
/** Pause between two transactions, in which other writers get the lock. */
const GAP_MS = 20;
const SHOWN_MAX = 5;

export interface RemapReport {
  orders: number;
  changed: number;
  /** Orders that the present mapping cannot read; unchanged. */
  unreadable: number;
  /** Quarantined records that are usable now, and those that are not. */
  released: number;
  held: number;
  firstChanged: { orderId: string; number: string | null; changes: ColumnChange[] }[];
  firstUnreadable: { orderId: string; number: string | null; reason: Message }[];
}

export interface RemapOptions {
  rules: OrderRules;
  dryRun: boolean;
  /** Tries the quarantined records with the present mapping. */
  retryHeld: (signal: AbortSignal) => Promise<{ released: number; held: number }>;
  onProgress: (report: RemapReport) => void;
}

type Context = Pick<JobContext, "store" | "clock" | "log">;

export async function remapOrders(context: Context, options: RemapOptions, signal: AbortSignal): Promise<RemapReport> {
  const { store, clock } = context;
  const { columnSignature } = options.rules;
  if (!options.dryRun) {
    await commit(context, signal, () => noteMapping(store, columnSignature, isoTime(clock.nowMs())));
  }
  const report: RemapReport = {
    orders: 0,
    changed: 0,
    unreadable: 0,
    released: 0,
    held: 0,
    firstChanged: [],
    firstUnreadable: [],
  };
  await remapStored(context, options, report, signal);
  const { released, held } = await options.retryHeld(signal);
  report.released += released;
  report.held += held;
  if (!options.dryRun) {
    await commit(context, signal, () => {
      // A bridge that was started meanwhile with another mapping has stored its own orders.
      if (loadMappingInUse(store) === columnSignature) markRemapped(store, columnSignature);
    });
  }
  return report;
}

async function remapStored(
  context: Context,
  options: RemapOptions,
  report: RemapReport,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = context;
  const { rules } = options;
  for (let after = 0; ; ) {
    const orders = loadMappedAfter(store, after, ORDERS_PER_COMMIT);
    const last = orders.at(-1);
    if (last === undefined) return;
    after = last.orderKey;
    const planned = orders.map((order) => ({ order, plan: planRemap(order, rules) }));
    report.orders += orders.length;
    for (const { order, plan } of planned) note(report, order, plan);
    const changed = planned.filter(({ plan }) => plan.kind === "changed");
    if (changed.length > 0 && !options.dryRun) {
      const at = isoTime(clock.nowMs());
      await commit(context, signal, () => {
        for (const { order, plan } of changed) writeFenced(context, { order, plan, rules, at });
      });
    }
    options.onProgress(report);
    await clock.sleep(changed.length > 0 && !options.dryRun ? GAP_MS : 0, signal);
  }
}

/** An order that was stored in between is planned again inside the transaction. */
function writeFenced(
  { store }: Context,
  { order, plan, rules, at }: { order: MappedOrder; plan: RemapPlan; rules: RemapOptions["rules"]; at: string },
): void {
  const isSame = isUnchanged(store, order);
  const current = isSame ? order : loadMappedOrder(store, order.orderKey);
  const now = isSame ? plan : planRemap(current, rules);
  if (now.kind === "changed") applyRemapped(store, current, now, at);
}

function note(report: RemapReport, order: MappedOrder, plan: RemapPlan): void {
  const named = { orderId: order.orderId, number: order.values.number };
  if (plan.kind === "changed") {
    report.changed += 1;
    if (report.firstChanged.length < SHOWN_MAX) {
      report.firstChanged.push({ ...named, number: plan.values.number ?? named.number, changes: plan.changes });
    }
  } else if (plan.kind === "unreadable") {
    report.unreadable += 1;
    if (report.firstUnreadable.length < SHOWN_MAX) report.firstUnreadable.push({ ...named, reason: plan.reason });
  }
}
