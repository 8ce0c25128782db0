-- A block is of what the ERP has been shown: a change of the order brings it back, as in the shop's own database.
ALTER TABLE erp_orders ADD COLUMN blocked_at bigint; -- the revision that was to be seen when it was blocked
--> statement-breakpoint

CREATE FUNCTION note_block() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.blocked_at := (SELECT o.erp_revision FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER note_block BEFORE INSERT OR UPDATE OF state ON erp_orders FOR EACH ROW WHEN (NEW.state = 'blocked')
EXECUTE FUNCTION note_block();
--> statement-breakpoint

CREATE OR REPLACE VIEW orders_pending WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.payload_text, o.lines, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision,
  CASE WHEN o.is_cancelled THEN 'cancelled' WHEN o.removed_at IS NOT NULL THEN 'removed'
    WHEN coalesce(e.seen_revision, 0) = 0 THEN 'new' ELSE 'changed' END AS why
FROM erp_queue q
JOIN orders o ON o.shop = q.shop AND o.order_id = q.order_id
LEFT JOIN erp_orders e ON e.shop = q.shop AND e.order_id = q.order_id
WHERE o.erp_revision > coalesce(e.seen_revision, 0)
  AND (e.state IS DISTINCT FROM 'blocked' OR o.erp_revision > coalesce(e.blocked_at, 0))
ORDER BY q.shop, q.since, q.order_id;
--> statement-breakpoint

CREATE OR REPLACE VIEW orders_blocked WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.total, o.currency, o.payload, o.lines, o.revision,
  o.erp_revision, o.received_at, o.changed_at, o.removed_at, e.erp_number, e.seen_revision, e.block_reason, e.note
FROM erp_orders e JOIN orders o ON o.shop = e.shop AND o.order_id = e.order_id
WHERE e.state = 'blocked' AND o.erp_revision <= coalesce(e.blocked_at, 0);
