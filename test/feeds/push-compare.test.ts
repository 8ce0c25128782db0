import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { requestCompare } from "../../src/feeds/feed-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { itWhole } from "../support/whole.ts";

const EAN = {
  imports: {
    stocks: { table: "goods", key: ["sku"], available: "n", record: { sku: "{sku}", quantity: "{available|number}" } },
  },
};

describe("the nightly comparison", () => {
  it("is not needed for a row that a REPLACE removed through another unique key", async () => {
    const { erp, run, minutes, level } = await startFeeds({ settings: EAN, arm: [] });
    erp.exec(
      `CREATE TABLE goods (id INTEGER PRIMARY KEY, sku TEXT UNIQUE, ean UNIQUE, n);
       INSERT INTO goods VALUES (1, 'A', 1, 5), (2, 'B', 2, 6), (3, 'C', 3, 7)`,
    );
    await run("stocks");
    erp.exec(
      "INSERT OR REPLACE INTO goods (sku, ean, n) VALUES ('D', 1, 8); UPDATE OR REPLACE goods SET id = 3 WHERE id = 2",
    );
    await minutes(4);
    expect(["A", "B", "C", "D"].map(level)).toEqual([0, 6, 0, 8]);
  });

  itWhole("finds a row that a REPLACE removed through a unique index of some rows", async () => {
    const { erp, run, minutes, compare, level } = await startFeeds({ settings: EAN, arm: [] });
    erp.exec(
      `CREATE TABLE goods (sku TEXT PRIMARY KEY, ean, n); CREATE UNIQUE INDEX goods_ean ON goods (ean) WHERE ean > 0;
       INSERT INTO goods VALUES ('A', 1, 5), ('B', 2, 6)`,
    );
    await run("stocks");
    erp.exec("INSERT OR REPLACE INTO goods VALUES ('C', 1, 7)");
    await minutes(4);
    expect([level("A"), level("C")]).toEqual([5, 7]);
    await compare();
    await minutes(4);
    expect([level("A"), level("B"), level("C")]).toEqual([0, 6, 7]);
  });

  itWhole("goes on beside that of another feed, each with its own list of rows", async () => {
    const settings = { imports: { prices: { path: "/api/v1/import/prices" } } };
    const { erp, run, bridge, clock, level, minute } = await startFeeds({ settings, arm: ["stocks", "prices"] });
    fillStock(erp, 3);
    erp.exec("INSERT INTO prices (sku, price) SELECT sku, 9 FROM stock");
    await minute("stocks", "prices");
    // Gone without a trace, while the price of the same article stays.
    const triggers = erp.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'stock'");
    const armed = triggers.all() as { name: string; sql: string }[];
    for (const { name } of armed) erp.exec(`DROP TRIGGER ${name}`);
    erp.exec("DELETE FROM stock WHERE sku = 'S-2'");
    for (const { sql } of armed) erp.exec(sql);
    const { store } = bridge;
    store.write(() => {
      for (const feed of ["stocks", "prices"] as const) requestCompare(store, feed, m.daemon.nightlyComparison);
    });
    const results = await Promise.all([run("stocks"), run("prices")]);
    expect(results.map(({ error }) => error)).toEqual([null, null]);
    clock.advance(180_000);
    await run("stocks");
    expect([level("S-1"), level("S-2"), level("S-3")]).toEqual([10, 0, 10]);
  });

  itWhole("finds what a program wrote with the triggers switched off", async () => {
    const { erp, run, compare, level, requests, bridge } = await startFeeds();
    fillStock(erp, 30);
    await run("stocks");
    requests();
    const sql =
      ".dbconfig enable_trigger off\nUPDATE stock SET quantity = 3 WHERE sku = 'S-7'; INSERT INTO stock (sku, quantity) VALUES ('NEW', 1);\n";
    execFileSync("/usr/bin/sqlite3", [bridge.store.path], { input: sql });
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
    await compare();
    expect([level("S-7"), level("NEW")]).toEqual([3, 1]);
    expect(requests().flatMap(({ records }) => records)).toHaveLength(2);
  });

  itWhole("finds what a program wrote that removed the notes of the triggers", async () => {
    const { erp, run, compare, level } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4; DELETE FROM feed_dirty");
    await run("stocks");
    expect(level("S-1")).toBe(10);
    await compare();
    expect(level("S-1")).toBe(4);
  });

  itWhole("is not waited for where the triggers are still missing: the next pass compares", async () => {
    const { erp, run, level } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    erp.exec("DROP TRIGGER erp_bridge_stocks_update; UPDATE stock SET quantity = 4");
    await run("stocks");
    expect(level("S-1")).toBe(4);
  });

  itWhole("finds two rows of one key wherever they stand, and goes on holding them under other rules", async () => {
    const { erp, run, compare, restart, quarantined, requests, rows } = await startFeeds({
      settings: { imports: { stocks: { table: "goods" } } },
      arm: [],
    });
    erp.exec(`CREATE TABLE goods (id INTEGER PRIMARY KEY, sku, warehouse, quantity, reserved);
      INSERT INTO goods (sku, warehouse, quantity, reserved) VALUES (7, '', 1, 0);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO goods (sku, warehouse, quantity, reserved) SELECT 'S-' || i, '', 5, 0 FROM n;
      INSERT INTO goods (sku, warehouse, quantity, reserved) VALUES ('7', '', 2, 0)`);
    await run("stocks");
    const held = [{ reference: "7", reason: "two rows have this key (sku, warehouse)", state: "held" }];
    expect([requests().flatMap(({ records }) => records).length, quarantined()]).toEqual([2_500, held]);
    const before = rows("SELECT * FROM quarantine");
    await compare();
    expect([requests(), rows("SELECT * FROM quarantine")]).toEqual([[], before]);
    await restart({
      imports: { stocks: { table: "goods", record: { sku: "{sku}", quantity: "{available|number}" } } },
    });
    await run("stocks");
    expect([requests().flatMap(({ records }) => records).length, quarantined()]).toEqual([2_500, held]);
  });

  itWhole("writes and sends nothing where nothing differs", async () => {
    const { erp, run, compare, requests, rows } = await startFeeds();
    fillStock(erp, 2_500);
    await run("stocks");
    requests();
    const changes = () => rows<{ n: number }>("SELECT count(*) AS n FROM feed_sent WHERE sent_at IS NOT NULL")[0]?.n;
    const before = changes();
    await compare();
    expect([requests(), changes()]).toEqual([[], before]);
    expect(rows("SELECT compare_because, compared_at IS NOT NULL AS at FROM feeds WHERE name = 'stocks'")).toEqual([
      { compare_because: null, at: 1 },
    ]);
  });

  itWhole("goes through a table whose index is in another order than the key", async () => {
    const settings = { imports: { stocks: { table: "goods" } } };
    const { erp, run, site, compare, requests } = await startFeeds({ settings, arm: [] });
    erp.exec("CREATE TABLE goods (sku, warehouse, quantity, reserved, UNIQUE (warehouse, sku))");
    erp.exec(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO goods SELECT i % 700, 'w' || (i / 700), i, 0 FROM n",
    );
    await run("stocks");
    expect(Object.keys(site())).toHaveLength(2500);
    requests();
    await compare();
    expect(requests()).toEqual([]);
  });
});

describe("a changed template", () => {
  it("is compared in full, and everything that it renders differently is sent", async () => {
    const { erp, run, restart, site, requests } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    await restart({
      imports: {
        stocks: { record: { sku: "{sku}", warehouse: "{warehouse}", quantity: "{quantity|number}", unit: "pcs" } },
      },
    });
    await run("stocks");
    expect(site()["S-1"]).toEqual({ sku: "S-1", warehouse: "", quantity: 10, unit: "pcs" });
    expect(requests().flatMap(({ records }) => records)).toHaveLength(3);
  });

  itWhole("that renders the same sends nothing", async () => {
    const { erp, run, restart, requests } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    await restart({
      imports: { stocks: { record: { sku: "{sku}", warehouse: "{warehouse}", quantity: "{quantity|number}" } } },
    });
    await run("stocks");
    expect(requests()).toEqual([]);
  });
});

describe("a changed address", () => {
  it("is owed everything, because what another property or path accepted says nothing of it", async () => {
    const { erp, run, restart, requests, sandbox, level } = await startFeeds({
      settings: { imports: { stocks: { property: "rows" } } },
    });
    fillStock(erp, 3);
    // A service that ignores names it does not know.
    sandbox.faults.add({
      match: { path: "import" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body: '{"success":true}' },
    });
    await run("stocks");
    sandbox.faults.clear();
    requests();
    await restart({});
    await run("stocks");
    expect(level("S-1")).toBe(10);
    expect(requests().flatMap(({ records }) => records)).toHaveLength(3);
    await run("stocks");
    expect(requests()).toEqual([]);
  });
});
