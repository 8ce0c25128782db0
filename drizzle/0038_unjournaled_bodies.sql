-- Bodies of batches that must still go to the journal, the oldest first. Each stays until it is there: one that came later does not
-- take the place of an earlier one, from which something else may have been stored. What waits in batches at the upgrade comes over.
CREATE TABLE unjournaled_bodies (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL, -- of its batch
  account TEXT, -- who served it
  received_at TEXT NOT NULL,
  is_part INTEGER NOT NULL DEFAULT 0, -- 1: the batch holds more than this answer
  body_id INTEGER, -- in the place of body
  body BLOB
) STRICT;
--> statement-breakpoint

CREATE INDEX unjournaled_bodies_batch ON unjournaled_bodies (fingerprint);
--> statement-breakpoint

CREATE INDEX unjournaled_bodies_body ON unjournaled_bodies (body_id) WHERE body_id IS NOT NULL;
--> statement-breakpoint

-- When such a body came is not known: with the time of its batch it would pass for the one that the batch began with.
INSERT INTO unjournaled_bodies (fingerprint, account, received_at, body_id, body)
SELECT fingerprint, account, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), body_id, body
FROM batches WHERE state <> 'unread' AND (body IS NOT NULL OR body_id IS NOT NULL) ORDER BY id;
--> statement-breakpoint

UPDATE batches SET body = NULL, body_id = NULL WHERE state <> 'unread' AND (body IS NOT NULL OR body_id IS NOT NULL);
