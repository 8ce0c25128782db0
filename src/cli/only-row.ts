import type { FeedName } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { feedRulesOf } from "../daemon/build-jobs.ts";
import type { Store } from "../database/store.ts";
import type { FeedRules } from "../feeds/feed.ts";
import { loadSentRow } from "../feeds/feed-views.ts";
import { keyReadings, referenceOf } from "../feeds/row-reference.ts";
import { loadSourceRows } from "../feeds/source/feed-source.ts";
import { readSourceKind } from "../feeds/source/feed-triggers.ts";
import { openRows } from "../feeds/source/source-rows.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { proveSourceOf } from "./preview.ts";

/**
 * The name, as in the quarantine, of the one row that `only` means; it may have several readings, because keys may
 * contain the "/" that joins their parts. Undefined where no reading matches a row.
 * @throws BridgeError `usage` where several do
 */
export async function findOnlyRow(
  store: Store,
  loaded: LoadedConfig,
  { feed, only }: { feed: FeedName; only: string },
): Promise<string | undefined> {
  const rules = feedRulesOf(loaded).get(feed);
  if (rules === undefined) return undefined;
  const isTracked = readSourceKind(store, rules) === "tracked";
  if (!isTracked) await proveSourceOf(loaded, feed);
  const found: string[][] = [];
  for (const key of keyReadings(rules, only)) {
    const isKnown = loadSentRow(store, rules, key) !== undefined;
    if (isKnown || (isTracked ? loadSourceRows(store, rules, key).length > 0 : await isInSource(store, rules, key)))
      found.push(key);
  }
  const [first] = found;
  if (found.length < 2) return first === undefined ? undefined : referenceOf(first);
  const names = found.map((key) => `'${JSON.stringify(key)}'`);
  throw new BridgeError("usage", m.sync.severalRows({ only, feed, names }), {
    hint: m.sync.nameOneRow({ feed, row: names[0] ?? "" }),
  });
}

async function isInSource(store: Store, rules: FeedRules, key: readonly string[]): Promise<boolean> {
  const rows = await openRows(rules, { databasePath: store.path, isStopping: () => false });
  try {
    return (await rows.find(key)).length > 0;
  } finally {
    rows.close();
  }
}
