-- The ERP may give the ids of status_requests. One near the largest integer leaves no number for any later request, also after the row is gone.

UPDATE OR IGNORE status_requests SET id = id - 100000000000000000 WHERE id > 9200000000000000000;
--> statement-breakpoint

UPDATE OR IGNORE mirror_requests SET request_id = request_id - 100000000000000000 WHERE request_id > 9200000000000000000;
--> statement-breakpoint

UPDATE sqlite_sequence
SET seq = (SELECT coalesce(max(id), 0) FROM status_requests WHERE id <= 9200000000000000000) + 10000000
WHERE name = 'status_requests' AND seq > 9200000000000000000;
--> statement-breakpoint

CREATE TRIGGER status_requests_id BEFORE INSERT ON status_requests WHEN NEW.id > 9200000000000000000
BEGIN
  SELECT RAISE(ABORT, 'status_requests: this id leaves no number for later requests; leave the id out, or give one up to 9200000000000000000');
END;
--> statement-breakpoint

CREATE TRIGGER status_requests_id_changed BEFORE UPDATE OF id ON status_requests WHEN NEW.id > 9200000000000000000
BEGIN
  SELECT RAISE(ABORT, 'status_requests: this id leaves no number for later requests; leave the id out, or give one up to 9200000000000000000');
END;
