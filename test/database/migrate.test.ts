import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { migrate as drizzleMigrate } from "drizzle-orm/better-sqlite3/migrator";
import { describe, expect, it, onTestFinished } from "vitest";
import { migrateDatabase } from "../../src/database/migrate.ts";
import { loadMigrations, type Migration, planMigrations } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const ONE =
  "CREATE TABLE parent (id TEXT PRIMARY KEY) STRICT;\n--> statement-breakpoint\nINSERT INTO parent VALUES ('a');";
const TWO = "CREATE TABLE child (id TEXT REFERENCES parent (id) ON DELETE CASCADE) STRICT;";

/** Lays out a migrations folder as drizzle-kit does; one file a text, in order. */
function writeMigrations(folder: string, ...texts: string[]): string {
  mkdirSync(path.join(folder, "meta"), { recursive: true });
  const entries = texts.map((text, idx) => {
    const tag = `000${idx}_step`;
    writeFileSync(path.join(folder, `${tag}.sql`), text);
    return { idx, version: "6", when: 1000 + idx, tag, breakpoints: true };
  });
  writeFileSync(
    path.join(folder, "meta", "_journal.json"),
    JSON.stringify({ version: "7", dialect: "sqlite", entries }),
  );
  return folder;
}

/** A folder with a database path and a migrations folder in it. */
function setUp(...texts: string[]) {
  const folder = tempFolder("migrate");
  const migrationsFolder = writeMigrations(path.join(folder, "drizzle"), ...texts);
  const file = path.join(folder, "bridge.db");
  const open = () => openStore({ path: file, migrationsFolder, mode: "daemon", now: () => 0 });
  const rewrite = (...next: string[]) => writeMigrations(migrationsFolder, ...next);
  return { folder, file, migrationsFolder, open, rewrite };
}

function bytesOf(file: string): string {
  return readFileSync(file).toString("base64");
}

describe("planning migrations", () => {
  const step = (when: number, hash: string): Migration => ({ tag: `step${when}`, when, hash, statements: [] });
  const known = [step(1, "a"), step(2, "b"), step(3, "c")];
  const applied = (...pairs: [number, string][]) => pairs.map(([when, hash]) => ({ when, hash }));

  it("gives what is not applied yet, in order", () => {
    expect(planMigrations(known, []).map((m) => m.when)).toEqual([1, 2, 3]);
    expect(planMigrations(known, applied([1, "a"], [2, "b"])).map((m) => m.when)).toEqual([3]);
    expect(planMigrations(known, applied([1, "a"], [2, "b"], [3, "c"]))).toEqual([]);
  });

  it.each([
    ["a later migration", applied([1, "a"], [2, "b"], [3, "c"], [4, "d"]), "database_newer"],
    ["a later migration instead of ours", applied([1, "a"], [4, "d"]), "database_newer"],
    ["another text", applied([1, "a"], [2, "other"]), "migration_edited"],
    ["a gap", applied([1, "a"], [3, "c"]), "migration_edited"],
    ["another order", applied([2, "b"], [1, "a"]), "migration_edited"],
    ["an unknown one between ours", applied([1, "a"], [1.5, "x"], [2, "b"]), "migration_edited"],
  ])("refuses a database that has had %s", (_, had, code) => {
    expect(() => planMigrations(known, had)).toThrow(expect.objectContaining({ code }));
  });
});

describe("migrating", () => {
  it("makes a fresh database without a copy, and marks it as ours", () => {
    const { open, folder } = setUp(ONE, TWO);
    const store = open();
    expect(store.migrated).toEqual({ applied: ["0000_step", "0001_step"], backup: undefined });
    expect(store.db.pragma("application_id", { simple: true })).toBe(0x45525042);
    expect(store.db.prepare("SELECT id FROM parent").pluck().all()).toEqual(["a"]);
    store.close();
    expect(readdirSync(folder).sort()).toEqual(["bridge.db", "drizzle"]);
  });

  it("changes nothing when nothing is pending", () => {
    const { open, file } = setUp(ONE);
    open().close();
    const before = bytesOf(file);
    const store = open();
    expect(store.migrated).toEqual({ applied: [], backup: undefined });
    store.close();
    expect(bytesOf(file)).toBe(before);
  });

  itWhole("keeps a readable copy of the former state, with the rights of the database", () => {
    const { open, rewrite, folder } = setUp(ONE);
    const first = open();
    first.db.exec("INSERT INTO parent VALUES ('b')");
    first.close();
    rewrite(ONE, TWO);
    const second = open();
    expect(second.migrated.applied).toEqual(["0001_step"]);
    const backup = second.migrated.backup ?? "";
    expect(backup).toBe(path.join(folder, "bridge.before-0001_step-19700101T000000000Z.db"));
    expect(statSync(backup).mode).toBe(statSync(second.path).mode);
    second.close();
    const copy = new Database(backup, { readonly: true });
    expect(copy.prepare("SELECT id FROM parent").pluck().all()).toEqual(["a", "b"]);
    expect(copy.prepare("SELECT count(*) FROM __drizzle_migrations").pluck().get()).toBe(1);
    copy.close();
  });

  it("shares its table of applied migrations with drizzle, both ways", () => {
    const { open, file, migrationsFolder, rewrite } = setUp(ONE);
    const raw = new Database(file);
    drizzleMigrate(drizzle(raw), { migrationsFolder });
    raw.close();
    open().close();
    rewrite(ONE, TWO);
    const store = open();
    expect(store.migrated.applied).toEqual(["0001_step"]);
    drizzleMigrate(drizzle(store.db), { migrationsFolder });
    expect(store.db.prepare("SELECT count(*) FROM __drizzle_migrations").pluck().get()).toBe(2);
    store.close();
  });

  it.each([
    ["an edited migration", (text: string) => [`${text} -- edited`], "migration_edited"],
    ["a database of a newer program", (text: string) => [text], "database_newer"],
  ])("refuses %s and writes nothing", (_, texts, code) => {
    const { open, rewrite, file, folder } = setUp(ONE, ...(code === "database_newer" ? [TWO] : []));
    open().close();
    rewrite(...texts(ONE));
    const before = bytesOf(file);
    expect(open).toThrow(expect.objectContaining({ code }));
    expect(bytesOf(file)).toBe(before);
    expect(readdirSync(folder).filter((name) => name.includes("before"))).toEqual([]);
  });

  it("does not touch the log of a newer program that was killed", async () => {
    const { open, rewrite, file } = setUp(ONE, TWO);
    open().close();
    const child = spawn(process.execPath, [
      "-e",
      `const db = new (require("better-sqlite3"))(${JSON.stringify(file)});
       db.exec("INSERT INTO parent VALUES ('kept')"); process.kill(process.pid, "SIGKILL");`,
    ]);
    await once(child, "exit");
    rewrite(ONE);
    const before = [bytesOf(file), bytesOf(`${file}-wal`)];
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(open).toThrow(expect.objectContaining({ code: "database_newer" }));
    expect([bytesOf(file), bytesOf(`${file}-wal`)]).toEqual(before);
  });

  it("undoes everything when one statement fails, and stays usable", () => {
    const { open, rewrite } = setUp(ONE);
    open().close();
    rewrite(ONE, TWO, "CREATE TABLE parent (id)");
    expect(open).toThrow(/Migration 0002_step failed and was undone.*already exists/);
    rewrite(ONE, TWO);
    const store = open();
    expect(store.migrated.applied).toEqual(["0001_step"]);
    expect(store.db.pragma("foreign_keys", { simple: true })).toBe(0);
    store.close();
  });

  it("makes a parent table anew without losing children, and undoes a migration that leaves orphans", () => {
    const { open, rewrite } = setUp(ONE, TWO);
    const first = open();
    first.db.exec("INSERT INTO child VALUES ('a')");
    first.close();
    const anew =
      "CREATE TABLE fresh (id TEXT PRIMARY KEY, more TEXT) STRICT; INSERT INTO fresh SELECT id, 'm' FROM parent; DROP TABLE parent; ALTER TABLE fresh RENAME TO parent;";
    rewrite(ONE, TWO, anew);
    const second = open();
    expect(second.db.prepare("SELECT count(*) FROM child JOIN parent USING (id)").pluck().get()).toBe(1);
    second.close();
    rewrite(ONE, TWO, anew, "DELETE FROM parent;");
    expect(open).toThrow(/break 1 foreign key/);
  });

  itWhole("leaves the old state when the process is killed in the middle", async () => {
    const { open, rewrite, file, migrationsFolder } = setUp(ONE);
    open().close();
    // Far larger than SQLite's cache, so that it spills into the log: the kill meets a half-written migration.
    const slow =
      "CREATE TABLE big AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 900000000) SELECT x, hex(randomblob(200)) FROM c;";
    rewrite(ONE, TWO, slow);
    const script = `import { openStore } from ${JSON.stringify(path.resolve("src/database/open.ts"))};
      openStore(${JSON.stringify({ path: file, migrationsFolder, mode: "daemon" })});`;
    const watcher = watch(path.dirname(file));
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
    const exited = once(child, "exit");
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    const isLong = () => (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000;
    while (!isLong()) await once(watcher, "change");
    watcher.close();
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(1_000_000);
    child.kill("SIGKILL");
    await exited;
    rewrite(ONE);
    const store = open();
    expect(store.migrated.applied).toEqual([]);
    expect(store.db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('child', 'big')").all()).toEqual([]);
    expect(store.db.pragma("integrity_check", { simple: true })).toBe("ok");
    store.close();
  });

  it("applies nothing that another process has applied while this one copied", () => {
    const { file, folder, migrationsFolder, open, rewrite } = setUp(ONE);
    open().close();
    rewrite(ONE, "INSERT INTO parent SELECT 'once' || count(*) FROM parent;");
    const known = loadMigrations(migrationsFolder);
    const [first, second] = [new Database(file), new Database(file)];
    const options = { known, file, backupFolder: folder };
    const report = migrateDatabase(first, {
      ...options,
      // Read for the name of the copy.
      get nowMs() {
        migrateDatabase(second, { ...options, nowMs: 1 });
        return 0;
      },
    });
    expect(report.applied).toEqual([]);
    expect(first.prepare("SELECT id FROM parent").pluck().all()).toEqual(["a", "once1"]);
    for (const db of [first, second]) db.close();
  });

  it("names a journal whose file is missing or whose order is wrong", () => {
    const folder = tempFolder("journal");
    expect(() => loadMigrations(folder)).toThrow(/cannot be read/);
    writeMigrations(folder, ONE, TWO);
    appendFileSync(path.join(folder, "0000_step.sql"), "\n--> statement-breakpoint\n\n");
    expect(loadMigrations(folder)[0]?.statements).toHaveLength(2);
    const journal = path.join(folder, "meta", "_journal.json");
    writeFileSync(journal, readFileSync(journal, "utf8").replace("1001", "999"));
    expect(() => loadMigrations(folder)).toThrow(/dated before/);
  });
});

/* Why migrations are applied by a few lines of our own: where one of these fails, drizzle's migrator may do. */
describe("drizzle's own migrator", () => {
  it("applies a migration twice where another process does between its look and its transaction", () => {
    const { file, migrationsFolder, rewrite } = setUp(ONE);
    const [first, second] = [new Database(file), new Database(file)];
    first.pragma("journal_mode = WAL");
    drizzleMigrate(drizzle(first), { migrationsFolder });
    rewrite(ONE, "INSERT INTO parent SELECT 'twice' || count(*) FROM parent;");
    const logger = {
      logQuery: (sql: string) => {
        if (sql === "BEGIN") drizzleMigrate(drizzle(second), { migrationsFolder });
      },
    };
    drizzleMigrate(drizzle(first, { logger }), { migrationsFolder });
    expect(first.prepare("SELECT id FROM parent").pluck().all()).toEqual(["a", "twice1", "twice2"]);
    for (const db of [first, second]) db.close();
  });

  it("commits a migration that leaves orphans, and cannot run inside a transaction that would look first", () => {
    const { file, migrationsFolder, rewrite } = setUp(ONE, TWO);
    const db = new Database(file);
    drizzleMigrate(drizzle(db), { migrationsFolder });
    db.exec("INSERT INTO child VALUES ('a')");
    rewrite(ONE, TWO, "DELETE FROM parent;");
    db.pragma("foreign_keys = OFF");
    db.exec("BEGIN IMMEDIATE");
    expect(() => drizzleMigrate(drizzle(db), { migrationsFolder })).toThrow("BEGIN");
    db.exec("ROLLBACK");
    drizzleMigrate(drizzle(db), { migrationsFolder });
    expect(db.pragma("foreign_key_check")).toHaveLength(1);
    db.close();
  });
});

describe("the migrations of this program", () => {
  itWhole("are refused by a file that holds any table or view of theirs", () => {
    const folder = tempFolder("schema");
    const ours = openStore({ path: path.join(folder, "ours.db"), migrationsFolder: "drizzle", mode: "daemon" });
    const names = ours.db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
      )
      .pluck()
      .all();
    ours.close();
    expect(names).toEqual(expect.arrayContaining(["orders", "orders_pending"]));
    for (const name of names) {
      const file = path.join(folder, `${name}.db`);
      const foreign = new Database(file);
      foreign.exec(`CREATE TABLE "${name}" (x)`);
      foreign.close();
      expect(() => openStore({ path: file, migrationsFolder: "drizzle", mode: "daemon" })).toThrow(
        `already holds ${name}`,
      );
    }
  });

  it("make a sound database, whose triggers and views work with an untrusted schema", () => {
    const folder = tempFolder("schema");
    const store = openStore({ path: path.join(folder, "bridge.db"), migrationsFolder: "drizzle", mode: "daemon" });
    expect(store.db.pragma("trusted_schema", { simple: true })).toBe(0);
    const objects = store.db
      .prepare<[], { type: string; name: string }>(
        "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')",
      )
      .all();
    for (const { name } of objects) store.db.prepare(`SELECT * FROM "${name}"`).all();
    expect(store.db.pragma("integrity_check", { simple: true })).toBe("ok");
    store.close();
  });
});
