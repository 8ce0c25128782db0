/*
 * The `Date` headers that came. A cache that says nothing of itself gives the one that came with its copy: at that address the service's clock
 * stands still, while other answers show that it goes on. Where every answer has the same `Date` no answer is distinguished from another;
 * that of one order, though, is a copy until another address has shown that this is so.
 */

interface ServedDate {
  date: string;
  /** Monotonic, when it first came. */
  atMs: number;
}

/** What is younger is no older than what the next request brings. */
const FRESH_MS = 60_000;
/** What an answer's way may take. */
const WAY_MS = 2_000;
/** After so long a `Date`, which shows seconds, has gone on. What a copy of an order does not show may have been sent since it was made. */
const GOES_ON_MS = 1_000 + WAY_MS;
/** Each order has an address of its own. */
const PATHS_MAX = 2_000;

export class ServedDates {
  /** The last one that was new at its address. */
  last: ServedDate | undefined;
  readonly #dates = new Map<string, ServedDate>();
  /** Monotonic, when another address last answered with a `Date` that had come a minute before: there, too, the clock stands still. */
  #stoodStillAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Notes the header of an answer. Returns the header where it shows that the answer is a copy: of more than a minute ago, and where the answer is
   * about one order, of more than a few seconds ago.
   * @param answer.isOfOrder it is about one order: at the first look a copy of any age looks like a fresh answer
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
      this.#dates.set(path, { date, atMs: nowMs });
    }
    // What a cache has kept says nothing of the time.
    const isTime = method === "GET" && isOfOrder ? !this.#isBehind(date, nowMs) : !isCached || this.last === undefined;
    if (isTime) this.last = { date, atMs: nowMs };
    return undefined;
  }

  /** Whether the service's clock has shown a later time, or none is known yet: what is stored would else look as if it were of the future. */
  #isBehind(date: string, nowMs: number): boolean {
    if (this.last === undefined) return true;
    return Date.parse(date) < Date.parse(this.last.date) + nowMs - this.last.atMs - WAY_MS;
  }

  #isOld({ date, atMs }: ServedDate, nowMs: number): boolean {
    return nowMs - atMs > FRESH_MS && Date.parse(this.last?.date ?? "") - Date.parse(date) > FRESH_MS;
  }
}
