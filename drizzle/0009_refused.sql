-- What was refused and waits for a person, found and counted without reading what was not.

CREATE INDEX batches_refused ON batches (id) WHERE state = 'refused';
--> statement-breakpoint

CREATE INDEX status_requests_refused ON status_requests (id) WHERE state = 'refused';
