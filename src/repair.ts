import { orderRulesOf } from "./build-jobs.ts";
import type { LoadedConfig } from "./config/load.ts";
import { asError, BridgeError } from "./domain/errors.ts";
import { compileFeed, FEED_NAMES, type FeedName, type FeedRules, keyOfReference, sourceOf } from "./domain/feed.ts";
import type { JobName } from "./domain/job-names.ts";
import { isGuarded } from "./domain/plan-feed.ts";
import { compileStatusRules } from "./domain/plan-status.ts";
import { type Clock, isoTime, type Log } from "./domain/ports.ts";
import { type PreviewRow, previewConfirms, previewFeed, previewStatuses } from "./jobs/preview-sends.ts";
import { type RemapReport, remapOrders } from "./jobs/remap-orders.ts";
import { type RetryOutcome, retryQuarantined } from "./jobs/retry-quarantined.ts";
import { saveErpWatch } from "./store/erp-writes.ts";
import { type KeyShown, loadSentRow } from "./store/feed-views.ts";
import { loadFeed } from "./store/feeds.ts";
import { isLocked } from "./store/instance-lock.ts";
import { loadMappingInUse, noteMapping, noteMappingOfRecords } from "./store/mapping.ts";
import { loadQuarantined } from "./store/quarantine-retry.ts";
import { openSource } from "./store/source-reader.ts";
import type { Store } from "./store/store.ts";
import { saveWideViews } from "./store/wide-views.ts";

/*
 * What stands beside the daemon and repairs what is stored: each write is a short transaction of its own, so that it
 * runs with a daemon or without one.
 */

/** Brings the database in line with the configuration, at start, inside a write transaction. True where `remap` is owed. */
export function applyConfiguration(store: Store, loaded: LoadedConfig, at: string): boolean {
  const { orders, imports, erp } = loaded.config;
  saveWideViews(store, { order: orders.extra, line: orders.line_extra });
  for (const feed of FEED_NAMES) {
    const withinMs = imports[feed].path === null ? null : erp.write_within[feed];
    saveErpWatch(store, {
      feed,
      isOn: imports[feed].path !== null,
      withinS: withinMs === null ? null : withinMs / 1000,
      at,
    });
  }
  return noteMapping(store, orderRulesOf(loaded).columnSignature, at);
}

export type { RemapReport };

export interface RemapCall {
  dryRun: boolean;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  onProgress: (report: RemapReport) => void;
}

/**
 * Derives columns and lines of all stored orders again. Asks nobody.
 * @throws BridgeError `config_invalid` where a running daemon still reads new orders with another mapping.
 */
export function remap(store: Store, loaded: LoadedConfig, call: RemapCall): Promise<RemapReport> {
  const rules = orderRulesOf(loaded);
  const inUse = loadMappingInUse(store);
  if (!call.dryRun && isLocked(store.path) !== undefined && inUse !== undefined && inUse !== rules.columnSignature) {
    throw new BridgeError("config_invalid", "The running daemon still reads orders with the former mapping.", {
      hint: "Let it read the configuration again first: systemctl reload erp-bridge; then run remap.",
    });
  }
  const { clock, log, dryRun, onProgress } = call;
  return remapOrders({ store, clock, log }, { store, rules, feeds: new Map(), dryRun, onProgress }, call.signal);
}

export interface Retried extends RetryOutcome {
  id: number;
  kind: string;
  reference: string | null;
}

/** Reads quarantined records again. Inside a write transaction. Rows that are no longer there are left out. */
export function retryRecords(store: Store, loaded: LoadedConfig, ids: readonly number[], nowMs: number): Retried[] {
  const rules = orderRulesOf(loaded);
  const feeds = feedRulesOf(loaded);
  const at = isoTime(nowMs);
  noteMappingOfRecords(store, rules.columnSignature, at);
  return ids.flatMap((id) => {
    const row = loadQuarantined(store, id);
    if (row === undefined) return [];
    return [{ id, kind: row.kind, reference: row.reference, ...retryQuarantined({ store, rules, feeds, at }, row) }];
  });
}

export type { PreviewRow };

/** Rows of one kind that a preview shows at most: more of them say no more. */
const PREVIEWED_MAX = 100_000;

/**
 * What a pass of this job would send, from the database alone; and whether the feed's guard would hold rows back.
 * @param onRow called with each row of a feed that was looked at
 */
export function* previewSends(
  store: Store,
  loaded: LoadedConfig,
  job: JobName,
  onRow?: () => void,
): Generator<PreviewRow> {
  if (job === "orders") return yield* previewConfirms(store, PREVIEWED_MAX);
  const { statuses } = loaded.config;
  if (job === "statuses" && statuses.path !== null) {
    return yield* previewStatuses(store, compileStatusRules({ ...statuses, path: statuses.path }), PREVIEWED_MAX);
  }
  const rules = feedRulesOf(loaded).get(job as FeedName);
  if (rules !== undefined) yield* previewFeed(store, rules, onRow);
}

/** How many rows a guard would keep from going to zero or away, if these went now; 0 where it would let them. */
export function countGuarded(store: Store, loaded: LoadedConfig, job: JobName, drops: number): number {
  const rules = feedRulesOf(loaded).get(job as FeedName);
  if (rules === undefined) return 0;
  const { liveCount } = loadFeed(store, rules.name);
  return isGuarded(rules.guard, { pending: drops, recent: 0, live: liveCount }) ? drops : 0;
}

/** Where a key of a feed stands; undefined where neither its table nor the service has it. */
export function describeKey(
  store: Store,
  loaded: LoadedConfig,
  feed: FeedName,
  reference: string,
): KeyShown | undefined {
  const rules = feedRulesOf(loaded).get(feed);
  return rules === undefined ? undefined : loadSentRow(store, rules, keyOfReference(rules, reference));
}

export interface SourceLook {
  feed: FeedName;
  source: string;
  makesWritersWait: boolean;
  error: BridgeError | undefined;
}

/** Looks at what feeds read from another file, without reading rows. */
export function readableSources(loaded: LoadedConfig): SourceLook[] {
  const rules = [...feedRulesOf(loaded).values()].filter(({ file }) => file !== null);
  return rules.map((feed) => {
    const look = { feed: feed.name, source: sourceOf(feed), makesWritersWait: false, error: undefined };
    try {
      const reader = openSource(feed, loaded.config.database.path);
      reader.close();
      return { ...look, makesWritersWait: reader.makesWritersWait };
    } catch (error) {
      return { ...look, error: asError(error) };
    }
  });
}

function feedRulesOf({ config }: LoadedConfig): Map<FeedName, FeedRules> {
  return new Map(
    FEED_NAMES.flatMap((name) => {
      const feed = config.imports[name];
      return feed.path === null ? [] : [[name, compileFeed(name, { ...feed, path: feed.path })] as const];
    }),
  );
}
