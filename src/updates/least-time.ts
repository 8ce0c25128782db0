/*
 * The least that the time of a service can be which sends no `Date`: a time that it has written, and what has gone by here since then. By it
 * the ages are measured of which `since-limits.ts` learns. After a long stop nothing of the service's may have been written meanwhile, and it lies
 * far behind; then the requests that are refused and answered show it.
 */
import type { JobContext } from "../pass/job.ts";
import { type FollowRules, instantOf, liesAhead } from "./follow.ts";

const MS_NS = 1_000_000n;
const MINUTE_NS = 60_000n * MS_NS;
/** The first step of a search, and how near the earliest `since` that is answered must be found. */
const STEP_NS = 5n * MINUTE_NS;
/** The earliest `since` that is answered is taken to be at least this old: services that go back for less are not known. */
const GOES_BACK_NS = 10n * MINUTE_NS;
/** More than steps that double and halves need for a hundred years. */
const REQUESTS_MAX = 60;

export class LeastTime {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  #known: { ns: bigint; atMs: number } | undefined;

  constructor(context: JobContext, follow: FollowRules) {
    this.#context = context;
    this.#follow = follow;
  }

  /** Times that the service has written. One that this machine's clock has not reached by far may be anything. */
  note(texts: readonly (string | undefined)[]): void {
    const { timezone } = this.#follow;
    for (const text of texts) {
      const ns = instantOf(text, timezone);
      if (ns !== undefined && !liesAhead(text, this.#context.clock.nowMs(), undefined, this.#follow)) this.#raise(ns);
    }
  }

  /** As it stands now; undefined where nothing is known. */
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
   * Finds the earliest `since` that is answered, where none that is known to be in the past is: by steps that double, then by halves. What is
   * found lies no more than a step after one that is refused, and so in the past as well. Undefined where none is found.
   * @param ask whether such a `since` is answered
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

/** What is asked next; undefined where the earliest that is answered is known, or nothing up to this machine's time is. */
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
