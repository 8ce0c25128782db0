-- What the service said that it does not have, until it says so again later or sends it; and when a read that failed is
-- tried again.

CREATE TABLE missing_orders (
  order_id TEXT PRIMARY KEY,
  since TEXT NOT NULL, -- this machine's time, for people
  service_date TEXT -- the service's Date then, which does not depend on this machine's clock
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

ALTER TABLE owed_reads ADD COLUMN due_at TEXT; -- null: at once
