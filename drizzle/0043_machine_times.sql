-- How long something has lasted is measured by the machine's monotonic clock, which all its processes share and nobody can
-- set: where each pass is a process of its own, its own clock shows nothing. What is measured now begins anew.

DROP TABLE missing_orders;
--> statement-breakpoint

CREATE TABLE missing_orders (
  order_id TEXT PRIMARY KEY,
  since TEXT NOT NULL, -- this machine's time, for people
  machine_ms REAL NOT NULL -- milliseconds since the machine's start, then
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

DROP TABLE lost_values;
--> statement-breakpoint

CREATE TABLE first_looks (
  order_id TEXT PRIMARY KEY,
  doubt TEXT NOT NULL, -- the value that its answer lacked, or which other order it was
  machine_ms REAL NOT NULL -- milliseconds since the machine's start, then
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

ALTER TABLE status_requests ADD COLUMN lost_ms REAL; -- sending: when the order was first read without the status, since the machine's start
