-- How long a record is held is measured by the machine's clock as well, because the time of day can be set.

ALTER TABLE quarantine ADD COLUMN first_seen_ms REAL; -- when it was first received, in milliseconds since the machine's start; NULL: not known
