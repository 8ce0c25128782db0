-- Only in UTF-16. There SQLite makes text of bytes that are joined, in units of two: a byte left over was lost, and so was what is no such text.
DROP VIEW kept_bodies;
--> statement-breakpoint

-- Only in UTF-16. Needs SQLite 3.41.
CREATE VIEW kept_bodies AS
SELECT id AS batch_id, received_at, last_error,
  coalesce(body, (SELECT unhex(group_concat(part, ''))
    FROM (SELECT hex(p.bytes) AS part FROM body_parts p WHERE p.body_id = b.body_id ORDER BY p.part))) AS body
FROM batches b WHERE state = 'unread' ORDER BY id;
