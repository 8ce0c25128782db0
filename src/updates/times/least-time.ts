/*
 * A lower bound of the time of a service that sends no `Date`: a time that it has written, plus the time elapsed here
 * since. `since-limits.ts` learns ages by it. After a long stop the bound is far too low; then refused and answered
 * requests narrow it.
 */

import type { JobContext } from "../../pass/job.ts";
import { MINUTE_NS, MS_NS } from "../../platform/durations.ts";
import { type FollowRules, instantOf, liesAhead } from "../pages/follow.ts";
import { AHEAD } from "./learned-rows.ts";

/** First step of the search, and its precision. */
const STEP_NS = 5n * MINUTE_NS;
/** Assumed minimum age of the earliest accepted `since`: no service is known to go back for less. */
const GOES_BACK_NS = 10n * MINUTE_NS;
/** More steps, doubling and halving, than a hundred years need. */
const REQUESTS_MAX = 60;
/** A clock that begins anew with each start of its machine is behind by decades. */
const BEHIND_MAX_NS = 100n * 365n * 24n * 60n * MINUTE_NS;

export class LeastTime {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  #known: { ns: bigint; atMs: number } | undefined;
  /** The latest timestamp that was ignored, because it is far ahead of this machine's clock. */
  #aheadNs: bigint | undefined;

  constructor(context: JobContext, follow: FollowRules) {
    this.#context = context;
    this.#follow = follow;
  }

  /** Takes timestamps of the service. Those far ahead of this machine's clock are ignored. */
  note(texts: readonly (string | undefined)[]): void {
    const { timezone } = this.#follow;
    for (const text of texts) {
      const ns = instantOf(text, timezone);
      if (ns === undefined) continue;
      if (!liesAhead(text, this.#context.clock.nowMs(), undefined, this.#follow)) this.#raise(ns);
      else if (this.#aheadNs === undefined || ns > this.#aheadNs) this.#aheadNs = ns;
    }
  }

  /** The bound now; undefined where nothing is known. */
  get now(): string | undefined {
    const ns = this.#nowNs;
    return ns === undefined ? undefined : new Date(Number(ns / MS_NS)).toISOString();
  }

  get #nowNs(): bigint | undefined {
    if (this.#known === undefined) return undefined;
    return this.#known.ns + BigInt(Math.floor(this.#context.clock.monotonicMs() - this.#known.atMs)) * MS_NS;
  }

  #raise(ns: bigint): void {
    const now = this.#nowNs;
    if (now === undefined || ns > now) this.#known = { ns, atMs: this.#context.clock.monotonicMs() };
  }

  /**
   * Finds the earliest accepted `since`, where none that is known to be in the past is accepted: doubles the step, then
   * halves it. The result is at most one step after a refused one, and so in the past as well. Undefined where none is
   * found.
   * @param after the latest `since` that was refused
   * @param ask returns whether a `since` is accepted
   */
  async search(after: bigint, ask: (ns: bigint) => Promise<boolean>): Promise<Found | undefined> {
    const now = this.#nowNs;
    const begin = now !== undefined && now > after ? now : after;
    const clock = BigInt(Math.floor(this.#context.clock.nowMs())) * MS_NS;
    const isBehind = this.#mayClockBeBehind(clock);
    // A service may refuse what is after its own time as well: the times that are known are tried on the way.
    const stops = isBehind && this.#aheadNs !== undefined ? [clock, this.#aheadNs] : [clock];
    const until = isBehind ? clock + BEHIND_MAX_NS : clock;
    let refused = begin;
    let answered: bigint | undefined;
    for (let asked = 0; asked < REQUESTS_MAX; asked++) {
      const next = planSearch({ begin, refused, answered, stops, until });
      if (next === undefined) break;
      if (await ask(next)) answered = next;
      else refused = next;
    }
    if (answered === undefined) return undefined;
    this.#raise(answered + GOES_BACK_NS);
    return { refused, answered };
  }

  /** The service has written a time far ahead of this machine's clock, and later ones have not shown that it was wrong. */
  #mayClockBeBehind(clock: bigint): boolean {
    const ahead = AHEAD.load(this.#context.store);
    if (ahead?.isProven === true) return false;
    const now = this.#nowNs;
    return ahead !== undefined || this.#aheadNs !== undefined || (now !== undefined && now > clock);
  }
}

interface Found {
  refused: bigint;
  answered: bigint;
}

interface Search extends Omit<Found, "answered"> {
  begin: bigint;
  answered: bigint | undefined;
  /** Times that no step passes over. */
  stops: readonly bigint[];
  until: bigint;
}

/** The next `since` to try; undefined where the earliest is found, or none up to the end is accepted. */
export function planSearch({ begin, refused, answered, stops, until }: Search): bigint | undefined {
  if (answered !== undefined) return answered - refused > STEP_NS ? refused + (answered - refused) / 2n : undefined;
  const step = refused - begin > STEP_NS ? refused - begin : STEP_NS;
  const later = [refused + step, ...stops, until].filter((ns) => ns > refused && ns <= until);
  return later.length === 0 ? undefined : later.reduce((least, ns) => (ns < least ? ns : least));
}
