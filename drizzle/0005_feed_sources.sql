-- Feeds whose rows come from a view, a SELECT or another file: no trigger can note their changes, so what each row was
-- when it was last taken up is kept as a hash, one row a key.

CREATE TABLE feed_rows (
  feed_id INTEGER NOT NULL,
  k0 TEXT NOT NULL,
  k1 TEXT NOT NULL DEFAULT '',
  k2 TEXT NOT NULL DEFAULT '',
  k3 TEXT NOT NULL DEFAULT '',
  hash BLOB NOT NULL, -- of the columns that a record is made of
  PRIMARY KEY (feed_id, k0, k1, k2, k3)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- The key of the row that must be on the site before this one: a group before the products in it.
ALTER TABLE feed_outbox ADD COLUMN parent TEXT;
--> statement-breakpoint

-- One key of a feed that a person wants sent, and no other.
ALTER TABLE sync_requests ADD COLUMN only_key TEXT;
