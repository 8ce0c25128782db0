-- What an ERP does with the mirror in PostgreSQL, for all of its shops, in SQL alone:
--
--   psql ADDRESS --no-psqlrc --file erp.sql
--
-- ADDRESS is what `erp-bridge mirror init --erp NAME` printed. my_documents and my_stock are the ERP's; here they last as long
-- as the connection.
\set ON_ERROR_STOP on
SET search_path TO pg_temp, erp_bridge;

CREATE TEMP TABLE my_documents (
  document integer GENERATED ALWAYS AS IDENTITY, shop text, order_id uuid, revision bigint, number text, status text, total text, lines jsonb,
  PRIMARY KEY (shop, order_id)
);
CREATE TEMP TABLE my_stock (shop text, sku text, warehouse text DEFAULT '', on_hand numeric, PRIMARY KEY (shop, sku, warehouse));
INSERT INTO my_stock (shop, sku, on_hand) SELECT shop, 'A-17', 12.5 FROM shop_keys;

-- Orders. The revision that was read is the one that is marked: an order that changed meanwhile stays in orders_pending.
BEGIN;

INSERT INTO my_documents (shop, order_id, revision, number, status, total, lines)
SELECT shop, order_id, revision, number, status, total, lines FROM orders_pending
ON CONFLICT (shop, order_id) DO UPDATE SET
  revision = excluded.revision, number = excluded.number, status = excluded.status, total = excluded.total, lines = excluded.lines;

INSERT INTO erp_orders (shop, order_id, erp_number, seen_revision)
SELECT shop, order_id, 'DOC-' || document, revision FROM my_documents
ON CONFLICT (shop, order_id) DO UPDATE SET
  erp_number = excluded.erp_number,
  seen_revision = greatest(erp_orders.seen_revision, excluded.seen_revision);

COMMIT;

-- Stock. Only rows that differ are written, so that nothing is read again for those that do not.
INSERT INTO stock (shop, sku, warehouse, quantity)
SELECT shop, sku, warehouse, on_hand FROM my_stock
ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity
WHERE stock.quantity IS DISTINCT FROM excluded.quantity;

-- What the shops refused: nothing else waits for it.
SELECT shop, order_id, error FROM erp_orders WHERE error IS NOT NULL;
SELECT shop, sku, warehouse, error FROM stock WHERE error IS NOT NULL;
