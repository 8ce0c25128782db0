-- What sending statuses needs beside the ERP's own columns.

ALTER TABLE status_requests ADD COLUMN status_sent TEXT; -- the service's name for the status, as it went out
--> statement-breakpoint

-- Sent, and not seen on the order yet. awaited: that change is our own when it comes; owed: the order is to be read.
ALTER TABLE status_requests ADD COLUMN echo TEXT CHECK (echo IN ('awaited', 'owed'));
--> statement-breakpoint

CREATE INDEX status_requests_echo ON status_requests (order_id, id) WHERE echo IS NOT NULL;
