import { expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import type { TestBridge } from "../support/bridge.ts";
import { BASE64 } from "../support/images.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";
import { SHOP, startUp } from "./up-support.ts";

const HOUR_MS = 3_600_000;
const WATCHED = { erp: { write_within: { stocks: "1h" } } };
const UPSERT = `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 1), ('${SHOP}', 'B', 2)
  ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`;
const REFILL = `BEGIN; TRUNCATE stock; ${UPSERT}; COMMIT`;

function isSilent({ bridge, clock }: TestBridge): boolean {
  const now = { nowMs: clock.nowMs(), isRunning: true };
  const { attention } = describeStatus(loadFacts(bridge.store), now, { erpReadWithinMs: 24 * HOUR_MS });
  return attention.some((line) => line.includes("has not written its table"));
}

describeWithPostgres("an ERP that writes equal values in PostgreSQL", () => {
  itWhole.each([UPSERT, "UPDATE stock SET quantity = quantity", REFILL])(
    "is not silent, makes no key dirty and sends nothing: %s",
    async (write) => {
      const { bridge, erp, pass } = await startUp(WATCHED);
      await erp.query(UPSERT);
      await pass();
      await bridge.run("stocks");
      for (let hours = 0; hours < 3; hours++) {
        bridge.clock.advance(HOUR_MS);
        await erp.query(write);
        expect(await pass()).toEqual({});
        expect(bridge.rows("SELECT * FROM feed_dirty")).toEqual([]);
        expect((await bridge.run("stocks")).counts).toEqual({});
      }
      expect(isSilent(bridge)).toBe(false);
      bridge.clock.advance(HOUR_MS + 1_000);
      await bridge.run("stocks");
      expect(isSilent(bridge)).toBe(true);
    },
  );

  itWhole("is not silent after its notes were folded into one, and is after a comparison of all rows", async () => {
    const { bridge, erp, pass, up } = await startUp(WATCHED);
    await erp.query(UPSERT);
    await pass();
    await bridge.run("stocks");
    bridge.clock.advance(HOUR_MS + 1_000);
    up.compareAll();
    await pass();
    await bridge.run("stocks");
    expect(isSilent(bridge)).toBe(true);
    await erp.query(`INSERT INTO touched (shop, tbl) VALUES ('${SHOP}', 'stock')`);
    await pass();
    await bridge.run("stocks");
    expect(isSilent(bridge)).toBe(false);
  });

  itWhole("costs the shop's database one row of the table for any number of rows", async () => {
    const { bridge, erp, pass } = await startUp();
    await erp.query(`INSERT INTO stock (shop, sku, quantity) SELECT '${SHOP}', n, n FROM generate_series(1, 500) AS n`);
    await pass();
    bridge.bridge.store.db.exec(`CREATE TABLE written (sku);
      CREATE TRIGGER written AFTER UPDATE ON stock BEGIN INSERT INTO written VALUES (NEW.sku); END`);
    await erp.query("UPDATE stock SET quantity = quantity");
    await pass();
    expect(bridge.rows("SELECT count(*) AS n FROM written")).toEqual([{ n: 1 }]);
  });

  itWhole("is not refused where a trigger in the shop's database refuses such an update", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(UPSERT);
    await pass();
    bridge.bridge.store.db.exec(
      "CREATE TRIGGER mine BEFORE UPDATE ON stock BEGIN SELECT raise(ABORT, 'not today'); END",
    );
    await erp.query("UPDATE stock SET quantity = quantity");
    expect(await pass()).toEqual({});
    expect(await remote("SELECT error FROM stock WHERE error IS NOT NULL")).toEqual([]);
  });

  it("says that the file of each of these images may be another one", async () => {
    const folder = tempFolder("photos");
    const imports = { images: { path: "/api/v1/import/images", folder, ...BASE64 } };
    const { bridge, erp, pass } = await startUp({ imports });
    await bridge.run("images");
    await erp.query(
      `INSERT INTO images (shop, sku, source) VALUES ('${SHOP}', 'A', 'a.png'), ('${SHOP}', 'B', 'a.png')`,
    );
    await pass();
    bridge.bridge.store.db.exec("DELETE FROM feed_dirty");
    await erp.query("UPDATE images SET source = source");
    await pass();
    expect(bridge.rows("SELECT k0 FROM feed_dirty ORDER BY k0")).toEqual([{ k0: "A" }, { k0: "B" }]);
  });
});
