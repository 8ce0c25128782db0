/*
 * The way past a page none of whose changes has a time that can be read, or a time after what was asked: a service may list changes by times that
 * their records do not bear. Where pages are as short as that one, later changes may stand behind it, and no time in it says from where to ask. The
 * latest `since` that still shows it is looked for by halves: what comes behind that is asked for next. How far a search has come is kept in memory;
 * after a restart it is done again.
 */
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { type Asked, askAt, type FollowRules, instantOf, isFromFuture, type Page } from "./follow.ts";
import type { Pass, ReadPage } from "./follow-pass.ts";
import { isPositionRefused } from "./since-limits.ts";

/** A `since` that shows the page and one that does not. */
interface Bounds {
  fromNs: bigint;
  toNs: bigint;
}

/** As far as a clock that is behind may be. */
const YEARS_NS = 20n * 365n * 86_400_000_000_000n;

/** Searches that are remembered; of more the oldest is done again. */
const KNOWN_MAX = 1_000;

export class LookPast {
  readonly #context: JobContext;
  readonly #rules: FollowRules;
  readonly #read: (pass: Pass, since: string) => Promise<ReadPage>;
  /** By the first of the changes. */
  readonly #known = new Map<string, Bounds>();

  constructor(context: JobContext, rules: FollowRules, read: (pass: Pass, since: string) => Promise<ReadPage>) {
    this.#context = context;
    this.#rules = rules;
    this.#read = read;
  }

  /**
   * From where to go on, and how many requests it took to find out. Undefined where the page leaves room for more, where one of its changes has
   * a time that leads on, and where the service shows it from any time on.
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
        // It may be of the future.
        if (isPositionRefused(error)) return false;
        throw error;
      }
    };
    try {
      const known = this.#known.get(key);
      const bounds = known !== undefined && known.toNs > asked.ns ? known : await this.#begin(pass, asked, shows);
      if (bounds === undefined) return undefined;
      this.#remember(key, bounds);
      if (asked.ns > bounds.fromNs) bounds.fromNs = asked.ns;
      for (;;) {
        const middle = askFrom((bounds.fromNs + bounds.toNs) / 2n);
        if (middle.ns <= bounds.fromNs) return { asked: askFrom(bounds.toNs), requests };
        if (await shows(middle)) bounds.fromNs = middle.ns;
        else bounds.toNs = middle.ns;
      }
    } finally {
      // What was shown behind is asked for again in its turn: the position must not pass what lies before it.
      Object.assign(pass, { high, near, future, anchors, metadata });
    }
  }

  /** Where no clock shows a later time than the one asked for, the end is years on. */
  async #begin(pass: Pass, { ns }: Asked, shows: (from: Asked) => Promise<boolean>): Promise<Bounds | undefined> {
    const nowNs = instantOf(pass.serviceNow ?? isoTime(this.#context.clock.nowMs()), "UTC") ?? ns;
    const isBehind = nowNs <= ns && pass.serviceNow === undefined;
    const end = askAt(isBehind ? ns + YEARS_NS : nowNs, pass.learned.form, this.#rules);
    return end.ns <= ns || (await shows(end)) ? undefined : { fromNs: ns, toNs: end.ns };
  }

  #remember(key: string, bounds: Bounds): void {
    this.#known.delete(key);
    this.#known.set(key, bounds);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Whether a change of the page has a later time, and one that the service can have written by now. */
function leadsOn(
  { timestamps }: Page,
  fromNs: bigint,
  { serviceNow, rules }: Pick<Pass, "serviceNow" | "rules">,
): boolean {
  return timestamps.some(
    (time) => time !== undefined && time.instantNs > fromNs && !isFromFuture(time.text, serviceNow, rules.timezone),
  );
}
