import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { sentViewSql } from "../../src/feeds/feed-views.ts";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { itWhole } from "../support/whole.ts";

describe("stock_sent", () => {
  itWhole("says of every key what the site has and what waits", async () => {
    const { erp, run, rows, sandbox, clock } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('SENT', 1), ('TOUCHED', 2), ('GONE', 3)");
    await run("stocks");
    const sentAt = new Date(clock.nowMs()).toISOString();
    erp.exec(
      "UPDATE stock SET quantity = 5 WHERE sku = 'TOUCHED'; INSERT INTO stock (sku, quantity) VALUES ('BAD', 'x'), ('NEW', 1)",
    );
    expect(rows("SELECT state FROM stock_sent WHERE sku = 'TOUCHED'")).toEqual([{ state: "waiting" }]);
    sandbox.faults.add({ match: { path: "import" }, do: { kind: "reset" } });
    await run("stocks");
    expect(
      rows(
        "SELECT sku, sent, sent_at, waiting_since IS NOT NULL AS waits, state, last_error FROM stock_sent ORDER BY sku",
      ),
    ).toEqual([
      {
        sku: "BAD",
        sent: null,
        sent_at: null,
        waits: 1,
        state: "refused",
        last_error: expect.stringContaining("quantity"),
      },
      {
        sku: "GONE",
        sent: '{"sku":"GONE","warehouse":"","quantity":3}',
        sent_at: sentAt,
        waits: 0,
        state: "sent",
        last_error: null,
      },
      { sku: "NEW", sent: null, sent_at: null, waits: 1, state: "doubt", last_error: null },
      {
        sku: "SENT",
        sent: '{"sku":"SENT","warehouse":"","quantity":1}',
        sent_at: sentAt,
        waits: 0,
        state: "sent",
        last_error: null,
      },
      {
        sku: "TOUCHED",
        sent: '{"sku":"TOUCHED","warehouse":"","quantity":2}',
        sent_at: sentAt,
        waits: 1,
        state: "doubt",
        last_error: null,
      },
    ]);
  });

  itWhole("looks one key up by the primary keys, also in the SQLite of an older ERP", async () => {
    const { erp, run, bridge } = await startFeeds();
    fillStock(erp, 10);
    await run("stocks");
    const sql = "EXPLAIN QUERY PLAN SELECT * FROM stock_sent WHERE sku = 'S-1' AND warehouse = ''";
    const plans = [
      (erp.prepare(sql).all() as { detail: string }[]).map(({ detail }) => detail).join("\n"),
      execFileSync("/usr/bin/sqlite3", [bridge.store.path, `${sql};`]).toString(),
    ];
    for (const plan of plans) {
      expect(plan).toMatch(/SEARCH s USING PRIMARY KEY \(feed_id=\? AND k0=\? AND k1=\?/);
      expect(plan).toMatch(/SEARCH o USING INDEX sqlite_autoindex_feed_outbox_1 \(feed_id=\? AND k0=\? AND k1=\?/);
      expect(plan).not.toMatch(/SCAN (s|o|d|h|f)\b/);
    }
  });

  itWhole("follows the feed's own key, and is made again where somebody dropped it", async () => {
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
    const { erp, run, rows, restart } = await startFeeds();
    expect(rows("SELECT name FROM pragma_table_info('stock_sent')").map(({ name }) => name)).toContain("warehouse");
    erp.exec("CREATE TABLE goods (code INTEGER PRIMARY KEY, n); INSERT INTO goods VALUES (7, 1)");
    await restart(settings);
    await run("stocks");
    expect(rows("SELECT code, state FROM stock_sent WHERE code = 7")).toEqual([{ code: "7", state: "sent" }]);
    erp.exec("UPDATE goods SET n = 2");
    expect(rows("SELECT code, state FROM stock_sent")).toEqual([{ code: "7", state: "waiting" }]);
    erp.exec("DROP VIEW stock_sent");
    await run("stocks");
    expect(rows("SELECT code, state FROM stock_sent")).toEqual([{ code: "7", state: "sent" }]);
  });

  it("stands from the start for the four feeds as the bridge would make it", async () => {
    const { rows } = await startFeeds({ arm: [] });
    const keys = {
      stocks: ["sku", "warehouse"],
      prices: ["sku", "price_type"],
      catalog: ["sku"],
      images: ["sku", "position"],
    } as const;
    const standing = rows<{ sql: string }>(
      "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name LIKE '%\\_sent' ESCAPE '\\'",
    ).map(({ sql }) => sql);
    const made = (Object.keys(keys) as (keyof typeof keys)[]).map((name) => sentViewSql(name, keys[name]));
    expect(standing.sort()).toEqual(made.sort());
  });
});
