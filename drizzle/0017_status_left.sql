-- When a status request left, by the service's own clock: a change with an earlier stamp was made before it, and cannot
-- have taken its place.

ALTER TABLE status_requests ADD COLUMN left_at TEXT;
