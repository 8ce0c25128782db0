-- What the mirror in PostgreSQL is still to be told, and what it must not be told twice.

-- Rows of tables without a history of their own that have changed since they were written there; deleted by their ids once that is committed.
-- A row that changes meanwhile gets a new id. Filled only while there is a mirror (`meta.mirror_on`).
CREATE TABLE mirror_changes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('batch', 'quarantine', 'request')),
  key INTEGER NOT NULL,
  UNIQUE (kind, key)
) STRICT;
--> statement-breakpoint

-- A status request's own UUID, beside the row that it became: it arrives once, whatever happens to either database. NULL: it
-- was refused.
CREATE TABLE mirror_requests (
  request_uuid TEXT PRIMARY KEY,
  request_id INTEGER,
  taken_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE UNIQUE INDEX mirror_requests_id ON mirror_requests (request_id) WHERE request_id IS NOT NULL;
--> statement-breakpoint

CREATE TABLE mirror_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE TRIGGER batches_mirror_insert AFTER INSERT ON batches WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'batch' AND key = NEW.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('batch', NEW.id);
END;
--> statement-breakpoint

CREATE TRIGGER batches_mirror_update AFTER UPDATE OF state, confirm_attempts, confirmed_at, last_error, service_batch_id ON batches
WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'batch' AND key = NEW.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('batch', NEW.id);
END;
--> statement-breakpoint

CREATE TRIGGER quarantine_mirror_insert AFTER INSERT ON quarantine WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'quarantine' AND key = NEW.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('quarantine', NEW.id);
END;
--> statement-breakpoint

CREATE TRIGGER quarantine_mirror_update AFTER UPDATE OF state, reason, last_seen_at, times ON quarantine
WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'quarantine' AND key = NEW.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('quarantine', NEW.id);
END;
--> statement-breakpoint

CREATE TRIGGER status_requests_mirror AFTER UPDATE OF state, attempts, http_status, answered_at, last_error ON status_requests
WHEN EXISTS (SELECT 1 FROM mirror_requests WHERE request_id = NEW.id)
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'request' AND key = NEW.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('request', NEW.id);
END;
--> statement-breakpoint

CREATE TRIGGER batches_mirror_delete AFTER DELETE ON batches WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'batch' AND key = OLD.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('batch', OLD.id);
END;
--> statement-breakpoint

CREATE TRIGGER quarantine_mirror_delete AFTER DELETE ON quarantine WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'mirror_on')
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'quarantine' AND key = OLD.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('quarantine', OLD.id);
END;
