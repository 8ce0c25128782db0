import { expect, it } from "vitest";
import { buildMirror } from "../../src/daemon/build-mirror.ts";
import { loadMirrorFacts } from "../../src/mirror/mirror-state.ts";
import { configFor } from "../support/bridge.ts";
import { expectMirrored, type MirroredShop, SHOP, startMirroredShop } from "../support/mirror.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { createOrders } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

describeWithPostgres("the way down", () => {
  it("copies what is there, follows what changes, and says how it stands", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 30);
    await shop.run("orders");
    expect((await shop.mirror())["mirrored"]).toBe(30);
    await expectMirrored(shop);
    expect(
      await shop.there("SELECT payload->>'number' = number, jsonb_array_length(lines) > 0 FROM orders LIMIT 1"),
    ).toEqual(["t|t"]);
    expect(await shop.there("SELECT count(*) FROM orders_pending")).toEqual(["30"]);
    createOrders(shop, 5);
    await shop.run("orders");
    expect(await shop.mirror()).toMatchObject({ mirrored: 5, events: 5 });
    await expectMirrored(shop);
    expect(await shop.mirror()).toEqual({});
    expect(await shop.there("SELECT shop, is_silent, is_copying FROM shops")).toEqual(["north|f|f"]);
    expect(await shop.there("SELECT sentence FROM shops")).not.toEqual([""]);
  });

  itWhole("says how a shop stands that is busy all the time", async () => {
    const shop = await startMirroredShop();
    for (let pass = 0; pass < 4; pass++) {
      createOrders(shop, 1);
      await shop.run("orders");
      await shop.mirror();
      shop.clock.advance(5_000);
    }
    const sentence = async () => (await shop.there("SELECT sentence FROM shops"))[0];
    const before = await sentence();
    shop.clock.advance(7_200_000);
    createOrders(shop, 1);
    await shop.run("orders");
    await shop.mirror();
    expect(await sentence()).not.toBe(before);
  });

  itWhole("keeps every digit of a number, and texts that jsonb cannot hold", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 3);
    await shop.run("orders");
    const store = shop.bridge.store;
    const change = (key: number, payload: string, number: string) =>
      store.write(() =>
        store
          .prepare("UPDATE orders SET payload = ?, number = ?, payload_hash = randomblob(32) WHERE order_key = ?")
          .run(payload, number, key),
      );
    change(1, '{"n":1490.1000000000000000000001,"e":"\\ud83d\\ude00"}', "one");
    change(2, '{"n":"a\\u0000b"}', "t\0wo");
    change(3, '{"n":1e999999}', "three");
    expect(await shop.mirror()).toMatchObject({ mirrored: 3 });
    expect(await shop.there("SELECT number, payload, payload_text FROM orders ORDER BY number")).toEqual([
      'one|{"e": "\u{1f600}", "n": 1490.1000000000000000000001}|',
      'three||{"n":1e999999}',
      't\ufffdwo||{"n":"a\\u0000b"}',
    ]);
    expect(shop.rows("SELECT value FROM mirror_state WHERE key = 'unwritten'")).toEqual([{ value: "[]" }]);
  });

  itWhole("brings what an ERP had marked before", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 4);
    await shop.run("orders");
    shop.bridge.store.db.exec(`INSERT INTO erp_orders (order_id, erp_number, seen_revision) SELECT order_id, 'E-' || order_key, 1 FROM orders WHERE order_key = 2;
      INSERT INTO erp_orders (order_id, state, error) SELECT order_id, 'blocked', 'unknown article' FROM orders WHERE order_key IN (3, 4)`);
    // It has changed since it was blocked.
    shop.bridge.store.db.exec("UPDATE erp_queue SET blocked = 0 WHERE order_key = 4");
    await shop.mirror();
    expect(
      await shop.there("SELECT erp_number, seen_revision, state, block_reason FROM erp_orders ORDER BY state DESC"),
    ).toEqual(["E-2|1|taken|", "|0|blocked|unknown article", "|0|blocked|unknown article"]);
    expect(await shop.there("SELECT number FROM orders_pending ORDER BY number")).toEqual(
      shop
        .rows<{ number: string }>("SELECT number FROM orders WHERE order_key IN (1, 4) ORDER BY number")
        .map(({ number }) => number),
    );
    expect(await shop.there("SELECT count(*) FROM orders_blocked")).toEqual(["1"]);
    expect(await shop.there("SELECT count(*) FROM touched")).toEqual(["0"]);
  });

  itWhole("takes as many transactions as it needs, and its position is never ahead of its rows", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 6);
    await shop.run("orders");
    await shop.mirror();
    const turn = async () => Number((await shop.there("SELECT turn FROM positions"))[0]);
    const before = await turn();
    const { store } = shop.bridge;
    store.write(() => {
      store
        .prepare(
          "UPDATE orders SET payload = json_object('big', printf('%.*c', 1700000, 'x')), payload_hash = randomblob(32)",
        )
        .run();
      store
        .prepare(
          `INSERT INTO order_event_rows (order_key, revision, kind, source, at)
           SELECT order_key, 2, 'changed', 'update', changed_at FROM orders`,
        )
        .run();
    });
    expect(await shop.mirror()).toMatchObject({ mirrored: 6, events: 6 });
    expect((await turn()) - before).toBe(2);
    expect(await shop.there("SELECT DISTINCT length(payload->>'big') FROM orders")).toEqual(["1700000"]);
    await expectMirrored(shop);
  });

  itWhole("finds by comparison what no event tells, and what was lost or changed there", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 20);
    await shop.run("orders");
    await shop.mirror();
    const columns = () =>
      shop.there("SELECT order_id, total, payload, changed_at, lines FROM orders ORDER BY order_id");
    const before = await columns();
    await shop.there("DELETE FROM orders WHERE order_id IN (SELECT order_id FROM orders LIMIT 3)");
    await shop.there("DELETE FROM batches");
    const edits = ["total = '0'", "payload = payload || '{\"edited\": true}'", "changed_at = now()", "lines = '[]'"];
    for (const [at, edit] of edits.entries())
      await shop.there(
        `UPDATE orders SET ${edit} WHERE order_id = (SELECT order_id FROM orders ORDER BY order_id OFFSET ${at} LIMIT 1)`,
      );
    expect(await columns()).not.toEqual(before);
    shop.bridge.store.db.exec("UPDATE orders SET number = 'X' WHERE order_key = 7");
    expect(await shop.mirror()).toEqual({});
    await compare(shop);
    await expectMirrored(shop);
    expect(await columns()).toEqual(before);
    expect(await shop.there("SELECT walk, extra_orders FROM positions")).toEqual(["|0"]);
    const facts = () => loadMirrorFacts(shop.bridge.store);
    expect(facts()).toEqual({ refused: 0, kept: 0, extra: 0 });
    await shop.there(`CREATE TEMP TABLE one AS SELECT * FROM orders LIMIT 1; UPDATE one SET order_id = gen_random_uuid();
      INSERT INTO orders SELECT * FROM one`);
    await compare(shop);
    expect(facts()?.extra).toBe(1);
    await shop.there("DELETE FROM orders WHERE order_id NOT IN (SELECT order_id FROM order_events)");
    await compare(shop);
    expect(facts()?.extra).toBe(0);
  });

  itWhole("follows an order whose numbers there are ahead of the shop's, which nobody but the shop gives", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 3);
    await shop.run("orders");
    await shop.mirror();
    await shop.there("UPDATE orders SET seq = seq + 100000 WHERE number = (SELECT min(number) FROM orders)");
    await shop.there("UPDATE orders SET epoch = epoch + 1 WHERE number = (SELECT max(number) FROM orders)");
    for (const { id } of shop.sandbox.service.orders()) shop.sandbox.service.changeOrder(id, { status: "paid" });
    shop.clock.advance(60_000);
    await shop.run("updates");
    expect(await shop.mirror()).toMatchObject({ mirrored: 3 });
    await expectMirrored(shop);
  });

  itWhole(
    "writes again with the next comparison what PostgreSQL had refused or lost: an event, and a mark of an ERP in the shop",
    async () => {
      const shop = await startMirroredShop();
      createOrders(shop, 3);
      await shop.run("orders");
      await shop.there("ALTER TABLE order_events ADD CONSTRAINT mine CHECK (seq <> 2)");
      expect(await shop.mirror()).toMatchObject({ unwritten: 1 });
      const events = () => shop.there("SELECT seq FROM order_events ORDER BY seq");
      expect(await events()).toEqual(["1", "3"]);
      // It stands refused as long as it is.
      await compare(shop);
      expect(loadMirrorFacts(shop.bridge.store)).toMatchObject({ refused: 1 });
      await shop.there("ALTER TABLE order_events DROP CONSTRAINT mine");
      shop.bridge.store.db.exec("INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, 1 FROM orders");
      // The ERP has deleted this one there; the shop has not heard of it.
      const [deleted = ""] = await shop.there("SELECT order_id FROM orders ORDER BY order_id LIMIT 1");
      await shop.there(`INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${deleted}', 1);
      DELETE FROM erp_orders`);
      await compare(shop);
      expect(await events()).toEqual(["1", "2", "3"]);
      expect(loadMirrorFacts(shop.bridge.store)).toMatchObject({ refused: 0, kept: 0 });
      const marks = "SELECT order_id FROM erp_orders ORDER BY order_id";
      expect(await shop.there(marks)).toHaveLength(2);
      expect(await shop.there(marks)).toEqual(shop.rows<{ order_id: string }>(marks).map(({ order_id }) => order_id));
      // Whatever the mirror had come to, its marks are no rows that a person could have deleted.
      await shop.there("SET erp_bridge.quiet = 'on'; DELETE FROM erp_orders");
      await compare(shop);
      expect(await shop.there(marks)).toHaveLength(2);
      expect(loadMirrorFacts(shop.bridge.store)?.kept).toBe(0);
    },
  );

  itWhole("starts over where PostgreSQL was restored, the file went back, or events were removed", async () => {
    const shop = await startMirroredShop();
    createOrders(shop, 10);
    await shop.run("orders");
    await shop.mirror();
    const { cluster, name } = shop.database;
    await cluster.query("postgres", `CREATE DATABASE ${name}_copy TEMPLATE ${name}`).catch(async () => {
      await cluster.query(
        "postgres",
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
      await cluster.query("postgres", `CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
    });
    createOrders(shop, 5);
    await shop.run("orders");
    await shop.run("mirror");
    await shop.mirror();
    await shop.there("DELETE FROM touched");
    await cluster
      .query("postgres", `DROP DATABASE ${name} WITH (FORCE); ALTER DATABASE ${name}_copy RENAME TO ${name}`)
      .catch(async () => {
        await cluster.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
        await cluster.query("postgres", `ALTER DATABASE ${name}_copy RENAME TO ${name}`);
      });
    await shop.run("mirror");
    await shop.mirror();
    await expectMirrored(shop);
    // Another server, as after a restore into a new cluster, that lacks a row of the ERP's.
    await shop.there(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 1)`);
    await shop.run("mirror");
    await shop.mirror();
    await shop.there("SET erp_bridge.quiet = 'on'; DELETE FROM stock");
    shop.bridge.store.db.exec("UPDATE mirror_state SET value = '1/1' WHERE key = 'server'");
    await shop.mirror();
    expect(shop.rows("SELECT sku FROM stock")).toEqual([{ sku: "A" }]);
    expect(loadMirrorFacts(shop.bridge.store)?.kept).toBe(1);
    expect(
      shop.rows("SELECT 1 FROM mirror_state WHERE key = 'server' AND value LIKE '%/1' AND value <> '1/1'"),
    ).toHaveLength(1);
    expect(await shop.mirror()).toEqual({});
    // Events that were removed before they were mirrored.
    createOrders(shop, 4);
    await shop.run("orders");
    shop.bridge.store.db.exec("DELETE FROM order_event_rows");
    await shop.mirror();
    expect(await shop.there("SELECT count(*) FROM orders")).toEqual(["19"]);
    // A restored copy, whose numbers jump: it has never had the newest event that PostgreSQL has.
    createOrders(shop, 1);
    await shop.run("orders");
    await shop.mirror();
    shop.bridge.store.db.exec(
      `INSERT INTO order_event_rows (order_key, revision, kind, source, at) SELECT 1, 2, 'changed', 'update', changed_at FROM orders LIMIT 1;
       DELETE FROM order_event_rows WHERE seq <> (SELECT min(seq) FROM order_event_rows);
       UPDATE order_event_rows SET seq = 1; UPDATE sqlite_sequence SET seq = 10000000 WHERE name = 'order_event_rows';
       UPDATE orders SET number = 'copy'`,
    );
    await shop.mirror();
    expect(await shop.there("SELECT DISTINCT number FROM orders")).toEqual(["copy"]);
    expect(await shop.mirror()).toEqual({});
    // A file whose numbers went back without a jump.
    shop.bridge.store.db.exec(
      "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'order_event_rows'; UPDATE orders SET number = 'back'",
    );
    await shop.mirror();
    expect(await shop.there("SELECT DISTINCT number, epoch FROM orders")).toEqual(["back|1"]);
  });
});

/** As the schedule of `mirror.compare` has it done. */
async function compare({ bridge, database, sandbox }: MirroredShop): Promise<void> {
  const loaded = configFor(sandbox, "/nowhere", { mirror: { shop: SHOP, url: database.url } });
  const mirror = buildMirror(bridge.context, loaded, { sentence: () => "", onFenced: () => {} });
  mirror?.requestCompare();
  const { signal } = new AbortController();
  while ((await mirror?.runOnce(signal))?.outcome === "more");
  mirror?.close();
}
