-- What a feed was filled under, so that another configuration neither zeroes what it holds nor weakens its guard.

ALTER TABLE feeds ADD COLUMN key_columns TEXT; -- JSON array: the columns that its rows in feed_sent are named by
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN rekey_from TEXT; -- JSON: the rules whose rows are still to be named by key_columns
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN sent_how TEXT; -- JSON: scope and parent that what is owed was decided under
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN former_levels TEXT; -- JSON array: where the level stood in records of earlier templates
--> statement-breakpoint

UPDATE feeds SET key_columns = json_extract(template, '$[1]') WHERE json_valid(template);
--> statement-breakpoint

-- Only rows that the guard has shown may be approved: those counted in its next look. The number is larger than any round.
UPDATE feed_outbox SET drop_round = 9007199254740991
WHERE drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = feed_outbox.feed_id);
