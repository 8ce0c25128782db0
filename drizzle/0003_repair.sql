-- What finding and repairing silent differences needs.

-- Orders that are still open, and those that are not: which of them to compare with the service next.
CREATE INDEX orders_to_compare ON orders (is_open) WHERE removed_at IS NULL;
--> statement-breakpoint

-- Orders that are stored as a batch or a change gave them, and were found equal to what GET /orders/{order_id} says.
-- The two may have different shapes; from then on any other content there is a change.
CREATE TABLE compared_orders (
  order_key INTEGER PRIMARY KEY REFERENCES orders (order_key) ON DELETE CASCADE,
  payload_hash BLOB NOT NULL, -- the payload it was compared with
  content_hash BLOB NOT NULL -- what the service said, ignored paths, key order and white space aside
) STRICT;
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN touched_at TEXT; -- when the ERP was last seen to write the feed's table, or watching it began
--> statement-breakpoint

ALTER TABLE feeds ADD COLUMN write_within_s INTEGER; -- a longer silence than this is worth attention; NULL: none is
