/*
 * State of one pass over changes: what it has read, and its position. In memory only; `store-pass.ts` saves what must
 * last together with the changes.
 */

import { readTimestamp } from "../../answers/timestamp.ts";
import type { Lack } from "../../completeness/lacks.ts";
import { type ListMetadata, NO_METADATA } from "../../completeness/metadata-fields.ts";
import type { LateOrders } from "../../confirm/late-orders.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadNewestServed, loadNewestTimestamp } from "../../pass/position-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import type { OrderField } from "../../records/order-mapping.ts";
import { loadCut } from "../cuts/cut-rows.ts";
import { latestTime } from "../times/latest-time.ts";
import { type Learned, learnForm, learnFromOrders } from "../times/learn-form.ts";
import { loadLearned } from "../times/learned-rows.ts";
import { ChangeCollector } from "./collect-changes.ts";
import { type Asked, type FollowRules, type High, instantOf, type Page } from "./follow.ts";
import { type Anchor, fallsTo, isRising, mayBeLimit, mayLackAny, mayLackOldest, withoutEarlier } from "./page-cover.ts";
import type { Rest } from "./rest-rows.ts";

/** Limit of requests and memory per pass. The next pass continues immediately. */
export const PAGES_MAX = 1_000;
export const RECORDS_MAX = 200_000;

export interface FollowOptions {
  rules: OrderRules;
  follow: FollowRules;
  wideOverlapMs: number;
  late: LateOrders;
  /** Pages per pass; default {@link PAGES_MAX}. */
  pagesMax?: number;
}

export interface Pass {
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  rules: FollowRules;
  watermark: string | undefined;
  /** Where the last pass of this kind reached its limit; undefined: starts at the watermark. */
  rest: Rest | undefined;
  isWide: boolean;
  /** A person requested the wide re-poll, from this time. */
  backfill?: string | undefined;
  /** No wide re-poll was recorded yet: the interval starts now. */
  isFirst: boolean;
  learned: Learned;
  /** The service's time at the pass's first answer with a `Date`, or before it. */
  serviceNow: string | undefined;
  /** The same from this pass's own answers only: a position is only what the service itself sent. */
  serviceDate: string | undefined;
  /** When its first page was requested, by the service's clock. */
  askedAt: string | undefined;
  high: High | undefined;
  /** The largest timestamp that is not ahead of this machine's clock. */
  near: High | undefined;
  /** The position moves to no later time, where the service sends no `Date`: {@link latestTime}. */
  ceiling: string | undefined;
  /** Days of its timestamps that are ahead of this machine's clock, where they are known to be wrong. */
  wrongDays: Set<number>;
  /** The service's own position, once it was requested and answered. */
  token: string | undefined;
  /** The next request, where a limit ended the pass. */
  asked: Asked | undefined;
  pageMax: number;
  future: number;
  /** The service's changes up to here are stored without a gap; undefined where that is no time. */
  coveredNs: bigint | undefined;
  /** The first page that may lack its oldest changes. */
  gap: Gap | undefined;
  /** The first page not sorted by timestamp, so that any change may be missing. */
  mixed: Gap | undefined;
  /** Signs on pages that are not rising that more changes are due. */
  lacks: readonly Lack[];
  /** Metadata of the last page with changes, if it is rising: if no page follows, it was complete. */
  wholeMetadata: ListMetadata | undefined;
  /** The service does not go back to the position: changes between these times were not requested. */
  skipped: { from: string; to: string } | undefined;
  /** The last refused `since`. */
  refusedSince?: string;
  /** The pass's first `since` is later than planned. */
  isNarrowed: boolean;
  /** A page answered another question ({@link showsOtherQuestion}): the time requested, and its number of changes. */
  otherQuestion?: { ns: bigint; size: number } | undefined;
  /** The newest changes of the pass. */
  anchors: readonly Anchor[];
  /** A page has shown completely what an earlier one may have left out. */
  isEqualServed: boolean;
  changes: ChangeCollector;
  matched: Set<OrderField>;
  /** Metadata of the last page. */
  metadata: ListMetadata;
}

export interface ReadPage {
  page: Page;
  /** Keys of its changes. */
  keys: readonly string[];
  token: string | undefined;
  /** The service's time, where known. */
  servedAt: string | undefined;
}

/** A page that may lack its oldest changes, or any. */
export interface Gap {
  page: Page;
  askedNs: bigint;
  /** What was covered before it. */
  coveredNs: bigint;
  servedAt: string | undefined;
  /** Signs beside it that more changes are due. */
  lacks: readonly Lack[];
  /**
   * It is rising, as if the oldest came first, but a few changes may be by chance, and the newest may be listed so: only
   * known changes missing from it prove a cut.
   */
  mayBeChance?: boolean;
}

/** A pass that has read nothing yet. */
export function beginPass(
  { store, clock, client }: JobContext,
  { timezone }: FollowRules,
  from: Pick<Pass, "counts" | "signal" | "rules" | "watermark" | "rest" | "isWide" | "isFirst" | "backfill">,
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
    wrongDays: new Set(),
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
    isEqualServed: false,
    changes: new ChangeCollector(store, clock),
    matched: new Set(),
    metadata: NO_METADATA,
  };
}

/** Records a page that may lack its oldest changes, unless the next page shows that it lacked the newest. */
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
  // The newest may stand in it oldest first, also behind what is known: known changes are then missing from a wider answer.
  const mayBeChance = isInOrder && mayBeLimit(length, { ...pass.learned, pageMax });
  // A page that falls to what is covered lacks only older changes.
  if (!isInOrder && !fallsTo(page.timestamps, coveredNs)) pass.lacks = [...pass.lacks, ...lacks];
  if (length > 0) pass.wholeMetadata = isInOrder ? pass.metadata : undefined;
  if (gap !== undefined && lacksNewest(gap, page)) pass.gap = undefined;
  if (coveredNs === undefined) return;
  if (mayLackOldest(page.timestamps, coveredNs, mayBeChance))
    pass.gap ??= { page, askedNs, coveredNs, servedAt, lacks, mayBeChance };
  if (high !== undefined && high.ns > coveredNs) pass.coveredNs = high.ns;
}

/**
 * Whether the next page has a change made after the earlier page's changes and before that page was served: it then
 * lacked its newest.
 */
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
