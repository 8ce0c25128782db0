// What an ERP does with the database of erp-bridge, in Node's standard library alone (24 or newer):
//
//   node erp.mjs DATABASE orders                  takes the orders that wait
//   node erp.mjs DATABASE stock SKU QUANTITY      publishes a stock level
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const ORDERS_AT_ONCE = 100;

// Headers and lines in one statement, so that both are of the same revision.
const PENDING = `
SELECT p.order_id, p.revision, p.why, p.number, p.status, p.total,
       (SELECT json_group_array(json_object('sku', l.sku, 'quantity', l.quantity, 'price', l.price))
        FROM order_lines l WHERE l.order_id = p.order_id) AS lines
FROM orders_pending p LIMIT ?`;

// The revision that was read. If the order changed meanwhile, it simply stays in orders_pending.
const MARK = `
INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES (?, ?, ?)
ON CONFLICT (order_id) DO UPDATE SET
  erp_number = excluded.erp_number,
  seen_revision = max(seen_revision, excluded.seen_revision)`;

// An order that the ERP cannot take is put aside with a word; it shows in orders_blocked, and a change brings it back.
const BLOCK = `
INSERT INTO erp_orders (order_id, seen_revision, state, error) VALUES (?, ?, 'blocked', ?)
ON CONFLICT (order_id) DO UPDATE SET
  seen_revision = max(seen_revision, excluded.seen_revision), state = 'blocked', error = excluded.error`;

function openDatabase(path) {
  if (!existsSync(path)) throw new Error(`there is no database ${path}`);
  // 10 s: the bridge never holds the write lock for more than half a second.
  const database = new DatabaseSync(path, { timeout: 30_000 });
  // Asked for and not left to the driver: with NORMAL a power cut may take a mark back, and the order comes once more.
  database.exec("PRAGMA synchronous = FULL");
  return database;
}

/** Puts one order into the ERP and gives the ERP's own number. Here it is only shown. */
function take(order, lines) {
  if (lines.length === 0) throw new RangeError("the order has no lines");
  console.log(`${order.why}: ${order.number}, ${order.status}, ${order.total}, ${lines.length} lines`);
  return `ERP-${order.number}`;
}

function takeOrders(database) {
  for (;;) {
    // all: finish reading before anything is written.
    const orders = database.prepare(PENDING).all(ORDERS_AT_ONCE);
    for (const order of orders) {
      // One statement, one transaction an order: a crash after it repeats nothing that was done.
      try {
        const erpNumber = take(order, JSON.parse(order.lines));
        database.prepare(MARK).run(order.order_id, erpNumber, order.revision);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        database.prepare(BLOCK).run(order.order_id, order.revision, error.message);
      }
    }
    if (orders.length < ORDERS_AT_ONCE) return;
  }
}

function writeStock(database, sku, quantity) {
  database
    .prepare(
      `INSERT INTO stock (sku, quantity) VALUES (?, ?)
       ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
    )
    // Text keeps every digit; a float would not.
    .run(sku, quantity);
}

const [path, what, sku, quantity] = process.argv.slice(2);
if (what === "orders") takeOrders(openDatabase(path));
else if (what === "stock" && quantity !== undefined) writeStock(openDatabase(path), sku, quantity);
else {
  console.error("node erp.mjs DATABASE orders | node erp.mjs DATABASE stock SKU QUANTITY");
  process.exitCode = 64;
}
