-- How long a read is queued is measured by the machine's clock as well, because the time of day can be set.

ALTER TABLE owed_reads ADD COLUMN since_ms REAL; -- since when its record waits, in milliseconds since the machine's start; NULL: not known
