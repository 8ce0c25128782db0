-- Whether an accepted status was seen at its order since.

ALTER TABLE status_requests ADD COLUMN shown_at TEXT; -- when the order was first stored with the status after it had left
--> statement-breakpoint

ALTER TABLE status_requests ADD COLUMN unshown_since TEXT; -- when the order was first read without a status that was accepted long before
--> statement-breakpoint

CREATE INDEX status_requests_shown ON status_requests (status_sent) WHERE shown_at IS NOT NULL;
--> statement-breakpoint

CREATE INDEX status_requests_unshown ON status_requests (unshown_since) WHERE unshown_since IS NOT NULL;
