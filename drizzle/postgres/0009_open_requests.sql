-- Open requests are gone through in the order in which they were made.
DROP INDEX status_requests_open;
--> statement-breakpoint

CREATE INDEX status_requests_open ON status_requests (shop, seq) WHERE state IN ('pending', 'sending');
