/*
 * When the ERP was last seen to write the table of a feed: its silence is a flow that has stopped, too. Noted in the
 * transaction that absorbs what was written; after a crash the dirty keys are still there and are noted then.
 */

import type { FeedName } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";

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
