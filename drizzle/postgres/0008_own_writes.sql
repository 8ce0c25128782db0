-- Only what the bridge itself writes is its own. What a trigger of somebody else's writes while the bridge writes an order or an outcome is the
-- head office's, and is noted as all of that: it stands one level deeper.
CREATE OR REPLACE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  add constant text := format('INSERT INTO touched (shop, tbl, k0, k1) SELECT shop, %L, %s FROM ', TG_TABLE_NAME, TG_ARGV[0]);
  added bigint;
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' AND pg_trigger_depth() = 1 THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'TRUNCATE' THEN
    INSERT INTO touched (shop, tbl) SELECT shop, TG_TABLE_NAME FROM shop_keys;
  ELSIF TG_OP = 'INSERT' THEN
    EXECUTE add || 'new_rows';
  ELSIF TG_OP = 'DELETE' THEN
    EXECUTE add || 'old_rows';
  ELSE
    EXECUTE add || format('(SELECT * FROM new_rows UNION ALL SELECT * FROM old_rows) AS both_rows GROUP BY shop, %s', TG_ARGV[0]);
  END IF;
  GET DIAGNOSTICS added = ROW_COUNT;
  -- About once in so many notes.
  IF added > 0 AND random() * 10000 < added THEN
    PERFORM fold_touched();
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint

CREATE OR REPLACE FUNCTION note_block() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' AND pg_trigger_depth() = 1 THEN
    RETURN NEW;
  END IF;
  NEW.blocked_at := (SELECT o.erp_revision FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE OR REPLACE FUNCTION note_known() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' AND pg_trigger_depth() = 1 THEN
    RETURN NEW;
  END IF;
  NEW.known_revision := (SELECT coalesce(max(o.revision), 0) FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE OR REPLACE FUNCTION forget_refusal() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' AND pg_trigger_depth() = 1 THEN
    RETURN NEW;
  END IF;
  NEW.error := NULL;
  RETURN NEW;
END $$;
