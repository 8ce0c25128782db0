import { execFileSync } from "node:child_process";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { findMissingTables } from "../../src/database/objects/verify-tables.ts";
import { newDatabaseStatements } from "../../src/pass/open-database.ts";
import { asError } from "../../src/platform/errors.ts";
import { startTestBridge } from "../support/bridge.ts";
import { saying } from "../support/messages.ts";
import { createOrders } from "../support/pull.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome } from "../support/whole.ts";

/** Zeros over the first page of a table, as a failing disk leaves them; by another process, which keeps this one's locks. */
function damage(db: Database.Database, table: string): void {
  const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table) as number;
  const bytes = db.pragma("page_size", { simple: true }) as number;
  const to = [`of=${db.name}`, `bs=${bytes}`, `seek=${page - 1}`, "count=1", "conv=notrunc", "status=none"];
  execFileSync("/bin/dd", ["if=/dev/zero", ...to]);
  db.pragma("shrink_memory");
}

describe("a page that is damaged while the bridge runs", () => {
  itSome(1)(["batches", "runs", "order_line_rows"])(
    "ends confirms and all writing, and the next start refuses: %s",
    async (table) => {
      const t = await startTestBridge({ folder: tempFolder("damaged") });
      createOrders(t, 5);
      await t.run("orders");
      t.bridge.store.settle();
      damage(t.bridge.store.db, table);
      createOrders(t, 5);
      const confirmed = t.sandbox.ledger.confirmedOrderIds().size;
      await t.run("orders");
      expect(await t.bridge.trouble).toMatchObject({ kind: "damaged", error: { code: "database_corrupt" } });
      createOrders(t, 5);
      expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "database_corrupt" } });
      if (table !== "runs") expect(t.sandbox.ledger.confirmedOrderIds().size).toBe(confirmed);
      await expect(t.restart()).rejects.toMatchObject({ code: "database_corrupt" });
      await expect(t.restart()).rejects.toMatchObject({ hint: saying("erp-bridge restore") });
    },
  );
});

describe("an error of SQLite's that nobody has put into words", () => {
  it.each([
    ["SQLITE_CORRUPT", "database_corrupt"],
    ["SQLITE_IOERR_SHORT_READ", "disk_failed"],
    ["SQLITE_FULL", "disk_full"],
    ["SQLITE_BUSY_SNAPSHOT", "database_busy"],
    ["SQLITE_ERROR", "internal"],
    ["SQLITE_CONSTRAINT", "internal"],
  ])("is told by what it means: %s", (code, expected) => {
    expect(asError(new Database.SqliteError("words", code)).code).toBe(expected);
    expect(asError(new Error("wrapped", { cause: new Database.SqliteError("words", code) })).code).toBe(expected);
  });
});

describe("a database that is sound and of an earlier time", () => {
  it("names the tables that it does not have, but none that an ERP may make anew", () => {
    const db = new Database(":memory:");
    for (const statement of newDatabaseStatements()) db.exec(statement);
    expect(findMissingTables(db, newDatabaseStatements())).toEqual([]);
    db.exec("DROP VIEW kept_bodies; DROP TABLE body_parts; DROP TABLE prices");
    expect(findMissingTables(db, newDatabaseStatements())).toEqual(["body_parts"]);
    db.close();
  });
});
