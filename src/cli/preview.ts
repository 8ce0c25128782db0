/*
 * Read-only work of commands beside the daemon: what would be sent, the state of one key, and whether feeds' sources
 * can be read.
 */

import type { FeedName } from "../config/feed-names.ts";
import { textsOf } from "../config/kinds.ts";
import type { LoadedConfig } from "../config/load.ts";
import { dotted, nearest } from "../config/problems.ts";
import { namesIn } from "../config/syntax.ts";
import { feedRulesOf } from "../daemon/build-jobs.ts";
import type { Store } from "../database/store.ts";
import { type FeedRules, sourceOf } from "../feeds/feed.ts";
import { loadFeed } from "../feeds/feed-rows.ts";
import { type KeyShown, loadSentRow } from "../feeds/feed-views.ts";
import { loadSentDrops } from "../feeds/guard/guard-rows.ts";
import { heldTimes } from "../feeds/guard/plan-guard.ts";
import { keyOfReference } from "../feeds/row-reference.ts";
import { MissingColumns } from "../feeds/source/feed-triggers.ts";
import { checkNewTable } from "../feeds/source/source-reader.ts";
import { openRows, proveSource, type SourceRows } from "../feeds/source/source-rows.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { StatusNames } from "../orders/status-names.ts";
import type { JobName } from "../pass/job-names.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { compileStatusRules } from "../statuses/plan-status.ts";
import { type PreviewRow, previewConfirms, previewFeed, previewStatuses } from "./preview-sends.ts";

export type { PreviewRow };

/** Limit for the rows of one kind in a preview. */
const PREVIEWED_MAX = 100_000;

/**
 * What a pass of this job would send, from the database alone.
 * @param onRow called for each row of a feed that was compared
 */
export function* previewSends(
  store: Store,
  loaded: LoadedConfig,
  job: JobName,
  onRow?: () => void,
): Generator<PreviewRow> {
  if (job === "orders") return yield* previewConfirms(store, PREVIEWED_MAX);
  const { statuses, orders } = loaded.config;
  if (job === "statuses" && statuses.path !== null) {
    const cancelled = new StatusNames(orders.statuses.cancelled);
    return yield* previewStatuses(
      store,
      compileStatusRules({ ...statuses, path: statuses.path, cancelled }),
      PREVIEWED_MAX,
    );
  }
  const rules = feedRulesOf(loaded).get(job as FeedName);
  if (rules !== undefined) yield* previewFeed(store, rules, onRow);
}

/** How many of these rows that go to zero or away the guard would hold back, of so many at each time. */
export function countWouldBeGuarded(
  store: Store,
  loaded: LoadedConfig,
  job: JobName,
  drops: ReadonlyMap<string, number>,
): number {
  const rules = feedRulesOf(loaded).get(job as FeedName);
  if (rules === undefined) return 0;
  const { liveCount: live } = loadFeed(store, rules.name);
  const waiting = [...drops].map(([at, count]) => ({ atMs: Date.parse(at), count }));
  const held = heldTimes(rules.guard, { waiting, sent: loadSentDrops(store, rules), live });
  return waiting.reduce((sum, { atMs, count }) => sum + (held.has(atMs) ? count : 0), 0);
}

/** The state of one key of a feed; undefined where neither its table nor the service has it. */
export function describeKey(
  store: Store,
  loaded: LoadedConfig,
  feed: FeedName,
  reference: string,
): KeyShown | undefined {
  const rules = feedRulesOf(loaded).get(feed);
  return rules === undefined ? undefined : loadSentRow(store, rules, keyOfReference(rules, reference));
}

/**
 * Runs a feed's SELECT to its end, in a process that is stopped when it takes too long.
 * @throws BridgeError `table_missing`, `database_busy`
 */
export async function proveSourceOf(loaded: LoadedConfig, job: JobName): Promise<void> {
  const rules = feedRulesOf(loaded).get(job as FeedName);
  if (rules !== undefined) await lookAt(rules, loaded);
}

export interface SourceLook {
  feed: FeedName;
  source: Message;
  makesWritersWait: boolean;
  error: BridgeError | undefined;
}

/**
 * Checks the sources of feeds: each exists, has every named column, and can be read to its end. Keeps no rows.
 * @param statements that create a new database, where there is none yet; null: it exists
 */
export async function readableSources(
  loaded: LoadedConfig,
  statements: readonly string[] | null,
): Promise<SourceLook[]> {
  const looks: SourceLook[] = [];
  for (const feed of feedRulesOf(loaded).values()) {
    const look: SourceLook = { feed: feed.name, source: sourceOf(feed), makesWritersWait: false, error: undefined };
    try {
      if (feed.file === null && statements !== null) {
        // A query may read tables that the ERP will create.
        if (feed.query === null && checkNewTable(feed, statements)) looks.push(look);
        continue;
      }
      const { makesWritersWait } = await lookAt(feed, loaded);
      looks.push({ ...look, makesWritersWait: feed.file !== null && makesWritersWait });
    } catch (error) {
      const isPlaced = error instanceof MissingColumns;
      looks.push({ ...look, error: isPlaced ? placed(loaded, feed.name, error) : asError(error) });
    }
  }
  return looks;
}

async function lookAt(rules: FeedRules, { config }: LoadedConfig): Promise<SourceRows> {
  const databasePath = config.database.path;
  const reader = await openRows(rules, { databasePath, isStopping: () => false });
  reader.close();
  if (reader.mayNotEnd) await proveSource(rules, { databasePath, isStopping: () => false });
  return reader;
}

/** Adds the place in the file that names the column, and the column that was probably meant. */
function placed(loaded: LoadedConfig, feed: FeedName, { missing, there, text, hint }: MissingColumns): BridgeError {
  const settings = loaded.config.imports[feed];
  const places = missing.map((column) => {
    const isNamed = (part: string) => namesIn(part).includes(column);
    const inRecord = textsOf(settings.record).find(([, part]) => isNamed(part));
    const at =
      inRecord !== undefined ? ["record", ...inRecord[0]] : [settings.key.includes(column) ? "key" : "available"];
    const near = nearest(column, there);
    const where = loaded.positionOf(["imports", feed, ...at]);
    const line = where === null ? loaded.file : `${loaded.file}:${where}`;
    const place = `${line} (${dotted(["imports", feed, ...at])})`;
    return near === null ? m.sync.namedAt({ place }) : m.sync.namedNear({ place, near });
  });
  return new BridgeError(
    "config_invalid",
    m.common.sentences({ parts: [text, ...new Map(places.map((place) => [String(place), place])).values()] }),
    hint === undefined ? {} : { hint },
  );
}
