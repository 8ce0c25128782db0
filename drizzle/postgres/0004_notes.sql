-- Notes of a shop that is away for long are folded: one for a whole table says as much as one for each of its rows. Only what is
-- committed is folded; a note that appears later stays beside it.
CREATE FUNCTION fold_touched() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT k.shop FROM shop_keys k LEFT JOIN positions p ON p.shop = k.shop
    WHERE (p.heard_at IS NULL OR p.heard_at < clock_timestamp() - interval '1 hour')
      AND (SELECT count(*) FROM (SELECT 1 FROM touched t WHERE t.shop = k.shop AND t.tbl <> 'status_requests' LIMIT 20001) n) > 20000
  LOOP
    WITH free AS (
      SELECT t.id FROM touched t WHERE t.shop = one.shop AND t.tbl <> 'status_requests' FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM touched t USING free f WHERE t.shop = one.shop AND t.id = f.id RETURNING t.tbl)
    INSERT INTO touched (shop, tbl) SELECT DISTINCT one.shop, g.tbl FROM gone g;
  END LOOP;
END $$;
--> statement-breakpoint

CREATE OR REPLACE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  add constant text := format('INSERT INTO touched (shop, tbl, k0, k1) SELECT shop, %L, %s FROM ', TG_TABLE_NAME, TG_ARGV[0]);
  added bigint;
BEGIN
  IF current_setting('erp_bridge.quiet', true) = 'on' THEN
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

-- The same with what waits for the ERP, and what to do about a shop that is gone for ever.
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
  (SELECT count(*) FROM (SELECT 1 FROM erp_queue q WHERE q.shop = k.shop LIMIT 1000) w) AS waiting
FROM shop_keys k
LEFT JOIN positions p ON p.shop = k.shop
LEFT JOIN LATERAL (
  SELECT (array_agg(c.severity ORDER BY array_position(ARRAY['critical', 'error', 'warning', 'notice'], c.severity)))[1] AS worst,
    jsonb_agg(jsonb_build_object('code', c.code, 'severity', c.severity, 'subject', c.subject, 'since', c.since, 'text', c.text,
      'command', c.command) ORDER BY c.rank) AS conditions
  FROM conditions c WHERE c.shop = k.shop
) c ON true
ORDER BY k.shop;
