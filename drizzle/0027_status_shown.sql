-- What the ERP could know of an order as it asked for a status, and whether an accepted status was seen at its order since.

ALTER TABLE status_requests ADD COLUMN known_revision INTEGER; -- the order's as the row was inserted, or the one that the ERP names
--> statement-breakpoint

CREATE TRIGGER status_requests_known AFTER INSERT ON status_requests WHEN NEW.known_revision IS NULL
BEGIN
  UPDATE status_requests SET known_revision = (SELECT revision FROM orders WHERE order_id = lower(NEW.order_id)) WHERE id = NEW.id;
END;
