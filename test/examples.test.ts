import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Shop, startShop } from "./support/shop.ts";
import { itWhole, some } from "./support/whole.ts";

interface Example {
  name: string;
  ingestOrders(database: string): Ended;
  writeStock(shop: Shop, sku: string, quantity: string): Ended;
}

interface Ended {
  status: number | null;
  stderr: string;
  stdout: string;
}

function run(program: string, args: readonly string[], input = ""): Ended {
  const { status, stderr, stdout } = spawnSync(program, args, { encoding: "utf8", input });
  return { status, stderr, stdout };
}

const program = (name: string, interpreter: string): Example => ({
  name: `examples/${name}`,
  ingestOrders: (database) => run(interpreter, [`examples/${name}`, database, "orders"]),
  writeStock: (shop, sku, quantity) => run(interpreter, [`examples/${name}`, shop.database, "stock", sku, quantity]),
});
const script = (database: string) => run("sqlite3", [database], readFileSync("examples/erp.sql", "utf8"));
const sql: Example = {
  name: "examples/erp.sql",
  ingestOrders: script,
  writeStock: (shop, sku, quantity) => {
    script(shop.database);
    shop.write("INSERT OR REPLACE INTO my_stock (sku, warehouse, on_hand) VALUES (?, '', ?)", sku, quantity);
    return script(shop.database);
  },
};
const examples: [Example, boolean][] = [
  [sql, run("sqlite3", ["--version"]).status === 0],
  [program("erp.py", "python3"), run("python3", ["-c", "import sqlite3"]).status === 0],
  [program("erp.mjs", process.execPath), true],
];

async function shopWithOrders(count: number): Promise<Shop> {
  const shop = await startShop();
  for (let made = 0; made < count; made++) shop.sandbox.service.createOrder();
  expect((await shop.command("sync", "orders")).code).toBe(0);
  return shop;
}

for (const [example, isThere] of some(examples, 1)) {
  describe.runIf(isThere)(example.name, () => {
    it("takes the orders that wait and publishes stock", async () => {
      const shop = await shopWithOrders(3);
      expect(example.ingestOrders(shop.database)).toMatchObject({ status: 0, stderr: "" });
      expect(shop.rows("SELECT seen_revision, state FROM erp_orders")).toEqual(
        Array.from({ length: 3 }, () => ({ seen_revision: 1, state: "taken" })),
      );
      expect(shop.rows("SELECT 1 FROM erp_orders WHERE erp_number IS NULL")).toEqual([]);
      expect(shop.rows("SELECT 1 FROM orders_pending")).toEqual([]);

      expect(example.writeStock(shop, "007-Ä", "3.125")).toMatchObject({ status: 0, stderr: "" });
      await shop.command("sync", "stocks");
      expect(shop.rows("SELECT sent ->> 'quantity' AS quantity FROM stock_sent WHERE sku = '007-Ä'")).toEqual([
        { quantity: 3.125 },
      ]);
    });

    itWhole("leaves an order that changes between reading and marking to the next look", async () => {
      const shop = await shopWithOrders(2);
      const [order] = shop.rows<{ order_id: string }>("SELECT order_id FROM orders_pending LIMIT 1");
      // In the place of a bridge that stores a change at the worst moment.
      shop.write(`CREATE TRIGGER meanwhile BEFORE INSERT ON erp_orders WHEN NEW.order_id = '${order?.order_id}' BEGIN
        UPDATE orders SET revision = revision + 1, erp_revision = revision + 1, status = 'cancelled' WHERE order_id = NEW.order_id;
      END`);
      example.ingestOrders(shop.database);
      shop.write("DROP TRIGGER meanwhile");
      const pending = () => shop.rows("SELECT order_id FROM orders_pending");
      expect(pending()).toEqual([{ order_id: order?.order_id }]);
      expect(example.ingestOrders(shop.database)).toMatchObject({ status: 0, stderr: "" });
      expect(pending()).toEqual([]);
    });
  });
}

describe.each(some([program("erp.mjs", process.execPath), program("erp.py", "python3")], 1))("$name", (example) => {
  const isThere = examples.some(([{ name }, there]) => name === example.name && there);
  it.runIf(isThere)("puts an order aside that it cannot take, and goes on with the others", async () => {
    const shop = await shopWithOrders(1);
    shop.sandbox.service.createOrder({ lines: [] });
    expect((await shop.command("sync", "orders")).code).toBe(0);
    expect(example.ingestOrders(shop.database)).toMatchObject({ status: 0, stderr: "" });
    expect(shop.rows("SELECT error FROM orders_blocked")).toEqual([{ error: "the order has no lines" }]);
    expect(shop.rows("SELECT state FROM erp_orders ORDER BY state")).toEqual([
      { state: "blocked" },
      { state: "taken" },
    ]);
    expect(shop.rows("SELECT 1 FROM orders_pending")).toEqual([]);
  });
});
