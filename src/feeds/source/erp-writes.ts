/*
 * When the ERP was last seen to write the source of a feed: its silence is a flow that has stopped, too. A key that is
 * dirty is such a sign, and is noted in the transaction that absorbs it; after a crash it is still dirty and is noted then.
 * A write of equal values makes no key dirty: a trigger notes it in feed_writes, and another file shows it by its state.
 * Of a view or a SELECT in this database only values are seen, so nothing is said of when the ERP wrote.
 */

import type { FeedName } from "../../config/feed-names.ts";
import type { Store } from "../../database/store.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import { type FeedRules, sourceOf } from "../feed.ts";
import { beginErpWatch, saveErpWrite } from "../feed-rows.ts";

/** How long a silence may last. Watching begins with the first start that has the feed on; no change is no write. */
export function saveErpWatch(
  store: Store,
  watch: { feed: FeedName; isOn: boolean; withinS: number | null; at: string },
): void {
  store
    .prepare(
      `UPDATE feeds SET write_within_s = @withinS, touched_at = CASE WHEN @isOn THEN coalesce(touched_at, @at) END
       WHERE name = @feed AND (write_within_s IS NOT @withinS OR (touched_at IS NOT NULL) <> @isOn)`,
    )
    .run({ feed: watch.feed, isOn: Number(watch.isOn), withinS: watch.withinS, at: watch.at });
}

/** Notes that a file was written: its state differs from that of the last reading. */
export async function noteFileWrites(
  context: JobContext,
  rules: FeedRules,
  state: string,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = context;
  const load = store.prepare<string | null>("SELECT file_state FROM feeds WHERE feed_id = ?").pluck();
  const known = load.get(rules.feedId);
  if (known === state) return;
  const at = isoTime(clock.nowMs());
  await commit(context, signal, () => {
    store.prepare("UPDATE feeds SET file_state = ? WHERE feed_id = ?").run(state, rules.feedId);
    beginErpWatch(store, rules, at);
    if (known !== null) saveErpWrite(store, rules, at);
  });
}

/** A source that is read through in this database: when the tables behind it were written is not known. */
export async function noteNoWrites(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, log } = context;
  const load = store.prepare<Watched>(
    "SELECT touched_at AS since, write_within_s AS withinS FROM feeds WHERE feed_id = ?",
  );
  const watched = load.get(rules.feedId);
  if (watched === undefined || watched.since === null) return;
  const end = store.prepare("UPDATE feeds SET touched_at = NULL, file_state = NULL WHERE feed_id = ?");
  await commit(context, signal, () => end.run(rules.feedId));
  const { name } = rules;
  if (watched.withinS !== null) log.info({ feed: name }, m.feeds.writesUnseen({ name, source: sourceOf(rules) }));
}

interface Watched {
  since: string | null;
  withinS: number | null;
}
