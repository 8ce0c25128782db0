import { describe, expect, it, vi } from "vitest";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("feeds/push-tables");

const GOODS = {
  imports: {
    stocks: { table: "goods", key: ["sku"], available: "n", record: { sku: "{sku}", quantity: "{available|number}" } },
  },
};

describe("the feed's table", () => {
  it("dropped holds the feed, says so, and deletes nothing on the site", async () => {
    const { erp, run, minutes, holds, requests, level, rows } = await startFeeds();
    fillStock(erp, 30);
    await run("stocks");
    requests();
    erp.exec("DROP TABLE stock");
    expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "table_missing" } });
    await minutes(5);
    expect(holds()).toEqual([{ area: "stocks", reason: "table" }]);
    expect(rows("SELECT detail FROM holds")[0]).toEqual({
      detail: expect.stringContaining("there is no table stock in the database"),
    });
    expect([requests(), level("S-1")]).toEqual([[], 10]);
  });

  itWhole("dropped and made again with the same rows sends nothing and ends the hold", async () => {
    const { erp, run, minute, holds, requests, minutes } = await startFeeds();
    fillStock(erp, 30);
    erp.exec("CREATE TABLE copy AS SELECT * FROM stock");
    await run("stocks");
    requests();
    erp.exec("DROP TABLE stock");
    await minute();
    erp.exec("CREATE TABLE stock (sku, warehouse, quantity, reserved); INSERT INTO stock SELECT * FROM copy");
    await minutes(4);
    expect([holds(), requests()]).toEqual([[], []]);
    erp.exec("UPDATE stock SET quantity = 11 WHERE sku = 'S-4'");
    await run("stocks");
    expect(requests().flatMap(({ records }) => records)).toEqual([{ sku: "S-4", warehouse: "", quantity: 11 }]);
  });

  itWhole("renamed and replaced by another is followed at its name, not at the old table", async () => {
    const { erp, run, minute, requests, level } = await startFeeds();
    fillStock(erp, 5);
    await run("stocks");
    requests();
    erp.exec("ALTER TABLE stock RENAME TO stock_old; CREATE TABLE stock AS SELECT * FROM stock_old");
    await run("stocks");
    erp.exec("UPDATE stock_old SET quantity = 99; UPDATE stock SET quantity = 7 WHERE sku = 'S-1'");
    await minute();
    expect(requests().flatMap(({ records }) => records)).toEqual([{ sku: "S-1", warehouse: "", quantity: 7 }]);
    expect(level("S-2")).toBe(10);
  });

  itWhole("made again with integer keys yields the same text keys, and nothing is sent", async () => {
    const { erp, run, minutes, requests } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('123', 4), ('456', 5)");
    await run("stocks");
    requests();
    erp.exec(
      "DROP TABLE stock; CREATE TABLE stock (sku INTEGER, warehouse TEXT, quantity REAL, reserved REAL, PRIMARY KEY (sku, warehouse))",
    );
    erp.exec("INSERT INTO stock VALUES (123, '', 4, 0), (456, '', 5, 0)");
    await minutes(4);
    expect(requests()).toEqual([]);
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 123");
    await run("stocks");
    expect(requests().flatMap(({ records }) => records)).toEqual([{ sku: "123", warehouse: "", quantity: 6 }]);
    erp.exec("DELETE FROM stock WHERE sku = 456");
    await minutes(4);
    expect(requests().flatMap(({ records }) => records)).toEqual([{ sku: "456", warehouse: "", quantity: 0 }]);
  });

  itWhole.each(["1000000000000000001", "-1234567890123456789", "9223372036854775807", "-9223372036854775808"])(
    "without types finds the row of the integer key %s again",
    async (key) => {
      const stocks = { ...GOODS.imports.stocks, record: { sku: "{sku|string}", quantity: "{available|number}" } };
      const { erp, run, minutes, level } = await startFeeds({ settings: { imports: { stocks } }, arm: [] });
      erp.exec(`CREATE TABLE goods (sku, n); INSERT INTO goods VALUES (${key}, 7)`);
      await run("stocks");
      expect(level(key)).toBe(7);
      erp.exec("UPDATE goods SET n = 9");
      await run("stocks");
      expect(level(key)).toBe(9);
      erp.exec("DELETE FROM goods");
      await minutes(4);
      expect(level(key)).toBe(0);
    },
  );

  itWhole("with no primary key gets an index, and two rows of one key are quarantined by name", async () => {
    const { erp, run, quarantined, level, rows } = await startFeeds();
    erp.exec("DROP TABLE stock; CREATE TABLE stock (sku TEXT, warehouse TEXT, quantity, reserved)");
    erp.exec("INSERT INTO stock VALUES ('A', '', 1, 0), ('A', '', 2, 0), ('B', '', 3, 0)");
    await run("stocks");
    expect(quarantined()).toEqual([
      { reference: "A", reason: "two rows have this key (sku, warehouse)", state: "held" },
    ]);
    expect([level("A"), level("B")]).toEqual([undefined, 3]);
    expect(rows("EXPLAIN QUERY PLAN SELECT * FROM stock WHERE sku = 'A' AND warehouse = ''")).toEqual([
      expect.objectContaining({ detail: expect.stringContaining("USING INDEX erp_bridge_stocks_key") }),
    ]);
    erp.exec("DELETE FROM stock WHERE quantity = 1");
    await run("stocks");
    expect([level("A"), quarantined()[0]?.state]).toEqual([2, "released"]);
  });

  itWhole.each(["arms its triggers", "makes its index", "ends the hold"])(
    "made again once more just after the pass that %s is looked at again",
    async (moment) => {
      const { bridge, erp, run, minute, level, rows, minutes } = await startFeeds({ settings: GOODS, arm: [] });
      const make = (n: number) =>
        `DROP TABLE IF EXISTS goods; CREATE TABLE goods (sku, n); INSERT INTO goods VALUES ('A', ${n}), ('B', ${n})`;
      erp.exec(make(1));
      await run("stocks");
      erp.exec("DROP TABLE goods");
      await minute();
      erp.exec(make(2));
      const names = ["erp_bridge_stocks_insert", "erp_bridge_stocks_key"];
      const isReached = () =>
        moment === "ends the hold"
          ? rows("SELECT 1 FROM holds").length === 0
          : rows(`SELECT 1 FROM sqlite_schema WHERE name = '${names[moment === "makes its index" ? 1 : 0]}'`).length >
            0;
      const { store } = bridge;
      const write = store.write.bind(store);
      let isAgain = false;
      vi.spyOn(store, "write").mockImplementation(((fn: () => unknown) => {
        const result = write(fn);
        if (!isAgain && isReached()) {
          isAgain = true;
          erp.exec(make(3));
        }
        return result;
      }) as typeof store.write);
      await minute();
      await minute();
      expect([isAgain, level("A")]).toEqual([true, 3]);
      erp.exec("UPDATE goods SET n = 4 WHERE sku = 'A'; DELETE FROM goods WHERE sku = 'B'");
      await minutes(4);
      expect([level("A"), level("B")]).toEqual([4, 0]);
    },
  );

  itWhole("with more rows than an index is made over at once is read like a view until the ERP makes one", async () => {
    const { erp, run, minutes, level, rows } = await startFeeds({ settings: GOODS, arm: [] });
    erp.exec(
      `CREATE TABLE goods (sku, n); INSERT INTO goods VALUES ('A', 1), ('B', 1);
       WITH RECURSIVE i (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 200000) INSERT INTO goods (n) SELECT i FROM i`,
    );
    const own = () => rows("SELECT name FROM sqlite_schema WHERE name LIKE 'erp_bridge_stocks%' ORDER BY name");
    await run("stocks");
    erp.exec("UPDATE goods SET n = 2 WHERE sku = 'A'; DELETE FROM goods WHERE sku = 'B'");
    await minutes(4);
    expect([level("A"), level("B"), own()]).toEqual([2, 0, []]);
    erp.exec("CREATE INDEX my_goods ON goods (sku)");
    await run("stocks");
    erp.exec("UPDATE goods SET n = 3 WHERE sku = 'A'");
    await run("stocks");
    expect([level("A"), own()]).toEqual([3, expect.arrayContaining([{ name: "erp_bridge_stocks_insert" }])]);
  });

  itWhole("renamed and replaced by another gets its index again, and the former table loses it", async () => {
    const { erp, run, rows, restart } = await startFeeds({ settings: GOODS, arm: [] });
    erp.exec("CREATE TABLE goods (sku, n); INSERT INTO goods VALUES ('A', 1)");
    await run("stocks");
    erp.exec(
      "ALTER TABLE goods RENAME TO goods_old; CREATE TABLE goods (sku, n); INSERT INTO goods SELECT * FROM goods_old",
    );
    await run("stocks");
    const indexes = () =>
      rows("SELECT tbl_name AS t, sql FROM sqlite_schema WHERE type = 'index' AND name = 'erp_bridge_stocks_key'");
    expect(indexes()).toEqual([{ t: "goods", sql: expect.stringContaining('ON "goods" ("sku" COLLATE BINARY)') }]);
    erp.exec("DROP INDEX erp_bridge_stocks_key");
    await run("stocks");
    expect(indexes()).toHaveLength(1);
    erp.exec("ALTER TABLE goods ADD COLUMN code; UPDATE goods SET code = 'c' || sku");
    await restart({ imports: { stocks: { ...GOODS.imports.stocks, key: ["code"] } } });
    await run("stocks");
    expect(indexes()).toEqual([{ t: "goods", sql: expect.stringContaining('("code" COLLATE BINARY)') }]);
  });

  itWhole.each([
    ["an index", "n INTEGER, sku TEXT COLLATE BINARY UNIQUE)", ['("sku" COLLATE BINARY)']],
    ["the table itself", "n INTEGER, sku TEXT COLLATE BINARY PRIMARY KEY) WITHOUT ROWID", []],
  ])(
    "with %s in the order of the ERP's own NOCASE gives every row, and no index of the bridge's is of that order",
    async (_, columns, own) => {
      const { erp, run, rows, level, restart } = await startFeeds({ settings: GOODS, arm: [] });
      const skus = ["b", "A", "C", "d", "E", "f", "G"];
      // The index keeps the order of another collation than the one that this program calls NOCASE.
      erp.exec(`CREATE TABLE goods (${columns}`);
      for (const sku of skus) erp.prepare("INSERT INTO goods VALUES (5, ?)").run(sku);
      erp.unsafeMode(true);
      erp.exec("PRAGMA writable_schema = ON");
      erp.exec("UPDATE sqlite_schema SET sql = replace(sql, 'BINARY', 'NOCASE') WHERE name = 'goods'");
      await restart();
      await run("stocks");
      expect(skus.map((sku) => level(sku))).toEqual(skus.map(() => 5));
      erp.exec("UPDATE goods SET n = 4");
      await run("stocks");
      expect(skus.map((sku) => level(sku))).toEqual(skus.map(() => 4));
      expect(rows("SELECT sql FROM sqlite_schema WHERE name = 'erp_bridge_stocks_key'")).toEqual(
        own.map((key) => ({ sql: `CREATE INDEX "erp_bridge_stocks_key" ON "goods" ${key}` })),
      );
    },
  );

  itWhole("whose key is computed as it is read is compared in full, and gets no index", async () => {
    const { erp, run, rows, level } = await startFeeds({ settings: GOODS, arm: [] });
    erp.exec("CREATE TABLE goods (raw, sku AS (lower(raw)), n); INSERT INTO goods (raw, n) VALUES ('A', 1)");
    await run("stocks");
    expect(rows("SELECT name FROM sqlite_schema WHERE name LIKE 'erp_bridge_stocks%'")).toEqual([]);
    erp.exec("UPDATE goods SET n = 2");
    await run("stocks");
    expect(level("a")).toBe(2);
  });

  itWhole.each([
    ["a collation", "CREATE TABLE goods (sku COLLATE erp_words, n)"],
    ["a function", "CREATE TABLE goods (sku, raw, n AS (erp_words(raw)))"],
  ])("with %s that only the ERP knows is named, and hinders no other feed", async (_, sql) => {
    const settings = { imports: { ...GOODS.imports, prices: { path: "/api/v1/import/prices" } } };
    const { erp, run, holds, rows, site, restart } = await startFeeds({ settings, arm: [] });
    erp.exec(
      "CREATE TABLE goods (sku, n); INSERT INTO goods VALUES ('A', 1); INSERT INTO prices (sku, price) VALUES ('A', 1)",
    );
    erp.unsafeMode(true);
    erp.exec("PRAGMA writable_schema = ON");
    erp.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'goods'").run(sql);
    erp.close();
    await restart();
    expect(await run("stocks")).toMatchObject({
      error: { code: "table_missing", message: expect.stringContaining("erp_words") },
    });
    expect(await run("prices")).toMatchObject({ error: null });
    expect([holds(), Object.keys(site("prices"))]).toEqual([[{ area: "stocks", reason: "table" }], ["A"]]);
    expect(rows("SELECT detail FROM holds")[0]).toMatchObject({ detail: expect.stringContaining("goods") });
  });

  itWhole("is watched beside views and triggers of the ERP that are broken", async () => {
    const { erp, run, level, holds, restart } = await startFeeds();
    erp.exec(
      `CREATE VIEW my_view AS SELECT * FROM nowhere; CREATE TABLE my_table (a);
       CREATE TRIGGER my_trigger AFTER INSERT ON my_table BEGIN INSERT INTO nowhere VALUES (my_function(1)); END;
       DROP TABLE stock; CREATE TABLE stock (sku, warehouse DEFAULT '', quantity, reserved DEFAULT 0);
       INSERT INTO stock (sku, quantity) VALUES ('A', 3)`,
    );
    await run("stocks");
    await restart({ imports: { stocks: { key: ["sku"] } } });
    await run("stocks");
    expect([level("A"), holds()]).toEqual([3, []]);
  });

  itWhole("without a column that a record needs is named, with what to do", async () => {
    const { erp, run, holds, rows, level } = await startFeeds();
    erp.exec("DROP TABLE stock; CREATE TABLE stock (sku TEXT, warehouse TEXT, quantity)");
    expect(await run("stocks")).toMatchObject({
      error: { code: "table_missing", message: "stocks: table stock has no column reserved." },
    });
    expect(holds()).toEqual([{ area: "stocks", reason: "table" }]);
    expect(rows("SELECT detail FROM holds")[0]).toEqual({ detail: expect.stringContaining("Add the column reserved") });
    erp.exec("ALTER TABLE stock ADD COLUMN reserved DEFAULT 0; INSERT INTO stock VALUES ('A', '', 3, 1)");
    await run("stocks");
    expect([holds(), level("A")]).toEqual([[], 2]);
  });
});

describe("a feed that is switched off", () => {
  it("leaves no triggers behind, and finds what changed meanwhile when it is switched on again", async () => {
    const { erp, run, restart, level, requests } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    await restart({ imports: { stocks: { path: null } } });
    expect(
      erp.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'erp_bridge%'").all(),
    ).toEqual([]);
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await restart({});
    await run("stocks");
    expect(level("S-2")).toBe(4);
    expect(requests().flatMap(({ records }) => records)).toHaveLength(1);
  });
});

describe("a table of the ERP's own", () => {
  it("may have any columns, a key of its own, and be written in any case", async () => {
    const settings = {
      imports: {
        stocks: {
          table: "TOVAR",
          key: ["Код"],
          available: '"Остаток" - "Резерв"',
          record: { sku: "{Код}", quantity: "{available|number}", unit: "{ЕдИзм}" },
        },
      },
    };
    const { erp, run, sandbox, rows, minutes } = await startFeeds({ settings, arm: [] });
    erp.exec('CREATE TABLE tovar ("Код" INTEGER PRIMARY KEY, "Остаток" REAL, "Резерв" REAL, "ЕдИзм" TEXT)');
    erp.exec("INSERT INTO tovar VALUES (7, 10, 2.5, 'кг'), (8, 1, NULL, NULL)");
    await run("stocks");
    expect([...sandbox.service.imported("stocks").values()]).toEqual([
      '{"sku":7,"quantity":7.5,"unit":"кг"}',
      '{"sku":8,"quantity":1,"unit":null}',
    ]);
    expect(rows('SELECT "Код", sent, state FROM stock_sent ORDER BY 1')).toEqual([
      { Код: "7", sent: '{"sku":7,"quantity":7.5,"unit":"кг"}', state: "sent" },
      { Код: "8", sent: '{"sku":8,"quantity":1,"unit":null}', state: "sent" },
    ]);
    expect(rows("SELECT name FROM sqlite_schema WHERE name LIKE 'erp_bridge_stocks_key'")).toEqual([]);
    erp.exec('UPDATE tovar SET "Код" = 9 WHERE "Код" = 7; DELETE FROM tovar WHERE "Код" = 8');
    await minutes(4);
    expect([...sandbox.service.imported("stocks").values()].map((text) => JSON.parse(text) as unknown)).toEqual([
      { sku: 7, quantity: 0, unit: "кг" },
      { sku: 8, quantity: 0, unit: null },
      { sku: 9, quantity: 7.5, unit: "кг" },
    ]);
  });

  itWhole("whose key ignores case tells a from A", async () => {
    const settings = {
      imports: {
        stocks: {
          table: "goods",
          key: ["code"],
          available: "n",
          record: { sku: "{code}", quantity: "{available|number}" },
        },
      },
    };
    const { erp, run, minutes, level } = await startFeeds({ settings, arm: [] });
    erp.exec("CREATE TABLE goods (code TEXT COLLATE NOCASE PRIMARY KEY, n)");
    erp.exec("INSERT INTO goods VALUES ('abc', 5)");
    await run("stocks");
    erp.exec("UPDATE goods SET code = 'ABC'");
    await minutes(4);
    expect([level("abc"), level("ABC")]).toEqual([0, 5]);
  });

  itWhole("with rows that have no key says so, and no longer once they are gone", async () => {
    const settings = {
      imports: {
        stocks: {
          table: "goods",
          key: ["code", "place"],
          available: "n",
          record: { sku: "{code}", warehouse: "{place}", quantity: "{available|number}" },
        },
      },
    };
    const { erp, run, quarantined, level, compare } = await startFeeds({ settings, arm: [] });
    erp.exec("CREATE TABLE goods (code, place, n)");
    erp.exec("INSERT INTO goods VALUES (NULL, '', 1), ('A', NULL, 2), ('A', '', 3), ('B', '', 4)");
    await run("stocks");
    expect([level("A"), level("B")]).toEqual([3, 4]);
    expect(quarantined()).toHaveLength(2);
    erp.exec("INSERT INTO goods VALUES (NULL, 'x', 5)");
    await run("stocks");
    expect(quarantined()).toHaveLength(3);
    erp.exec("DELETE FROM goods WHERE code IS NULL; UPDATE goods SET place = 'east' WHERE place IS NULL");
    await compare();
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
  });
});

whole.describe("a row that leaves a table of the ERP's", () => {
  const settings = {
    imports: { stocks: { ...GOODS.imports.stocks, record: { sku: "{sku|string}", quantity: "{available|number}" } } },
  };
  const FIRST = "INSERT INTO goods (sku, n, code) VALUES ('A', 5, 'a'), ('B', 6, 'b')";
  const BY_SIZE = "model DEFAULT 'm', size, sku AS (model || size)";
  itSome(1)([
    [
      "whose key is generated, by an UPDATE of what it is generated from",
      `CREATE TABLE goods (${BY_SIZE}, n)`,
      "INSERT INTO goods (size, n) VALUES ('A', 5), ('B', 6)",
      "UPDATE goods SET size = 'C' WHERE size = 'A'",
      ["mA", "mB", "mC"],
      [0, 6, 5],
    ],
    [
      "whose stored key is generated",
      `CREATE TABLE goods (${BY_SIZE} STORED UNIQUE, n)`,
      "INSERT INTO goods (size, n) VALUES ('A', 5), ('B', 6)",
      "UPDATE OR REPLACE goods SET size = 'B' WHERE size = 'A'",
      ["mA", "mB"],
      [0, 5],
    ],
    [
      "whose key is set by a name of the rowid",
      "CREATE TABLE goods (sku INTEGER PRIMARY KEY, n)",
      "INSERT INTO goods VALUES (1, 5), (2, 6)",
      "UPDATE goods SET oid = 3 WHERE sku = 1",
      ["1", "2", "3"],
      [0, 6, 5],
    ],
    [
      "displaced by an UPDATE of what another unique column is generated from",
      "CREATE TABLE goods (sku, n, code, more DEFAULT '-', bcn AS (more || lower(trim(code))) UNIQUE)",
      FIRST,
      "UPDATE OR REPLACE goods SET code = ' A' WHERE sku = 'B'",
      ["A", "B"],
      [0, 6],
    ],
    [
      "displaced by a REPLACE through a generated unique column",
      "CREATE TABLE goods (sku, n, code, bcn AS (lower(trim(code))) STORED UNIQUE)",
      FIRST,
      "REPLACE INTO goods (sku, n, code) VALUES ('C', 7, ' A')",
      ["A", "B", "C"],
      [0, 6, 7],
    ],
    [
      "displaced by a REPLACE of its rowid",
      "CREATE TABLE goods (sku TEXT PRIMARY KEY, n, code)",
      FIRST,
      "REPLACE INTO goods (rowid, sku, n) VALUES (1, 'C', 7)",
      ["A", "B", "C"],
      [0, 6, 7],
    ],
    [
      "displaced by an UPDATE of the rowid under its second name",
      "CREATE TABLE goods (sku, n, code, rowid)",
      FIRST,
      "UPDATE OR REPLACE goods SET oid = 1 WHERE sku = 'B'",
      ["A", "B"],
      [0, 6],
    ],
    [
      "displaced by its rowid, with a primary key that is no name of it",
      "CREATE TABLE goods (id INTEGER PRIMARY KEY DESC, sku, n, code)",
      FIRST,
      "UPDATE OR REPLACE goods SET rowid = 1 WHERE sku = 'B'",
      ["A", "B"],
      [0, 6],
    ],
    [
      "displaced by a REPLACE with NULL for a default",
      "CREATE TABLE goods (sku, n, code NOT NULL DEFAULT 'a' COLLATE NOCASE UNIQUE)",
      "INSERT INTO goods VALUES ('A', 5, 'A'), ('B', 6, 'b')",
      "REPLACE INTO goods VALUES ('C', 7, NULL)",
      ["A", "B", "C"],
      [0, 6, 7],
    ],
    [
      "displaced by an UPDATE to NULL for a default",
      "CREATE TABLE goods (sku, n, code INTEGER NOT NULL DEFAULT -1 UNIQUE)",
      "INSERT INTO goods VALUES ('A', 5, -1), ('B', 6, 2)",
      "UPDATE OR REPLACE goods SET code = NULL WHERE sku = 'B'",
      ["A", "B"],
      [0, 6],
    ],
  ])("%s is taken off sale", async (_, table, first, change, keys, levels) => {
    const { erp, run, minutes, level, rows } = await startFeeds({ settings, arm: [] });
    erp.exec(`${table}; ${first}`);
    await run("stocks");
    erp.exec(change);
    await minutes(4);
    expect(keys.map(level)).toEqual(levels);
    erp.exec("UPDATE goods SET n = n");
    expect(rows("SELECT * FROM feed_dirty")).toEqual([]);
  });
});

describe("a unique column that the feed does not name", () => {
  itSome(1)([
    ["after a pass that saw its index go", "DROP INDEX goods_bc", "ALTER TABLE goods DROP COLUMN barcode"],
    [
      "with its index, once the two triggers that name it are dropped",
      "",
      `BEGIN; DROP TRIGGER erp_bridge_stocks_replace; DROP TRIGGER erp_bridge_stocks_displace; DROP INDEX goods_bc;
       ALTER TABLE goods DROP COLUMN barcode; COMMIT`,
    ],
  ])("can be dropped %s", async (_, before, change) => {
    const { erp, run, minutes, level } = await startFeeds({ settings: GOODS, arm: [] });
    erp.exec("CREATE TABLE goods (sku, n, barcode, code UNIQUE); CREATE UNIQUE INDEX goods_bc ON goods (barcode)");
    erp.exec("INSERT INTO goods VALUES ('A', 5, 'x', 'a')");
    await run("stocks");
    erp.exec(before);
    await run("stocks");
    erp.exec(change);
    erp.exec("REPLACE INTO goods VALUES ('B', 6, 'a')");
    await minutes(4);
    expect([level("A"), level("B")]).toEqual([0, 6]);
  });
});

describe("a table that is made again together with its triggers, as in SQLite's own procedure", () => {
  const rows = (count: number) =>
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO stock (sku, quantity) SELECT 'S-' || i, 10 FROM n`;

  /** With changes that none of the triggers sees. */
  function remake({ erp }: PushedFeeds, how: "beside" | "in place" | "triggers"): void {
    const sql = "SELECT name, type, sql FROM sqlite_schema WHERE tbl_name = 'stock' AND sql IS NOT NULL ORDER BY rowid";
    const objects = erp.prepare<[], { name: string; type: string; sql: string }>(sql).all();
    const table = objects.find(({ type }) => type === "table")?.sql ?? "";
    const others = objects.filter(({ type }) => type === "trigger" || (how !== "triggers" && type === "index"));
    const changes = "UPDATE stock SET quantity = 0 WHERE sku = 'S-2'; DELETE FROM stock WHERE sku = 'S-3'";
    const made = {
      beside: [
        table.replace(/CREATE TABLE "?stock"?/, "CREATE TABLE other"),
        "INSERT INTO other SELECT * FROM stock; DROP TABLE stock; ALTER TABLE other RENAME TO stock",
      ],
      "in place": [
        `CREATE TEMP TABLE c AS SELECT * FROM stock; DROP TABLE stock; ${table}; INSERT INTO stock SELECT * FROM c; DROP TABLE c`,
      ],
      triggers: others.map(({ name }) => `DROP TRIGGER ${name}`),
    }[how];
    erp.exec(["BEGIN IMMEDIATE", ...made, changes, ...others.map((each) => each.sql), "COMMIT"].join("; "));
  }

  it.each(["beside", "in place", "triggers"] as const)(
    "has its changes on the site in the next pass: %s",
    async (how) => {
      const feeds = await startFeeds({ settings: { imports: { stocks: { delete_after: "0s" } } } });
      feeds.erp.exec(rows(50));
      await feeds.minutes(2);
      for (let turn = 1; turn <= 3; turn++) {
        feeds.erp.exec("INSERT OR REPLACE INTO stock (sku, quantity) VALUES ('S-2', 10), ('S-3', 10)");
        await feeds.minutes(2);
        expect(feeds.level("S-3")).toBe(10);
        remake(feeds, how);
        await feeds.minutes(2);
        expect([feeds.level("S-1"), feeds.level("S-2"), feeds.level("S-3")]).toEqual([10, 0, 0]);
      }
    },
  );

  itWhole("is compared once, also where the next process finds it", async () => {
    const feeds = await startFeeds({ settings: { imports: { stocks: { delete_after: "0s" } } } });
    feeds.erp.exec(rows(5));
    await feeds.minutes(2);
    await feeds.bridge.stop();
    remake(feeds, "in place");
    await feeds.restart();
    await feeds.minutes(2);
    expect([feeds.level("S-2"), feeds.level("S-3")]).toEqual([0, 0]);
    const compared = () => feeds.rows("SELECT compared_at FROM feeds WHERE name = 'stocks'");
    const before = compared();
    feeds.erp.exec("CREATE TABLE erp_own (name TEXT)");
    await feeds.minutes(1);
    await feeds.restart();
    await feeds.minutes(1);
    expect(compared()).toEqual(before);
  });
});
