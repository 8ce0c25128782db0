-- When a status request left first, and an answer in a new form that says that it came.

ALTER TABLE status_requests ADD COLUMN first_sent_at TEXT; -- of a request that is open; those of before are not known
--> statement-breakpoint

ALTER TABLE status_requests ADD COLUMN new_form TEXT; -- JSON: the form, when it came first, how often the status went again since
