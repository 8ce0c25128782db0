import pg from "pg";
import { expect, it } from "vitest";
import { expectMirrored, initMirror, SHOP, startMirroredShop } from "../support/mirror.ts";
import { describeWithPostgres, testProxy } from "../support/postgres.ts";
import { createOrders } from "../support/pull.ts";
import { isWhole, itWhole } from "../support/whole.ts";

describeWithPostgres("the way down under trouble", () => {
  itWhole(
    "ends with the same rows wherever its connection is cut, before a statement and after it",
    async () => {
      const proxy = await testProxy();
      const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
      createOrders(shop, 8);
      await shop.run("orders");
      await shop.mirror();
      const statements: string[] = [];
      proxy.onStatement = (sql) => void statements.push(sql);
      const change = async () => {
        createOrders(shop, 2);
        await shop.run("orders");
      };
      await change();
      await shop.mirror();
      const cuts = statements.length;
      expect(cuts).toBeGreaterThan(8);
      expect(statements.at(-1)).toBe("COMMIT");
      const codes = new Set<string | undefined>();
      for (let place = 0; place < cuts; place += isWhole ? 1 : 3) {
        for (const how of ["before", "after"] as const) {
          await change();
          let seen = 0;
          proxy.onStatement = () => (seen++ === place ? how : undefined);
          codes.add((await shop.run("mirror")).error?.code);
          proxy.onStatement = undefined;
          await shop.mirror();
          await expectMirrored(shop);
        }
      }
      codes.delete(undefined);
      expect([...codes]).toEqual(["mirror_away"]);
      expect(await shop.there("SELECT extra_orders, walk FROM positions")).toEqual(["0|"]);
    },
    240_000,
  );

  itWhole(
    "says what stands in its way, and how it goes on, while orders go on",
    async () => {
      const shop = await startMirroredShop();
      const { cluster, name } = shop.database;
      const { url } = shop.database;
      const meet = async () => {
        createOrders(shop, 1);
        expect((await shop.run("orders")).error).toBeNull();
        shop.clock.advance(20_000);
        const { error } = await shop.run("mirror");
        const [condition] = shop.bridge.watched().conditions.filter(({ subject }) => subject === "mirror");
        return [error?.code, condition?.code];
      };
      expect(await meet()).toEqual([undefined, undefined]);
      const inDatabase = async (sql: string) => {
        await cluster.query(name, sql);
        // Settings of a database are of new connections.
        await cluster.query(
          "postgres",
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
        );
      };
      await inDatabase(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      expect(await meet()).toEqual(["mirror_read_only", "mirror_stopped"]);
      await inDatabase("SET default_transaction_read_only = off; SELECT 1");
      await cluster.query("postgres", `ALTER DATABASE ${name} RESET default_transaction_read_only`);
      await meet();
      expect(await meet()).toEqual([undefined, undefined]);
      await cluster.query(name, "UPDATE erp_bridge.positions SET database_id = 'another'");
      expect(await meet()).toEqual(["mirror_database", "mirror_stopped"]);
      const { databaseId } = {
        databaseId: shop.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'database'")[0]?.value,
      };
      await cluster.query(
        name,
        `UPDATE erp_bridge.positions SET database_id = '${databaseId}', writer = gen_random_uuid(), writer_no = writer_no + 1, host = 'db2'`,
      );
      expect(await meet()).toEqual(["mirror_fenced", "fenced"]);
      // It asks the service nothing more, until it is started again and claims the shop.
      const asked = shop.sandbox.ledger.entries.length;
      expect((await shop.run("orders")).error).toMatchObject({ code: "stopped" });
      // Nor does a pass that is under way, whose confirm would be its next request.
      const request = {
        area: "orders",
        method: "POST",
        path: "/confirm",
        signal: new AbortController().signal,
      } as const;
      await expect(shop.bridge.client.request(request)).rejects.toMatchObject({ code: "stopped", effect: "none" });
      expect(shop.sandbox.ledger.entries).toHaveLength(asked);
      await cluster.query(name, "UPDATE erp_bridge.positions SET heard_at = now() - interval '1 hour'");
      await shop.restart();
      expect(await meet()).toEqual([undefined, undefined]);
      await cluster.query(name, "ALTER TABLE erp_bridge.positions ADD CHECK (orders_seq < 3) NOT VALID");
      expect(await meet()).toEqual(["mirror_failed", "mirror_stopped"]);
      await cluster.query(name, "ALTER TABLE erp_bridge.positions DROP CONSTRAINT positions_orders_seq_check");
      await cluster.query(name, "DELETE FROM erp_bridge.migrations");
      await cluster.query(
        "postgres",
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
      await meet();
      expect(await meet()).toEqual(["mirror_schema", "mirror_stopped"]);
      await cluster.query(name, "DROP SCHEMA erp_bridge CASCADE");
      await initMirror({ url });
      await shop.run("mirror");
      expect(await meet()).toEqual([undefined, undefined]);
      await expectMirrored(shop);
    },
    120_000,
  );

  it("compares what was written while a trigger was off between two looks, and deletes nothing that a table restored alone lacks", async () => {
    const shop = await startMirroredShop();
    await shop.there(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 7), ('${SHOP}', 'B', 3)`);
    await shop.mirror();
    const stock = () => shop.rows("SELECT sku, quantity FROM stock ORDER BY sku");
    await shop.there(
      `BEGIN; ALTER TABLE stock DISABLE TRIGGER touch_update; UPDATE stock SET quantity = 0 WHERE sku = 'A';
       ALTER TABLE stock ENABLE ALWAYS TRIGGER touch_update; COMMIT`,
    );
    // What a process keeps in memory alone is gone.
    await shop.restart();
    await shop.mirror();
    const expected = [
      { sku: "A", quantity: 0 },
      { sku: "B", quantity: 3 },
    ];
    expect(stock()).toEqual(expected);
    expect(await shop.mirror()).toEqual({});
    await shop.there(
      "CREATE TABLE copy (LIKE stock INCLUDING ALL); INSERT INTO copy SELECT * FROM stock WHERE sku = 'A'; DROP TABLE stock CASCADE; ALTER TABLE copy RENAME TO stock",
    );
    await initMirror(shop.database);
    await shop.run("mirror");
    await shop.run("mirror");
    expect(stock()).toEqual(expected);
  });

  itWhole("waits for a lock in PostgreSQL no longer than it must, and stops no other flow", async () => {
    const shop = await startMirroredShop({ settings: { mirror: { timeout: "1s" } } });
    createOrders(shop, 1);
    await shop.run("orders");
    await shop.mirror();
    createOrders(shop, 1);
    await shop.run("orders");
    const other = new pg.Client({ connectionString: shop.database.url });
    await other.connect();
    await other.query(`BEGIN; SELECT 1 FROM erp_bridge.positions WHERE shop = '${SHOP}' FOR UPDATE`);
    const { error } = await shop.run("mirror");
    await other.end();
    expect(error).toMatchObject({ code: "mirror_slow", text: { id: "mirror.locked" }, sqlState: "55P03" });
    await shop.mirror();
    await expectMirrored(shop);
  });

  itWhole(
    "tells a statement that took too long from one that a person has cancelled",
    async () => {
      const shop = await startMirroredShop({ settings: { mirror: { timeout: "1s" } } });
      createOrders(shop, 1);
      await shop.run("orders");
      await shop.there(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION wait()`);
      expect((await shop.run("mirror")).error).toMatchObject({ text: { id: "mirror.tooLong" }, isTooLong: true });
      const cancel =
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'erp-bridge' AND query LIKE 'INSERT INTO orders %'";
      const running = shop.run("mirror");
      for (let ended = false; !ended; ) ended = (await shop.there(cancel)).includes("t");
      expect((await running).error).toMatchObject({ text: { id: "mirror.cancelled" }, isTooLong: false });
      await shop.there("DROP TRIGGER wait ON orders");
      await shop.mirror();
      await expectMirrored(shop);
    },
    60_000,
  );

  itWhole("leaves out an order that PostgreSQL refuses in every form, and says so", async () => {
    const shop = await startMirroredShop();
    // The next orders are being read when it is refused.
    createOrders(shop, 200);
    await shop.run("orders");
    shop.bridge.store.db.exec("UPDATE orders SET number = 'bad' WHERE order_key = 4");
    await shop.there("ALTER TABLE orders ADD CHECK (number <> 'bad')");
    expect(await shop.mirror()).toMatchObject({ unwritten: 1 });
    expect(await shop.there("SELECT count(*) FROM orders")).toEqual(["199"]);
    const codes = () => shop.bridge.watched().conditions.map(({ code }) => code);
    expect(codes()).toContain("mirror_refused");
    // The next comparison tries it again.
    await shop.there("ALTER TABLE orders DROP CONSTRAINT orders_number_check");
    await shop.there("UPDATE positions SET turn = 0");
    expect(await shop.mirror()).toMatchObject({ mirrored: 1 });
    shop.clock.advance(60_000);
    expect(codes()).not.toContain("mirror_refused");
    await expectMirrored(shop);
  });

  itWhole("says so where a trigger or a rule drops rows without a word", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 3);
    await shop.run("orders");
    shop.bridge.store.db.exec("UPDATE orders SET number = 'dropped' WHERE order_key = 2");
    await shop.there(`CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER mine BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.number = 'dropped') EXECUTE FUNCTION drop_it()`);
    expect(await shop.mirror()).toMatchObject({ unwritten: 1 });
    expect(await shop.there("SELECT count(*) FROM orders")).toEqual(["2"]);
    expect(shop.bridge.watched().conditions.map(({ code }) => code)).toContain("mirror_refused");
    await shop.there("DROP TRIGGER mine ON orders; CREATE RULE mine AS ON INSERT TO order_events DO INSTEAD NOTHING");
    createOrders(shop, 2);
    await shop.run("orders");
    expect(await shop.mirror()).toMatchObject({ mirrored: 2, unwritten: 2 });
    await shop.there(
      "DROP RULE mine ON order_events; ALTER TABLE conditions ADD CHECK (code <> 'mirror_refused') NOT VALID",
    );
    createOrders(shop, 1);
    await shop.run("orders");
    shop.clock.advance(60_000);
    expect(await shop.mirror()).toMatchObject({ mirrored: 1 });
  });

  itWhole(
    "misses nothing that was written while a trigger was lost, however soon mirror init gives it back",
    async () => {
      const shop = await startMirroredShop();
      await shop.there("INSERT INTO stock (shop, sku, quantity) VALUES ('north', 'A', 7)");
      await shop.mirror();
      const level = () => shop.rows("SELECT quantity FROM stock");
      expect(level()).toEqual([{ quantity: 7 }]);
      await shop.there("DROP TRIGGER touch_update ON stock; UPDATE stock SET quantity = 0");
      // The connection stands, and nothing else is done on it.
      shop.clock.advance(15_000);
      expect((await shop.run("mirror")).error?.text).toMatchObject({
        id: "mirror.disarmed",
        params: { tables: "stock" },
      });
      await initMirror(shop.database);
      await shop.mirror();
      expect(level()).toEqual([{ quantity: 0 }]);
      await shop.there(
        `ALTER TABLE stock DISABLE TRIGGER ALL; UPDATE stock SET quantity = 3; ALTER TABLE status_requests DISABLE TRIGGER ALL;
       INSERT INTO status_requests (shop, order_id, status) VALUES ('north', gen_random_uuid(), 'packed')`,
      );
      await initMirror(shop.database);
      await shop.mirror();
      expect(level()).toEqual([{ quantity: 3 }]);
      expect(await shop.there("SELECT error IS NOT NULL FROM status_requests")).toEqual(["t"]);
    },
  );

  itWhole(
    "is no writer beside another: a shop that PostgreSQL does not know is told how it gets to be known",
    async () => {
      const shop = await startMirroredShop({ settings: { mirror: { shop: "unknown" } } });
      const { error } = await shop.run("mirror");
      expect([error?.code, error?.hint?.id]).toEqual(["mirror_right", "mirror.rightHint"]);
    },
  );

  itWhole("records idle passes once a minute, and nothing of a mirror that is not there", async () => {
    const shop = await startMirroredShop();
    await shop.mirror();
    const runs = () => shop.rows("SELECT 1 FROM runs WHERE job = 'mirror'").length;
    await shop.mirror();
    const before = runs();
    for (let pass = 0; pass < 5; pass++) await shop.mirror();
    expect(runs()).toBe(before);
    shop.clock.advance(61_000);
    await shop.mirror();
    expect(runs()).toBe(before + 1);
    await shop.restart({});
    expect(shop.rows("SELECT enabled FROM flows WHERE flow = 'mirror'")).toEqual([{ enabled: 0 }]);
    expect(shop.rows("SELECT 1 FROM meta WHERE key = 'mirror_on'")).toEqual([]);
  });
});
