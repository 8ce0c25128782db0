-- What the ERP knew when it asked for a status: what PostgreSQL showed it, which may be older than what the shop has.
ALTER TABLE status_requests ADD COLUMN known_revision bigint; -- the order's here as the row was inserted, or the one that the ERP names
--> statement-breakpoint

CREATE FUNCTION note_known() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' THEN
    RETURN NEW;
  END IF;
  NEW.known_revision := (SELECT coalesce(max(o.revision), 0) FROM orders o WHERE o.shop = NEW.shop AND o.order_id = NEW.order_id);
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER note_known BEFORE INSERT ON status_requests FOR EACH ROW WHEN (NEW.known_revision IS NULL)
EXECUTE FUNCTION note_known();
--> statement-breakpoint

-- A mark that is written anew has not been refused yet.
CREATE FUNCTION forget_refusal() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' THEN
    RETURN NEW;
  END IF;
  NEW.error := NULL;
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER forget_refusal BEFORE UPDATE ON erp_orders FOR EACH ROW WHEN (OLD.error IS NOT NULL)
EXECUTE FUNCTION forget_refusal();
--> statement-breakpoint

-- What waits for the ERP: what waits in the shop (`erp_queue`), less what was marked since. Only marks count that the shop can take: none that it
-- has refused, and none of a revision that nobody has been shown.
CREATE VIEW erp_waiting WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.payload_text, o.lines, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision,
  CASE WHEN o.is_cancelled THEN 'cancelled' WHEN o.removed_at IS NOT NULL THEN 'removed'
    WHEN coalesce(e.seen_revision, 0) = 0 THEN 'new' ELSE 'changed' END AS why,
  q.since
FROM erp_queue q
JOIN orders o ON o.shop = q.shop AND o.order_id = q.order_id
LEFT JOIN erp_orders e ON e.shop = q.shop AND e.order_id = q.order_id AND e.error IS NULL AND e.seen_revision <= o.revision
WHERE o.erp_revision > coalesce(e.seen_revision, 0)
  AND (e.state IS DISTINCT FROM 'blocked' OR o.erp_revision > coalesce(e.blocked_at, 0));
--> statement-breakpoint

CREATE OR REPLACE VIEW orders_pending WITH (security_invoker = true) AS
SELECT shop, order_id, number, status, is_cancelled, is_open, service_created_at, service_updated_at, currency, total, payload, payload_text, lines,
  revision, erp_revision, received_at, changed_at, removed_at, erp_number, seen_revision, why
FROM erp_waiting ORDER BY shop, since, order_id;
--> statement-breakpoint

CREATE OR REPLACE VIEW orders_blocked WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.total, o.currency, o.payload, o.lines, o.revision,
  o.erp_revision, o.received_at, o.changed_at, o.removed_at, e.erp_number, e.seen_revision, e.block_reason, e.note
FROM erp_orders e JOIN orders o ON o.shop = e.shop AND o.order_id = e.order_id
WHERE e.state = 'blocked' AND e.error IS NULL AND o.erp_revision <= coalesce(e.blocked_at, 0);
--> statement-breakpoint

-- The same with what really waits for the ERP.
CREATE OR REPLACE VIEW shops WITH (security_invoker = true) AS
SELECT k.shop,
  p.heard_at IS NULL OR p.heard_at < now() - p.silent_after AS is_silent,
  CASE WHEN p.heard_at IS NULL THEN 'Never heard of.'
    WHEN p.heard_at < now() - p.silent_after THEN
      'Silent since ' || to_char(p.heard_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC. ' ||
      CASE WHEN p.heard_at < now() - interval '7 days' THEN 'If it is gone for ever: erp-bridge mirror remove --shop ' || k.shop || '. ' ELSE '' END ||
      'Before that: ' || coalesce(p.sentence, '')
    ELSE p.sentence END AS sentence,
  p.heard_at,
  coalesce(c.worst, 'none') AS worst,
  coalesce(c.conditions, '[]'::jsonb) AS conditions,
  p.walk IS NOT DISTINCT FROM 'copy' AS is_copying,
  p.compared_at, p.extra_orders, p.host, p.version,
  (SELECT count(*) FROM (SELECT 1 FROM erp_waiting q WHERE q.shop = k.shop LIMIT 1000) w) AS waiting
FROM shop_keys k
LEFT JOIN positions p ON p.shop = k.shop
LEFT JOIN LATERAL (
  SELECT (array_agg(c.severity ORDER BY array_position(ARRAY['critical', 'error', 'warning', 'notice'], c.severity)))[1] AS worst,
    jsonb_agg(jsonb_build_object('code', c.code, 'severity', c.severity, 'subject', c.subject, 'since', c.since, 'text', c.text,
      'command', c.command) ORDER BY c.rank) AS conditions
  FROM conditions c WHERE c.shop = k.shop
) c ON true
ORDER BY k.shop;
--> statement-breakpoint

-- What is about an order does not wait for a million articles.
CREATE INDEX touched_first ON touched (shop, id) WHERE tbl IN ('erp_orders', 'status_requests');
--> statement-breakpoint

-- A number may be of any length.
DROP INDEX orders_number;
--> statement-breakpoint

CREATE INDEX orders_number ON orders USING hash (number) WHERE number IS NOT NULL;
