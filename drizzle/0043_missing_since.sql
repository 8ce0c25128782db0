-- How long an order is missing is measured by the machine's monotonic clock, which all its processes share: where each pass
-- is one and the service sends no `Date`, no other clock shows it. The time of orders that are missing now begins anew.

DROP TABLE missing_orders;
--> statement-breakpoint

CREATE TABLE missing_orders (
  order_id TEXT PRIMARY KEY,
  since TEXT NOT NULL, -- this machine's time, for people
  machine_ms REAL NOT NULL -- milliseconds since the machine's start, then
) STRICT, WITHOUT ROWID;
