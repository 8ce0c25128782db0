import { execFileSync } from "node:child_process";
import { copyFileSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/daemon.ts";
import { openStore } from "../../src/store/open.ts";
import type { FileTrouble, Store } from "../../src/store/store.ts";
import { tempFolder } from "../support/temp.ts";

function openFile(): { file: string; store: Store; trouble: FileTrouble[] } {
  const file = path.join(tempFolder("log"), "bridge.db");
  copyFileSync(inject("emptyDatabase"), file);
  const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  onTestFinished(() => store.close());
  const trouble: FileTrouble[] = [];
  store.onTrouble = (met) => void trouble.push(met);
  return { file, store, trouble };
}

/** Another program that gives up durability for speed. */
function openErp(file: string): Database.Database {
  const erp = new Database(file, { timeout: 0 });
  erp.pragma("synchronous = OFF");
  erp.exec("CREATE TABLE IF NOT EXISTS erp_own (n INTEGER PRIMARY KEY, text TEXT)");
  onTestFinished(() => void erp.close());
  return erp;
}

const note = (store: Store, key: string) =>
  store.write(() => store.db.prepare("INSERT INTO erp_own (text) VALUES (?)").run(key));
const write = (db: Database.Database, bytes = 100) =>
  db.prepare("INSERT INTO erp_own (text) VALUES (?)").run("x".repeat(bytes));
const framesOf = (db: Database.Database) =>
  (db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[])[0]!;

/** What the database file holds without its log: a copy of the file alone. */
function inFileAlone(file: string): string[] {
  const copy = path.join(path.dirname(file), "alone.db");
  for (const suffix of ["-wal", "-shm"]) rmSync(`${copy}${suffix}`, { force: true });
  // Read by another process: closing a descriptor here would drop this process's locks.
  execFileSync("cp", [file, copy]);
  const db = new Database(copy);
  try {
    return db.prepare("SELECT text FROM erp_own").pluck().all() as string[];
  } finally {
    db.close();
  }
}

describe("a log that another program moves without a flush", () => {
  it("is not begun anew until the bridge has flushed the database", () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    store.settle();
    note(store, "confirmed");
    const before = framesOf(erp);
    erp.pragma("wal_checkpoint(PASSIVE)");
    write(erp);
    erp.pragma("wal_checkpoint(PASSIVE)");
    write(erp);
    expect(framesOf(erp).log).toBeGreaterThan(before.log);
    erp.exec("BEGIN IMMEDIATE; ROLLBACK");
    expect(erp.pragma("wal_checkpoint(TRUNCATE)")).toMatchObject([{ busy: 1 }]);
    expect(store.settle()).toBe(true);
    write(erp);
    expect(framesOf(erp).log).toBeLessThan(before.log + 3);
  });

  it("is in the database file itself once it was settled, and is not while somebody reads", () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    erp.exec("BEGIN");
    erp.prepare("SELECT count(*) FROM erp_own").get();
    note(store, "kept in the log");
    expect(store.settle()).toBe(false);
    erp.exec("COMMIT");
    expect(store.settle()).toBe(true);
    expect(inFileAlone(file)).toEqual(["kept in the log"]);
  });

  it("does not grow without end under two programs that write, and what is long is moved by a process of its own", async () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    for (let round = 0; round < 400; round++) {
      write(erp, 20_000);
      note(store, "x".repeat(20_000));
    }
    expect(statSync(`${file}-wal`).size).toBeLessThan(12_000_000);
    erp.exec("BEGIN");
    for (let row = 0; row < 1000; row++) write(erp, 20_000);
    erp.exec("COMMIT");
    expect(framesOf(erp).log).toBeGreaterThan(5000);
    store.look();
    while (framesOf(erp).checkpointed < framesOf(erp).log) await new Promise((resolve) => setTimeout(resolve, 20));
    store.settle();
    note(store, "after");
    expect(framesOf(erp).log).toBeLessThan(100);
  });
});

describe("files that are taken from under the bridge", () => {
  it("a removed log is put into the database before the write returns", () => {
    const { file, store, trouble } = openFile();
    openErp(file).close();
    rmSync(`${file}-wal`);
    note(store, "in the unlinked log");
    expect(trouble).toEqual([{ kind: "log removed", saved: true }]);
    expect(inFileAlone(file)).toContain("in the unlinked log");
  });

  it("a removed log is noticed by a look, also where somebody has opened an empty one", () => {
    const { file, store, trouble } = openFile();
    openErp(file).close();
    note(store, "before");
    rmSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, "");
    store.look();
    expect(trouble).toEqual([{ kind: "log removed", saved: true }]);
    expect(inFileAlone(file)).toEqual(["before"]);
  });

  it("nothing is committed for good where the log is gone and a reader stands in the way", () => {
    const { file, store, trouble } = openFile();
    const erp = openErp(file);
    erp.exec("BEGIN");
    erp.prepare("SELECT count(*) FROM erp_own").get();
    rmSync(`${file}-wal`);
    expect(() => note(store, "x")).toThrow(/write-ahead log of .* was removed while/);
    expect(trouble).toEqual([{ kind: "log removed", saved: false }]);
    erp.exec("COMMIT");
    store.look();
    expect(trouble.at(-1)).toEqual({ kind: "log removed", saved: true });
  });

  it("removed shared memory is the same", () => {
    const { file, store, trouble } = openFile();
    openErp(file).close();
    rmSync(`${file}-shm`);
    note(store, "saved");
    expect(trouble).toEqual([{ kind: "log removed", saved: true }]);
    expect(inFileAlone(file)).toContain("saved");
  });

  it("another log with something in it, or other shared memory, is refused", () => {
    for (const suffix of ["-wal", "-shm"]) {
      const { file, store, trouble } = openFile();
      openErp(file).close();
      const bytes = readFileSync("/proc/self/status");
      rmSync(`${file}${suffix}`);
      writeFileSync(`${file}${suffix}`, bytes);
      expect(() => note(store, "x")).toThrow(/was replaced while/);
      expect(trouble).toMatchObject([{ kind: "replaced" }]);
      rmSync(`${file}${suffix}`);
    }
  });

  it("a second name keeps writes out until it is gone", () => {
    for (const suffix of ["", "-wal"]) {
      const { file, store, trouble } = openFile();
      openErp(file).close();
      linkSync(`${file}${suffix}`, `${file}.second`);
      expect(() => note(store, "x")).toThrow(/has 2 names/);
      rmSync(`${file}.second`);
      note(store, "y");
      expect(trouble).toEqual([]);
    }
  });
});
