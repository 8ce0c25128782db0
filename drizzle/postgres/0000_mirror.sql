-- The mirror in PostgreSQL: every shop's orders and health on the way down, the ERP's own tables on the way up. Applied by
-- `erp-bridge mirror init` in one transaction whose search_path names the schema alone, so that no name here is qualified.
-- Never edited once it has landed: a later change is a later file. Roles and their rights are made by the command.

-- A shop must be known before anybody writes a row of it: a typing error in a key would otherwise wait for ever.
CREATE TABLE shop_keys (
  shop text PRIMARY KEY CHECK (shop <> '' AND shop <> '*')
);
--> statement-breakpoint

-- Which role sees which shop; `*`: every shop.
CREATE TABLE shop_roles (
  role name NOT NULL,
  shop text NOT NULL,
  PRIMARY KEY (role, shop)
);
--> statement-breakpoint

CREATE FUNCTION my_shops() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS
$$ SELECT coalesce(array_agg(shop), '{}') FROM shop_roles WHERE role = current_user $$;
--> statement-breakpoint

-- How far each shop's database has come here. One row a shop, moved in the transaction of the rows that it covers.
CREATE TABLE positions (
  shop text PRIMARY KEY REFERENCES shop_keys (shop),
  database_id text NOT NULL, -- the number that the shop's database got when it was made
  writer uuid, -- the instance that claimed the shop last
  writer_no bigint NOT NULL DEFAULT 0, -- grows with each claim
  takeover_no integer NOT NULL DEFAULT 0, -- grows with each takeover: an older machine never claims again
  host text,
  version text,
  epoch integer NOT NULL DEFAULT 0, -- grows where the shop's numbers have gone back: what was written before is older
  orders_seq bigint NOT NULL, -- `orders` are as of this event
  events_seq bigint NOT NULL, -- `order_events` are here up to this one
  walk text CHECK (walk IN ('copy', 'compare')), -- every order is being gone through
  walk_after bigint NOT NULL DEFAULT 0, -- up to this order
  compared_at timestamptz, -- every order was gone through
  extra_orders bigint NOT NULL DEFAULT 0, -- orders here that the shop's database did not have then
  turn bigint NOT NULL DEFAULT 0, -- grows with every transaction that writes: a restored PostgreSQL is behind
  heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  silent_after interval NOT NULL DEFAULT interval '2 minutes',
  sentence text -- the first line of `erp-bridge status`
);
--> statement-breakpoint

CREATE TABLE orders (
  shop text NOT NULL,
  order_id uuid NOT NULL,
  service_id text,
  number text,
  status text,
  is_cancelled boolean NOT NULL,
  is_open boolean NOT NULL,
  service_created_at text,
  service_updated_at text,
  currency text,
  total text,
  revision bigint NOT NULL,
  erp_revision bigint NOT NULL,
  received_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  removed_at timestamptz,
  lines jsonb NOT NULL,
  payload jsonb, -- NULL where jsonb cannot hold it
  payload_text text, -- then its text
  hash text NOT NULL, -- of everything above, as the shop's database has it
  epoch integer NOT NULL,
  seq bigint NOT NULL, -- the newest event of the shop when it was read: an older reading is never written over it
  PRIMARY KEY (shop, order_id)
);
--> statement-breakpoint

CREATE INDEX orders_changed ON orders (shop, changed_at);
--> statement-breakpoint

CREATE INDEX orders_number ON orders (number) WHERE number IS NOT NULL;
--> statement-breakpoint

CREATE TABLE order_events (
  shop text NOT NULL,
  seq bigint NOT NULL,
  order_id uuid NOT NULL,
  revision bigint NOT NULL,
  kind text NOT NULL,
  status_changed boolean NOT NULL,
  lines_changed boolean NOT NULL,
  fields_changed boolean NOT NULL,
  old_status text,
  new_status text,
  changes jsonb,
  source text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (shop, seq)
);
--> statement-breakpoint

CREATE INDEX order_events_order ON order_events (shop, order_id, seq);
--> statement-breakpoint

CREATE TABLE batches (
  shop text NOT NULL,
  id bigint NOT NULL,
  service_batch_id text,
  received_at timestamptz NOT NULL,
  order_count integer NOT NULL,
  state text NOT NULL,
  confirm_attempts integer NOT NULL,
  confirmed_at timestamptz,
  last_error text,
  PRIMARY KEY (shop, id)
);
--> statement-breakpoint

-- Without the records themselves: those stay with the shop.
CREATE TABLE quarantine (
  shop text NOT NULL,
  id bigint NOT NULL,
  kind text NOT NULL,
  reference text,
  reason text NOT NULL,
  state text NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  times integer NOT NULL,
  PRIMARY KEY (shop, id)
);
--> statement-breakpoint

CREATE TABLE conditions (
  shop text NOT NULL,
  rank integer NOT NULL,
  code text NOT NULL,
  severity text NOT NULL,
  subject text NOT NULL,
  since timestamptz,
  params jsonb NOT NULL,
  text text NOT NULL,
  command text,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (shop, rank)
);
--> statement-breakpoint

-- ------------------------------------------------------------------------------------------------ what the ERP writes
CREATE TABLE erp_orders (
  shop text NOT NULL REFERENCES shop_keys (shop),
  order_id uuid NOT NULL,
  erp_number text,
  seen_revision bigint NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'taken' CHECK (state IN ('taken', 'blocked')),
  block_reason text, -- `error` in the shop's database
  note text,
  error text, -- why the shop's database refused the row; NULL: it has it
  PRIMARY KEY (shop, order_id)
);
--> statement-breakpoint

-- What may be pending: what the bridge has seen raised and not yet seen taken. `orders_pending` compares exactly.
CREATE TABLE erp_queue (
  shop text NOT NULL,
  order_id uuid NOT NULL,
  since timestamptz NOT NULL,
  PRIMARY KEY (shop, order_id)
);
--> statement-breakpoint

-- The id is the client's: a request that is inserted again with it, or comes again after a restore, leaves once.
CREATE TABLE status_requests (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  shop text NOT NULL REFERENCES shop_keys (shop),
  seq bigint GENERATED ALWAYS AS IDENTITY, -- requests of one order leave in this order
  order_id uuid NOT NULL,
  status text NOT NULL,
  comment text,
  data jsonb,
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sending', 'sent', 'refused')),
  attempts integer NOT NULL DEFAULT 0,
  http_status integer,
  answered_at timestamptz,
  last_error text,
  error text -- why the shop's database refused the row
);
--> statement-breakpoint

CREATE INDEX status_requests_shop ON status_requests (shop, state, seq);
--> statement-breakpoint

CREATE TABLE stock (
  shop text NOT NULL REFERENCES shop_keys (shop),
  sku text NOT NULL,
  warehouse text NOT NULL DEFAULT '',
  quantity numeric,
  reserved numeric DEFAULT 0,
  error text,
  PRIMARY KEY (shop, sku, warehouse)
);
--> statement-breakpoint

CREATE TABLE prices (
  shop text NOT NULL REFERENCES shop_keys (shop),
  sku text NOT NULL,
  price_type text NOT NULL DEFAULT '',
  price numeric,
  old_price numeric,
  currency text,
  data jsonb,
  error text,
  PRIMARY KEY (shop, sku, price_type)
);
--> statement-breakpoint

CREATE TABLE products (
  shop text NOT NULL REFERENCES shop_keys (shop),
  sku text NOT NULL,
  parent text,
  is_group boolean DEFAULT false,
  name text,
  article text,
  barcode text,
  unit text,
  vat text,
  description text,
  active boolean DEFAULT true,
  data jsonb,
  error text,
  PRIMARY KEY (shop, sku)
);
--> statement-breakpoint

CREATE TABLE images (
  shop text NOT NULL REFERENCES shop_keys (shop),
  sku text NOT NULL,
  position integer NOT NULL DEFAULT 0,
  source text,
  alt text,
  data jsonb,
  error text,
  PRIMARY KEY (shop, sku, position)
);
--> statement-breakpoint

-- Keys that somebody wrote since the shop's bridge last looked. Rows are read, committed by the shop and then deleted by their
-- ids: a watermark over the ids would miss those of transactions that commit later.
CREATE TABLE touched (
  shop text NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  tbl text NOT NULL,
  k0 text, -- NULL: all of the table
  k1 text,
  PRIMARY KEY (shop, id)
);
--> statement-breakpoint

-- The bridge's own writes (`error`, outcomes) say `erp_bridge.quiet`, and touch nothing.
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  add constant text := format('INSERT INTO touched (shop, tbl, k0, k1) SELECT shop, %L, %s FROM ', TG_TABLE_NAME, TG_ARGV[0]);
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
  RETURN NULL;
END $$;
--> statement-breakpoint

DO $$
DECLARE
  one record;
BEGIN
  FOR one IN VALUES ('erp_orders', 'order_id::text, NULL::text'), ('stock', 'sku, warehouse'), ('prices', 'sku, price_type'),
    ('products', 'sku, NULL::text'), ('images', 'sku, position::text'), ('status_requests', 'id::text, NULL::text')
  LOOP
    EXECUTE format('CREATE TRIGGER touch_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION touch(%L)', one.column1, one.column2);
    -- A request is withdrawn by nobody: it may have left already.
    CONTINUE WHEN one.column1 = 'status_requests';
    EXECUTE format('CREATE TRIGGER touch_update AFTER UPDATE ON %I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION touch(%L)', one.column1, one.column2);
    EXECUTE format('CREATE TRIGGER touch_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION touch(%L)', one.column1, one.column2);
    EXECUTE format('CREATE TRIGGER touch_truncate AFTER TRUNCATE ON %I
      FOR EACH STATEMENT EXECUTE FUNCTION touch(%L)', one.column1, one.column2);
  END LOOP;
  FOR one IN VALUES ('shop_keys'), ('positions'), ('orders'), ('order_events'), ('batches'), ('quarantine'), ('conditions'),
    ('erp_orders'), ('erp_queue'), ('status_requests'), ('stock'), ('prices'), ('products'), ('images'), ('touched')
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one.column1);
    EXECUTE format('CREATE POLICY own_shops ON %I USING (shop = ANY ((SELECT my_shops())::text[]) OR ''*'' = ANY ((SELECT my_shops())::text[]))',
      one.column1);
  END LOOP;
END $$;
--> statement-breakpoint

-- ------------------------------------------------------------------------------------------------------------- views
CREATE VIEW order_lines WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.revision, l.line_no, l.sku, l.name, l.quantity, l.price, l.payload
FROM orders o CROSS JOIN LATERAL jsonb_to_recordset(o.lines)
  AS l (line_no integer, sku text, name text, quantity text, price text, payload jsonb);
--> statement-breakpoint

-- Sums for reports: NULL where the text is no plain number.
CREATE VIEW orders_wide WITH (security_invoker = true) AS
SELECT o.*, CASE WHEN o.total ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$' THEN o.total::numeric END AS total_num
FROM orders o;
--> statement-breakpoint

CREATE VIEW orders_pending WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.service_created_at, o.service_updated_at,
  o.currency, o.total, o.payload, o.payload_text, o.lines, o.revision, o.erp_revision, o.received_at, o.changed_at, o.removed_at,
  e.erp_number, coalesce(e.seen_revision, 0) AS seen_revision,
  CASE WHEN o.is_cancelled THEN 'cancelled' WHEN o.removed_at IS NOT NULL THEN 'removed'
    WHEN coalesce(e.seen_revision, 0) = 0 THEN 'new' ELSE 'changed' END AS why
FROM erp_queue q
JOIN orders o ON o.shop = q.shop AND o.order_id = q.order_id
LEFT JOIN erp_orders e ON e.shop = q.shop AND e.order_id = q.order_id
WHERE o.erp_revision > coalesce(e.seen_revision, 0) AND e.state IS DISTINCT FROM 'blocked'
ORDER BY q.shop, q.since, q.order_id;
--> statement-breakpoint

CREATE VIEW orders_blocked WITH (security_invoker = true) AS
SELECT o.shop, o.order_id, o.number, o.status, o.is_cancelled, o.is_open, o.total, o.currency, o.payload, o.lines, o.revision,
  o.erp_revision, o.received_at, o.changed_at, o.removed_at, e.erp_number, e.seen_revision, e.block_reason, e.note
FROM erp_orders e JOIN orders o ON o.shop = e.shop AND o.order_id = e.order_id
WHERE e.state = 'blocked';
--> statement-breakpoint

-- The head office: one row a shop.
CREATE VIEW shops WITH (security_invoker = true) AS
SELECT k.shop,
  p.heard_at IS NULL OR p.heard_at < now() - p.silent_after AS is_silent,
  CASE WHEN p.heard_at IS NULL THEN 'Never heard of.'
    WHEN p.heard_at < now() - p.silent_after THEN
      'Silent since ' || to_char(p.heard_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC. Before that: ' || coalesce(p.sentence, '')
    ELSE p.sentence END AS sentence,
  p.heard_at,
  coalesce(c.worst, 'none') AS worst,
  coalesce(c.conditions, '[]'::jsonb) AS conditions,
  p.walk IS NOT DISTINCT FROM 'copy' AS is_copying,
  p.compared_at, p.extra_orders, p.host, p.version
FROM shop_keys k
LEFT JOIN positions p ON p.shop = k.shop
LEFT JOIN LATERAL (
  SELECT (array_agg(c.severity ORDER BY array_position(ARRAY['critical', 'error', 'warning', 'notice'], c.severity)))[1] AS worst,
    jsonb_agg(jsonb_build_object('code', c.code, 'severity', c.severity, 'subject', c.subject, 'since', c.since, 'text', c.text,
      'command', c.command) ORDER BY c.rank) AS conditions
  FROM conditions c WHERE c.shop = k.shop
) c ON true
ORDER BY k.shop;
