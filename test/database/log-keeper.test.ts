import { type ChildProcess, execFileSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import type { FileTrouble } from "../../src/database/store-files.ts";
import { openNewStore } from "../support/new-store.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

function openFile(): { file: string; store: Store; trouble: FileTrouble[] } {
  const { file, store } = openNewStore(tempFolder("log"));
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
  });

  itWhole("is begun anew by the bridge alone, whose commit flushes the new header before what follows it", () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    const version = 7;
    erp.pragma(`user_version = ${version}`);
    store.settle();
    // Read by another process: closing a descriptor here would drop this process's locks.
    const header = () => execFileSync("head", ["-c", "32", `${file}-wal`], { encoding: "hex" });
    const begun = header();
    for (let row = 0; framesOf(erp).log < 1000; row++) {
      write(erp, 20_000);
      expect(header()).toBe(begun);
      // Completely moved, and flushed: all that SQLite asks before a writer begins the log anew.
      if (row % 10 === 0) store.secure();
      expect(erp.pragma("wal_checkpoint(RESTART)")).toMatchObject([{ busy: 1 }]);
    }
    store.look();
    expect(header()).not.toBe(begun);
    expect(framesOf(erp).log).toBe(1);
    const again = header();
    for (let row = 0; row < 10; row++) {
      erp.pragma("wal_checkpoint(PASSIVE)");
      write(erp);
      store.secure();
    }
    expect(header()).toBe(again);
    expect(erp.pragma("user_version", { simple: true })).toBe(version);
    expect(erp.pragma("integrity_check", { simple: true })).toBe("ok");
  });

  it("is begun anew at the start, where another program has left one that it could begin anew", () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    store.close();
    write(erp);
    erp.pragma("wal_checkpoint(PASSIVE)");
    const { log } = framesOf(erp);
    expect(framesOf(erp)).toMatchObject({ log, checkpointed: log });
    const again = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    onTestFinished(() => again.close());
    const begun = framesOf(erp).log;
    again.secure();
    write(erp);
    erp.pragma("wal_checkpoint(PASSIVE)");
    write(erp);
    expect(framesOf(erp).log).toBeGreaterThan(begun + 1);
  });

  itWhole("goes on behind a reader, and is begun anew once that is gone, without a write for every look", () => {
    const { file, store } = openFile();
    const erp = openErp(file);
    while (framesOf(erp).log < 900) write(erp, 20_000);
    store.settle();
    erp.exec("BEGIN");
    erp.prepare("SELECT count(*) FROM erp_own").get();
    const ahead = new Database(file, { timeout: 0 });
    onTestFinished(() => void ahead.close());
    while (framesOf(ahead).log < 1100) write(ahead, 20_000);
    for (let look = 0; look < 20; look++) store.look();
    const { log } = framesOf(ahead);
    expect(log).toBeLessThan(1150);
    erp.exec("COMMIT");
    while (framesOf(ahead).log < log + 110 && framesOf(ahead).log > 100) {
      write(ahead, 20_000);
      store.look();
    }
    expect(framesOf(ahead).log).toBeLessThan(100);
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

  itWhole(
    "does not grow without end under two programs that write, and what is long is moved by a process of its own",
    async () => {
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
      const started: ChildProcess[] = [];
      const onStart = (message: unknown) => void started.push((message as { process: ChildProcess }).process);
      subscribe("child_process", onStart);
      onTestFinished(() => void unsubscribe("child_process", onStart));
      const { size } = statSync(`${file}-wal`);
      store.look();
      while (framesOf(erp).log > 5000) await once(started.shift()!, "exit");
      note(store, "after");
      expect(framesOf(erp).log).toBeLessThan(100);
      // The file is cut too: a size that stays would look like that of a log which a reader keeps.
      expect(size).toBeGreaterThan(16 * 1024 * 1024);
      expect(statSync(`${file}-wal`).size).toBeLessThanOrEqual(16 * 1024 * 1024);
    },
  );
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

  itWhole("a removed log is noticed by a look, also where somebody has opened an empty one", () => {
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

  itWhole("another log with something in it, or other shared memory, is refused", () => {
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

  itWhole("a second name keeps writes out until it is gone", () => {
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

describe("a folder in the place of the log", () => {
  it("is another file, and no second name", () => {
    const { file, store, trouble } = openFile();
    openErp(file).close();
    rmSync(`${file}-wal`);
    mkdirSync(`${file}-wal`);
    expect(() => store.look()).toThrow("was replaced while the bridge was running");
    expect(trouble).toMatchObject([{ kind: "replaced" }]);
    expect(store.files?.where()).toBe("lost");
  });
});

describe("a log that is truncated in place", () => {
  /** With what only the log holds: somebody reads, so nothing can be moved. */
  function openUnmoved() {
    const opened = openFile();
    const erp = openErp(opened.file);
    opened.store.settle();
    erp.exec("BEGIN");
    erp.prepare("SELECT count(*) FROM erp_own").get();
    for (let row = 0; row < 20; row++) note(opened.store, `unmoved ${row}`);
    return { ...opened, erp };
  }

  /** Whether the file is sound for whoever opens it once every connection is gone. */
  function verdictOf(file: string): unknown {
    const copy = path.join(path.dirname(file), "alone.db");
    execFileSync("cp", [file, copy]);
    execFileSync("cp", [`${file}-wal`, `${copy}-wal`]);
    const db = new Database(copy);
    try {
      return db.pragma("integrity_check", { simple: true });
    } finally {
      db.close();
    }
  }

  itWhole.each([
    ["empty", 0],
    ["to a part of its header", 20],
    ["to some of its frames", 32 + 3 * 4120],
    ["in the middle of its last frame", -100],
  ])("ends all writing: %s", (_name, size) => {
    const { file, store, trouble, erp } = openUnmoved();
    truncateSync(`${file}-wal`, size < 0 ? statSync(`${file}-wal`).size + size : size);
    expect(() => note(store, "lost")).toThrow(expect.objectContaining({ code: "disk_failed" }));
    expect(trouble).toMatchObject([{ kind: "damaged" }, { kind: "damaged" }]);
    expect(() => store.secure()).toThrow(/truncated or overwritten/);
    expect(() => store.look()).toThrow(/truncated or overwritten/);
    erp.exec("COMMIT");
    expect(store.settle()).toBe(false);
    store.close();
    expect(verdictOf(file)).toBe("ok");
  });

  itSome(1)(["secure", "look"] as const)("is met by %s before anything is moved", (how) => {
    const { file, store, erp } = openUnmoved();
    erp.exec("COMMIT");
    truncateSync(`${file}-wal`, 0);
    expect(() => store[how]()).toThrow(/truncated or overwritten/);
    expect(verdictOf(file)).toBe("ok");
  });

  itSome(1)([0, 20, 32 + 3 * 4120])("is met where it has grown again since, with a hole: %i bytes left", (size) => {
    const { file, store, erp } = openUnmoved();
    erp.exec("COMMIT");
    const before = statSync(`${file}-wal`).size;
    truncateSync(`${file}-wal`, size);
    truncateSync(`${file}-wal`, before);
    expect(() => store.secure()).toThrow(/truncated or overwritten/);
  });

  it("is begun anew where everything in it was in the database already", () => {
    const { file, store, trouble } = openFile();
    openErp(file).close();
    note(store, "settled");
    expect(store.settle()).toBe(true);
    truncateSync(`${file}-wal`, 0);
    expect(() => note(store, "at the second try")).toThrow(expect.objectContaining({ code: "database_busy" }));
    note(store, "at the second try");
    store.secure();
    expect(trouble).toEqual([]);
    expect(inFileAlone(file)).toEqual(["settled", "at the second try"]);
  });

  itWhole("is none where another program truncates it as SQLite does, or begins it anew", () => {
    const { file, store, trouble } = openFile();
    const erp = openErp(file);
    for (let round = 0; round < 50; round++) {
      note(store, `row ${round}`);
      if (round % 3 === 0) write(erp, 20_000);
      store.secure();
      erp.pragma(`wal_checkpoint(${["TRUNCATE", "RESTART", "PASSIVE"][round % 3]})`);
      store.look();
    }
    erp.pragma("journal_size_limit = 0");
    for (let round = 0; round < 20; round++) {
      write(erp, 20_000);
      note(store, "x");
      store.secure();
    }
    expect(trouble).toEqual([]);
  });
});
