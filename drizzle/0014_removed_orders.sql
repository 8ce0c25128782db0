-- Orders that are marked as removed are looked at again, and the ERP sees that they are.

CREATE INDEX orders_removed ON orders (is_open) WHERE removed_at IS NOT NULL;
--> statement-breakpoint

CREATE INDEX orders_removed_at ON orders (removed_at) WHERE removed_at IS NOT NULL;
--> statement-breakpoint

DROP VIEW orders_pending;
--> statement-breakpoint

CREATE VIEW orders_pending AS
SELECT o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision,
  CASE WHEN o.is_cancelled THEN 'cancelled' WHEN o.removed_at IS NOT NULL THEN 'removed'
    WHEN coalesce(e.seen_revision, 0) = 0 THEN 'new' ELSE 'changed' END AS why
FROM erp_queue q
CROSS JOIN orders o ON o.order_key = q.order_key
LEFT JOIN erp_orders e ON e.order_id = o.order_id
WHERE q.blocked = 0
ORDER BY q.order_key;
