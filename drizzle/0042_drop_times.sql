-- The guard counts rows by when they went to zero or away, not by when they wait or are sent.

ALTER TABLE feed_outbox ADD COLUMN dropped_at TEXT; -- drops: when the row went to zero or away; feed_drops.at is the same of sent rows
--> statement-breakpoint

-- When waiting rows went is not known: they count together, as they did before, and with those sent before the guard held them.
UPDATE feed_outbox SET dropped_at = coalesce((SELECT f.guard_since FROM feeds f WHERE f.feed_id = feed_outbox.feed_id),
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE drop_round IS NOT NULL;
--> statement-breakpoint

-- Rows that the guard does not hold have a number smaller than any round; only rows of the next round are held.
UPDATE feed_outbox SET drop_round = -1 WHERE drop_round = 9007199254740991;
--> statement-breakpoint

DROP INDEX feed_outbox_drops;
--> statement-breakpoint

CREATE INDEX feed_outbox_drops ON feed_outbox (feed_id, state, drop_round, dropped_at, away_since_ms) WHERE drop_round IS NOT NULL;
