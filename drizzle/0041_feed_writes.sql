-- Rows of the feed's table were updated since that was last noted in touched_at, whether or not a value differs: written by a trigger.
CREATE TABLE feed_writes (
  feed_id INTEGER PRIMARY KEY
) STRICT;
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN file_state TEXT; -- of a feed's own file at its last reading: another one after each write
