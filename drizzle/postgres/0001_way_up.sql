-- The way up: how far it has come, what may be asked quickly, and status requests that are corrected or taken back.
ALTER TABLE positions ADD COLUMN up_no bigint NOT NULL DEFAULT 0; -- the round of the ERP's rows whose notes were deleted last
--> statement-breakpoint

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['erp_orders', 'stock', 'prices', 'products', 'images', 'status_requests']
  LOOP
    EXECUTE format('CREATE INDEX %I ON %I (shop) WHERE error IS NOT NULL', one || '_refused', one);
  END LOOP;
END $$;
--> statement-breakpoint

CREATE INDEX status_requests_open ON status_requests (shop, id) WHERE state IN ('pending', 'sending');
--> statement-breakpoint

-- One that has left already stays as it was: `error` says so.
CREATE TRIGGER touch_update AFTER UPDATE ON status_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION touch('id::text, NULL::text');
--> statement-breakpoint

CREATE TRIGGER touch_delete AFTER DELETE ON status_requests REFERENCING OLD TABLE AS old_rows
FOR EACH STATEMENT EXECUTE FUNCTION touch('id::text, NULL::text');
