import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { SourceRules } from "../../src/feeds/feed.ts";
import { proveSource } from "../../src/feeds/source/source-rows.ts";
import { startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const ENDLESS =
  "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS sku, 'm' AS warehouse, n AS quantity, 0 AS reserved FROM c";
/** Gives not a single row, so nothing that reads row by row could stop it. */
const MUTE = `${ENDLESS} WHERE n < 0`;
/** Endless only in a column. */
const COLUMN =
  "SELECT 'a' AS sku, 'm' AS warehouse, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c) AS quantity, 0 AS reserved";

function scene(setUp: string): { file: string; rules: (more: Partial<SourceRules>) => SourceRules } {
  const file = path.join(tempFolder("source"), "erp.db");
  const db = new Database(file);
  db.exec(
    `CREATE TABLE goods (sku, warehouse, quantity, reserved); INSERT INTO goods VALUES ('a', 'm', 1, 0), ('b', 'm', 2, 0); ${setUp}`,
  );
  db.close();
  const columns = ["sku", "warehouse", "quantity", "reserved"];
  return {
    file,
    rules: (more) => ({
      name: "stocks",
      table: "goods",
      query: null,
      file,
      columns,
      keys: ["sku", "warehouse"],
      ...more,
    }),
  };
}

const proof = { databasePath: "none", isStopping: () => false, limitMs: 1_500 };

describe("running a source to its end", () => {
  it("measures the rows of a query and of a view that end", async () => {
    const { rules } = scene("CREATE VIEW twice AS SELECT * FROM goods UNION ALL SELECT * FROM goods");
    const measure = (more: Partial<SourceRules>) => proveSource(rules(more), { ...proof, limitMs: 60_000 });
    const { rows, bytesMax } = await measure({ query: "SELECT * FROM goods" });
    expect(rows).toBe(2);
    expect(await measure({ table: "twice" })).toEqual({ rows: 4, bytesMax });
    expect(
      await measure({ query: "SELECT sku, warehouse, zeroblob(20000) AS quantity, reserved FROM goods" }),
    ).toMatchObject({
      bytesMax: expect.toSatisfy((bytes: number) => bytes >= 20_000 && bytes < 20_100),
    });
  });

  itWhole.each([
    ["gives rows without end", ENDLESS],
    ["gives no row", MUTE],
    ["never ends in one column", COLUMN],
    ["stands behind a view", null],
  ])("stops one that %s, and leaves no process", async (_, query) => {
    const { rules } = scene(`CREATE VIEW endless AS ${MUTE}`);
    const source = rules(query === null ? { table: "endless" } : { query });
    const before = helpersOf(process.pid);
    await expect(proveSource(source, proof)).rejects.toMatchObject({
      code: "table_missing",
      message: expect.stringContaining("did not end within 1.5 s and was stopped"),
    });
    await expect.poll(() => helpersOf(process.pid).filter((line) => !before.includes(line))).toEqual([]);
  });

  itWhole("ends with the program", async () => {
    const { rules } = scene("");
    const stopping = proveSource(rules({ query: MUTE }), { ...proof, isStopping: () => true, limitMs: 60_000 });
    await expect(stopping).rejects.toMatchObject({ code: "stopped" });
  });

  itWhole("says what is wrong in the words of the reader", async () => {
    const { rules } = scene("");
    const wrong = async (more: Partial<SourceRules>) =>
      await proveSource(rules(more), { ...proof, limitMs: 60_000 }).catch((error) => error.message);
    expect(await wrong({ query: "SELECT 1; SELECT 2" })).toContain("holds more than one statement");
    expect(await wrong({ query: "SELECT load_extension('x')" })).toContain("calls load_extension");
    expect(await wrong({ query: "SELECT nope FROM goods" })).toContain("no such column: nope");
  });
});

describe("erp-bridge", () => {
  itWhole("refuses such a source in check and in sync --dry-run, and the feed waits with the reason", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    shop.write(`CREATE VIEW twisted AS SELECT * FROM nowhere`);
    shop.writeConfig({ imports: { stocks: { table: "twisted" } } });
    for (const command of [["check"], ["sync", "stocks", "--dry-run"], ["sync", "stocks"]]) {
      const { code, out, err } = await shop.command(...command);
      expect(code, command.join(" ")).not.toBe(0);
      expect(out + err).toContain("no such table: main.nowhere");
    }
    shop.write("DROP VIEW twisted");
    shop.write("CREATE VIEW twisted AS SELECT * FROM stock");
    const { code, out } = await shop.command("check");
    expect(out).toContain("imports.stocks");
    expect(code).toBe(0);
  });

  it("reads no table of a bridge's own as a source, in whatever file", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    shop.writeConfig({ imports: { stocks: { table: "orders", file: "bridge.db" } } });
    const { code, out } = await shop.command("check");
    expect(code).not.toBe(0);
    expect(out).toContain("orders is not a table or view of the ERP");
  });
});

function helpersOf(pid: number): string[] {
  return childrenOf(pid).filter((line) => line.includes("source-helper"));
}

function childrenOf(pid: number): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${id}/stat`, "utf8"))?.[1]);
        return parent === pid ? [`${id} ${readFileSync(`/proc/${id}/cmdline`, "utf8")}`] : [];
      } catch {
        return []; // ended meanwhile
      }
    });
}
