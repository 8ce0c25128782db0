-- What an order is here, in all of its columns: one that somebody has changed by hand is found by the nightly comparison.
ALTER TABLE orders ADD COLUMN content bigint;
--> statement-breakpoint

-- A block that the bridge brings from the shop's own database says itself what it is of.
CREATE OR REPLACE FUNCTION note_block() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' THEN
    RETURN NEW;
  END IF;
  NEW.blocked_at := (SELECT o.erp_revision FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  RETURN NEW;
END $$;
