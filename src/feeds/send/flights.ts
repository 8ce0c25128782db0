/*
 * Tracks rows from before their request until its outcome is committed. A row is committed as in flight before its request
 * is sent, together with those of the next requests: after a crash it is sent again with its newest value, not before the
 * earlier request can no longer arrive. Acceptances are committed together with the next marks, at most a second after the
 * first of them: a crash until then sends these rows again.
 */
import { countAsked } from "../../database/log/progress-note.ts";
import { commit, commitEnd } from "../../pass/commit.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import { markLoaded, type OutboxRow } from "../feed-outbox.ts";
import { markInFlight, saveFlightEnd, unmarkInFlight } from "./flight-rows.ts";

/** Rows marked or acknowledged in one transaction: some tens of milliseconds of the write lock. */
export const ROWS_PER_COMMIT = 2_000;
const COMMIT_WITHIN_MS = 1_000;
/** Marks older than this are secured again before a request is sent. */
const SECURED_FOR_MS = 1_000;

/** `save`: called in a transaction for all rows or a part of them; `also`: called once beside them. */
export interface Acceptance {
  rows: readonly OutboxRow[];
  save: (rows: readonly OutboxRow[]) => void;
  also: () => void;
}

/** The end of a request without an acceptance. `nothing`: no effect; `over`: it may have had an effect, and is complete; `unknown`. */
export type FlightEnd = "nothing" | "over" | "unknown";

export class Flights {
  readonly #context: FeedContext;
  readonly #timeoutMs: number;
  /** Rows that are marked and whose request has not begun. */
  readonly #ahead = new Map<number, OutboxRow>();
  #accepted: Acceptance[] = [];
  #acceptedAtMs = 0;
  #securedAtMs = 0;

  /** @param timeoutMs deadline of a request: until then an unanswered one may still have an effect */
  constructor(context: FeedContext, timeoutMs: number) {
    this.#context = context;
    this.#timeoutMs = timeoutMs;
  }

  get hasAhead(): boolean {
    return this.#ahead.size > 0;
  }

  /** Commits acceptances and marks the rows that are sent next. */
  async take(load: () => OutboxRow[], signal: AbortSignal): Promise<OutboxRow[]> {
    const { store } = this.#context;
    const rows = await commitEnd(this.#context, signal, () => {
      for (const accepted of this.#accepted) {
        accepted.save(accepted.rows);
        accepted.also();
      }
      const next = load();
      if (next.length > 0) {
        markLoaded(store, next);
        countAsked(store);
      }
      return next;
    });
    this.#accepted = [];
    for (const row of rows) this.#ahead.set(row.id, row);
    if (rows.length > 0) this.#secure();
    return rows;
  }

  /** To be called before a request: from now on these rows are sent again unless an answer settles them. */
  async begin(rows: readonly OutboxRow[], signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const unmarked = rows.filter(({ id }) => !this.#ahead.delete(id));
    // An acceptance is of the marked record, so it is committed before the row is marked with another one.
    if (unmarked.length > 0) await this.flush(signal);
    for (const some of inSteps(unmarked)) {
      await commit(this.#context, signal, () => {
        markInFlight(store, some);
        countAsked(store);
      });
    }
    if (unmarked.length > 0) this.#secure();
  }

  /** To be called just before the request is sent, which may be long after its rows were marked. */
  secureMarks(): void {
    if (this.#context.clock.monotonicMs() - this.#securedAtMs > SECURED_FOR_MS) this.#secure();
  }

  /** To be called where a request has ended without an acceptance. */
  async end(rows: readonly OutboxRow[], how: FlightEnd, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const untilMs = how === "unknown" ? clock.monotonicMs() + this.#timeoutMs : 0;
    await this.flush(signal);
    for (const some of inSteps(rows)) {
      await commitEnd(this.#context, signal, () => {
        if (how === "nothing") unmarkInFlight(store, some);
        else saveFlightEnd(store, some, untilMs);
      });
    }
  }

  /** @param mayWait whether it may be committed later with others; else it is committed before this returns */
  async accept(accepted: Acceptance, mayWait: boolean, signal: AbortSignal): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs();
    if (this.#accepted.length === 0) this.#acceptedAtMs = nowMs;
    const waiting = this.#accepted.reduce((sum, { rows }) => sum + rows.length, accepted.rows.length);
    if (mayWait && waiting <= ROWS_PER_COMMIT && nowMs - this.#acceptedAtMs < COMMIT_WITHIN_MS) {
      this.#accepted.push(accepted);
      return;
    }
    await this.flush(signal);
    const [first = [], ...rest] = inSteps(accepted.rows);
    await commit(this.#context, signal, () => {
      accepted.save(first);
      accepted.also();
    });
    for (const some of rest) await commit(this.#context, signal, () => accepted.save(some));
  }

  async flush(signal: AbortSignal): Promise<void> {
    if (this.#accepted.length > 0) await this.take(() => [], signal);
  }

  /** Ends the pass: unmarks rows that were not sent. */
  async finish(signal: AbortSignal): Promise<void> {
    const left = [...this.#ahead.values()];
    this.#ahead.clear();
    await this.end(left, "nothing", signal);
  }

  #secure(): void {
    this.#context.store.secure();
    this.#securedAtMs = this.#context.clock.monotonicMs();
  }
}

/** The row after a request that is complete and may have been accepted. */
export function inFlight(row: OutboxRow): OutboxRow {
  return { ...row, flightRecord: row.record, flightUntilMs: 0 };
}

function inSteps(rows: readonly OutboxRow[]): (readonly OutboxRow[])[] {
  const steps: (readonly OutboxRow[])[] = [];
  for (let from = 0; from < rows.length; from += ROWS_PER_COMMIT) steps.push(rows.slice(from, from + ROWS_PER_COMMIT));
  return steps;
}
