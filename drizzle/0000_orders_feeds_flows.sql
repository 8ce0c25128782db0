-- The database of erp-bridge. Never edited once it has landed: a later change is a later file.
-- Times are UTC ISO 8601 with milliseconds. Whatever the ERP's own SQLite runs (views, triggers) works from 3.38 on.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- ---------------------------------------------------------------------------------------------------- orders
-- Sequential keys inside, the UUID behind a unique index: random clustered keys cost four times as much to fill.
CREATE TABLE orders (
  order_key INTEGER PRIMARY KEY,
  order_id TEXT NOT NULL UNIQUE CHECK (length(order_id) = 36 AND order_id = lower(order_id)),
  service_id TEXT, -- the id as the service writes it, where that is not the lower-case form
  number TEXT,
  status TEXT,
  is_cancelled INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelled IN (0, 1)),
  is_open INTEGER NOT NULL DEFAULT 1 CHECK (is_open IN (0, 1)),
  service_created_at TEXT,
  service_updated_at TEXT,
  currency TEXT,
  total TEXT,
  revision INTEGER NOT NULL DEFAULT 1 CHECK (revision >= 1),
  erp_revision INTEGER NOT NULL DEFAULT 1 CHECK (erp_revision BETWEEN 1 AND revision),
  received_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  removed_at TEXT,
  payload_source TEXT NOT NULL CHECK (payload_source IN ('batch', 'update', 'snapshot')),
  batch_hash BLOB, -- SHA-256 of the last record of each source, as its text stood in the answer
  batch_content_hash BLOB, -- the same, key order and white space aside
  update_hash BLOB,
  update_content_hash BLOB,
  snapshot_hash BLOB,
  payload_hash BLOB NOT NULL,
  payload TEXT NOT NULL
) STRICT;
--> statement-breakpoint

CREATE INDEX orders_number ON orders (number) WHERE number IS NOT NULL;
--> statement-breakpoint

CREATE TABLE order_line_rows (
  order_key INTEGER NOT NULL REFERENCES orders (order_key) ON DELETE CASCADE,
  line_no INTEGER NOT NULL CHECK (line_no >= 1),
  sku TEXT,
  name TEXT,
  quantity TEXT,
  price TEXT,
  payload TEXT NOT NULL,
  PRIMARY KEY (order_key, line_no)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE VIEW order_lines AS
SELECT o.order_id, o.revision, l.line_no, l.sku, l.name, l.quantity, l.price, l.payload
FROM order_line_rows l JOIN orders o ON o.order_key = l.order_key;
--> statement-breakpoint

CREATE VIEW orders_wide AS
SELECT order_id, number, status, is_cancelled, is_open, service_created_at, service_updated_at, currency, total,
  CAST(total AS REAL) AS total_num, payload, revision, erp_revision, received_at, changed_at, removed_at
FROM orders;
--> statement-breakpoint

CREATE VIEW order_lines_wide AS
SELECT order_id, revision, line_no, sku, name, quantity, CAST(quantity AS REAL) AS quantity_num,
  price, CAST(price AS REAL) AS price_num, payload
FROM order_lines;
--> statement-breakpoint

CREATE TABLE order_event_rows (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  order_key INTEGER NOT NULL REFERENCES orders (order_key) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('created', 'changed', 'cancelled', 'removed', 'remapped')),
  status_changed INTEGER NOT NULL DEFAULT 0 CHECK (status_changed IN (0, 1)),
  lines_changed INTEGER NOT NULL DEFAULT 0 CHECK (lines_changed IN (0, 1)),
  fields_changed INTEGER NOT NULL DEFAULT 0 CHECK (fields_changed IN (0, 1)),
  old_status TEXT,
  new_status TEXT,
  changes TEXT,
  source TEXT NOT NULL CHECK (source IN ('batch', 'update', 'snapshot', 'own', 'remap')),
  at TEXT NOT NULL
) STRICT;
--> statement-breakpoint

CREATE INDEX order_event_rows_order ON order_event_rows (order_key, seq);
--> statement-breakpoint

CREATE VIEW order_events AS
SELECT e.seq, o.order_id, e.revision, e.kind, e.status_changed, e.lines_changed, e.fields_changed, e.old_status,
  e.new_status, e.changes, e.source, e.at
FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key;
--> statement-breakpoint

-- ------------------------------------------------------------------------------- orders and the ERP's own marks
-- A NULL becomes the default: an upsert with max(seen_revision, …) over a NULL would stay NULL for ever.
CREATE TABLE erp_orders (
  order_id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
  erp_number ANY,
  seen_revision INTEGER NOT NULL ON CONFLICT REPLACE DEFAULT 0,
  state TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'taken' CHECK (state IN ('taken', 'blocked')),
  error ANY,
  note ANY
) STRICT;
--> statement-breakpoint

-- What the ERP still has to take, and what it has put aside. Triggers keep it, so that reading costs what is pending
-- and not what is stored.
CREATE TABLE erp_queue (
  order_key INTEGER PRIMARY KEY REFERENCES orders (order_key) ON DELETE CASCADE,
  blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
  since TEXT NOT NULL,
  block_seen INTEGER -- seen_revision as the block was written with it: marking another one takes the order after all
) STRICT;
--> statement-breakpoint

CREATE TRIGGER orders_queue_new AFTER INSERT ON orders
BEGIN
  INSERT INTO erp_queue (order_key, blocked, since) VALUES (NEW.order_key, 0, NEW.received_at)
  ON CONFLICT (order_key) DO NOTHING;
END;
--> statement-breakpoint

CREATE TRIGGER orders_queue_changed AFTER UPDATE OF erp_revision ON orders WHEN NEW.erp_revision > OLD.erp_revision
BEGIN
  INSERT INTO erp_queue (order_key, blocked, since) VALUES (NEW.order_key, 0, NEW.changed_at)
  ON CONFLICT (order_key) DO UPDATE SET blocked = 0, since = CASE WHEN blocked THEN excluded.since ELSE since END;
END;
--> statement-breakpoint

CREATE TRIGGER erp_orders_check_insert BEFORE INSERT ON erp_orders
BEGIN
  SELECT RAISE(ABORT, 'erp_orders: there is no order with this order_id in the table orders')
  WHERE NOT EXISTS (SELECT 1 FROM orders WHERE order_id = lower(NEW.order_id));
  SELECT RAISE(ABORT, 'erp_orders: this seen_revision does not exist; write the revision that was read from orders_pending')
  WHERE NEW.seen_revision < 0
    OR NEW.seen_revision > (SELECT revision FROM orders WHERE order_id = lower(NEW.order_id));
END;
--> statement-breakpoint

CREATE TRIGGER erp_orders_check_update BEFORE UPDATE OF order_id, seen_revision ON erp_orders
BEGIN
  SELECT RAISE(ABORT, 'erp_orders: there is no order with this order_id in the table orders')
  WHERE NOT EXISTS (SELECT 1 FROM orders WHERE order_id = lower(NEW.order_id));
  SELECT RAISE(ABORT, 'erp_orders: this seen_revision does not exist; write the revision that was read from orders_pending')
  WHERE NEW.seen_revision < 0
    OR NEW.seen_revision > (SELECT revision FROM orders WHERE order_id = lower(NEW.order_id));
END;
--> statement-breakpoint

CREATE TRIGGER erp_orders_queue_insert AFTER INSERT ON erp_orders
BEGIN
  DELETE FROM erp_queue WHERE NEW.state <> 'blocked' AND order_key = (
    SELECT order_key FROM orders WHERE order_id = lower(NEW.order_id) AND erp_revision <= NEW.seen_revision);
  INSERT INTO erp_queue (order_key, blocked, since, block_seen)
  SELECT order_key, NEW.state = 'blocked', changed_at, NEW.seen_revision FROM orders
  WHERE order_id = lower(NEW.order_id) AND (NEW.state = 'blocked' OR erp_revision > NEW.seen_revision)
  ON CONFLICT (order_key) DO UPDATE SET blocked = excluded.blocked, block_seen = excluded.block_seen;
END;
--> statement-breakpoint

-- A mark that does not name the state leaves a block as it is, unless the order is taken with it: a block of an earlier
-- revision must not hide a change. Whichever of this and the next trigger runs first, the outcome is the same.
CREATE TRIGGER erp_orders_queue_seen AFTER UPDATE OF seen_revision ON erp_orders
BEGIN
  DELETE FROM erp_queue
  WHERE order_key = (
    SELECT order_key FROM orders WHERE order_id = lower(NEW.order_id) AND erp_revision <= NEW.seen_revision)
    AND (blocked = 0 OR block_seen <> NEW.seen_revision);
  INSERT INTO erp_queue (order_key, blocked, since)
  SELECT order_key, 0, changed_at FROM orders
  WHERE order_id = lower(NEW.order_id) AND erp_revision > NEW.seen_revision
  ON CONFLICT (order_key) DO NOTHING;
END;
--> statement-breakpoint

CREATE TRIGGER erp_orders_queue_state AFTER UPDATE OF state ON erp_orders
BEGIN
  DELETE FROM erp_queue WHERE NEW.state <> 'blocked' AND order_key = (
    SELECT order_key FROM orders WHERE order_id = lower(NEW.order_id) AND erp_revision <= NEW.seen_revision);
  INSERT INTO erp_queue (order_key, blocked, since, block_seen)
  SELECT order_key, NEW.state = 'blocked', changed_at, NEW.seen_revision FROM orders
  WHERE order_id = lower(NEW.order_id) AND (NEW.state = 'blocked' OR erp_revision > NEW.seen_revision)
  ON CONFLICT (order_key) DO UPDATE SET blocked = excluded.blocked, block_seen = excluded.block_seen;
END;
--> statement-breakpoint

-- A row that is given to another order: the former has no mark any more, the other one has this.
CREATE TRIGGER erp_orders_queue_moved AFTER UPDATE OF order_id ON erp_orders WHEN lower(NEW.order_id) <> lower(OLD.order_id)
BEGIN
  INSERT INTO erp_queue (order_key, blocked, since)
  SELECT order_key, 0, changed_at FROM orders WHERE order_id = lower(OLD.order_id)
  ON CONFLICT (order_key) DO UPDATE SET blocked = 0;
  DELETE FROM erp_queue WHERE NEW.state <> 'blocked' AND order_key = (
    SELECT order_key FROM orders WHERE order_id = lower(NEW.order_id) AND erp_revision <= NEW.seen_revision);
  INSERT INTO erp_queue (order_key, blocked, since, block_seen)
  SELECT order_key, NEW.state = 'blocked', changed_at, NEW.seen_revision FROM orders
  WHERE order_id = lower(NEW.order_id) AND (NEW.state = 'blocked' OR erp_revision > NEW.seen_revision)
  ON CONFLICT (order_key) DO UPDATE SET blocked = excluded.blocked, block_seen = excluded.block_seen;
END;
--> statement-breakpoint

CREATE TRIGGER erp_orders_queue_delete AFTER DELETE ON erp_orders
BEGIN
  INSERT INTO erp_queue (order_key, blocked, since)
  SELECT order_key, 0, changed_at FROM orders WHERE order_id = lower(OLD.order_id)
  ON CONFLICT (order_key) DO UPDATE SET blocked = 0;
END;
--> statement-breakpoint

CREATE VIEW orders_pending AS
SELECT o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision,
  CASE WHEN o.is_cancelled THEN 'cancelled' WHEN coalesce(e.seen_revision, 0) = 0 THEN 'new' ELSE 'changed' END AS why
FROM erp_queue q
CROSS JOIN orders o ON o.order_key = q.order_key
LEFT JOIN erp_orders e ON e.order_id = o.order_id
WHERE q.blocked = 0
ORDER BY q.order_key;
--> statement-breakpoint

CREATE VIEW orders_blocked AS
SELECT o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision, e.error, e.note, q.since
FROM erp_queue q
CROSS JOIN orders o ON o.order_key = q.order_key
LEFT JOIN erp_orders e ON e.order_id = o.order_id
WHERE q.blocked = 1
ORDER BY q.order_key;
--> statement-breakpoint

CREATE TABLE status_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_id TEXT NOT NULL COLLATE NOCASE,
  status ANY NOT NULL,
  comment ANY,
  data ANY,
  requested_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sending', 'sent', 'refused')),
  status_before TEXT, -- the order's status when the request left, to tell afterwards whether it arrived
  attempts INTEGER NOT NULL DEFAULT 0,
  http_status INTEGER,
  answered_at TEXT,
  last_error TEXT
) STRICT;
--> statement-breakpoint

-- With the state and the attempts, so that finding each order's next request reads nothing else.
CREATE INDEX status_requests_open ON status_requests (order_id, id, state, attempts) WHERE state IN ('pending', 'sending');
--> statement-breakpoint

-- -------------------------------------------------------------------------------------- batches and positions
CREATE TABLE batches (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint TEXT NOT NULL, -- the batch id as sent and the ids in their order: what makes it the same batch again
  service_batch_id TEXT,
  received_at TEXT NOT NULL,
  order_count INTEGER NOT NULL CHECK (order_count >= 0),
  state TEXT NOT NULL CHECK (state IN ('unread', 'stored', 'confirmed', 'refused')),
  confirm_attempts INTEGER NOT NULL DEFAULT 0,
  confirmed_at TEXT,
  last_error TEXT,
  order_ids TEXT, -- JSON array of every id served, as it was written; kept while the confirm is owed
  read_with TEXT, -- the mapping that failed on an unread body: only another one tries it again
  service_date TEXT, -- the Date header that came with an unread body: changes from then on are still to be followed
  body BLOB -- kept while unread
) STRICT;
--> statement-breakpoint

CREATE UNIQUE INDEX batches_fingerprint ON batches (fingerprint);
--> statement-breakpoint

CREATE INDEX batches_stored ON batches (id) WHERE state = 'stored';
--> statement-breakpoint

CREATE INDEX batches_unread ON batches (id) WHERE state = 'unread';
--> statement-breakpoint

-- One row while a hand-out may be open: a GET that left and whose answer has not been stored.
CREATE TABLE pull_mark (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  opened_at TEXT NOT NULL, -- the oldest GET whose answer is missing
  is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)), -- 1: a GET has left and its answer is not stored yet
  lost INTEGER NOT NULL CHECK (lost IN (0, 1)), -- 1: an answer is known to be missing, so nothing may be confirmed
  last_batch_id INTEGER, -- the newest batch when it was lost: a later one that comes again tells that all have come
  first_served TEXT -- fingerprint of the first batch served since: so does this one
) STRICT;
--> statement-breakpoint

CREATE TABLE watermarks (
  stream TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- Orders that a change announced and that must still be read whole.
CREATE TABLE owed_reads (
  order_id TEXT PRIMARY KEY,
  service_id TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('batch', 'update')),
  record TEXT NOT NULL,
  record_hash BLOB NOT NULL,
  content_hash BLOB,
  since TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- What the updates told of an order before: 16 bytes a record, its stamp and a digest of its content. Orders that the
-- service told of but does not know have a row too, so that they are not asked for again.
CREATE TABLE seen_changes (
  order_id TEXT PRIMARY KEY,
  seen BLOB NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- A path that has matched once under its present text; from then on a record without it is that record's fault.
CREATE TABLE matched_paths (
  role TEXT NOT NULL,
  path TEXT NOT NULL,
  matched_at TEXT NOT NULL,
  PRIMARY KEY (role, path)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  reference TEXT,
  reason TEXT NOT NULL,
  payload TEXT,
  payload_hash BLOB NOT NULL,
  state TEXT NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'released', 'dropped')),
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  times INTEGER NOT NULL DEFAULT 1 CHECK (times >= 1)
) STRICT;
--> statement-breakpoint

CREATE UNIQUE INDEX quarantine_record ON quarantine (kind, coalesce(reference, ''), payload_hash);
--> statement-breakpoint

CREATE INDEX quarantine_held ON quarantine (kind) WHERE state = 'held';
--> statement-breakpoint

CREATE TABLE holds (
  area TEXT NOT NULL,
  reason TEXT NOT NULL,
  since TEXT NOT NULL,
  next_probe_at TEXT,
  detail TEXT,
  PRIMARY KEY (area, reason)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- ------------------------------------------------------------------------------------------------------ flows
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job TEXT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('idle', 'done', 'held', 'failed', 'stopped')),
  counts TEXT NOT NULL DEFAULT '{}',
  error_code TEXT,
  error TEXT
) STRICT;
--> statement-breakpoint

CREATE INDEX runs_job ON runs (job, id);
--> statement-breakpoint

CREATE TABLE flows (
  flow TEXT PRIMARY KEY,
  enabled INTEGER NOT NULL DEFAULT 0 CHECK (enabled IN (0, 1)),
  stale_after_s INTEGER NOT NULL DEFAULT 0,
  last_run_at TEXT,
  last_success_at TEXT,
  failing_since TEXT,
  failures INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  error TEXT
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TABLE sync_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  jobs TEXT NOT NULL,
  requested_at TEXT NOT NULL,
  taken_at TEXT,
  finished_at TEXT,
  result TEXT
) STRICT;
--> statement-breakpoint

CREATE INDEX sync_requests_open ON sync_requests (id) WHERE finished_at IS NULL;
--> statement-breakpoint

-- -------------------------------------------------------------------------------------- what the ERP publishes
CREATE TABLE stock (
  sku TEXT NOT NULL,
  warehouse TEXT NOT NULL DEFAULT '',
  quantity ANY,
  reserved ANY DEFAULT 0,
  PRIMARY KEY (sku, warehouse)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TABLE prices (
  sku TEXT NOT NULL,
  price_type TEXT NOT NULL DEFAULT '',
  price ANY,
  old_price ANY,
  currency ANY,
  data ANY,
  PRIMARY KEY (sku, price_type)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TABLE products (
  sku TEXT NOT NULL PRIMARY KEY,
  parent ANY,
  is_group ANY DEFAULT 0,
  name ANY,
  article ANY,
  barcode ANY,
  unit ANY,
  vat ANY,
  description ANY,
  active ANY DEFAULT 1,
  data ANY
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TABLE images (
  sku TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0,
  source ANY,
  alt ANY,
  data ANY,
  PRIMARY KEY (sku, position)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- ------------------------------------------------------------------------------------------ feeds: the bridge's side
CREATE TABLE feeds (
  feed_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  template TEXT, -- table, key, record and on_delete the rows below were rendered with
  address TEXT, -- path and property they were sent to
  epoch INTEGER NOT NULL DEFAULT 0, -- grows with another address: what was acknowledged before says nothing of it
  compare_because TEXT, -- a full comparison is owed, and why
  compared_at TEXT,
  accepted_at TEXT, -- a record of this template was accepted once, so a refusal is the record's fault
  live_count INTEGER NOT NULL DEFAULT 0, -- rows of feed_sent that are live, for the guard
  guard_since TEXT, -- rows that go to zero or away wait for a person since then
  approved_round INTEGER NOT NULL DEFAULT 0, -- such rows up to this round may go: a person looked at them
  chunk INTEGER, -- learned from 413
  accepted_by TEXT CHECK (accepted_by IN ('status', 'records')), -- how the last acceptance was told
  last_accepted_at TEXT
) STRICT;
--> statement-breakpoint

INSERT INTO feeds (feed_id, name) VALUES (1, 'stocks'), (2, 'prices'), (3, 'catalog'), (4, 'images');
--> statement-breakpoint

-- Keys that some writer touched since the bridge last looked. Filled by triggers on the ERP's tables.
CREATE TABLE feed_dirty (
  feed_id INTEGER NOT NULL,
  k0 ANY NOT NULL,
  k1 ANY NOT NULL,
  k2 ANY NOT NULL,
  k3 ANY NOT NULL,
  PRIMARY KEY (feed_id, k0, k1, k2, k3)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- What the service acknowledged last, one row a key: what is on the site now.
CREATE TABLE feed_sent (
  feed_id INTEGER NOT NULL,
  k0 TEXT NOT NULL,
  k1 TEXT NOT NULL DEFAULT '',
  k2 TEXT NOT NULL DEFAULT '',
  k3 TEXT NOT NULL DEFAULT '',
  record TEXT NOT NULL,
  sent_at TEXT NOT NULL,
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)), -- acknowledged as deleted
  live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)), -- neither gone nor zero
  epoch INTEGER NOT NULL DEFAULT 0, -- the feed's epoch in which it was acknowledged
  PRIMARY KEY (feed_id, k0, k1, k2, k3)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

-- What is owed to the service, one row a key. Small: what is acknowledged leaves it. Milliseconds are those of the
-- machine's monotonic clock, which runs on across restarts of the bridge and begins anew with the machine.
CREATE TABLE feed_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  feed_id INTEGER NOT NULL,
  k0 TEXT NOT NULL,
  k1 TEXT NOT NULL DEFAULT '',
  k2 TEXT NOT NULL DEFAULT '',
  k3 TEXT NOT NULL DEFAULT '',
  record TEXT NOT NULL, -- the newest value to send; null where the row cannot be rendered
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)), -- the row is away: send no sooner than delete_after
  away_since_ms REAL CHECK (away_since_ms IS NOT NULL OR gone = 0),
  drop_round INTEGER, -- goes to zero or away: what the guard counts, and the round of approval it belongs to
  priority INTEGER NOT NULL DEFAULT 2, -- 0 zeros, 1 decreases, 2 the rest
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'refused')),
  waiting_since TEXT NOT NULL,
  doubt_record TEXT, -- sent, outcome unknown: the newest value goes again, whatever it is
  doubt_until_ms REAL, -- no sooner than this; NULL while the request is under way
  last_error TEXT,
  UNIQUE (feed_id, k0, k1, k2, k3)
) STRICT;
--> statement-breakpoint

CREATE INDEX feed_outbox_next ON feed_outbox (feed_id, state, priority, id) WHERE drop_round IS NULL;
--> statement-breakpoint

CREATE INDEX feed_outbox_drops ON feed_outbox (feed_id, state, drop_round, id) WHERE drop_round IS NOT NULL;
--> statement-breakpoint

CREATE INDEX feed_outbox_doubt ON feed_outbox (feed_id) WHERE doubt_record IS NOT NULL;
--> statement-breakpoint

CREATE INDEX feed_outbox_refused ON feed_outbox (feed_id) WHERE state = 'refused';
--> statement-breakpoint

-- Rows that went to zero or away lately, for the guard's window.
CREATE TABLE feed_drops (
  feed_id INTEGER NOT NULL,
  at TEXT NOT NULL,
  count INTEGER NOT NULL
) STRICT;
--> statement-breakpoint

CREATE INDEX feed_drops_at ON feed_drops (feed_id, at);
--> statement-breakpoint

-- What is on the site now, for the ERP to read. The bridge makes them again where a feed is given another key.
CREATE VIEW stock_sent AS
SELECT s.k0 AS "sku", s.k1 AS "warehouse", s.record AS sent, s.sent_at, o.waiting_since,
  CASE WHEN o.id IS NULL AND NOT EXISTS (SELECT 1 FROM feed_dirty d WHERE d.feed_id = 1 AND d.k0 IN (+s.k0, CAST(s.k0 AS INTEGER)) AND d.k1 IN (+s.k1, CAST(s.k1 AS INTEGER)) AND d.k2 = '' AND d.k3 = '') THEN 'sent'
    ELSE CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 1 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'stocks') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END END AS state,
  o.last_error
FROM feed_sent s LEFT JOIN feed_outbox o ON o.feed_id = 1 AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3
WHERE s.feed_id = 1
UNION ALL
SELECT o.k0 AS "sku", o.k1 AS "warehouse", NULL, NULL, o.waiting_since, CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 1 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'stocks') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END, o.last_error
FROM feed_outbox o
WHERE o.feed_id = 1 AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = 1 AND s.k0 = o.k0 AND s.k1 = o.k1 AND s.k2 = o.k2 AND s.k3 = o.k3);
--> statement-breakpoint

CREATE VIEW prices_sent AS
SELECT s.k0 AS "sku", s.k1 AS "price_type", s.record AS sent, s.sent_at, o.waiting_since,
  CASE WHEN o.id IS NULL AND NOT EXISTS (SELECT 1 FROM feed_dirty d WHERE d.feed_id = 2 AND d.k0 IN (+s.k0, CAST(s.k0 AS INTEGER)) AND d.k1 IN (+s.k1, CAST(s.k1 AS INTEGER)) AND d.k2 = '' AND d.k3 = '') THEN 'sent'
    ELSE CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 2 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'prices') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END END AS state,
  o.last_error
FROM feed_sent s LEFT JOIN feed_outbox o ON o.feed_id = 2 AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3
WHERE s.feed_id = 2
UNION ALL
SELECT o.k0 AS "sku", o.k1 AS "price_type", NULL, NULL, o.waiting_since, CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 2 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'prices') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END, o.last_error
FROM feed_outbox o
WHERE o.feed_id = 2 AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = 2 AND s.k0 = o.k0 AND s.k1 = o.k1 AND s.k2 = o.k2 AND s.k3 = o.k3);
--> statement-breakpoint

CREATE VIEW products_sent AS
SELECT s.k0 AS "sku", s.record AS sent, s.sent_at, o.waiting_since,
  CASE WHEN o.id IS NULL AND NOT EXISTS (SELECT 1 FROM feed_dirty d WHERE d.feed_id = 3 AND d.k0 IN (+s.k0, CAST(s.k0 AS INTEGER)) AND d.k1 = '' AND d.k2 = '' AND d.k3 = '') THEN 'sent'
    ELSE CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 3 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'catalog') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END END AS state,
  o.last_error
FROM feed_sent s LEFT JOIN feed_outbox o ON o.feed_id = 3 AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3
WHERE s.feed_id = 3
UNION ALL
SELECT o.k0 AS "sku", NULL, NULL, o.waiting_since, CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 3 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'catalog') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END, o.last_error
FROM feed_outbox o
WHERE o.feed_id = 3 AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = 3 AND s.k0 = o.k0 AND s.k1 = o.k1 AND s.k2 = o.k2 AND s.k3 = o.k3);
--> statement-breakpoint

CREATE VIEW images_sent AS
SELECT s.k0 AS "sku", s.k1 AS "position", s.record AS sent, s.sent_at, o.waiting_since,
  CASE WHEN o.id IS NULL AND NOT EXISTS (SELECT 1 FROM feed_dirty d WHERE d.feed_id = 4 AND d.k0 IN (+s.k0, CAST(s.k0 AS INTEGER)) AND d.k1 IN (+s.k1, CAST(s.k1 AS INTEGER)) AND d.k2 = '' AND d.k3 = '') THEN 'sent'
    ELSE CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 4 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'images') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END END AS state,
  o.last_error
FROM feed_sent s LEFT JOIN feed_outbox o ON o.feed_id = 4 AND o.k0 = s.k0 AND o.k1 = s.k1 AND o.k2 = s.k2 AND o.k3 = s.k3
WHERE s.feed_id = 4
UNION ALL
SELECT o.k0 AS "sku", o.k1 AS "position", NULL, NULL, o.waiting_since, CASE WHEN o.state = 'refused' THEN 'refused'
    WHEN o.drop_round > (SELECT f.approved_round FROM feeds f WHERE f.feed_id = 4 AND f.guard_since IS NOT NULL) THEN 'guarded'
    WHEN EXISTS (SELECT 1 FROM holds h WHERE h.area IN ('imports', 'images') AND h.reason <> 'guard') THEN 'held'
    WHEN o.doubt_record IS NOT NULL THEN 'doubt' ELSE 'waiting' END, o.last_error
FROM feed_outbox o
WHERE o.feed_id = 4 AND NOT EXISTS (SELECT 1 FROM feed_sent s WHERE s.feed_id = 4 AND s.k0 = o.k0 AND s.k1 = o.k1 AND s.k2 = o.k2 AND s.k3 = o.k3);
