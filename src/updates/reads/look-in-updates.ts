/*
 * Asks the change list about an order whose own answer is older than the known version. Caches and replicas answer each
 * URL by itself: another order's answer proves nothing about this one, and the same URL gives the same answer again. A
 * service that set the order back does not list the newer version any more; one behind a cache still does. New changes
 * of other orders in these answers are stored as usual; no position moves.
 */

import { resolveSingle } from "../../answers/json-path.ts";
import { readScalar } from "../../answers/json-text.ts";
import { readTimestamp } from "../../answers/timestamp.ts";
import { unitNs } from "../../answers/timestamp-form.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { readInTurns } from "../../pass/read-in-turns.ts";
import { SECOND_NS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { forgetUnstored } from "../../records/unstored-records.ts";
import { fetchUpdates } from "../../service/orders.ts";
import { applyChange } from "../pages/apply-change.ts";
import { type ChangePage, KnownPages } from "../pages/change-page.ts";
import { ChangeCollector, type IsCancelled } from "../pages/collect-changes.ts";
import { isFromFuture, planAskBefore } from "../pages/follow.ts";
import type { FollowOptions } from "../pages/follow-pass.ts";
import { isWholeDownTo } from "../pages/page-cover.ts";
import { isPositionRefused } from "../pages/since-limits.ts";
import { latestTime } from "../times/latest-time.ts";
import { saysCancelled } from "./take-cancellation.ts";

/**
 * `listed`: the changes still have the version. `gone`: they do not, although they continue after it. `unknown`: as far
 * as known they reach neither so far back nor beyond it. `both`: they have the older version as well; a list of all
 * versions does not show which is the order's.
 */
export type Listing = "listed" | "gone" | "unknown" | "both";

export interface KnownVersion {
  orderId: string;
  timestamp: string;
  /** The timestamp of the older version in the order's own answer. */
  kept?: string | null;
}

/** Requests per pass; each answer may have many orders. */
const ASKED_MAX = 10;
/** Changes of the last day are listed by every service; older ones if the answer itself has one as old. */
const LISTED_MS = 24 * 3_600_000;

/** Status and timestamp of a change. */
export interface ListedChange {
  status: string | null;
  timestamp: string;
}

interface AskedPage {
  ns: bigint;
  /** The last change of each order, of those with a readable time. */
  last: ReadonlyMap<string, ListedChange & { ns: bigint }>;
  /** The latest time of each order's changes. */
  latest: ReadonlyMap<string, bigint | undefined>;
  /** The times of each order's changes. */
  times: ReadonlyMap<string, readonly bigint[]>;
  newestNs: bigint;
  oldestNs: bigint | undefined;
  timestamps: ChangePage["timestamps"];
}

export class LookInUpdates {
  readonly #context: JobContext;
  readonly #options: Pick<FollowOptions, "rules" | "follow">;
  #asked = 0;
  readonly #pages: AskedPage[] = [];

  /** For one pass. */
  constructor(context: JobContext, options: Pick<FollowOptions, "rules" | "follow">) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * @param times how often it was asked before: each time with another URL, which no cache has
   * @throws what concerns more than one order
   */
  async look(version: KnownVersion, times: number, signal: AbortSignal): Promise<Listing> {
    const { follow } = this.#options;
    const timestamp = readTimestamp(version.timestamp, follow.timezone);
    if (timestamp === undefined) return "unknown";
    const ns = timestamp.instantNs;
    for (const page of this.#pages) {
      const known = this.#judge(version, ns, page);
      if (known !== "unknown") return known;
    }
    if (this.#asked >= ASKED_MAX) return "unknown";
    this.#asked += 1;
    const asked = planAskBefore(this.#beginOf(version, ns, times) - SECOND_NS * BigInt(times), timestamp.form, follow);
    const page = await this.#ask(asked, version, signal);
    if (page === undefined) return "unknown";
    this.#pages.push(page);
    return this.#judge(version, ns, page);
  }

  /** The last change of an order in the answers of this pass. */
  lastOf(orderId: string): ListedChange | undefined {
    return this.#pages
      .map(({ last }) => last.get(orderId))
      .reduce((a, b) => (b && (!a || b.ns > a.ns) ? b : a), undefined);
  }

  /**
   * Every other time the page starts before the version that the service still has: where the newest come first, only
   * that reaches the known version.
   */
  #beginOf({ kept }: KnownVersion, ns: bigint, times: number): bigint {
    const keptNs = readTimestamp(kept ?? null, this.#options.follow.timezone)?.instantNs;
    return keptNs !== undefined && keptNs < ns && times % 2 === 1 ? keptNs : ns;
  }

  async #ask(
    { since, ns }: { since: string; ns: bigint },
    { orderId }: KnownVersion,
    signal: AbortSignal,
  ): Promise<AskedPage | undefined> {
    const { client, clock } = this.#context;
    const { rules, follow } = this.#options;
    let answer: Awaited<ReturnType<typeof fetchUpdates>>;
    try {
      answer = await fetchUpdates(client, since, signal);
    } catch (error) {
      if (isPositionRefused(error)) return undefined;
      throw error;
    }
    if (answer.isCached || answer.status === 204) return undefined;
    const pageRules = { mapping: rules.update, changes: rules.changes, next: rules.next, timezone: follow.timezone };
    const page = await new KnownPages(pageRules, { clock, client }).open(answer, signal);
    const { list, elements } = page;
    if (list.elements === undefined || list.error !== undefined) return undefined;
    const body = page.mended ?? answer.body;
    await this.#storeOthers({ page, body, askedAt: answer.askedAt }, orderId, signal);
    const latest = new Map<string, bigint | undefined>();
    const times = new Map<string, bigint[]>();
    const last = new Map<string, ListedChange & { ns: bigint }>();
    const changes = await readInTurns(clock, answer, page.read(body, 0, elements.length), signal);
    const serviceNow = answer.date ?? latestTime(this.#context, follow.timezone);
    let newestNs = -1n;
    let oldestNs: bigint | undefined;
    for (const { record, timestamp } of changes) {
      const id = record.ok ? record.orderId : record.reference?.toLowerCase();
      // To the end of its unit, because the order's own timestamp may be more precise.
      const at = timestamp === undefined ? undefined : timestamp.instantNs + unitNs(timestamp.form) - 1n;
      if (id !== undefined) {
        const before = latest.get(id);
        latest.set(id, latest.has(id) && (before === undefined || at === undefined || before > at) ? before : at);
        if (timestamp !== undefined)
          times
            .set(id, times.get(id) ?? [])
            .get(id)
            ?.push(timestamp.instantNs);
      }
      if (timestamp === undefined || isFromFuture(timestamp.text, serviceNow, follow.timezone)) continue;
      if (id !== undefined && timestamp.instantNs >= (last.get(id)?.ns ?? timestamp.instantNs)) {
        const status = resolveSingle(body, record.span, rules.update.paths.status);
        const text = status.state === "value" ? readScalar(body, status.span) : undefined;
        last.set(id, { status: text ?? null, timestamp: timestamp.text, ns: timestamp.instantNs });
      }
      if (timestamp.instantNs > newestNs) newestNs = timestamp.instantNs;
      if (oldestNs === undefined || timestamp.instantNs < oldestNs) oldestNs = timestamp.instantNs;
    }
    return { ns, last, latest, times, newestNs, oldestNs, timestamps: page.timestamps };
  }

  /** The caller settles the order itself. */
  async #storeOthers(
    { page, body, askedAt }: { page: ChangePage; body: Buffer; askedAt: string | undefined },
    orderId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const collector = new ChangeCollector(store, clock);
    const isCancelled: IsCancelled = (bytes, record) => saysCancelled(rules, { bytes, record });
    await collector.addPage({ body, changes: page, isBeyond: false, isCancelled }, signal, async () => {});
    const changes = await readInTurns(clock, {}, collector.applyChange(false), signal);
    const news = changes.filter(({ record }) => record.ok && record.orderId !== orderId);
    if (news.length === 0) return;
    const options = { store, rules, at: isoTime(clock.nowMs()), machineMs: clock.monotonicMs(), askedAt };
    await commit(this.#context, signal, () => {
      for (const each of news) applyChange(options, each);
    });
    for (const each of news) for (const what of [each.unstored, each.overtaken]) forgetUnstored(store, what);
  }

  #judge({ orderId, kept }: KnownVersion, ns: bigint, page: AskedPage): Listing {
    if (page.latest.has(orderId)) {
      const at = page.latest.get(orderId);
      // A change without a readable time may be the older version, if the page goes back to it.
      if (at === undefined) return this.#isFromBefore(kept, page) ? "unknown" : "listed";
      if (at >= ns) return this.#hasKept(kept, ns, page.times.get(orderId)) ? "both" : "listed";
    }
    const reaches = page.ns < ns && page.newestNs > ns && isWholeDownTo(page.timestamps, { askedNs: page.ns, ns });
    return reaches && this.#isListedSince(ns, page) ? "gone" : "unknown";
  }

  #hasKept(kept: KnownVersion["kept"], ns: bigint, times: readonly bigint[] = []): boolean {
    const keptNs = readTimestamp(kept ?? null, this.#options.follow.timezone)?.instantNs;
    return keptNs !== undefined && keptNs < ns && times.includes(keptNs);
  }

  #isFromBefore(kept: KnownVersion["kept"], page: AskedPage): boolean {
    const keptNs = readTimestamp(kept ?? null, this.#options.follow.timezone)?.instantNs;
    return keptNs !== undefined && page.ns <= keptNs;
  }

  /** Whether changes as old as this one are listed at all. */
  #isListedSince(ns: bigint, { oldestNs }: AskedPage): boolean {
    const { client, clock } = this.#context;
    const nowMs = client.serviceNow === undefined ? clock.nowMs() : Date.parse(client.serviceNow);
    return (oldestNs !== undefined && oldestNs <= ns) || Number(ns / 1_000_000n) >= nowMs - LISTED_MS;
  }
}
