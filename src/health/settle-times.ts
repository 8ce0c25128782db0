/*
 * Puts the bridge's own bookkeeping right once the machine's clock is: since when something waits, when a flow succeeded.
 * An age that is reckoned from a time in the future stays zero for years, and one from a time years ago alarms at once. What a wrong
 * clock wrote in this process is moved by as much as it was wrong; what still lies in the future came from an earlier process and
 * counts as of now. History keeps its times. After a crash in the middle the next start does the second again.
 */
import type { Store } from "../database/store.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { CLOCK_OFF_MS, clockOffsetS } from "./clock-offset.ts";
import { ClockSegments, type Correction } from "./clock-segments.ts";

/** Tables and columns from which ages are reckoned. */
const TIMES: readonly (readonly [table: string, column: string])[] = [
  ["erp_queue", "since"],
  ["flows", "last_run_at"],
  ["flows", "last_success_at"],
  ["flows", "failing_since"],
  ["flows", "first_pass_since"],
  ["feed_outbox", "waiting_since"],
  ["owed_reads", "since"],
  ["holds", "since"],
  ["feeds", "touched_at"],
  ["feeds", "last_accepted_at"],
];

export class SettleTimes {
  readonly #context: JobContext;
  readonly #segments = new ClockSegments();

  constructor(context: JobContext) {
    this.#context = context;
    this.#look(undefined);
  }

  async look(signal: AbortSignal): Promise<void> {
    const { client, clock, log, store } = this.#context;
    const offS = clockOffsetS(client.serviceNow, clock.nowMs());
    const corrections = this.#look(client.serviceNow === undefined ? undefined : offS === undefined);
    if (corrections === undefined) return;
    let moved = 0;
    for (const [table, column] of TIMES) {
      // In one transaction a column: a row that was moved must not be met again.
      moved += await commit(this.#context, signal, () => settle(store, { table, column, corrections }, clock.nowMs()));
    }
    if (moved > 0)
      log.info({ times: moved }, "Times that this machine's clock had written while it was wrong were put right.");
  }

  #look(isRight: boolean | undefined): Correction[] | undefined {
    const { clock } = this.#context;
    return this.#segments.look({ nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), isRight });
  }
}

function settle(
  store: Store,
  { table, column, corrections }: { table: string; column: string; corrections: readonly Correction[] },
  nowMs: number,
): number {
  const move = store.prepare(
    `UPDATE ${table} SET ${column} = strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, @by || ' seconds') WHERE ${column} BETWEEN @from AND @to`,
  );
  const clamp = store.prepare(`UPDATE ${table} SET ${column} = @now WHERE ${column} > @limit`);
  let moved = 0;
  for (const { fromMs, toMs, byMs } of corrections) {
    const by = (byMs / 1000).toFixed(3);
    moved += move.run({ by, from: isoTime(fromMs), to: isoTime(toMs) }).changes;
  }
  return moved + clamp.run({ now: isoTime(nowMs), limit: isoTime(nowMs + CLOCK_OFF_MS) }).changes;
}
