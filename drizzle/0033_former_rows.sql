-- What the service acknowledged under a former key of a feed and that nothing names under the present one. Never forgotten: it is on the site.

CREATE TABLE feed_former (
  feed_id INTEGER NOT NULL,
  former TEXT NOT NULL, -- JSON: the key columns and the record's template that it was sent under
  key TEXT NOT NULL, -- JSON: its values of those columns
  record TEXT NOT NULL,
  sent_at TEXT NOT NULL,
  live INTEGER NOT NULL CHECK (live IN (0, 1)), -- neither gone nor zero
  since TEXT NOT NULL,
  -- waiting: a person decides; away: its article is not in the source, and it goes after delete_after; gone, kept: a person decided
  state TEXT NOT NULL CHECK (state IN ('waiting', 'away', 'gone', 'kept')),
  PRIMARY KEY (feed_id, former, key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE INDEX feed_former_state ON feed_former (feed_id, state, since);
