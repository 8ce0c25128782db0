-- A request of the mirror's that was deleted in the shop's own database: PostgreSQL is told.
CREATE TRIGGER status_requests_mirror_delete AFTER DELETE ON status_requests
WHEN EXISTS (SELECT 1 FROM mirror_requests WHERE request_id = OLD.id)
BEGIN
  DELETE FROM mirror_changes WHERE kind = 'request' AND key = OLD.id;
  INSERT INTO mirror_changes (kind, key) VALUES ('request', OLD.id);
END;
