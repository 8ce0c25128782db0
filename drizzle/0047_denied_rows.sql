-- The service has refused this row alone with 401, 402 or 403 while it accepted others. It goes alone and after others until it is
-- accepted, also with other values.

ALTER TABLE feed_outbox ADD COLUMN denied INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1));
--> statement-breakpoint

-- So many probes of a hold were this row alone, and were refused: the next one is another row. Kept when its values change.
ALTER TABLE feed_outbox ADD COLUMN probed INTEGER NOT NULL DEFAULT 0;
