import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFeeds } from "../support/pushed.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** As SQL: a text of these UTF-16 units, half a surrogate pair among them. */
function raw(encoding: string, ...units: (number | string)[]): string {
  const codes = units.map((unit) => (typeof unit === "string" ? unit.charCodeAt(0) : unit));
  const bytes = Buffer.from(Uint16Array.from(codes).buffer);
  return `CAST(x'${(encoding === "UTF-16be" ? bytes.swap16() : bytes).toString("hex")}' AS TEXT)`;
}

const CUT = ["A", 0xd83d, "-", "1"] as const;
/** What is read of it sorts before what is stored. */
const CUT_HIGH = ["A", 0xd83d, 0xff0d] as const;

describe("in a database in UTF-16", () => {
  itSome(1)([["UTF-16le"], ["UTF-16be"]])(
    "%s: a key with half a surrogate pair is quarantined, and all others go on",
    async (encoding) => {
      const { erp, run, level, quarantined, rows } = await startFeeds({ encoding });
      erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('plain', 5), ('\u{1f600}', 3), ('\ufffd', 4)`);
      await run("stocks");
      erp.exec(`INSERT INTO stock (sku, quantity) VALUES (${raw(encoding, ...CUT)}, 2), (${raw(encoding, "B", 0xd83d)}, 2);
      UPDATE stock SET quantity = 0 WHERE sku = 'plain'`);
      expect(await run("stocks")).toMatchObject({ error: null });
      expect([level("plain"), level("\u{1f600}"), level("\ufffd")]).toEqual([0, 3, 4]);
      expect(quarantined()).toHaveLength(2);
      expect(quarantined()[0]).toMatchObject({ reference: null, reason: expect.stringContaining("no valid text") });
      expect(rows("SELECT 1 FROM feed_dirty")).toEqual([]);
      // The ERP deletes them.
      erp.exec("DELETE FROM stock WHERE quantity = 2");
      expect(await run("stocks")).toMatchObject({ error: null });
      expect(rows("SELECT 1 FROM feed_dirty")).toEqual([]);
    },
  );

  itWhole("goes through a whole table in which such keys end a page", async () => {
    const { erp, run, compare, quarantined, site } = await startFeeds({ encoding: "UTF-16le" });
    const cut = raw("UTF-16le", ...CUT_HIGH);
    erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('A1', 1), ('A2', 1), (${cut}, 2)`);
    await run("stocks");
    await compare();
    expect(Object.keys(site())).toHaveLength(2);
    expect(quarantined()).toHaveLength(1);
  });

  itWhole("does not send a text of which half a surrogate pair was joined with what follows it", async () => {
    const settings = {
      imports: {
        catalog: { path: "/api/v1/import/catalog", record: { sku: "{sku}", name: "{name}" } },
      },
    };
    const { erp, run, quarantined, site } = await startFeeds({ encoding: "UTF-16le", settings, arm: ["catalog"] });
    erp.exec(`INSERT INTO products (sku, name) VALUES ('cut', ${raw("UTF-16le", ...CUT)}), ('whole', '\u{1f600}')`);
    await run("catalog");
    expect(site("catalog")).toEqual({ whole: { sku: "whole", name: "\u{1f600}" } });
    expect(quarantined()).toMatchObject([{ reference: "cut" }]);
  });

  itWhole.each([["view"], ["file"]])("%s: rows that are read through are treated alike", async (kind) => {
    const file = path.join(tempFolder(), "erp.db");
    const other = new Database(file);
    onTestFinished(() => void other.close());
    other.exec("PRAGMA encoding = 'UTF-16be'; CREATE TABLE goods (sku TEXT, n INTEGER)");
    const source = {
      table: "goods",
      key: ["sku"],
      available: "n",
      record: { sku: "{sku}", quantity: "{available|number}" },
    };
    const settings = { imports: { stocks: kind === "file" ? { ...source, file } : { ...source, table: "goods_v" } } };
    const { erp, run, quarantined, site } = await startFeeds({ encoding: "UTF-16le", settings, arm: [] });
    erp.exec("CREATE TABLE goods (sku TEXT, n INTEGER); CREATE VIEW goods_v AS SELECT * FROM goods");
    const [db, encoding] = kind === "file" ? [other, "UTF-16be"] : [erp, "UTF-16le"];
    db.exec(`INSERT INTO goods VALUES ('plain', 1), ('\u{1f600}', 2), (${raw(encoding, ...CUT)}, 3)`);
    await run("stocks");
    expect(Object.values(site())).toHaveLength(2);
    expect(quarantined()).toMatchObject([{ reference: null }]);
  });
});

describe("keys that stay dirty although they were read", () => {
  it("end the pass after all was sent, and the feed says so", async () => {
    const { erp, run, level, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    // Only this connection has it.
    bridge.store.db.exec("CREATE TEMP TRIGGER keep BEFORE DELETE ON main.feed_dirty BEGIN SELECT RAISE(IGNORE); END");
    await run("stocks");
    expect(level("A")).toBe(1);
    expect(await run("stocks")).toMatchObject({
      error: { code: "internal", message: expect.stringContaining("feed_dirty") },
    });
    bridge.store.db.exec("DROP TRIGGER temp.keep");
    expect(await run("stocks")).toMatchObject({ error: null });
  });
});
