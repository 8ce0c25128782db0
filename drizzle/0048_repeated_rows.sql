-- The article that the record names, without case, accents and outer blanks, where that is not `k0` itself: a service may compare so, and
-- the rows of other feeds are found by it.
ALTER TABLE feed_sent ADD COLUMN article TEXT;
--> statement-breakpoint

CREATE INDEX feed_sent_article ON feed_sent (feed_id, article) WHERE article IS NOT NULL;
--> statement-breakpoint

-- The properties and the key from which `article` was filled; null: it was not yet.
ALTER TABLE feeds ADD COLUMN articles_of TEXT;
--> statement-breakpoint

-- 1: the row goes once more, although its value is acknowledged; 2: after the request in flight, whose acceptance does not count.
ALTER TABLE feed_outbox ADD COLUMN again INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1, 2));
