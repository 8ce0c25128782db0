-- What was noticed about the service in operation, each thing once: a field of orders that nothing reads, a status
-- name, an optional path that no longer matches. Field names and types only, never what stands in them.

CREATE TABLE observations (
  kind TEXT NOT NULL CHECK (kind IN ('field', 'status', 'path')),
  name TEXT NOT NULL,
  sample TEXT NOT NULL,
  first_seen_at TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'dismissed', 'over')),
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
