import { copyFileSync, renameSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import { type Settings, startTestBridge, type TestBridge } from "../support/bridge.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

function attention(t: TestBridge): string[] {
  const facts = loadFacts(t.bridge.store);
  const now = { nowMs: t.clock.nowMs(), isRunning: true };
  return describeStatus(facts, now, { erpReadWithinMs: 24 * HOUR_MS }).attention.filter((line) =>
    line.includes("written"),
  );
}

describe("the ERP's silence", () => {
  itWhole("is worth attention once a table was not written for as long as the configuration says", async () => {
    const t = await startTestBridge({ settings: { erp: { write_within: { stocks: "26h" } } } });
    t.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
    t.clock.advance(27 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toEqual(["The ERP has not written its table of stocks for 27 h."]);
    t.bridge.store.db.exec("UPDATE stock SET quantity = 2");
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
  });

  it("is counted from the first start where the ERP has never written, and is no trouble where nobody asked", async () => {
    const t = await startTestBridge({ settings: { erp: { write_within: { stocks: "1h" } } } });
    expect(attention(t)).toEqual([]);
    t.clock.advance(2 * HOUR_MS);
    expect(attention(t)).toHaveLength(1);
    await t.restart({ erp: { write_within: { stocks: null } } });
    expect(attention(t)).toEqual([]);
  });

  itWhole("shows in sync_status, with the age of what the site shows", async () => {
    const t = await startTestBridge();
    t.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    await t.run("stocks");
    t.bridge.store.db.exec(
      "UPDATE feeds SET touched_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 hours') WHERE name = 'stocks'",
    );
    t.bridge.store.db.exec(
      "UPDATE flows SET last_success_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-3 hours') WHERE flow = 'stocks'",
    );
    const [row] = t.rows<{ sentence: string; is_erp_silent: number; as_of: string }>(
      "SELECT sentence, is_erp_silent, as_of FROM sync_status WHERE flow = 'stocks'",
    );
    expect(row?.is_erp_silent).toBe(1);
    expect(row?.sentence).toBe(
      "Succeeded 3 h ago. On the site as of 3 h ago. The ERP has not written its table for 30 h.",
    );
  });

  itWhole("shows orders that the ERP has blocked", async () => {
    const t = await startTestBridge();
    const id = t.sandbox.service.createOrder();
    await t.run("orders");
    t.bridge.store.db.prepare("INSERT INTO erp_orders (order_id, state) VALUES (?, 'blocked')").run(id);
    expect(t.rows("SELECT sentence FROM sync_status WHERE flow = 'erp'")).toEqual([
      { sentence: "The ERP has taken every order. 1 blocked by the ERP." },
    ]);
  });
});

describe("a write of equal values", () => {
  const WATCHED: Settings = { erp: { write_within: { stocks: "1h" } } };
  const UPSERT = `INSERT INTO stock (sku, quantity) VALUES ('A', 1), ('B', 2)
    ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity, reserved = excluded.reserved`;

  itSome(1)([UPSERT, "UPDATE stock SET quantity = quantity", "UPDATE OR REPLACE stock SET quantity = quantity"])(
    "is a write of the table, makes no key dirty and sends nothing: %s",
    async (write) => {
      const t = await startTestBridge({ settings: WATCHED });
      t.bridge.store.db.exec(UPSERT);
      await t.run("stocks");
      for (let hours = 0; hours < 3; hours++) {
        t.clock.advance(HOUR_MS);
        t.bridge.store.db.exec(write);
        expect(t.rows("SELECT * FROM feed_dirty")).toEqual([]);
        expect((await t.run("stocks")).counts).toEqual({});
      }
      expect(attention(t)).toEqual([]);
      t.clock.advance(HOUR_MS + 1_000);
      await t.run("stocks");
      expect(attention(t)).toHaveLength(1);
    },
  );

  itWhole("costs one row of the bridge's for any number of rows, and one transaction in fifteen seconds", async () => {
    const t = await startTestBridge({ settings: WATCHED });
    const { db } = t.bridge.store;
    const touchedAt = () => t.rows("SELECT touched_at FROM feeds WHERE name = 'stocks'");
    db.exec(`WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
      INSERT INTO stock (sku, quantity) SELECT i, i FROM n`);
    await t.run("stocks");
    t.clock.advance(20_000);
    const before = db.prepare<[], number>("SELECT total_changes()").pluck();
    const changes = before.get() ?? 0;
    db.exec("UPDATE stock SET quantity = quantity");
    expect((before.get() ?? 0) - changes).toBe(101);
    await t.run("stocks");
    const noted = touchedAt();
    t.clock.advance(10_000);
    db.exec("UPDATE stock SET quantity = quantity");
    await t.run("stocks");
    expect(touchedAt()).toEqual(noted);
    t.clock.advance(10_000);
    await t.run("stocks");
    expect(touchedAt()).not.toEqual(noted);
  });

  itWhole("is noted once the triggers of an earlier version were replaced", async () => {
    const t = await startTestBridge({ settings: WATCHED });
    await t.run("stocks");
    t.bridge.store.db.exec(`${UPSERT}; DROP TRIGGER erp_bridge_stocks_write`);
    await t.run("stocks");
    t.clock.advance(2 * HOUR_MS);
    t.bridge.store.db.exec(UPSERT);
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
  });

  itWhole.each(["delete", "wal"])("is a write of a file of its own, in journal mode %s", async (mode) => {
    const file = path.join(tempFolder("erp"), "erp.db");
    const erp = new Database(file);
    onTestFinished(() => void erp.close());
    erp.pragma(`journal_mode = ${mode}`);
    erp.exec("CREATE TABLE goods (sku, warehouse DEFAULT '', quantity, reserved DEFAULT 0)");
    erp.exec("INSERT INTO goods (sku, quantity) VALUES ('A', 1)");
    const t = await startTestBridge({ settings: { ...WATCHED, imports: { stocks: { file, table: "goods" } } } });
    await t.run("stocks");
    t.clock.advance(2 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toHaveLength(1);
    erp.exec("BEGIN; DELETE FROM goods; INSERT INTO goods (sku, quantity) VALUES ('A', 1); COMMIT");
    expect((await t.run("stocks")).counts).toEqual({});
    expect(attention(t)).toEqual([]);
    t.clock.advance(2 * HOUR_MS);
    // As an export that makes the same file anew.
    copyFileSync(file, `${file}.new`);
    renameSync(`${file}.new`, file);
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
    // Reading it is no write.
    t.clock.advance(2 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toHaveLength(1);
  });

  itWhole("is not seen through a view, of which no silence is reported", async () => {
    const sku = "SELECT sku, '' AS warehouse, quantity, 0 AS reserved FROM mine";
    const stocks = { table: "seen" };
    const t = await startTestBridge({ settings: { ...WATCHED, imports: { stocks } } });
    const { db } = t.bridge.store;
    db.exec(`CREATE TABLE mine (sku, quantity); INSERT INTO mine VALUES ('A', 1); CREATE VIEW seen AS ${sku}`);
    await t.run("stocks");
    expect(t.logs.map(({ message }) => message)).toContain(
      "stocks: table seen shows values only, not when the ERP writes: erp.write_within.stocks has no effect.",
    );
    t.clock.advance(2 * HOUR_MS);
    db.exec("UPDATE mine SET quantity = 2");
    await t.run("stocks");
    t.clock.advance(2 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
    expect(t.rows("SELECT is_erp_silent, erp_wrote_at FROM sync_status WHERE flow = 'stocks'")).toEqual([
      { is_erp_silent: 0, erp_wrote_at: null },
    ]);
    // A table of that name is watched again.
    db.exec("DROP VIEW seen; CREATE TABLE seen (sku, warehouse, quantity, reserved)");
    await t.run("stocks");
    t.clock.advance(2 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toHaveLength(1);
  });
});
