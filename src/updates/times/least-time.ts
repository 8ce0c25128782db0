/*
 * A lower bound of the time of a service that sends no `Date`: a time that it has written, plus the time elapsed here
 * since. `since-limits.ts` learns ages by it. After a long stop the bound is far too low; then refused and answered
 * requests narrow it.
 */
import type { JobContext } from "../../pass/job.ts";
import { type FollowRules, instantOf, liesAhead } from "../pages/follow.ts";

const MS_NS = 1_000_000n;
const MINUTE_NS = 60_000n * MS_NS;
/** First step of the search, and its precision. */
const STEP_NS = 5n * MINUTE_NS;
/** Assumed minimum age of the earliest accepted `since`: no service is known to go back for less. */
const GOES_BACK_NS = 10n * MINUTE_NS;
/** More steps, doubling and halving, than a hundred years need. */
const REQUESTS_MAX = 60;

export class LeastTime {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  #known: { ns: bigint; atMs: number } | undefined;

  constructor(context: JobContext, follow: FollowRules) {
    this.#context = context;
    this.#follow = follow;
  }

  /** Takes timestamps of the service. Those far ahead of this machine's clock are ignored. */
  note(texts: readonly (string | undefined)[]): void {
    const { timezone } = this.#follow;
    for (const text of texts) {
      const ns = instantOf(text, timezone);
      if (ns !== undefined && !liesAhead(text, this.#context.clock.nowMs(), undefined, this.#follow)) this.#raise(ns);
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
   * @param ask returns whether a `since` is accepted
   */
  async search(ask: (ns: bigint) => Promise<boolean>): Promise<Found | undefined> {
    const begin = this.#nowNs;
    if (begin === undefined) return undefined;
    const until = BigInt(Math.floor(this.#context.clock.nowMs())) * MS_NS;
    let refused = begin;
    let answered: bigint | undefined;
    for (let asked = 0; asked < REQUESTS_MAX; asked++) {
      const next = planSearch({ begin, refused, answered, until });
      if (next === undefined) break;
      if (await ask(next)) answered = next;
      else refused = next;
    }
    if (answered === undefined) return undefined;
    this.#raise(answered + GOES_BACK_NS);
    return { refused, answered };
  }
}

interface Found {
  refused: bigint;
  answered: bigint;
}

/** The next `since` to try; undefined where the earliest is found, or none up to this machine's time is accepted. */
export function planSearch({
  begin,
  refused,
  answered,
  until,
}: Omit<Found, "answered"> & { begin: bigint; answered: bigint | undefined; until: bigint }): bigint | undefined {
  if (answered !== undefined) return answered - refused > STEP_NS ? refused + (answered - refused) / 2n : undefined;
  const step = refused - begin > STEP_NS ? refused - begin : STEP_NS;
  const next = refused + step < until ? refused + step : until;
  return next > refused ? next : undefined;
}
