/*
 * One pass over the changes of orders: what it has read so far, and where it stands. Kept in memory alone; what counts is stored with the
 * changes (`store-pass.ts`).
 */

import { readTimestamp } from "../answers/timestamp.ts";
import { type ListMetadata, NO_METADATA } from "../completeness/list-metadata.ts";
import type { Lack } from "../completeness/plan-completeness.ts";
import type { LateOrders } from "../confirm/late-orders.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import type { JobContext } from "../pass/job.ts";
import { loadNewestServed, loadNewestTimestamp } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";
import type { OrderField } from "../records/order-mapping.ts";
import { ChangeCollector } from "./collect-changes.ts";
import { loadCut } from "./cut-rows.ts";
import { type Asked, type FollowRules, type High, instantOf, type Page } from "./follow.ts";
import { latestTime } from "./latest-time.ts";
import { type Learned, learnForm, learnFromOrders } from "./learn-form.ts";
import { loadLearned } from "./learned-rows.ts";
import {
  type Anchor,
  CUT_MIN,
  fallsTo,
  isRising,
  mayBeLimit,
  mayLackAny,
  mayLackOldest,
  withoutEarlier,
} from "./page-cover.ts";
import type { Rest } from "./rest-rows.ts";

/** Bounds a pass in requests and in memory. The next one goes on from there at once. */
export const PAGES_MAX = 1_000;
export const RECORDS_MAX = 200_000;

export interface FollowOptions {
  rules: OrderRules;
  follow: FollowRules;
  sweepOverlapMs: number;
  late: LateOrders;
  /** Pages in one pass; {@link PAGES_MAX} unless said. */
  pagesMax?: number;
}

export interface Pass {
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  rules: FollowRules;
  watermark: string | undefined;
  /** Where the last pass of this kind reached its bound; undefined: this one begins at the watermark. */
  rest: Rest | undefined;
  isSweep: boolean;
  /** The sweep was requested by a person, from this time on. */
  backfill?: string | undefined;
  /** No sweep has been noted yet: the next one is counted from here. */
  isFirst: boolean;
  learned: Learned;
  /** The service's clock at the pass's first answer that had one. */
  serviceNow: string | undefined;
  /** The same where this pass's own answers had it: a position is only what the service itself sent. */
  serviceDate: string | undefined;
  /** When its first page was asked for, by the same clock. */
  askedAt: string | undefined;
  high: High | undefined;
  /** The largest timestamp that does not lie ahead of this machine's clock. */
  near: High | undefined;
  /** No later time moves the position, where the service sends no `Date`: {@link latestTime}. */
  ceiling: string | undefined;
  /** The position that the service named itself, once it was asked and answered. */
  token: string | undefined;
  /** What would have been asked next where a bound ended the pass. */
  asked: Asked | undefined;
  pageMax: number;
  future: number;
  /** Up to where the service's changes are stored without a gap; undefined where that is no time. */
  coveredNs: bigint | undefined;
  /** The first page that may lack its oldest changes. */
  gap: Gap | undefined;
  /** The first page whose order is not that of its timestamps, so that any changes may be missing in it. */
  mixed: Gap | undefined;
  /** What says of pages that do not rise that more is due. */
  lacks: readonly Lack[];
  /** Beside the last page that held anything, where its timestamps rise: where no other follows, it was whole. */
  wholeMetadata: ListMetadata | undefined;
  /** The service does not go back to the position: from where it was asked instead. */
  skipped: { from: string; to: string } | undefined;
  /** The `since` that was refused last. */
  refusedSince?: string;
  /** The first `since` of the pass is later than was wanted. */
  isNarrowed: boolean;
  /** From when was asked what was answered as another question ({@link showsOtherQuestion}), and how many changes the answer held. */
  otherQuestion?: { ns: bigint; size: number } | undefined;
  /** The newest changes of the pass. */
  anchors: readonly Anchor[];
  /** A page has shown whole what an earlier one may have left behind. */
  isTieOver: boolean;
  changes: ChangeCollector;
  matched: Set<OrderField>;
  /** Beside the last page. */
  metadata: ListMetadata;
}

export interface ReadPage {
  page: Page;
  /** What its changes are recognised by. */
  keys: readonly string[];
  token: string | undefined;
  /** The service's time, where it is known. */
  servedAt: string | undefined;
}

/** A page that may lack its oldest changes, or any. */
export interface Gap {
  page: Page;
  askedNs: bigint;
  /** What was covered before it. */
  coveredNs: bigint;
  servedAt: string | undefined;
  /** What says beside it that more is due. */
  lacks: readonly Lack[];
  /** It rises as one whose oldest come first, which a few do by chance as well: only known changes that it left out show that it was cut. */
  mayBeChance?: boolean;
}

/** A pass that has read nothing yet. */
export function beginPass(
  { store, clock, client }: JobContext,
  { timezone }: FollowRules,
  from: Pick<Pass, "counts" | "signal" | "rules" | "watermark" | "rest" | "isSweep" | "isFirst" | "backfill">,
): Pass {
  const at = isoTime(clock.nowMs());
  const newest = loadNewestServed(store).map((text) => readTimestamp(text, timezone));
  const { watermark } = from;
  const { serviceNow } = client;
  const learned = learnFromOrders(loadLearned(store), newest, { at, timezone, serviceNow, watermark });
  return {
    ...from,
    at,
    learned: {
      ...learned,
      form: learned.form ?? learnForm(undefined, [readTimestamp(loadNewestTimestamp(store), timezone)]),
    },
    serviceNow: undefined,
    serviceDate: undefined,
    askedAt: undefined,
    high: undefined,
    near: undefined,
    ceiling: latestTime({ store, clock, client }, timezone),
    token: undefined,
    asked: undefined,
    coveredNs: loadCut(store)?.high.ns ?? instantOf(from.watermark, timezone),
    gap: undefined,
    mixed: undefined,
    lacks: [],
    wholeMetadata: undefined,
    skipped: undefined,
    isNarrowed: false,
    anchors: [],
    pageMax: 0,
    future: 0,
    isTieOver: false,
    changes: new ChangeCollector(store, clock),
    matched: new Set(),
    metadata: NO_METADATA,
  };
}

/** Notes a page that may lack its oldest changes, unless the next one shows that it lacked the newest. */
export function notePage(
  pass: Pass,
  { page: served, askedNs, servedAt, lacks }: Omit<Gap, "coveredNs" | "mayBeChance">,
): void {
  const { coveredNs, high, gap } = pass;
  const page = { ...served, timestamps: withoutEarlier(served.timestamps, askedNs) };
  const { length } = page.timestamps;
  const pageMax = Math.max(pass.pageMax, pass.learned.pageMax);
  if (coveredNs !== undefined && mayLackAny(page.timestamps, pageMax))
    pass.mixed ??= { page, askedNs, coveredNs, servedAt, lacks };
  const isInOrder = isRising(page.timestamps);
  const mayBeChance = isInOrder && length < CUT_MIN && mayBeLimit(length, { ...pass.learned, pageMax });
  // Of a page that falls to what is covered only older ones are missing.
  if (!isInOrder && !fallsTo(page.timestamps, coveredNs)) pass.lacks = [...pass.lacks, ...lacks];
  if (length > 0) pass.wholeMetadata = isInOrder ? pass.metadata : undefined;
  if (gap !== undefined && lacksNewest(gap, page)) pass.gap = undefined;
  if (coveredNs === undefined) return;
  if (mayLackOldest(page.timestamps, coveredNs, mayBeChance))
    pass.gap ??= { page, askedNs, coveredNs, servedAt, lacks, mayBeChance };
  if (high !== undefined && high.ns > coveredNs) pass.coveredNs = high.ns;
}

/** Whether a page holds what was made after the former one's changes and before that one was served: that one lacked its newest. */
function lacksNewest({ page, servedAt }: Gap, next: Page): boolean {
  const servedNs = instantOf(servedAt, "UTC");
  const newest = page.timestamps.reduce(
    (max, timestamp) => (timestamp && timestamp.instantNs > max ? timestamp.instantNs : max),
    0n,
  );
  return next.timestamps.some(
    (timestamp) =>
      timestamp !== undefined &&
      servedNs !== undefined &&
      timestamp.instantNs > newest &&
      timestamp.instantNs < servedNs,
  );
}
