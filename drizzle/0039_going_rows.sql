-- Rows that wait to go away: each pass looks whether another row names their articles.
CREATE INDEX feed_outbox_gone ON feed_outbox (feed_id) WHERE gone = 1;
