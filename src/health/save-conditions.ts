/*
 * Stores the conditions, so that readers by SQL have the same list as the page. Written when something other than an
 * age has changed, and periodically so that `seen_at` shows that the daemon lives.
 */

import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { describeCondition } from "./condition-words.ts";
import { type Condition, traitOf } from "./conditions.ts";
import { replaceConditions } from "./health-rows.ts";
import type { Watched } from "./watched.ts";

/** Half of the time after which `sync_status` treats the list as out of date. */
const AGAIN_MS = 5 * 60_000;

export class SaveConditions {
  readonly #context: JobContext;
  readonly #watched: () => Watched;
  #saved: { what: string; atMs: number } | undefined;

  constructor(context: JobContext, watched: () => Watched) {
    this.#context = context;
    this.#watched = watched;
  }

  async look(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { conditions } = this.#watched();
    const what = JSON.stringify(conditions, (name, value: unknown) => (name === "ageS" ? undefined : value));
    const atMs = clock.monotonicMs();
    if (this.#saved?.what === what && atMs - this.#saved.atMs < AGAIN_MS) return;
    const rows = conditions.map((condition, index) => rowOf(condition, index + 1, clock.nowMs()));
    await commit(this.#context, signal, () => replaceConditions(store, rows));
    this.#saved = { what, atMs };
  }
}

function rowOf(condition: Condition, rank: number, nowMs: number) {
  const { code, subject, since, params } = condition;
  const { text, command } = describeCondition(condition, { nowMs });
  const { severity } = traitOf(condition);
  return { rank, code, severity, subject, since, params, text, command, seenAt: isoTime(nowMs) };
}
