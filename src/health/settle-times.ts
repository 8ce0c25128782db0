/*
 * Corrects times that a wrong clock wrote into the bridge's bookkeeping, once the machine's clock is right: since when
 * something waits, when a flow succeeded. An age measured from a time in the future stays zero for years, and one from
 * years ago raises an alarm at once. Times from this process are shifted by the clock's error; times that are still in
 * the future come from an earlier process and become the present time. History keeps its times. After a crash in the
 * middle the next start repeats the second step. SQL computes the times in place.
 */

import { getTableName } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { erpQueue, feedOutbox, feeds, flows, holds, queuedReads } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { CLOCK_OFF_MS, clockOffsetS } from "./clock-offset.ts";
import { ClockSegments, type Correction } from "./clock-segments.ts";

/** Columns that ages are measured from. */
const TIMES: readonly SQLiteColumn[] = [
  erpQueue.since,
  flows.lastRunAt,
  flows.lastSuccessAt,
  flows.failingSince,
  flows.firstPassSince,
  feedOutbox.waitingSince,
  queuedReads.since,
  holds.since,
  feeds.touchedAt,
  feeds.lastAcceptedAt,
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
    for (const column of TIMES) {
      // One transaction per column: a row must not be shifted twice.
      moved += await commit(this.#context, signal, () => settle(store, { column, corrections }, clock.nowMs()));
    }
    if (moved > 0) log.info({ times: moved }, m.health.timesPutRight);
  }

  #look(isRight: boolean | undefined): Correction[] | undefined {
    const { clock } = this.#context;
    return this.#segments.look({ nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), isRight });
  }
}

function settle(
  store: Store,
  { column: of, corrections }: { column: SQLiteColumn; corrections: readonly Correction[] },
  nowMs: number,
): number {
  const [table, column] = [getTableName(of.table), of.name];
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
