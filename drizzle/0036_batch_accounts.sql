-- Which account served a batch: its confirm goes to no other one. What is still to be confirmed was served by the present one.

ALTER TABLE batches ADD COLUMN account TEXT;
--> statement-breakpoint

UPDATE batches SET account = (SELECT value FROM meta WHERE key = 'account') WHERE state <> 'confirmed';
--> statement-breakpoint

DROP VIEW sync_status;
--> statement-breakpoint

CREATE VIEW sync_status AS
WITH
  flow_areas (flow, area) AS (
    VALUES ('orders', 'orders'), ('updates', 'orders'), ('updates', 'updates'), ('statuses', 'orders'),
      ('statuses', 'statuses'), ('stocks', 'imports'), ('stocks', 'stocks'), ('prices', 'imports'),
      ('prices', 'prices'), ('catalog', 'imports'), ('catalog', 'catalog'), ('images', 'imports'),
      ('images', 'images'), ('reconcile', 'orders'), ('reconcile', 'reconcile')
  ),
  flow_kinds (flow, kind) AS (
    VALUES ('orders', 'order'), ('updates', 'change'), ('updates', 'snapshot'), ('stocks', 'stocks'),
      ('prices', 'prices'), ('catalog', 'catalog'), ('images', 'images'), ('reconcile', 'payload')
  ),
  waiting (flow, waiting, oldest_at, unsent_at, refused) AS (
    SELECT 'orders', count(*), min(received_at), NULL, 0 FROM batches WHERE state = 'stored'
      AND (account IS NULL OR account = (SELECT value FROM meta WHERE key = 'account'))
    UNION ALL
    SELECT 'updates', count(*), min(since), NULL, 0 FROM owed_reads
    UNION ALL
    SELECT 'statuses', count(*), min(requested_at), NULL, 0 FROM status_requests WHERE state IN ('pending', 'sending')
    UNION ALL
    SELECT 'erp', count(*), min(since), NULL, 0 FROM erp_queue WHERE blocked = 0
    UNION ALL
    SELECT f.name, count(*) FILTER (WHERE x.state <> 'refused'), min(x.waiting_since) FILTER (WHERE x.state <> 'refused'),
      min(x.waiting_since), count(*) FILTER (WHERE x.state <> 'refused' AND x.refusal IN ('unproven', 'passing'))
    FROM feed_outbox x JOIN feeds f ON f.feed_id = x.feed_id GROUP BY f.name
  ),
  facts AS (
    SELECT f.flow, f.enabled, f.last_run_at, f.last_success_at, f.failing_since, f.error_code, f.error, f.stale_after_s,
      CAST(max(0, round((julianday('now') - julianday(f.last_success_at)) * 86400)) AS INTEGER) AS age_s
    FROM flows f
    UNION ALL
    SELECT 'erp', 1, NULL, NULL, NULL, NULL, NULL, 0, NULL
  ),
  counted AS (
    SELECT facts.*, coalesce(w.waiting, 0) AS waiting, w.oldest_at AS waiting_since,
      w.unsent_at, coalesce(w.refused, 0) AS refused,
      CAST(max(0, round((julianday('now') - julianday(w.oldest_at)) * 86400)) AS INTEGER) AS waiting_s,
      (SELECT group_concat(h.reason, ', ') FROM holds h JOIN flow_areas a ON a.area = h.area
        WHERE a.flow = facts.flow AND (h.scope = 'area' OR h.area = facts.flow)) AS held,
      CASE facts.flow
        WHEN 'erp' THEN (SELECT count(*) FROM erp_queue WHERE blocked = 1)
        ELSE (SELECT count(*) FROM quarantine q JOIN flow_kinds k ON k.kind = q.kind WHERE k.flow = facts.flow AND q.state = 'held')
      END AS quarantined
    FROM facts LEFT JOIN waiting w ON w.flow = facts.flow
  ),
  -- Feeds only: what the site shows is the ERP's table of the last pass or, while something waits, of the oldest change
  -- that waits or is refused, and nothing before the first record was accepted; and when the ERP was last seen to write that
  -- table. Of the conditions the first that the row does not show otherwise, while the daemon lives.
  shown AS (
    SELECT counted.*, CASE WHEN f.last_accepted_at IS NOT NULL THEN coalesce(unsent_at, last_success_at) END AS as_of,
      (SELECT c.text FROM conditions c
        WHERE c.seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-10 minutes')
          AND c.code NOT IN ('quarantined', 'refused_rows', 'blocked_orders', 'orders_untaken', 'erp_silent')
          AND (c.subject = counted.flow OR EXISTS (SELECT 1 FROM holds h JOIN flow_areas a ON a.area = h.area
            WHERE a.flow = counted.flow AND h.scope = 'area' AND h.area = c.subject
              AND h.reason = json_extract(c.params, '$.reason')))
        ORDER BY c.rank LIMIT 1) AS condition,
      f.touched_at AS erp_wrote_at, f.write_within_s,
      CAST(max(0, round((julianday('now') - julianday(coalesce(unsent_at, last_success_at))) * 86400)) AS INTEGER) AS as_of_s,
      CAST(max(0, round((julianday('now') - julianday(f.touched_at)) * 86400)) AS INTEGER) AS wrote_s
    FROM counted LEFT JOIN feeds f ON f.name = counted.flow
  )
SELECT flow, enabled, last_success_at, age_s, waiting, waiting_since, held, quarantined, last_run_at, failing_since,
  error_code, error,
  enabled AND flow <> 'erp' AND (age_s IS NULL OR age_s > stale_after_s) AS is_stale,
  as_of, erp_wrote_at,
  coalesce(enabled AND wrote_s > write_within_s, 0) AS is_erp_silent,
  refused,
  CASE
    WHEN flow = 'erp' THEN
      CASE WHEN waiting = 0 THEN 'The ERP has taken every order.'
        ELSE waiting || ' orders not yet taken by the ERP, the oldest for ' || (waiting_s / 60) || ' min.' END
      || CASE WHEN quarantined = 0 THEN '' ELSE ' ' || quarantined || ' blocked by the ERP.' END
    WHEN NOT enabled THEN 'Switched off.'
    ELSE
      CASE WHEN condition IS NOT NULL THEN condition || ' '
        WHEN held IS NOT NULL THEN 'Held (' || held || '). '
        WHEN failing_since IS NOT NULL THEN 'Failing since ' || failing_since || '. '
        ELSE '' END
      || CASE WHEN age_s IS NULL THEN 'Has not succeeded yet.'
        WHEN age_s < 120 THEN 'Succeeded ' || age_s || ' s ago.'
        WHEN age_s < 7200 THEN 'Succeeded ' || (age_s / 60) || ' min ago.'
        ELSE 'Succeeded ' || (age_s / 3600) || ' h ago.' END
      || CASE WHEN waiting = 0 THEN '' ELSE ' ' || waiting || ' waiting.' END
      || CASE WHEN refused = 0 THEN '' ELSE ' ' || refused || ' refused, tried again.' END
      || CASE WHEN quarantined = 0 THEN '' ELSE ' ' || quarantined || ' in quarantine.' END
      || CASE WHEN as_of IS NULL THEN ''
        WHEN as_of_s < 120 THEN ' On the site as of ' || as_of_s || ' s ago.'
        WHEN as_of_s < 7200 THEN ' On the site as of ' || (as_of_s / 60) || ' min ago.'
        ELSE ' On the site as of ' || (as_of_s / 3600) || ' h ago.' END
      || CASE WHEN coalesce(wrote_s > write_within_s, 0)
        THEN ' The ERP has not written its table for ' || (wrote_s / 3600) || ' h.' ELSE '' END
  END AS sentence
FROM shown;
