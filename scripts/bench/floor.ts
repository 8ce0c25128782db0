/*
 * What the work itself costs: the same bodies fetched over loopback, parsed, and the same rows written with prepared
 * statements by hand, at the same durability and in the same order of steps. It checks nothing, compares nothing and
 * survives nothing, so no bridge can be faster.
 */
import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import { Agent } from "undici";

export interface FloorOrder {
  order_id: string;
  number: string;
  status: string;
  created_at: string;
  updated_at: string;
  currency: string;
  total: string;
  items: { sku: string; name: string; quantity: number; price: string }[];
}

/** Writes orders into a database of the bridge, row for row as the bridge does. */
export class FloorWriter {
  readonly db: Database.Database;
  readonly #order: Database.Statement;
  readonly #line: Database.Statement;
  readonly #event: Database.Statement;
  readonly #batch: Database.Statement;
  readonly #confirmed: Database.Statement;

  constructor(file: string, synchronous: "FULL" | "OFF" = "FULL") {
    this.db = new Database(file);
    this.db.pragma("journal_mode = WAL");
    this.db.pragma(`synchronous = ${synchronous}`);
    this.db.pragma("foreign_keys = OFF");
    this.#order = this.db.prepare(
      `INSERT INTO orders (order_id, number, status, service_created_at, service_updated_at, currency, total, received_at,
         changed_at, payload_source, batch_hash, payload_hash, payload)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'batch', ?, ?, ?)`,
    );
    this.#line = this.db.prepare(
      "INSERT INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#event = this.db.prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, status_changed, lines_changed, fields_changed, new_status,
         source, at) VALUES (?, 1, 'created', 1, 1, 1, ?, 'batch', ?)`,
    );
    this.#batch = this.db.prepare(
      `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirm_attempts, order_ids)
       VALUES (?, ?, ?, ?, 'stored', 1, ?)`,
    );
    this.#confirmed = this.db.prepare(
      "UPDATE batches SET state = 'confirmed', confirmed_at = ?, order_ids = NULL WHERE id = ?",
    );
  }

  writeOrders(orders: readonly FloorOrder[]): void {
    const at = new Date().toISOString();
    for (const order of orders) {
      const payload = JSON.stringify(order);
      const hash = createHash("sha256").update(payload).digest();
      const key = this.#order.run(
        order.order_id,
        order.number,
        order.status,
        order.created_at,
        order.updated_at,
        order.currency,
        order.total,
        at,
        at,
        hash,
        hash,
        payload,
      ).lastInsertRowid;
      for (const [index, item] of order.items.entries()) {
        const line = JSON.stringify(item);
        this.#line.run(key, index + 1, item.sku, item.name, String(item.quantity), item.price, line);
      }
      this.#event.run(key, order.status, at);
    }
  }

  /** One transaction: the orders and their batch. Gives the batch's number. */
  writeBatch(batchId: string, orders: readonly FloorOrder[]): number | bigint {
    return this.db
      .transaction(() => {
        this.writeOrders(orders);
        const ids = JSON.stringify(orders.map(({ order_id }) => order_id));
        return this.#batch.run(batchId, JSON.stringify(batchId), new Date().toISOString(), orders.length, ids)
          .lastInsertRowid;
      })
      .immediate();
  }

  markConfirmed(batch: number | bigint): void {
    this.#confirmed.run(new Date().toISOString(), batch);
  }
}

/** Fetches and stores until the service has nothing new. Returns how many orders that were. */
export async function runFloor(file: string, port: string): Promise<number> {
  const writer = new FloorWriter(file);
  const agent = new Agent({ connections: 4, pipelining: 1 });
  const origin = `http://127.0.0.1:${port}`;
  let count = 0;
  for (;;) {
    const answer = await agent.request({ origin, path: "/api/v1/1c/orders", method: "GET" });
    const { batch_id: batchId, orders } = JSON.parse(await answer.body.text()) as {
      batch_id: string;
      orders: FloorOrder[];
    };
    if (orders.length === 0) break;
    const batch = writer.writeBatch(batchId, orders);
    const confirm = await agent.request({
      origin,
      path: "/api/v1/1c/orders/confirm",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ batch_id: batchId }),
    });
    await confirm.body.dump();
    writer.markConfirmed(batch);
    count += orders.length;
  }
  writer.db.pragma("wal_checkpoint(TRUNCATE)");
  writer.db.close();
  await agent.close();
  return count;
}
