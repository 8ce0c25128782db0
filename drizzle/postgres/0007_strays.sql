-- What a machine that has lost its shop to another one leaves to it: orders that it took while it did not hear of that. A row without an order says
-- that it was there, and may have sent rows of feeds as well. Deleted once the other machine's database has them.
CREATE TABLE strays (
  shop text NOT NULL REFERENCES shop_keys (shop),
  id bigint GENERATED ALWAYS AS IDENTITY,
  host text,
  order_id uuid,
  service_id text,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (shop, id),
  UNIQUE (shop, order_id)
);
--> statement-breakpoint

ALTER TABLE strays ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint

CREATE POLICY own_shops ON strays USING (shop = ANY ((SELECT my_shops())::text[]) OR '*' = ANY ((SELECT my_shops())::text[]));
