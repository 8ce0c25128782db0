-- A table that is sent whole may have replaced the site's although the request was refused or not answered: it goes again.

ALTER TABLE feeds ADD COLUMN open_tables INTEGER NOT NULL DEFAULT 0; -- such requests since the last one that was accepted
--> statement-breakpoint

UPDATE feeds SET open_tables = 1
WHERE sent_how ->> 0 = 'whole'
  AND EXISTS (SELECT 1 FROM feed_outbox x WHERE x.feed_id = feeds.feed_id AND x.doubt_record IS NOT NULL);
