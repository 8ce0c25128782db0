-- Bodies of answers that are too large for one statement, in parts of about a megabyte. A body counts once a row of
-- batches or quarantine names it; parts that none names were left by a crash or are of no use any more, and are removed.
CREATE TABLE body_parts (
  body_id INTEGER NOT NULL,
  part INTEGER NOT NULL, -- from 0
  bytes BLOB NOT NULL,
  PRIMARY KEY (body_id, part)
) STRICT;
--> statement-breakpoint

ALTER TABLE batches ADD COLUMN body_id INTEGER; -- in the place of body
--> statement-breakpoint

ALTER TABLE quarantine ADD COLUMN body_id INTEGER; -- in the place of payload
--> statement-breakpoint

CREATE INDEX batches_body ON batches (body_id) WHERE body_id IS NOT NULL;
--> statement-breakpoint

CREATE INDEX quarantine_body ON quarantine (body_id) WHERE body_id IS NOT NULL;
--> statement-breakpoint

-- What is kept unread, each body as a whole, however it is stored.
CREATE VIEW kept_bodies AS
SELECT id AS batch_id, received_at, last_error,
  coalesce(body, (SELECT CAST(group_concat(bytes, '') AS BLOB)
    FROM (SELECT p.bytes FROM body_parts p WHERE p.body_id = b.body_id ORDER BY p.part))) AS body
FROM batches b WHERE state = 'unread' ORDER BY id;
