-- How long a record is held is measured by the machine's clock as well, because the time of day can be set.

ALTER TABLE quarantine ADD COLUMN first_seen_ms REAL; -- when it was first received, in milliseconds since the machine's start; NULL: not known
--> statement-breakpoint

-- A confirmed batch may be served again after the journal moved: what its confirm covers is in the present folder as well.
ALTER TABLE batches ADD COLUMN journaled_elsewhere INTEGER; -- 1: confirmed before the journal was in this folder
