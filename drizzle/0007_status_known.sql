-- What was known of the order when the request left: an order that was changed since, and has its former status again,
-- may have had the new one in between.

ALTER TABLE status_requests ADD COLUMN revision_before INTEGER;
--> statement-breakpoint

ALTER TABLE status_requests ADD COLUMN stamp_before TEXT; -- the order's service_updated_at
