import { expect } from "vitest";
import { expectMirrored, type MirroredShop, SHOP, startMirroredShop } from "../support/mirror.ts";
import { describeWithPostgres, testProxy } from "../support/postgres.ts";
import { createOrders } from "../support/pull.ts";
import { inWhole, itWhole } from "../support/whole.ts";

async function writeStock({ there }: MirroredShop, rows: number): Promise<void> {
  await there(
    `INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', 'S-' || n, n FROM generate_series(1, ${rows}) AS n
     ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity + 1`,
  );
}

async function storeOrders(shop: MirroredShop, count: number): Promise<void> {
  createOrders(shop, count);
  await shop.run("orders");
}

/** Orders that need a transaction each. */
async function growOrders(shop: MirroredShop): Promise<void> {
  const { store } = shop.bridge;
  const payload = "json_object('big', printf('%.*c', 3900000, 'x'))";
  store.write(() => {
    store.prepare(`UPDATE orders SET payload = ${payload}, payload_hash = randomblob(32)`).run();
    store
      .prepare(
        `INSERT INTO order_event_rows (order_key, revision, kind, source, at)
         SELECT order_key, 2, 'changed', 'update', changed_at FROM orders`,
      )
      .run();
  });
}

describeWithPostgres("the two ways of the mirror", () => {
  itWhole(
    "take turns where much waits on both, and one pass does everything",
    async () => {
      const proxy = await testProxy();
      const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
      await storeOrders(shop, 5);
      await shop.mirror();
      await growOrders(shop);
      await writeStock(shop, 7_000);
      const steps: string[] = [];
      let isNew = true;
      proxy.onStatement = (sql) => {
        isNew ||= sql === "BEGIN";
        const step = sql.includes("DELETE FROM touched")
          ? "up"
          : sql.includes("INSERT INTO orders")
            ? "down"
            : undefined;
        if (step !== undefined && isNew) steps.push(step);
        isNew &&= step === undefined;
        return undefined;
      };
      expect(await shop.mirror()).toMatchObject({ erpRows: 7_000, mirrored: 5 });
      proxy.onStatement = undefined;
      const both = steps.slice(0, Math.min(steps.lastIndexOf("up"), steps.lastIndexOf("down")) + 1).join(" ");
      expect(both).toMatch(/up.*down.*up|down.*up.*down/);
      expect(both).not.toMatch(/up up|down down down/);
      await expectMirrored(shop);
    },
    60_000,
  );

  itWhole(
    "both come forward where every run ends with its second transaction",
    async () => {
      const proxy = await testProxy();
      const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
      await storeOrders(shop, 1);
      await shop.mirror();
      await writeStock(shop, 5_000);
      await storeOrders(shop, 1);
      const there = async () => Number((await shop.there("SELECT count(*) FROM orders"))[0]);
      const up = () => shop.rows("SELECT 1 FROM stock").length;
      for (let lives = 0; lives < 4; lives++) {
        await shop.restart();
        let commits = 0;
        proxy.onStatement = (sql) => (sql === "COMMIT" && ++commits === 2 ? "before" : undefined);
        expect((await shop.run("mirror")).error).toMatchObject({ code: "mirror_away" });
        proxy.onStatement = undefined;
      }
      expect(await there()).toBe(2);
      expect(up()).toBeGreaterThan(0);
      expect(up()).toBeLessThan(5_000);
    },
    60_000,
  );

  itWhole("let no request leave before it is known who works for the shop, unless that cannot be learnt", async () => {
    const proxy = await testProxy();
    const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
    await storeOrders(shop, 1);
    await shop.mirror();
    await shop.restart();
    // A person has let another machine go on, and this one comes back.
    await shop.there("UPDATE positions SET takeover_no = takeover_no + 1, writer_no = writer_no + 1, host = 'second'");
    const asked = shop.sandbox.ledger.entries.length;
    createOrders(shop, 1);
    expect((await shop.run("orders")).error).toMatchObject({ code: "stopped" });
    expect(shop.sandbox.ledger.entries).toHaveLength(asked);
    expect(await shop.bridge.trouble).toMatchObject({ kind: "fenced" });
    await expect(shop.restart()).rejects.toMatchObject({ code: "mirror_fenced" });
  });

  itWhole("leave to another machine what was taken beside it, also where that takes another start", async () => {
    const proxy = await testProxy();
    const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
    await storeOrders(shop, 2);
    await shop.mirror();
    proxy.isRefusing = true;
    proxy.cutAll();
    await storeOrders(shop, 3);
    await shop.there("UPDATE positions SET takeover_no = takeover_no + 1, writer_no = writer_no + 1, host = 'second'");
    proxy.isRefusing = false;
    proxy.onStatement = (sql) => (sql.includes("INSERT INTO strays") ? "before" : undefined);
    expect((await shop.run("mirror")).error).toMatchObject({ code: "mirror_fenced", strays: null });
    // Only PostgreSQL was away: it still is not this machine's shop, whatever PostgreSQL is restored to meanwhile.
    await shop.there("UPDATE positions SET takeover_no = 0");
    await shop.restart();
    createOrders(shop, 1);
    const asked = shop.sandbox.ledger.entries.length;
    expect((await shop.run("orders")).error).toMatchObject({ code: "stopped" });
    expect(shop.sandbox.ledger.entries).toHaveLength(asked);
    proxy.onStatement = undefined;
    await shop.restart();
    expect((await shop.run("mirror")).error).toMatchObject({ code: "mirror_fenced", strays: 3 });
    await expect(shop.restart()).rejects.toMatchObject({ code: "mirror_fenced", strays: 3 });
    const left = "SELECT count(order_id), count(*) FROM strays";
    expect(await shop.there(left)).toEqual(["3|4"]);
  });

  inWhole("mirror/fence").it(
    "leave a shop alone at a start where another instance is at work, and claim it once that one is silent",
    async () => {
      const proxy = await testProxy();
      const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
      await storeOrders(shop, 1);
      await shop.mirror();
      // A copy is tried out: the original has written since, under the claim that the copy knows, or under one that it does not.
      const since = {
        known: "heard_at = heard_at + interval '10 minutes'",
        unknown: "heard_at = clock_timestamp(), writer = gen_random_uuid(), writer_no = writer_no + 1",
      };
      for (const change of Object.values(since)) {
        // The writer of a test's process is always the same one.
        shop.bridge.store.db.exec(
          "UPDATE mirror_state SET value = json_array('11111111-1111-4111-8111-111111111111') WHERE key = 'claims'",
        );
        await shop.there("UPDATE positions SET writer = '11111111-1111-4111-8111-111111111111'");
        await shop.there(`UPDATE positions SET ${change}`);
        const before = await shop.there("SELECT writer, writer_no FROM positions");
        await shop.restart();
        let looks = 0;
        proxy.onStatement = (sql) => {
          if (sql.includes("hasStrays") && ++looks === 2) void shop.there("UPDATE positions SET turn = turn + 1");
          return undefined;
        };
        const asked = shop.sandbox.ledger.entries.length;
        createOrders(shop, 1);
        expect((await shop.run("orders")).error).toMatchObject({ code: "stopped" });
        expect(await shop.bridge.trouble).toMatchObject({ kind: "fenced", error: { isTakenOver: false } });
        expect(shop.sandbox.ledger.entries).toHaveLength(asked);
        expect(await shop.there("SELECT writer, writer_no FROM positions")).toEqual(before);
        proxy.onStatement = undefined;
      }
      await shop.there("UPDATE positions SET silent_after = interval '1 second', heard_at = clock_timestamp()");
      await shop.restart();
      await shop.mirror();
      await expectMirrored(shop);
      expect(
        shop.rows("SELECT 1 FROM mirror_state WHERE key = 'claims' AND json_array_length(value) = 2"),
      ).toHaveLength(1);
    },
    60_000,
  );

  itWhole("bring a takeover back to a PostgreSQL that was restored to before it", async () => {
    const shop = await startMirroredShop();
    await storeOrders(shop, 1);
    await shop.mirror();
    shop.bridge.store.db.exec("INSERT INTO mirror_state (key, value) VALUES ('takeover_no', '1')");
    await shop.restart();
    await storeOrders(shop, 1);
    await shop.mirror();
    expect(await shop.there("SELECT takeover_no FROM positions")).toEqual(["1"]);
    // The former machine has claimed what was restored.
    await shop.there("UPDATE positions SET takeover_no = 0, writer = gen_random_uuid(), writer_no = writer_no + 1");
    await storeOrders(shop, 1);
    await shop.mirror();
    expect(await shop.there("SELECT takeover_no FROM positions")).toEqual(["1"]);
    await expectMirrored(shop);
  });

  itWhole("leave a shop to itself at a start where PostgreSQL cannot be reached", async () => {
    const proxy = await testProxy();
    const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
    await storeOrders(shop, 1);
    await shop.mirror();
    proxy.isRefusing = true;
    await shop.restart();
    createOrders(shop, 1);
    expect(await shop.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
  });

  itWhole("are no reason not to start where the address is missing, which is a condition of the mirror", async () => {
    const shop = await startMirroredShop();
    await storeOrders(shop, 1);
    await shop.mirror();
    await shop.restart({ mirror: { shop: SHOP, url_file: "/nowhere/mirror-url" } });
    createOrders(shop, 1);
    expect(await shop.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
    expect((await shop.run("mirror")).error).toMatchObject({ code: "mirror_access" });
    await shop.restart({ mirror: { shop: SHOP, url: shop.database.url } });
    await shop.mirror();
    await expectMirrored(shop);
  });

  itWhole("go on alone where the other one fails", async () => {
    const shop = await startMirroredShop();
    await storeOrders(shop, 1);
    await shop.mirror();
    const passes = async () => {
      for (let pass = 0; pass < 2; pass++) await shop.run("mirror");
    };
    await shop.there("ALTER TABLE prices RENAME COLUMN price TO other");
    await writeStock(shop, 1);
    await storeOrders(shop, 1);
    await passes();
    expect(await shop.there("SELECT count(*) FROM orders")).toEqual(["2"]);
    await shop.there("ALTER TABLE prices RENAME COLUMN other TO price");
    await shop.there("ALTER TABLE order_events RENAME COLUMN kind TO other");
    await storeOrders(shop, 1);
    await passes();
    expect(shop.rows("SELECT sku FROM stock")).toEqual([{ sku: "S-1" }]);
  });

  itWhole("both learn that PostgreSQL was restored, however soon a pass is broken off", async () => {
    const proxy = await testProxy();
    const shop = await startMirroredShop({ url: ({ name }) => proxy.url(name) });
    await storeOrders(shop, 3);
    await writeStock(shop, 1);
    await shop.mirror();
    await shop.restart();
    await shop.mirror();
    await shop.there("DELETE FROM orders WHERE order_id = (SELECT order_id FROM orders LIMIT 1)");
    const noted = shop.rows<{ value: string }>("SELECT value FROM mirror_state WHERE key = 'turn'")[0]?.value;
    await shop.there(`UPDATE positions SET turn = ${Number(noted) - 1}`);
    for (let lives = 0; lives < 3; lives++) {
      await shop.restart();
      await writeStock(shop, 1);
      let commits = 0;
      proxy.onStatement = (sql) => (sql === "COMMIT" && ++commits === 2 ? "before" : undefined);
      await shop.run("mirror");
      proxy.onStatement = undefined;
    }
    await shop.restart();
    await shop.mirror();
    await expectMirrored(shop);
    expect(shop.rows("SELECT key FROM mirror_state WHERE key IN ('went_back', 'restored')")).toEqual([]);
  });
});
