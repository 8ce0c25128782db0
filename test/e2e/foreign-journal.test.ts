import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { PATIENT } from "../support/program.ts";
import { addOrders, backUpTo, confirmed, startDaemon, stored } from "../support/running-shop.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

/** A hot journal, as a killed program leaves one: page 1 and others as they were before. */
function writeHotJournal(shop: Shop): void {
  const old = path.join(shop.folder, "old.db");
  const db = new Database(old);
  db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (randomblob(20000))");
  db.pragma("cache_spill = 1");
  db.pragma("cache_size = 1");
  db.exec("BEGIN; UPDATE t SET a = randomblob(20000); INSERT INTO t VALUES (randomblob(200000))");
  writeFileSync(`${shop.database}-journal`, readFileSync(`${old}-journal`));
  db.close();
}

const setAside = (shop: Shop) => readdirSync(shop.folder).filter((name) => /^bridge\.db\.foreign-journal-/.test(name));

inWhole("database/foreign-journal").describe("a file DATABASE-journal beside the database", PATIENT, () => {
  it("is named while the daemon runs, and nothing is confirmed until it is gone", async () => {
    const { shop, program } = await startDaemon();
    writeHotJournal(shop);
    addOrders(shop, 10);
    const told = await shop.command("status");
    expect(told.code).toBe(78);
    expect(told.err).toContain("bridge.db-journal lies beside the database");
    await program.says("lies beside the database");
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(10);
    renameSync(`${shop.database}-journal`, path.join(shop.folder, "moved"));
    await confirmed(shop, 20);
    await program.kill();
    expect(stored(shop).size).toBe(20);
  });

  itWhole("is set aside by a start, and is never played back", async () => {
    const { shop, program } = await startDaemon();
    await program.kill();
    writeHotJournal(shop);
    const journal = readFileSync(`${shop.database}-journal`);
    for (const words of [["status"], ["backup", path.join(shop.folder, "copy.db")], ["resume", "orders"]]) {
      const refused = await shop.command(...words);
      expect(refused.code, words[0]).toBe(78);
      expect(refused.err).toContain("bridge.db-journal lies beside the database");
    }
    const again = shop.start("run");
    await again.says("erp-bridge is running");
    const [aside = ""] = setAside(shop);
    expect(again.stderr()).toContain(aside);
    expect(readFileSync(path.join(shop.folder, aside)).equals(journal)).toBe(true);
    expect(existsSync(`${shop.database}-journal`)).toBe(false);
    shop.sandbox.service.createOrder();
    await confirmed(shop, 11);
    await again.kill();
    expect(stored(shop).size).toBe(11);
    expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });

  itWhole("keeps a restore from nothing that the replaced database holds", async () => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "copy.db");
    await backUpTo(shop, copy);
    shop.sandbox.service.createOrder();
    await confirmed(shop, 11);
    await program.kill();
    writeHotJournal(shop);
    expect([0, 2]).toContain((await shop.command("restore", copy, "--yes")).code);
    expect(setAside(shop)).toHaveLength(1);
    expect(stored(shop).size).toBe(11);
  });
});

describe("names that belong to the database", PATIENT, () => {
  it("are refused by backup", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    for (const suffix of [
      "-journal",
      "-wal",
      "-shm",
      "-mj1234",
      ".progress",
      ".lock",
      ".lock-journal",
      ".id",
      ".restore",
    ]) {
      const refused = await shop.command("backup", `${shop.database}${suffix}`);
      expect(refused.code, suffix).toBe(64);
      expect(refused.err, suffix).toContain("belongs to the database itself");
    }
  });
});
