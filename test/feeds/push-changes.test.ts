import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

describe("changes of the stock table", () => {
  itWhole("reach the site whatever statement made them", async () => {
    const { erp, run, site } = await startFeeds();
    erp.exec(
      "INSERT INTO stock (sku, warehouse, quantity, reserved) VALUES ('A', 'west', 5, 1), ('B', '', 7, 0), ('C', '', 1, 0)",
    );
    await run("stocks");
    expect(site()).toEqual({
      "A west": { sku: "A", warehouse: "west", quantity: 4 },
      B: { sku: "B", warehouse: "", quantity: 7 },
      C: { sku: "C", warehouse: "", quantity: 1 },
    });
    erp.exec("UPDATE stock SET reserved = 3 WHERE sku = 'A'");
    erp.exec(
      "INSERT INTO stock (sku, quantity) VALUES ('B', 8) ON CONFLICT DO UPDATE SET quantity = excluded.quantity",
    );
    erp.exec("INSERT OR REPLACE INTO stock (sku, quantity) VALUES ('C', 2)");
    await run("stocks");
    expect(site()).toMatchObject({ "A west": { quantity: 2 }, B: { quantity: 8 }, C: { quantity: 2 } });
  });

  itWhole("move to the new key where the key itself was changed", async () => {
    const { erp, run, minute, level } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('OLD', 5)");
    await run("stocks");
    erp.exec("UPDATE stock SET sku = 'NEW'");
    await run("stocks");
    expect([level("OLD"), level("NEW")]).toEqual([5, 5]);
    await minute();
    await minute();
    expect([level("OLD"), level("NEW")]).toEqual([0, 5]);
  });

  itWhole("are sent from the SQLite of an older ERP", async () => {
    const { erp, run, level, bridge, requests } = await startFeeds();
    erp.close();
    const old = (sql: string) => execFileSync("/usr/bin/sqlite3", [bridge.store.path, sql]);
    old("INSERT INTO stock (sku, quantity) VALUES ('A', 1), ('B', 2);");
    await run("stocks");
    old(
      "INSERT OR REPLACE INTO stock (sku, quantity) VALUES ('A', 3); DELETE FROM stock WHERE sku = 'B'; UPDATE stock SET quantity = 4 WHERE sku = 'A';",
    );
    await run("stocks");
    expect(level("A")).toBe(4);
    requests();
    old("BEGIN; DELETE FROM stock; INSERT INTO stock (sku, quantity) VALUES ('A', 4), ('B', 2); COMMIT;");
    await run("stocks");
    expect(requests()).toEqual([]);
    expect(old("SELECT sku, sent_at IS NOT NULL, state FROM stock_sent ORDER BY sku;").toString()).toBe(
      "A|1|sent\nB|1|sent\n",
    );
  });

  it("send only the newest of several values of one key", async () => {
    const { erp, run, levels } = await startFeeds();
    for (const quantity of [1, 2, 3, 4])
      erp.prepare("INSERT OR REPLACE INTO stock (sku, quantity) VALUES ('A', ?)").run(quantity);
    await run("stocks");
    expect(levels("A")).toEqual([4]);
  });

  itWhole("send nothing after a rollback", async () => {
    const { erp, run, requests } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    erp.exec("BEGIN; UPDATE stock SET quantity = 99; DELETE FROM stock WHERE sku = 'S-1'; ROLLBACK");
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
    expect(requests()).toEqual([]);
  });

  itWhole("of columns that no record names are none", async () => {
    const { erp, run } = await startFeeds({
      settings: {
        imports: { prices: { path: "/api/v1/import/prices", record: { sku: "{sku}", price: "{price|number}" } } },
      },
      arm: ["prices"],
    });
    erp.exec("INSERT INTO prices (sku, price, data) VALUES ('A', 5, 'x')");
    await run("prices");
    erp.exec("UPDATE prices SET data = 'y'");
    expect(erp.prepare("SELECT count(*) AS n FROM feed_dirty").get()).toEqual({ n: 0 });
  });
});

describe("an equal rewrite of the whole table sends nothing", () => {
  const rewrites: [string, string][] = [
    [
      "by upsert",
      "INSERT INTO stock (sku, quantity) SELECT sku, quantity FROM copy WHERE true ON CONFLICT DO UPDATE SET quantity = excluded.quantity",
    ],
    ["by REPLACE", "INSERT OR REPLACE INTO stock (sku, quantity) SELECT sku, quantity FROM copy"],
    [
      "by delete and insert in one transaction",
      "BEGIN; DELETE FROM stock; INSERT INTO stock (sku, quantity) SELECT sku, quantity FROM copy; COMMIT",
    ],
    [
      "by delete and insert in autocommit",
      "DELETE FROM stock; INSERT INTO stock (sku, quantity) SELECT sku, quantity FROM copy",
    ],
    ["with the same numbers in other types", "UPDATE stock SET quantity = CAST(quantity AS TEXT) || '.0'"],
  ];
  itSome(1)(rewrites)("%s", async (_, sql) => {
    const { erp, run, requests, minute, rows } = await startFeeds();
    fillStock(erp, 50);
    erp.exec("CREATE TABLE copy AS SELECT sku, quantity FROM stock");
    await run("stocks");
    expect(requests()).toHaveLength(1);
    erp.exec(sql);
    await run("stocks");
    await minute();
    await minute();
    expect(requests()).toEqual([]);
    expect(rows("SELECT (SELECT count(*) FROM feed_dirty) + (SELECT count(*) FROM feed_outbox) AS n")).toEqual([
      { n: 0 },
    ]);
  });

  itWhole("by delete and insert in autocommit with a pass in between", async () => {
    const { erp, run, requests, minute, holds, minutes } = await startFeeds();
    fillStock(erp, 50);
    erp.exec("CREATE TABLE copy AS SELECT sku, quantity FROM stock");
    await run("stocks");
    requests();
    erp.exec("DELETE FROM stock");
    await run("stocks");
    await minute();
    expect(holds()).toEqual([]);
    erp.exec("INSERT INTO stock (sku, quantity) SELECT sku, quantity FROM copy");
    await minutes(3);
    expect(requests()).toEqual([]);
  });
});

describe("the ERP's writes", () => {
  it("never fail because of the triggers: NULL keys, blobs, REPLACE, FAIL, IGNORE", async () => {
    const settings = {
      imports: {
        stocks: {
          table: "goods",
          key: ["code", "place"],
          record: { sku: "{code}", warehouse: "{place}", quantity: "{available|number}" },
        },
      },
    };
    const { erp, run, level, quarantined } = await startFeeds({ settings, arm: [] });
    erp.exec("CREATE TABLE goods (code, place, quantity, reserved, ean UNIQUE)");
    await run("stocks");
    erp.exec(
      "INSERT INTO goods VALUES (NULL, '', 1, 0, 1), (x'00ff', '', 2, 0, 2), ('A', '', 3, 0, 3), ('A', NULL, 4, 0, 4)",
    );
    for (const how of ["REPLACE", "FAIL", "IGNORE", "ABORT", "ROLLBACK"]) {
      erp.exec(`INSERT OR ${how} INTO goods VALUES (NULL, '', 1, 0, '${how}')`);
      erp.exec(`UPDATE OR ${how} goods SET quantity = 9 WHERE code IS NULL`);
      erp.exec(`UPDATE OR ${how} goods SET code = 'A' WHERE code = 'A'`);
    }
    erp.exec("INSERT OR REPLACE INTO goods VALUES ('B', '', 5, 0, 3)");
    erp.exec("DELETE FROM goods WHERE code = x'00ff'");
    await run("stocks");
    expect(level("B")).toBe(5);
    expect(quarantined().every(({ reason, reference }) => /NULL/.test(reason) && reference === null)).toBe(true);
    expect(quarantined().length).toBeGreaterThan(0);
  });
});
