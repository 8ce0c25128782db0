/*
 * Retries all records of orders that were quarantined under another mapping, in small transactions. After a crash,
 * running it again does the rest.
 */
import { commit } from "../pass/commit.ts";
import { loadHeldAfter } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { isRecordOfOrders, judgeRecord, type RetryOptions, retryQuarantined } from "./retry-quarantined.ts";

const RECORDS_PER_COMMIT = 100;
/** Pause between two transactions, in which other writers get the lock. */
const GAP_MS = 20;

export interface HeldRetry extends Omit<RetryOptions, "at" | "machineMs"> {
  dryRun: boolean;
}

/** Counts the records that can be used now, and those that still cannot. */
export async function retryHeld(
  context: Pick<JobContext, "store" | "clock" | "log">,
  options: HeldRetry,
  signal: AbortSignal,
): Promise<{ released: number; held: number }> {
  const { store, clock } = context;
  const { rules } = options;
  const counts = { released: 0, held: 0 };
  for (let after = 0; ; ) {
    const rows = loadHeldAfter(store, after, RECORDS_PER_COMMIT);
    const last = rows.at(-1);
    if (last === undefined) return counts;
    after = last.id;
    const whole = rows.filter((row) => isRecordOfOrders(row) && (row.kind !== "change" || rules.carry === "whole"));
    const good = whole.filter((row) => judgeRecord({ store, rules }, row) === undefined);
    counts.released += good.length;
    counts.held += whole.length - good.length;
    if (good.length === 0 || options.dryRun) continue;
    const now = { at: isoTime(clock.nowMs()), machineMs: clock.monotonicMs() };
    await commit(context, signal, () => {
      for (const row of good) retryQuarantined({ ...options, store, ...now }, row);
    });
    await clock.sleep(GAP_MS, signal);
  }
}
