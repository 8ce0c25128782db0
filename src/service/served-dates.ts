/*
 * Detects copies from caches by their `Date` headers. A cache without headers of its own repeats the copy's `Date`: at that
 * address the clock stands still, while other answers show that it advances. Where all answers have the same `Date`, copies
 * cannot be distinguished; the answer for one order is still treated as a copy until another address shows the same.
 */

interface ServedDate {
  date: string;
  /** When it was first received, on the monotonic clock. */
  atMs: number;
  /** It is later than the one before it: a clock that goes on, whatever time it shows. */
  goesOn?: boolean;
}

/** A younger copy is treated as current: the next request comes as late. */
const FRESH_MS = 60_000;
/** Allowance for the transit of an answer. */
const WAY_MS = 2_000;
/** After this time a `Date`, in whole seconds, must have advanced. A copy of an order may lack what was sent since. */
const GOES_ON_MS = 1_000 + WAY_MS;
/** Each order has its own path. */
const PATHS_MAX = 2_000;

export class ServedDates {
  /** The last header that was new at its path. */
  last: ServedDate | undefined;
  readonly #dates = new Map<string, ServedDate>();
  /** When another path last answered with a `Date` a minute old, on the monotonic clock: the clock stands still there too. */
  #stoodStillAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Records the header of an answer. Returns the header where it shows that the answer is a copy: older than a minute, or
   * for one order older than a few seconds.
   * @param answer.isOfOrder the answer is about one order: the first copy of it, of any age, looks like a current answer
   */
  note(
    answer: { method: string; path: string; date: string | undefined; isCached: boolean; isOfOrder?: boolean },
    nowMs: number,
  ): string | undefined {
    const { method, path, date, isCached, isOfOrder } = answer;
    if (date === undefined) return undefined;
    // No cache answers a POST.
    const before = method === "GET" ? this.#dates.get(path) : undefined;
    if (isOfOrder !== true && date === this.last?.date && nowMs - this.last.atMs > FRESH_MS)
      this.#stoodStillAtMs = nowMs;
    if (before?.date === date) {
      const isCopyOfOrder =
        isOfOrder === true && nowMs - before.atMs > GOES_ON_MS && this.#stoodStillAtMs < before.atMs;
      return isCopyOfOrder || this.#isOld(before, nowMs) ? `Date: ${date}` : undefined;
    }
    if (method === "GET") {
      if (this.#dates.size >= PATHS_MAX) this.#dates.clear();
      this.#dates.set(path, { date, atMs: nowMs, goesOn: Date.parse(date) > Date.parse(before?.date ?? "") });
    }
    // The `Date` of a copy does not show the current time.
    const isTime = method === "GET" && isOfOrder ? !this.#isBehind(date, nowMs) : !isCached || this.last === undefined;
    if (isTime) this.last = { date, atMs: nowMs };
    return undefined;
  }

  /**
   * Whether nothing shows yet that the clock of the address goes on: its `Date` may be that of a copy. In a process of its own for each
   * pass a copy looks like a current answer.
   */
  isUnproven(path: string): boolean {
    return this.#dates.get(path)?.goesOn !== true;
  }

  /** Whether the service's clock is known to be later, or is unknown: otherwise stored times would appear to be in the future. */
  #isBehind(date: string, nowMs: number): boolean {
    if (this.last === undefined) return true;
    return Date.parse(date) < Date.parse(this.last.date) + nowMs - this.last.atMs - WAY_MS;
  }

  #isOld({ date, atMs }: ServedDate, nowMs: number): boolean {
    return nowMs - atMs > FRESH_MS && Date.parse(this.last?.date ?? "") - Date.parse(date) > FRESH_MS;
  }
}
