-- What an ERP does with the database of erp-bridge, in SQL alone, for SQLite's own shell (3.38 or newer):
--
--   sqlite3 /var/lib/erp-bridge/bridge.db < erp.sql
--
-- Tables of your own may stand in the same file; here my_documents and my_stock are the ERP's.
.bail on
.timeout 30000
-- A shell older than 3.51.3 leaves checkpoints to the bridge; docs/sharing-the-database.md says why.
PRAGMA wal_autocheckpoint = 0;

CREATE TABLE IF NOT EXISTS my_documents (
  document INTEGER PRIMARY KEY, order_id TEXT NOT NULL UNIQUE, number TEXT, status TEXT, total TEXT, lines TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS my_stock (sku TEXT NOT NULL, warehouse TEXT NOT NULL, on_hand NUMERIC NOT NULL, PRIMARY KEY (sku, warehouse));

-- Orders. Reading and marking are one transaction that holds the write lock from its beginning: nothing can change between
-- them. Keep it short; where taking an order needs longer (another database, a person), read, end the transaction, work,
-- and then mark the revision that you read, as erp.py does.
BEGIN IMMEDIATE;

INSERT INTO my_documents (order_id, number, status, total, lines)
SELECT p.order_id, p.number, p.status, p.total,
       (SELECT json_group_array(json_object('sku', l.sku, 'quantity', l.quantity, 'price', l.price))
        FROM order_lines l WHERE l.order_id = p.order_id)
FROM orders_pending p WHERE true
ON CONFLICT (order_id) DO UPDATE SET
  number = excluded.number, status = excluded.status, total = excluded.total, lines = excluded.lines;

-- A table in between, because marking takes orders out of the view that is being read.
CREATE TEMP TABLE taken AS
SELECT p.order_id, d.document, p.revision FROM orders_pending p JOIN my_documents d USING (order_id);

INSERT INTO erp_orders (order_id, erp_number, seen_revision)
SELECT order_id, 'DOC-' || document, revision FROM taken WHERE true
ON CONFLICT (order_id) DO UPDATE SET
  erp_number = excluded.erp_number,
  seen_revision = max(seen_revision, excluded.seen_revision);

COMMIT;

-- Stock. Write what you have; only rows that differ from what the site shows are sent.
INSERT INTO stock (sku, warehouse, quantity)
SELECT sku, warehouse, on_hand FROM my_stock WHERE true
ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity;
