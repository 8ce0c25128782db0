-- A request that is corrected to another order: what its writer knew of the former one says nothing of this one. Triggers of a row fire in the
-- order of their names, and one of a column fires only where the statement names it: what is named is marked as negative, and kept.
CREATE FUNCTION keep_known() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.known_revision := -1 - NEW.known_revision;
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER keep_known BEFORE UPDATE OF known_revision ON status_requests FOR EACH ROW WHEN (NEW.order_id <> OLD.order_id)
EXECUTE FUNCTION keep_known();
--> statement-breakpoint

CREATE FUNCTION note_corrected() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.known_revision < 0 AND NEW.known_revision IS DISTINCT FROM OLD.known_revision THEN
    NEW.known_revision := -1 - NEW.known_revision;
  ELSE
    NEW.known_revision := (SELECT coalesce(max(o.revision), 0) FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER note_corrected BEFORE UPDATE ON status_requests FOR EACH ROW WHEN (NEW.order_id <> OLD.order_id)
EXECUTE FUNCTION note_corrected();
