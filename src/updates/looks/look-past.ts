/*
 * Gets past a page whose changes have no readable time, or times before the requested one: a service may list changes
 * by times that are not in their records. Where other pages are as short, later changes may follow, and no time shows
 * where. The latest `since` that still returns the page is searched by halves; what follows is requested next. Progress
 * is kept in memory; after a restart the search is repeated.
 *
 * What is found counts only where the same `since` is answered with the same: otherwise each search would lead a little
 * further, to another page of the same kind, and the pass would pursue the service's clock. It then waits for the next poll.
 */
import { type Asked, askAt, type FollowRules, instantOf, isFromFuture, type Page } from "../pages/follow.ts";
import type { Pass, ReadPage } from "../pages/follow-pass.ts";
import { isPositionRefused } from "../pages/since-limits.ts";

/** A `since` that returns the page, and one that does not. */
interface Bounds {
  fromNs: bigint;
  toNs: bigint;
  /** Both were asked for once more at the end of the search. */
  isProven: boolean;
}

/** Bound of a clock that is behind. */
const YEARS_NS = 20n * 365n * 86_400_000_000_000n;

/** Limit of remembered searches; the oldest is forgotten. */
const KNOWN_MAX = 1_000;
/** So many requests for searches are followed by the next poll, not by another pass at once. */
const REQUESTS_MAX = 200;

export class LookPast {
  readonly #rules: FollowRules;
  readonly #read: (pass: Pass, since: string) => Promise<ReadPage>;
  /** By the key of the page's first change. */
  readonly #known = new Map<string, Bounds>();
  #requests = 0;
  #isLeft = false;

  constructor(rules: FollowRules, read: (pass: Pass, since: string) => Promise<ReadPage>) {
    this.#rules = rules;
    this.#read = read;
  }

  beginPass(): void {
    this.#requests = 0;
    this.#isLeft = false;
  }

  /** A search is left to the next poll. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /**
   * Returns the next `since` and the number of requests made. Undefined where the page has room for more, where one of
   * its changes has a time that leads on, and where the service returns it from any time. With the same `since` as
   * before, the search is left to the next poll.
   */
  async find(
    pass: Pass,
    asked: Asked,
    { page, keys }: Pick<ReadPage, "page" | "keys">,
  ): Promise<{ asked: Asked; requests: number } | undefined> {
    const [key] = keys;
    if (key === undefined || leadsOn(page, asked.ns, pass) || page.timestamps.length < pass.pageMax) return undefined;
    const { high, near, future, anchors, metadata } = pass;
    const askFrom = (ns: bigint) => askAt(ns, pass.learned.form, this.#rules);
    const ofPage = new Set(keys);
    let requests = 0;
    const shows = async ({ since, ns }: Asked) => {
      requests += 1;
      try {
        const read = await this.#read(pass, since);
        return !leadsOn(read.page, ns, pass) && read.keys.some((each) => ofPage.has(each));
      } catch (error) {
        // The `since` may be in the service's future.
        if (isPositionRefused(error)) return false;
        throw error;
      }
    };
    const leave = () => {
      this.#isLeft = true;
      return { asked, requests };
    };
    try {
      const known = this.#known.get(key);
      const isKnown = known !== undefined && known.toNs > asked.ns;
      if (!isKnown && this.#requests >= REQUESTS_MAX) return leave();
      const bounds = isKnown ? known : await this.#begin(pass, asked, shows);
      if (bounds === undefined) return undefined;
      if (!isKnown && !(await shows(asked))) return leave();
      this.#remember(key, bounds);
      if (asked.ns > bounds.fromNs) bounds.fromNs = asked.ns;
      for (;;) {
        const middle = askFrom((bounds.fromNs + bounds.toNs) / 2n);
        if (middle.ns <= bounds.fromNs) break;
        if (await shows(middle)) bounds.fromNs = middle.ns;
        else bounds.toNs = middle.ns;
      }
      const next = askFrom(bounds.toNs);
      // Twice, because of two machines that answer in turn.
      bounds.isProven ||= (await shows(askFrom(bounds.fromNs))) && !(await shows(next)) && !(await shows(next));
      if (bounds.isProven) return { asked: next, requests };
      this.#known.delete(key);
      return leave();
    } finally {
      this.#requests += requests;
      // The probe's changes are requested again in their turn: the position must not pass what lies before them.
      Object.assign(pass, { high, near, future, anchors, metadata });
    }
  }

  /** Where the service names no time, the end is years later: this machine's clock may be behind. */
  async #begin(pass: Pass, { ns }: Asked, shows: (from: Asked) => Promise<boolean>): Promise<Bounds | undefined> {
    const endNs = instantOf(pass.serviceNow, "UTC") ?? ns + YEARS_NS;
    const end = askAt(endNs, pass.learned.form, this.#rules);
    return end.ns <= ns || (await shows(end)) ? undefined : { fromNs: ns, toNs: end.ns, isProven: false };
  }

  #remember(key: string, bounds: Bounds): void {
    this.#known.delete(key);
    this.#known.set(key, bounds);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Whether a change of the page has a later time that is not in the future. */
function leadsOn(
  { timestamps }: Page,
  fromNs: bigint,
  { serviceNow, ceiling, rules }: Pick<Pass, "serviceNow" | "ceiling" | "rules">,
): boolean {
  const latest = serviceNow ?? ceiling;
  return timestamps.some(
    (time) => time !== undefined && time.instantNs > fromNs && !isFromFuture(time.text, latest, rules.timezone),
  );
}
