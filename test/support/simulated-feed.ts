import { formatTimestamp, parseTimestamp, readTimestamp } from "../../src/answers/timestamp.ts";
import type { TimestampForm } from "../../src/answers/timestamp-form.ts";
import {
  type Asked,
  type FollowRules,
  type High,
  planFirstAsk,
  planNextPage,
  raiseHigh,
} from "../../src/updates/pages/follow.ts";
import type { Learned } from "../../src/updates/times/learn-form.ts";

export interface FeedChange {
  id: number;
  ns: bigint;
}

/** A feed in memory: the oldest changes since `since`, at most one page. */
export interface Feed {
  changes: readonly FeedChange[];
  boundary: "inclusive" | "exclusive";
  pageLimit: number;
  form: TimestampForm;
}

export interface PassResult {
  seen: Set<number>;
  requests: string[];
  /** Timestamps that the pass skipped, known or assumed to be cut off there. */
  ties: Set<bigint>;
  high: High | undefined;
  learned: Learned;
  ended: boolean;
}

const REQUESTS_MAX = 2_000;
export const NOTHING_LEARNED: Learned = { boundary: undefined, pageMax: 0, form: undefined };

function answer(feed: Feed, since: string): FeedChange[] {
  const from = /^\d{1,9}$/.test(since) ? BigInt(since) * 1_000_000_000n : parseTimestamp(since, "UTC")!.instantNs;
  const due = feed.changes.filter(({ ns }) => (feed.boundary === "inclusive" ? ns >= from : ns > from));
  return due.sort((a, b) => (a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : a.id - b.id)).slice(0, feed.pageLimit);
}

/**
 * One pass over the feed, as run by the job. `between` runs after each page, because a feed changes while it is read.
 */
export function followFeed(
  feed: Feed,
  rules: FollowRules,
  from: { watermark?: string; serviceNow?: string; learned?: Learned; between?: (pages: number) => void } = {},
): PassResult {
  let learned = from.learned ?? NOTHING_LEARNED;
  let high: High | undefined;
  let pageMax = 0;
  const seen = new Set<number>();
  const told = new Set<string>();
  const requests: string[] = [];
  const ties = new Set<bigint>();
  let asked: Asked = planFirstAsk(
    { watermark: from.watermark, serviceNow: from.serviceNow, form: learned.form ?? feed.form },
    rules,
  );
  while (requests.length < REQUESTS_MAX) {
    requests.push(asked.since);
    const page = answer(feed, asked.since);
    const texts = page.map(({ ns }) => formatTimestamp(ns, feed.form, "UTC"));
    const timestamps = texts.map((text) => readTimestamp(text, "UTC"));
    const before = told.size;
    for (const [index, { id }] of page.entries()) {
      seen.add(id);
      told.add(`${id} ${texts[index]}`);
    }
    high = raiseHigh(high, timestamps, from.serviceNow).high;
    pageMax = Math.max(pageMax, page.length);
    const planned = planNextPage({ asked, high, learned, pageMax }, { timestamps, fresh: told.size - before }, rules);
    learned = planned.learned;
    from.between?.(requests.length);
    if (planned.verdict.next === "done" || planned.verdict.next === "no timestamps") {
      return { seen, requests, ties, high, learned, ended: true };
    }
    if (planned.verdict.next === "step over") ties.add(parseTimestamp(planned.verdict.timestamp, "UTC")!.instantNs);
    asked = planned.verdict.asked;
  }
  return { seen, requests, ties, high, learned, ended: false };
}
