import Database from "better-sqlite3";

/** A small ERP, as an integrator would write it: plain SQL on the shared file, nothing of the bridge's code. */
export class DemoErp {
  readonly #db: Database.Database;

  constructor(databasePath: string) {
    this.#db = new Database(databasePath);
    this.#db.pragma("synchronous = FULL");
  }

  /** The nightly rewrite of many ERPs: delete and insert everything. Rows that come out equal are not sent again. */
  writeStock(levels: ReadonlyMap<string, number>): void {
    const insert = this.#db.prepare("INSERT INTO stock (sku, quantity, reserved) VALUES (?, ?, 0)");
    this.#db.transaction(() => {
      this.#db.prepare("DELETE FROM stock").run();
      for (const [sku, quantity] of levels) insert.run(sku, quantity);
    })();
  }

  /** Takes what is pending: header and lines in one statement, then the revision that was read. */
  ingestOrders(): number {
    const pending = this.#db
      .prepare(
        `SELECT p.order_id, p.number, p.why, p.revision,
           (SELECT json_group_array(json_object('sku', l.sku, 'quantity', l.quantity)) FROM order_lines l
            WHERE l.order_id = p.order_id) AS lines
         FROM orders_pending p LIMIT 50`,
      )
      .all() as { order_id: string; number: string; why: string; revision: number; lines: string }[];
    for (const order of pending) {
      if (order.why === "new") this.#reserve(order);
      this.#mark(order);
    }
    return pending.length;
  }

  stockOf(sku: string): number {
    return (
      this.#db.prepare("SELECT quantity - reserved AS free FROM stock WHERE sku = ?").get(sku) as { free: number }
    ).free;
  }

  skus(): string[] {
    return (this.#db.prepare("SELECT sku FROM stock ORDER BY sku").all() as { sku: string }[]).map(({ sku }) => sku);
  }

  close(): void {
    this.#db.close();
  }

  #reserve(order: { number: string; lines: string }): void {
    const reserve = this.#db.prepare(
      "UPDATE stock SET reserved = reserved + ? WHERE sku = ? AND quantity - reserved >= ?",
    );
    for (const { sku, quantity } of JSON.parse(order.lines) as { sku: string; quantity: string }[]) {
      const pieces = Math.ceil(Number(quantity));
      reserve.run(pieces, sku, pieces);
    }
  }

  #mark(order: { order_id: string; number: string; revision: number }): void {
    this.#db
      .prepare(
        `INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES (?, ?, ?)
         ON CONFLICT (order_id) DO UPDATE SET seen_revision = max(seen_revision, excluded.seen_revision)`,
      )
      .run(order.order_id, `ERP-${order.number}`, order.revision);
  }
}
