import { expect, it } from "vitest";
import type { Store } from "../../src/database/store.ts";
import type { MirrorTx } from "../../src/mirror/connection.ts";
import { approveMirror, loadMirrorFacts, noteRestored, switchMirror } from "../../src/mirror/mirror-state.ts";
import { readTouched } from "../../src/mirror/up/remote-rows.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { inWhole, itWhole } from "../support/whole.ts";
import { SHOP, showOrder, startUp, storeOrders, type UpBench } from "./up-support.ts";

const STOCK = "SELECT sku, warehouse, quantity, reserved, typeof(quantity) AS type FROM stock ORDER BY sku, warehouse";

function switchOn(store: Store): void {
  store.write(() => switchMirror(store, true));
}

describeWithPostgres("rows of the ERP on their way up", () => {
  itWhole("arrive with their values exactly, are changed, and go", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(
      `INSERT INTO stock (shop, sku, warehouse, quantity, reserved) VALUES ('${SHOP}', 'A-17', 'main', 12, 2), ('${SHOP}', 'B 3', '', 0.250, 0),
         ('south', 'A-17', 'main', 5, 0)`,
    );
    await erp.query(
      `INSERT INTO prices (shop, sku, price, currency, data) VALUES ('${SHOP}', 'A-17', 123456789012.345678901, 'RUB', '{"a": 1.10}')`,
    );
    await erp.query(`INSERT INTO products (shop, sku, name, active) VALUES ('${SHOP}', 'A-17', 'Ёлка "x"', false)`);
    await erp.query(`INSERT INTO images (shop, sku, position, source) VALUES ('${SHOP}', 'A-17', 3, 'a.jpg')`);
    expect(await pass()).toEqual({ erpRows: 5 });
    expect(bridge.rows(STOCK)).toEqual([
      { sku: "A-17", warehouse: "main", quantity: 12, reserved: 2, type: "integer" },
      { sku: "B 3", warehouse: "", quantity: "0.250", reserved: 0, type: "text" },
    ]);
    expect(bridge.rows("SELECT price, currency, data FROM prices")).toEqual([
      { price: "123456789012.345678901", currency: "RUB", data: '{"a": 1.10}' },
    ]);
    expect(bridge.rows("SELECT name, is_group, active FROM products")).toEqual([
      { name: 'Ёлка "x"', is_group: 0, active: 0 },
    ]);
    expect(bridge.rows("SELECT position, source FROM images")).toEqual([{ position: 3, source: "a.jpg" }]);
    expect(await remote(`SELECT * FROM touched WHERE shop = '${SHOP}'`)).toEqual([]);
    expect(await remote("SELECT tbl FROM touched")).toEqual([{ tbl: "stock" }]);

    await erp.query(`UPDATE stock SET sku = 'C-1' WHERE sku = 'B 3'`);
    await erp.query(`DELETE FROM images WHERE shop = '${SHOP}'`);
    expect(await pass()).toEqual({ erpRows: 3 });
    expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "A-17" }, { sku: "C-1" }]);
    expect(bridge.rows("SELECT * FROM images")).toEqual([]);
    expect(await pass()).toEqual({});
  });

  itWhole("miss nothing of transactions that commit late, and see nothing of those that are rolled back", async () => {
    const { bridge, erp, connectErp, pass } = await startUp();
    const slow = await connectErp();
    const never = await connectErp();
    for (const client of [slow, never]) await client.query("BEGIN");
    await slow.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'slow', 1)`);
    await never.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'never', 1)`);
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'quick', 1)`);
    expect(await pass()).toEqual({ erpRows: 1 });
    await never.query("ROLLBACK");
    await slow.query("COMMIT");
    expect(await pass()).toEqual({ erpRows: 1 });
    expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "quick" }, { sku: "slow" }]);
  });

  itWhole("are more than a round holds", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(
      `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S-' || n, n FROM generate_series(1, 4500) AS n`,
    );
    expect(await pass()).toEqual({ erpRows: 4500 });
    expect(bridge.rows("SELECT count(*) AS n, sum(quantity) AS sum FROM stock")).toEqual([
      { n: 4500, sum: (4500 * 4501) / 2 },
    ]);
    expect(await remote("SELECT count(*)::int AS n FROM touched")).toEqual([{ n: 0 }]);
    await erp.query("UPDATE stock SET quantity = 0");
    expect(await pass()).toEqual({ erpRows: 4500 });
  });

  itWhole(
    "by the million do not keep marks and requests waiting, nor does a whole table that is gone through",
    async () => {
      const { bridge, erp, turn, pass, remote } = await startUp();
      const orders = await storeOrders(bridge, 2);
      const writeStock = () =>
        erp.query(
          `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S-' || n, n FROM generate_series(1, 4500) AS n`,
        );
      const ask = async (order = "") => {
        await erp.query(`INSERT INTO status_requests (shop, order_id, status) VALUES ('${SHOP}', '${order}', 'paid')`);
        await erp.query(`INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${order}', 1)`);
      };
      const up = (table: string) => bridge.rows(`SELECT 1 FROM ${table}`).length;
      await writeStock();
      await ask(orders[0]);
      expect(await turn()).toMatchObject({ counts: { erpRequests: 1, erpRows: 2_001 }, more: true });
      expect([up("status_requests"), up("erp_orders"), up("stock")]).toEqual([1, 1, 2_000]);
      await pass();
      await erp.query("TRUNCATE stock");
      await writeStock();
      await turn();
      await turn();
      await ask(orders[1]);
      expect(await turn()).toMatchObject({ counts: { erpRequests: 1 }, more: true });
      expect([up("status_requests"), up("erp_orders")]).toEqual([2, 2]);
      await pass();
      expect(up("stock")).toBe(4_500);
      expect(await remote(`SELECT 1 FROM touched WHERE shop = '${SHOP}'`)).toEqual([]);
    },
  );

  itWhole("go with a TRUNCATE, and what is inserted with it stays", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(
      `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S-' || n, n FROM generate_series(1, 3000) AS n`,
    );
    await pass();
    await erp.query("BEGIN");
    await erp.query("TRUNCATE stock");
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'S-7', 7), ('${SHOP}', 'new', 1)`);
    await erp.query("COMMIT");
    await pass();
    expect(bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku")).toEqual([
      { sku: "S-7", quantity: 7 },
      { sku: "new", quantity: 1 },
    ]);
    expect(await remote(`SELECT count(*)::int AS n FROM touched WHERE shop = '${SHOP}'`)).toEqual([{ n: 0 }]);
  });

  itWhole("of a table that nothing ever came to from PostgreSQL are not emptied by a TRUNCATE there", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    bridge.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('local', 1)");
    await erp.query("TRUNCATE stock");
    await pass();
    expect(bridge.rows("SELECT sku FROM stock")).toEqual([{ sku: "local" }]);
    expect(await remote(`SELECT count(*)::int AS n FROM touched WHERE shop = '${SHOP}'`)).toEqual([{ n: 0 }]);
  });

  itWhole(
    "are zeros where they were deleted while an older database took over, until a night after the site has them",
    async () => {
      const { bridge, erp, pass, up } = await startUp({ imports: { stocks: { path: "/api/v1/import/stocks" } } });
      const stock = () => bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku");
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 1), ('${SHOP}', 'B', 2), ('${SHOP}', 'C', 3)`,
      );
      await pass();
      // The copy is of before the articles, which the site sells; one was deleted since, and only the note of it is left.
      bridge.bridge.store.db.exec("DELETE FROM stock; DELETE FROM mirror_state WHERE key = 'up_no'");
      await erp.query("DELETE FROM stock WHERE sku = 'A'");
      await pass();
      expect(stock()).toEqual([
        { sku: "A", quantity: 0 },
        { sku: "B", quantity: 2 },
        { sku: "C", quantity: 3 },
      ]);
      // Nor has the site heard yet from here what came with the others.
      await erp.query("DELETE FROM stock WHERE sku = 'B'");
      await pass();
      expect(stock()).toContainEqual({ sku: "B", quantity: 0 });
      bridge.bridge.store.db.exec(
        `INSERT INTO feed_outbox (feed_id, k0, record, waiting_since) SELECT feed_id, 'A', '{}', '' FROM feeds WHERE name = 'stocks'`,
      );
      up.compareAll();
      await pass();
      expect(stock()).toHaveLength(3);
      bridge.bridge.store.db.exec("DELETE FROM feed_outbox");
      up.compareAll();
      await pass();
      expect(stock()).toEqual([{ sku: "C", quantity: 3 }]);
      await erp.query("DELETE FROM stock");
      await pass();
      expect(stock()).toEqual([]);
    },
  );

  itWhole("come back with SQLite's words where it refuses them, alone", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [first = "", second = ""] = await storeOrders(bridge, 2);
    const unknown = crypto.randomUUID();
    await erp.query(
      `INSERT INTO erp_orders (shop, order_id, erp_number, seen_revision) VALUES ('${SHOP}', '${unknown}', '1', 1), ('${SHOP}', '${first}', '2', 99),
         ('${SHOP}', '${second}', '3', 1)`,
    );
    expect(await pass()).toEqual({ erpRows: 1, refused: 2 });
    expect(bridge.rows("SELECT order_id, erp_number FROM erp_orders")).toEqual([{ order_id: second, erp_number: "3" }]);
    expect(bridge.rows("SELECT order_id FROM orders_pending")).toEqual([{ order_id: first }]);
    const errors = await remote<{ erp_number: string; error: string | null }>(
      "SELECT erp_number, error FROM erp_orders ORDER BY erp_number",
    );
    expect(errors).toEqual([
      { erp_number: "1", error: expect.stringContaining("there is no order with this order_id") },
      { erp_number: "2", error: expect.stringContaining("this seen_revision does not exist") },
      { erp_number: "3", error: null },
    ]);
    expect(bridge.rows("SELECT value FROM mirror_state WHERE key = 'refused_rows'")).toEqual([
      { value: '{"erp_orders":2}' },
    ]);

    await erp.query(`UPDATE erp_orders SET seen_revision = 1 WHERE erp_number = '2'`);
    await erp.query(`DELETE FROM erp_orders WHERE erp_number = '1'`);
    expect(await pass()).toEqual({ erpRows: 1 });
    expect(await remote("SELECT count(*)::int AS n FROM erp_orders WHERE error IS NOT NULL")).toEqual([{ n: 0 }]);
    expect(bridge.rows("SELECT order_id FROM orders_pending")).toEqual([]);
    await pass();
    expect(bridge.rows("SELECT value FROM mirror_state WHERE key = 'refused_rows'")).toEqual([{ value: "{}" }]);
  });

  itWhole("go on around one that ends the transaction, and around one that another transaction holds", async () => {
    const { bridge, erp, connectErp, pass, remote } = await startUp();
    bridge.bridge.store.db.exec(
      `CREATE TRIGGER mine BEFORE INSERT ON stock WHEN NEW.sku = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'never bad'); END`,
    );
    await erp.query(
      `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'a', 1), ('${SHOP}', 'bad', 1), ('${SHOP}', 'z', 1)`,
    );
    const other = await connectErp();
    await other.query("BEGIN");
    await other.query("SELECT * FROM stock WHERE sku = 'bad' FOR UPDATE");
    expect(await pass()).toMatchObject({ erpRows: 2 });
    expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "a" }, { sku: "z" }]);
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'later', 1)`);
    await pass();
    expect(bridge.rows("SELECT sku FROM stock WHERE sku = 'later'")).toHaveLength(1);
    expect(await remote("SELECT error FROM stock WHERE sku = 'bad'")).toEqual([{ error: null }]);
    await other.query("ROLLBACK");
    await pass();
    await pass();
    expect(await remote("SELECT error FROM stock WHERE sku = 'bad'")).toEqual([{ error: "never bad" }]);
    expect(await remote("SELECT count(*)::int AS n FROM touched")).toEqual([{ n: 0 }]);
  });

  itWhole.each(["before", "after"] as const)("arrive where a COMMIT is cut off %s PostgreSQL has it", async (when) => {
    const { bridge, erp, proxy, pass, remote } = await startUp();
    for (let round = 1; round <= 3; round++) {
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', ${round}) ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
      );
      let commits = 0;
      proxy.onStatement = (sql) => (sql === "COMMIT" && ++commits === round ? when : undefined);
      await pass().catch(() => {});
      proxy.onStatement = undefined;
      await pass();
      expect(bridge.rows("SELECT quantity FROM stock")).toEqual([{ quantity: round }]);
      expect(await remote("SELECT count(*)::int AS n FROM touched")).toEqual([{ n: 0 }]);
    }
  });

  itWhole("are compared where the shop's database, or PostgreSQL, went back", async () => {
    const bench = await startUp();
    const { bridge, database, erp, pass, remote, restart } = bench;
    const { store } = bridge.bridge;
    switchOn(store);
    const set = (sku: string, quantity: number) =>
      erp.query(
        `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', '${sku}', ${quantity}) ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
      );
    await set("A", 1);
    await pass();
    // SQLite without the last two rounds.
    const then = bridge.rows<{ value: string }>("SELECT value FROM mirror_state WHERE key = 'up_no'")[0]?.value;
    await set("A", 2);
    await pass();
    await set("B", 1);
    await pass();
    store.db.exec(`UPDATE stock SET quantity = 1 WHERE sku = 'A'; DELETE FROM stock WHERE sku = 'B';
      INSERT INTO stock (sku, quantity) VALUES ('gone', 1); UPDATE mirror_state SET value = '${then}' WHERE key = 'up_no'`);
    restart();
    await pass();
    expect(bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku")).toEqual([
      { sku: "A", quantity: 2 },
      { sku: "B", quantity: 1 },
      // What the site may still sell.
      { sku: "gone", quantity: 0 },
    ]);
    store.db.exec("DELETE FROM stock WHERE sku = 'gone'; DELETE FROM mirror_state WHERE key = 'unsure'");

    const dump = await remote("SELECT up_no::int FROM positions WHERE shop = 'north'");
    for (const quantity of [5, 6, 7]) {
      await set("A", quantity);
      await pass();
    }
    await database.cluster.query(
      database.name,
      `SET erp_bridge.quiet = 'on'; UPDATE erp_bridge.stock SET quantity = 2 WHERE sku = 'A'; DELETE FROM erp_bridge.stock WHERE sku = 'B';
       UPDATE erp_bridge.positions SET up_no = ${String(dump[0]?.["up_no"])} WHERE shop = 'north'`,
    );
    // The restored note of a deletion before the row that is lost there.
    await erp.query("INSERT INTO touched (shop, tbl, k0, k1) VALUES ('north', 'stock', 'B', '')");
    restart();
    await pass();
    const kept = [
      { sku: "A", quantity: 2 },
      { sku: "B", quantity: 1 },
    ];
    expect(bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku")).toEqual(kept);
    expect(await pass()).toEqual({});
    expect(loadMirrorFacts(store)?.kept).toBe(1);
    // Neither a night nor a restored shop lets it go.
    bridge.bridge.context.store.db.exec("UPDATE mirror_state SET value = '0' WHERE key = 'up_no'");
    restart();
    bench.up.compareAll();
    await pass();
    expect(bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku")).toEqual(kept);
    bench.up.compareAll();
    await pass();
    expect(loadMirrorFacts(store)?.kept).toBe(1);
    store.db.exec("DELETE FROM mirror_state WHERE key = 'unsure'");
    expect(store.write(() => approveMirror(store, 0))).toEqual({ rows: 0, more: 1 });
    expect(store.write(() => approveMirror(store, 1))).toEqual({ rows: 1, more: 0 });
    expect(loadMirrorFacts(store)?.kept).toBe(0);
    await pass();
    expect(bridge.rows("SELECT sku, quantity FROM stock ORDER BY sku")).toEqual([{ sku: "A", quantity: 2 }]);
    expect(store.write(() => approveMirror(store, 1))).toEqual({ rows: 0, more: 0 });
    expect(await pass()).toEqual({});
  });

  /** A PostgreSQL restored to before the last rounds: its values are what `sql` makes of them. */
  async function restore({ database, remote, pass, restart, erp }: UpBench, sql: string): Promise<void> {
    const [{ no = "" } = {}] = await remote<{ no: string }>(
      "SELECT up_no::text AS no FROM positions WHERE shop = 'north'",
    );
    for (const quantity of [1, 2, 3]) {
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'round', ${quantity}) ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
      );
      await pass();
    }
    await database.cluster.query(
      database.name,
      `SET erp_bridge.quiet = 'on'; SET search_path TO erp_bridge; ${sql}; UPDATE positions SET up_no = ${no} WHERE shop = 'north'`,
    );
    restart();
    await pass();
  }

  const stockOf = ({ bridge }: UpBench) =>
    Object.fromEntries(
      bridge
        .rows<{ sku: string; sold: string }>(
          "SELECT sku, quantity || iif(reserved <> 0, ' - ' || reserved, '') AS sold FROM stock WHERE sku <> 'round' ORDER BY sku",
        )
        .map(({ sku, sold }) => [sku, sold]),
    );

  it("of stock that sell more in a restored PostgreSQL stay as they are, until the ERP writes them again or a person approves", async () => {
    const bench = await startUp();
    const { bridge, erp, pass } = bench;
    const { store } = bridge.bridge;
    switchOn(store);
    const kept = () => loadMirrorFacts(store)?.kept;
    const put = (rows: string) => erp.query(`INSERT INTO stock (shop, sku, quantity, reserved) VALUES ${rows}`);
    await put(
      ["sold out", "touched", "approved", "lower", "zero", "free", "taken", "deleted", "equal", "unknown"]
        .map((sku) => `('${SHOP}', '${sku}', 5, 0)`)
        .join(),
    );
    await erp.query(`INSERT INTO prices (shop, sku, price) VALUES ('${SHOP}', 'sold out', 10)`);
    await pass();
    await erp.query("UPDATE stock SET quantity = 0 WHERE sku IN ('sold out', 'touched', 'approved')");
    await erp.query("UPDATE stock SET reserved = 4 WHERE sku = 'free'");
    await erp.query("DELETE FROM stock WHERE sku = 'deleted'");
    await pass();
    const before = {
      ...{ "sold out": "0", touched: "0", approved: "0", free: "5 - 4" },
      ...{ lower: "5", zero: "5", taken: "5", equal: "5", unknown: "5" },
    };
    expect(stockOf(bench)).toEqual(before);
    await restore(
      bench,
      `UPDATE stock SET quantity = 5, reserved = 0 WHERE sku IN ('sold out', 'touched', 'approved', 'free');
       UPDATE stock SET quantity = 3 WHERE sku = 'lower'; UPDATE stock SET quantity = 0 WHERE sku = 'zero';
       UPDATE stock SET quantity = 6, reserved = 7 WHERE sku = 'taken'; UPDATE stock SET quantity = 'NaN' WHERE sku = 'unknown';
       INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'deleted', 5); UPDATE prices SET price = 8`,
    );
    const after = { ...before, lower: "3", zero: "0", taken: "6 - 7" };
    expect(stockOf(bench)).toEqual(after);
    expect(bridge.rows("SELECT price FROM prices")).toEqual([{ price: 8 }]);
    expect(kept()).toBe(6);
    expect(await pass()).toEqual({});
    // Nor does a night apply them, nor a table that is gone through as a whole.
    bench.up.compareAll();
    await pass();
    await erp.query(`INSERT INTO touched (shop, tbl) VALUES ('${SHOP}', 'stock')`);
    await pass();
    expect([stockOf(bench), kept()]).toEqual([after, 6]);
    // Equal values count as a write.
    await erp.query("UPDATE stock SET quantity = 5 WHERE sku = 'touched'");
    await erp.query("UPDATE stock SET quantity = 0 WHERE sku = 'sold out'");
    await erp.query("DELETE FROM stock WHERE sku IN ('deleted', 'unknown')");
    await pass();
    const { unknown: _, ...left } = { ...after, touched: "5" };
    expect(stockOf(bench)).toEqual(left);
    bench.up.compareAll();
    await pass();
    expect([stockOf(bench), kept()]).toEqual([left, 2]);
    // One more, and one that is lacking: a person has seen two.
    await erp.query(
      "SET erp_bridge.quiet = 'on'; UPDATE stock SET quantity = 9 WHERE sku = 'lower'; RESET erp_bridge.quiet",
    );
    store.write(() => approveMirror(store, 2));
    await pass();
    expect([stockOf(bench), kept()]).toEqual([left, 3]);
    store.write(() => approveMirror(store, 3));
    await pass();
    expect([stockOf(bench), kept()]).toEqual([{ ...left, approved: "5", free: "5", lower: "9" }, 0]);
    // Nothing waits any more, and comparisons apply what they find.
    await erp.query(
      "SET erp_bridge.quiet = 'on'; UPDATE stock SET quantity = 10 WHERE sku = 'lower'; RESET erp_bridge.quiet",
    );
    bench.up.compareAll();
    await pass();
    expect(stockOf(bench)).toMatchObject({ lower: "10" });
    expect(kept()).toBe(0);
  });

  itWhole("of stock are applied as they stand where PostgreSQL was only promoted, and has lost nothing", async () => {
    const bench = await startUp();
    const { bridge, erp, pass, restart } = bench;
    const { store } = bridge.bridge;
    switchOn(store);
    await erp.query(
      `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S' || n, 1 FROM generate_series(1, 4) n`,
    );
    await pass();
    const promote = () => store.write(() => noteRestored(store, "2026-01-01T00:00:00.000Z", { isBehind: false }));
    // Written before the shop has looked, row by row; and so many that they were folded into one note.
    for (const fold of ["", "DELETE FROM touched; INSERT INTO touched (shop, tbl) VALUES ('north', 'stock')"]) {
      await erp.query("UPDATE stock SET quantity = quantity + 5");
      await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'new ${fold === "" ? 1 : 2}', 1)`);
      if (fold !== "") await erp.query(fold);
      promote();
      restart();
      await pass();
      expect(loadMirrorFacts(store)?.kept).toBe(0);
    }
    expect(stockOf(bench)).toEqual({ "new 1": "6", "new 2": "1", S1: "11", S2: "11", S3: "11", S4: "11" });
    // One that the shop refuses is no stock of before.
    store.db.exec("CREATE TRIGGER mine BEFORE UPDATE ON stock BEGIN SELECT RAISE(ABORT, 'no'); END");
    await erp.query("UPDATE stock SET quantity = 20 WHERE sku = 'S1'");
    await pass();
    promote();
    restart();
    await pass();
    expect(loadMirrorFacts(store)).toMatchObject({ kept: 0, refused: 1 });
  });

  itWhole(
    "of stock that sell more than what the shop has as text stay, and so they do where a walk is interrupted",
    async () => {
      const bench = await startUp();
      const { bridge, erp, pass, turn, restart } = bench;
      const { store } = bridge.bridge;
      switchOn(store);
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) VALUES ${["text", "text zero", "null", "large", "part"].map((sku) => `('${SHOP}', '${sku}', 5)`).join()}`,
      );
      await pass();
      store.db.exec(
        `UPDATE stock SET quantity = 'many' WHERE sku LIKE 'text%'; UPDATE stock SET quantity = NULL, reserved = NULL WHERE sku = 'null';
       UPDATE stock SET quantity = '9007199254740993' WHERE sku = 'large'; UPDATE stock SET quantity = 0.1 WHERE sku = 'part'`,
      );
      store.write(() => noteRestored(store, "2026-01-01T00:00:00.000Z", { isBehind: true }));
      await erp.query(
        `SET erp_bridge.quiet = 'on'; UPDATE stock SET quantity = 0 WHERE sku = 'text zero'; UPDATE stock SET quantity = 9007199254740992 WHERE sku = 'large';
       UPDATE stock SET quantity = 0.10 WHERE sku = 'part'; RESET erp_bridge.quiet`,
      );
      const settled = { "text zero": "0", large: "9007199254740992", part: "0.10", text: "many", null: null };
      await turn();
      restart();
      await pass();
      expect(stockOf(bench)).toEqual(settled);
      expect(loadMirrorFacts(store)?.kept).toBe(2);
      // The ERP empties the table and fills it again.
      await erp.query(
        `BEGIN; DELETE FROM stock; INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'text', 7), ('${SHOP}', 'null', 7); COMMIT`,
      );
      await pass();
      expect(stockOf(bench)).toEqual({ text: "7", null: "7" });
    },
  );

  itWhole(
    "go where the ERP deletes them before the shop has looked at a promoted PostgreSQL, which has lost nothing",
    async () => {
      const bench = await startUp();
      const { bridge, erp, pass, restart } = bench;
      const { store } = bridge.bridge;
      switchOn(store);
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S' || n, n FROM generate_series(1, 5) n`,
      );
      await erp.query(`INSERT INTO prices (shop, sku, price) VALUES ('${SHOP}', 'P1', 1), ('${SHOP}', 'P2', 1)`);
      await pass();
      const promote = () => store.write(() => noteRestored(store, "2026-01-01T00:00:00.000Z", { isBehind: false }));
      const skus = (table: string) =>
        bridge.rows<{ sku: string }>(`SELECT sku FROM ${table} ORDER BY sku`).map(({ sku }) => sku);
      promote();
      // What has no note may be lacking for another reason, as in a table restored alone.
      await erp.query("SET erp_bridge.quiet = 'on'; DELETE FROM stock WHERE sku = 'S5'; RESET erp_bridge.quiet");
      await erp.query("DELETE FROM stock WHERE sku IN ('S1', 'S2'); TRUNCATE prices");
      await erp.query(`INSERT INTO prices (shop, sku, price) VALUES ('${SHOP}', 'P3', 1)`);
      restart();
      await pass();
      expect(skus("stock")).toEqual(["S3", "S4", "S5"]);
      expect(skus("prices")).toEqual(["P3"]);
      expect(loadMirrorFacts(store)?.kept).toBe(1);
      // Nor does a night count what a note is yet to delete.
      await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'S5', 1)`);
      bench.up.compareAll();
      await bench.turn();
      await erp.query("TRUNCATE prices; DELETE FROM stock WHERE sku = 'S5'");
      await pass();
      expect([skus("stock"), skus("prices")]).toEqual([["S3", "S4"], []]);
      expect(loadMirrorFacts(store)?.kept).toBe(0);
      // Rows that waited for an approval before still do.
      await erp.query("SET erp_bridge.quiet = 'on'; DELETE FROM stock WHERE sku = 'S4'; RESET erp_bridge.quiet");
      bench.up.compareAll();
      await pass();
      expect(loadMirrorFacts(store)?.kept).toBe(1);
      promote();
      await erp.query("TRUNCATE stock");
      await pass();
      expect(skus("stock")).toEqual(["S3", "S4"]);
      expect(loadMirrorFacts(store)?.kept).toBe(2);
    },
  );

  itWhole(
    "stay where a restore may have lost them, until the comparison begins, also where that is interrupted",
    async () => {
      const { bridge, erp, turn, pass, restart } = await startUp();
      const { store } = bridge.bridge;
      switchOn(store);
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S' || n, n FROM generate_series(1, 4) n`,
      );
      await pass();
      store.write(() => noteRestored(store, "2026-01-01T00:00:00.000Z", { isBehind: true }));
      // Perhaps a note of before the backup.
      await erp.query("DELETE FROM stock WHERE sku = 'S1'");
      await turn();
      await erp.query("DELETE FROM stock WHERE sku = 'S2'");
      restart();
      await pass();
      expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "S1" }, { sku: "S3" }, { sku: "S4" }]);
      expect(loadMirrorFacts(store)?.kept).toBe(1);
    },
  );

  itWhole("are not taken for lacking where PostgreSQL has not heard of round after round", async () => {
    const { bridge, erp, pass, proxy, restart } = await startUp();
    const { store } = bridge.bridge;
    switchOn(store);
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'S-0', 1)`);
    await pass();
    for (let round = 1; round <= 4; round++) {
      await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'S-${round}', 1)`);
      let commits = 0;
      proxy.onStatement = (sql) => (sql === "COMMIT" && ++commits === 2 ? "before" : undefined);
      await expect(pass()).rejects.toThrow();
      proxy.onStatement = undefined;
      restart();
      store.db.exec("INSERT OR IGNORE INTO stock (sku, quantity) VALUES ('own', 1)");
    }
    await pass();
    expect(bridge.rows("SELECT count(*) AS n FROM stock")).toEqual([{ n: 6 }]);
    expect(loadMirrorFacts(store)?.kept).toBe(0);
  });

  itWhole("are counted as lacking no longer once the ERP has written them again", async () => {
    const bench = await startUp();
    const { bridge, erp, pass, restart } = bench;
    const { store } = bridge.bridge;
    switchOn(store);
    const set = (sku: string) => erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', '${sku}', 1)`);
    await set("A");
    await pass();
    await erp.query("SET erp_bridge.quiet = 'on'");
    await erp.query("DELETE FROM stock");
    await erp.query("RESET erp_bridge.quiet");
    // A walk that a crash broke off.
    store.db.exec("INSERT INTO mirror_state (key, value) VALUES ('restored', '2026-01-01T00:00:00.000Z')");
    restart();
    await pass();
    expect(loadMirrorFacts(store)).toEqual({ refused: 0, kept: 1, extra: 0 });
    await set("A");
    await pass();
    bench.up.compareAll();
    await pass();
    expect(loadMirrorFacts(store)?.kept).toBe(0);
    expect(bridge.rows("SELECT sku FROM stock")).toEqual([{ sku: "A" }]);
  });

  itWhole(
    "that wait for an approval stay where a whole table is gone through, and the night finds what no note tells",
    async () => {
      const bench = await startUp();
      const { bridge, erp, pass, restart } = bench;
      const { store } = bridge.bridge;
      switchOn(store);
      const quietly = async (sql: string) => {
        await erp.query("SET session_replication_role = replica");
        await erp.query(sql);
        await erp.query("RESET session_replication_role");
      };
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'K' || n, n FROM generate_series(1, 4) AS n`,
      );
      await pass();
      const skus = () => bridge.rows<{ sku: string }>("SELECT sku FROM stock ORDER BY sku").map(({ sku }) => sku);
      // A bulk load in which triggers are off, or a restore of one table.
      await quietly(
        "ALTER TABLE stock DISABLE TRIGGER ALL; DELETE FROM stock WHERE sku = 'K4'; ALTER TABLE stock ENABLE TRIGGER ALL",
      );
      await pass();
      expect(skus()).toEqual(["K1", "K2", "K3", "K4"]);
      bench.up.compareAll();
      await pass();
      expect(loadMirrorFacts(store)?.kept).toBe(1);
      restart();
      await erp.query(
        "BEGIN; TRUNCATE stock; INSERT INTO stock (shop, sku, quantity) VALUES ('north', 'K2', 7); COMMIT",
      );
      await pass();
      expect(skus()).toEqual(["K1", "K2", "K3", "K4"]);
      expect(loadMirrorFacts(store)?.kept).toBe(3);
      store.write(() => approveMirror(store, 3));
      // One more goes before the shop looks: a person has seen three.
      await quietly("ALTER TABLE stock DISABLE TRIGGER ALL; DELETE FROM stock; ALTER TABLE stock ENABLE TRIGGER ALL");
      await pass();
      expect(skus()).toEqual(["K1", "K2", "K3", "K4"]);
      expect(loadMirrorFacts(store)?.kept).toBe(4);
      await erp.query("INSERT INTO stock (shop, sku, quantity) VALUES ('north', 'K2', 7)");
      await pass();
      store.write(() => approveMirror(store, 4));
      await pass();
      expect(skus()).toEqual(["K2"]);
      expect(loadMirrorFacts(store)?.kept).toBe(0);
      // Nothing waits any more.
      await erp.query("TRUNCATE stock");
      await pass();
      expect(skus()).toEqual([]);
    },
  );

  inWhole("mirror/step-size").it(
    "arrive in smaller steps where a step takes longer than a statement may",
    async () => {
      const { bridge, erp, pass, remote } = await startUp({}, { timeoutMs: 400 });
      await erp.query(
        `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S-' || n, n FROM generate_series(1, 400) AS n`,
      );
      // Whoever reads a row of it is slowed down.
      await erp.query(
        `DROP POLICY own_shops ON stock; CREATE POLICY slow ON stock USING (pg_sleep(0.003) IS NOT NULL)`,
      );
      const up = () => bridge.rows("SELECT 1 FROM stock").length;
      await expect(pass()).rejects.toMatchObject({ code: "mirror_slow", sqlState: "57014" });
      expect(up()).toBe(0);
      for (let passes = 0; up() < 400 && passes < 30; passes++) await pass().catch(() => {});
      expect(up()).toBe(400);
      await erp.query("DROP POLICY slow ON stock; CREATE POLICY own_shops ON stock USING (true)");
      await pass();
      expect(await remote("SELECT 1 FROM touched")).toEqual([]);
    },
    60_000,
  );

  itWhole("are found by their whole keys under row-level security, and not among all rows of the shop", async () => {
    const { erp } = await startUp();
    const asked: [string, readonly unknown[]][] = [];
    const tx = {
      query: async (sql: string, params: readonly unknown[] = []) => {
        asked.push([sql, params]);
        return [];
      },
    } as unknown as MirrorTx;
    const KEYS: Record<string, RegExp> = {
      erp_orders: /order_id =/,
      images: /position.* =/,
      status_requests: /\bid =/,
    };
    await readTouched(tx, { shop: SHOP, limit: 2_000, isCareful: false });
    await erp.query(
      `INSERT INTO status_requests (shop, order_id, status) SELECT '${SHOP}', gen_random_uuid(), 'paid' FROM generate_series(1, 2000)`,
    );
    await erp.query("SET enable_seqscan = off");
    await erp.query(`SET ROLE erp_bridge_shop_${SHOP}`);
    for (const [sql, params] of asked) {
      const { rows } = await erp.query(`EXPLAIN ${sql}`, [...params]);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      const conditions = [...plan.matchAll(/on (erp_orders|images|status_requests) .*\n\s+Index Cond: (.*)/g)];
      expect(conditions.length, plan).toBeGreaterThan(0);
      for (const [, table = "", condition] of conditions) expect(condition, plan).toMatch(KEYS[table] ?? /never/);
    }
  });

  itWhole("are not read in vain where they are large", async () => {
    const { bridge, erp, turn, pass, proxy, remote } = await startUp();
    await erp.query(
      `INSERT INTO products (shop, sku, description) SELECT '${SHOP}', 'P' || n,
         (SELECT string_agg(md5(n || '/' || i), '') FROM generate_series(1, 32000) AS i) FROM generate_series(1, 12) AS n`,
    );
    const [size] = await remote<{ n: number }>("SELECT min(pg_column_size(description)) AS n FROM products");
    expect(size?.n).toBeGreaterThan(500_000);
    await turn();
    const first = bridge.rows("SELECT 1 FROM products").length;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(12);
    await pass();
    expect(bridge.rows("SELECT count(*) AS n, min(length(description)) AS length FROM products")).toEqual([
      { n: 12, length: 1_024_000 },
    ]);
    // The same for a table that is gone through.
    let pages = 0;
    proxy.onStatement = (sql) => {
      if (sql.includes("WITH page")) pages += 1;
      return undefined;
    };
    await erp.query("INSERT INTO touched (shop, tbl) VALUES ('north', 'products')");
    await pass();
    proxy.onStatement = undefined;
    expect(pages).toBeGreaterThan(2);
    expect(await remote("SELECT 1 FROM touched")).toEqual([]);
  });

  itWhole("of a shop that is away for long are noted as whole tables, and all arrive", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const insert = (shop: string, from: number, to: number) =>
      erp.query(
        `INSERT INTO stock (shop, sku, quantity) SELECT '${shop}', 'S-' || n, n FROM generate_series(${from}, ${to}) AS n`,
      );
    const notes = async (shop: string) =>
      await remote(
        "SELECT tbl, k0 IS NULL AS whole, count(*)::int AS n FROM touched WHERE shop = $1 GROUP BY 1, 2",
        shop,
      );
    await insert("south", 1, 20_500);
    expect(await notes("south")).toEqual([{ tbl: "stock", whole: true, n: 1 }]);
    await insert(SHOP, 1, 20_500);
    expect(await notes(SHOP)).toEqual([{ tbl: "stock", whole: false, n: 20_500 }]);
    await erp.query("UPDATE positions SET heard_at = now() - interval '2 hours'");
    await insert(SHOP, 20_501, 31_000);
    expect(await notes(SHOP)).toEqual([{ tbl: "stock", whole: true, n: 1 }]);
    await pass();
    expect(bridge.rows("SELECT count(*) AS n FROM stock")).toEqual([{ n: 31_000 }]);
    expect(await notes(SHOP)).toEqual([]);
  });
});

describeWithPostgres("a mark on an order", () => {
  it("that the shop refused takes nothing, and one that is corrected or deleted stands refused no longer", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = "", other = ""] = await storeOrders(bridge, 2);
    for (const each of [id, other]) {
      await showOrder(erp, each, 1);
      await erp.query(`INSERT INTO erp_queue VALUES ('${SHOP}', '${each}', now())`);
    }
    const there = async () => (await remote("SELECT order_id FROM orders_pending")).length;
    const mark = (order: string, seen: number) =>
      erp.query(
        `INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${order}', ${seen})
         ON CONFLICT (shop, order_id) DO UPDATE SET seen_revision = excluded.seen_revision`,
      );
    const pending = () => bridge.rows("SELECT 1 FROM orders_pending").length;
    const refused = () => bridge.rows("SELECT value FROM mirror_state WHERE key = 'refused_rows'");
    await mark(id, 1000);
    // At once, and also once the shop has said so.
    expect(await there()).toBe(2);
    await pass();
    expect([pending(), await there()]).toEqual([2, 2]);
    bridge.bridge.store.db.exec(
      "CREATE TRIGGER mine BEFORE INSERT ON erp_orders BEGIN SELECT RAISE(ABORT, 'not now'); END",
    );
    await mark(other, 1);
    await pass();
    expect(await remote("SELECT error FROM erp_orders WHERE seen_revision = 1")).toEqual([{ error: "not now" }]);
    expect([pending(), await there()]).toEqual([2, 2]);
    expect(refused()).toEqual([{ value: '{"erp_orders":2}' }]);
    bridge.bridge.store.db.exec("DROP TRIGGER mine");
    // The correction counts before the shop has heard of it.
    await mark(id, 1);
    expect(await there()).toBe(1);
    await erp.query(`DELETE FROM erp_orders WHERE order_id = '${other}'`);
    await pass();
    expect([pending(), await there()]).toEqual([1, 1]);
    expect(refused()).toEqual([{ value: "{}" }]);
  });

  itWhole("takes it, blocks it, and blocks it again where a change brought it back", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    const pending = () => bridge.rows("SELECT order_id FROM orders_pending").length;
    const show = (revision: number) => showOrder(erp, id, revision);
    const block = () =>
      erp.query(
        `INSERT INTO erp_orders (shop, order_id, state, block_reason) VALUES ('${SHOP}', '${id}', 'blocked', 'no')
         ON CONFLICT (shop, order_id) DO UPDATE SET state = excluded.state, block_reason = excluded.block_reason`,
      );
    await erp.query(`INSERT INTO erp_queue VALUES ('${SHOP}', '${id}', now())`);
    const there = async () => (await remote("SELECT 1 FROM orders_pending")).length;
    await show(1);
    expect(await there()).toBe(1);
    const queued = async () => (await remote("SELECT 1 FROM erp_queue")).length;
    const seen = (revision: number) =>
      erp.query(`INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${id}', ${revision})
      ON CONFLICT (shop, order_id) DO UPDATE SET seen_revision = excluded.seen_revision`);
    await seen(1);
    await pass();
    await pass();
    expect(await queued()).toBe(0);
    await seen(0);
    await pass();
    await pass();
    expect(await there()).toBe(1);
    await block();
    await pass();
    expect(await there()).toBe(0);
    expect(bridge.rows("SELECT order_id, error FROM orders_blocked")).toEqual([{ order_id: id, error: "no" }]);
    expect(pending()).toBe(0);

    bridge.sandbox.service.changeOrder(id, { status: "paid" });
    bridge.clock.advance(60_000);
    await bridge.run("updates");
    expect(pending()).toBe(1);
    // The ERP has not seen the change yet.
    await block();
    await pass();
    expect(pending()).toBe(1);
    await show(2);
    // The change brings it back there as well, and a word beside the block is no block of it.
    expect(await there()).toBe(1);
    expect(await remote("SELECT 1 FROM orders_blocked")).toEqual([]);
    await erp.query("UPDATE erp_orders SET note = 'asked'");
    await pass();
    expect(pending()).toBe(1);
    // A mark that names no state takes the order: its block is of an earlier revision.
    await seen(2);
    await pass();
    expect([pending(), await there(), bridge.rows("SELECT 1 FROM erp_queue").length]).toEqual([0, 0, 0]);
    await seen(1);
    await pass();
    expect(pending()).toBe(1);
    await block();
    await pass();
    expect([pending(), await there()]).toEqual([0, 0]);

    await erp.query("UPDATE erp_orders SET state = 'taken', seen_revision = 2");
    await pass();
    expect(bridge.rows("SELECT * FROM erp_queue")).toEqual([]);
    await erp.query("DELETE FROM erp_orders");
    await pass();
    expect(pending()).toBe(1);
  });
});
