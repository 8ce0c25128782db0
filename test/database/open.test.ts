import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { examineCopy } from "../../src/backup/examine.ts";
import { type OpenMode, openReadOnly } from "../../src/database/connection.ts";
import { acquireInstanceLock } from "../../src/database/file/instance-lock.ts";
import { isOwnDatabase, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { asBridgeError } from "../../src/database/sqlite-errors.ts";
import type { Store } from "../../src/database/store.ts";
import { m } from "../../src/messages/messages.ts";
import { BridgeError, EXIT, exitCodeOf } from "../../src/platform/errors.ts";
import { makeReadOnly } from "../support/read-only-disk.ts";
import { tempFolder } from "../support/temp.ts";
import { isWhole, itSome, itWhole } from "../support/whole.ts";

const SCHEMA = "CREATE TABLE orders (order_id TEXT PRIMARY KEY, payload TEXT) STRICT, WITHOUT ROWID;";

let folder: string;
let file: string;
let stores: Store[];

function writeSchema(...texts: string[]): void {
  mkdirSync(path.join(folder, "drizzle", "meta"), { recursive: true });
  const entries = texts.map((text, idx) => {
    writeFileSync(path.join(folder, "drizzle", `${idx}.sql`), text);
    return { idx, version: "6", when: 1000 + idx, tag: `${idx}`, breakpoints: true };
  });
  writeFileSync(path.join(folder, "drizzle", "meta", "_journal.json"), JSON.stringify({ entries }));
}

function open(mode: OpenMode = "daemon"): Store {
  const migrationsFolder = path.join(folder, "drizzle");
  const store =
    mode === "readonly" ? openReadOnly(file, migrationsFolder) : openStore({ path: file, migrationsFolder, mode });
  stores.push(store);
  return store;
}

function codeOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    return error instanceof BridgeError ? error.code : `not a BridgeError: ${String(error)}`;
  }
  return "nothing was thrown";
}

function insert(store: Store, id: string, payload = "{}"): void {
  store.write(() => store.prepare("INSERT INTO orders VALUES (?, ?)").run(id, payload));
}

function ids(store: Store): unknown[] {
  return store.db.prepare("SELECT order_id FROM orders ORDER BY 1").pluck().all();
}

/** Another program that runs `sql` on the database, says so, and then lives until it is killed. */
async function otherProgram(sql: string): Promise<ChildProcess> {
  const script = `const db = new (require("better-sqlite3"))(${JSON.stringify(file)});
    db.exec(${JSON.stringify(sql)}); process.stdout.write("done"); setInterval(() => db.open, 1000);`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  await once(child.stdout, "data");
  return child;
}

beforeEach(() => {
  folder = tempFolder("open");
  file = path.join(folder, "bridge.db");
  stores = [];
  writeSchema(SCHEMA);
});

afterEach(() => {
  for (const store of stores) store.close();
});

describe("opening", () => {
  it.each<OpenMode>(["daemon", "command", "readonly"])(
    "is durable when a WAL database is opened again as %s",
    (mode) => {
      insert(open(), "a");
      stores[0]?.close();
      const { db } = open(mode);
      expect(db.pragma("synchronous", { simple: true })).toBe(2);
      expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
      expect(db.pragma("foreign_keys", { simple: true })).toBe(0);
      expect(db.pragma("busy_timeout", { simple: true })).toBeLessThanOrEqual(mode === "daemon" ? 100 : 5000);
    },
  );

  it("sees why: better-sqlite3 by itself opens a WAL database with NORMAL", () => {
    open().close();
    const raw = new Database(file);
    expect(raw.pragma("synchronous", { simple: true })).toBe(1);
    raw.close();
  });

  it("makes a file that not everyone can read, its log included", () => {
    insert(open(), "a");
    for (const name of ["bridge.db", "bridge.db-wal"]) expect(statSync(path.join(folder, name)).mode & 0o007).toBe(0);
  });

  it("takes up a file in which an ERP already keeps tables of its own, after copying it", () => {
    const erp = new Database(file);
    erp.exec("CREATE TABLE goods (x); INSERT INTO goods VALUES (1)");
    erp.close();
    const store = open();
    expect(store.migrated.backup).toBeDefined();
    expect(store.db.prepare("SELECT x FROM goods").pluck().all()).toEqual([1]);
  });

  itWhole.each([0, 1_313_820_229])("takes a file for its own in which the ERP has set application_id to %i", (id) => {
    const first = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    first.db.pragma(`application_id = ${id}`);
    first.close();
    expect(isOwnDatabase(file)).toBe(true);
    stores.push(openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" }));
    expect(examineCopy(file, file).orders).toBe(0);
  });

  it.each<[string, () => void, string]>([
    ["a text file", () => writeFileSync(file, "hello, this is no database\n".repeat(99)), "not an SQLite database"],
    ["a short text file", () => writeFileSync(file, "hello"), "not an SQLite database"],
    ["foreign tables of our names", () => new Database(file).exec("CREATE TABLE ORDERS (x)").close(), "already holds"],
    [
      "another program's file",
      () => {
        const other = new Database(file);
        other.exec("PRAGMA application_id = 7; CREATE TABLE goods (x)");
        other.close();
      },
      "belongs to another program",
    ],
    [
      "another program's drizzle database",
      () => {
        const other = new Database(file);
        other.exec("CREATE TABLE __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)");
        other.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 5)");
        other.close();
      },
      "belongs to another program",
    ],
  ])("refuses %s and leaves it as it is", (_, prepare, words) => {
    prepare();
    const before = readFileSync(file);
    expect(() => open()).toThrow(words);
    expect(codeOf(() => open("command"))).toBe("database_refused");
    expect(codeOf(() => open("readonly"))).toBe("database_refused");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("refuses a damaged schema page in one sentence", () => {
    open().close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 100, 4096);
    writeFileSync(file, bytes);
    expect(codeOf(() => open())).toBe("database_corrupt");
  });

  itWhole("does not migrate under a running daemon", () => {
    open().close();
    const child = spawnSync(process.execPath, ["-e", "process.exit(0)"]);
    const lock = acquireInstanceLock(file, { command: "erp-bridge run" });
    onTestFinished(() => lock.release());
    writeSchema(SCHEMA, "CREATE TABLE more (x);");
    // This process holds the lock itself: it is the daemon.
    writeFileSync(`${file}.lock.json`, JSON.stringify({ pid: child.pid, command: "erp-bridge run", since: "x" }));
    expect(codeOf(() => open("command"))).toBe("instance_running");
    expect(open("daemon").migrated.applied).toEqual(["1"]);
    expect(open("command").migrated.applied).toEqual([]);
  });

  itWhole("is prompt while an ERP holds the write lock, and a write then says so at once", async () => {
    open().close();
    await otherProgram("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('erp', '{}')");
    const store = open();
    const startedAt = performance.now();
    expect(codeOf(() => insert(store, "a"))).toBe("database_busy");
    expect(performance.now() - startedAt).toBeLessThan(1000);
    // The lock is taken before anything is read: a decision is never made on rows that change before the commit.
    let ran = false;
    const decide = () => {
      ran = true;
    };
    expect(codeOf(() => store.write(decide))).toBe("database_busy");
    expect(ran).toBe(false);
  });

  itWhole("is possible again after a kill in the middle of a transaction", async () => {
    insert(open(), "a");
    const child = await otherProgram("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('lost', '{}')");
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    const store = open();
    insert(store, "b");
    expect(ids(store)).toEqual(["a", "b"]);
  });
});

describe("opening to read", () => {
  it("refuses a database that is absent, empty or of another version", () => {
    expect(() => open("readonly")).toThrow(/does not exist/);
    expect(readdirSync(folder)).toEqual(["drizzle"]);
    writeFileSync(file, "");
    expect(() => open("readonly")).toThrow(/not a database of erp-bridge yet/);
    open().close();
    writeSchema(SCHEMA, "CREATE TABLE more (x);");
    expect(() => open("readonly")).toThrow(/older erp-bridge/);
    open().close();
    writeSchema(SCHEMA);
    expect(codeOf(() => open("readonly"))).toBe("database_newer");
  });

  it("works beside a daemon in the middle of a transaction, and writes nothing", () => {
    const daemon = open();
    insert(daemon, "a");
    daemon.write(() => {
      daemon.prepare("INSERT INTO orders VALUES ('b', '')").run();
      expect(ids(open("readonly"))).toEqual(["a"]);
    });
    const reader = open("readonly");
    expect(ids(reader)).toEqual(["a", "b"]);
    expect(codeOf(() => reader.write(() => reader.db.exec("DELETE FROM orders")))).toBe("database_refused");
  });

  it.runIf(existsSync("/proc/locks"))(
    "keeps the locks of another connection of its process, whose log is empty",
    () => {
      open().close();
      const other = new Database(file, { readonly: true });
      onTestFinished(() => void other.close());
      other.pragma("user_version");
      const own = ` ${process.pid} .*:${statSync(`${file}-shm`).ino} `;
      const locks = () => readFileSync("/proc/locks", "utf8").match(new RegExp(own, "g")) ?? [];
      expect(locks()).not.toEqual([]);
      open("readonly").close();
      expect(locks()).not.toEqual([]);
    },
  );

  it.runIf(isWhole && process.geteuid?.() === 0)(
    "works beside a daemon for a user who may write neither file nor folder",
    () => {
      insert(open(), "a");
      chmodSync(folder, 0o755);
      for (const name of ["bridge.db", "bridge.db-wal", "bridge.db-shm"]) chmodSync(path.join(folder, name), 0o644);
      const migrationsFolder = path.join(folder, "drizzle");
      const script = (
        opened: string,
      ) => `import { openStore } from ${JSON.stringify(path.resolve("src/database/open.ts"))};
      import { openReadOnly } from ${JSON.stringify(path.resolve("src/database/connection.ts"))};
      const store = ${opened};
      console.log(JSON.stringify(store.db.prepare("SELECT order_id FROM orders").pluck().all()));
      store.close();`;
      const run = (text: string) =>
        spawnSync(process.execPath, ["--input-type=module", "-e", text], { uid: 65534, gid: 65534, encoding: "utf8" });
      const reading = `openReadOnly(${JSON.stringify(file)}, ${JSON.stringify(migrationsFolder)})`;
      expect(run(script(reading))).toMatchObject({ stdout: '["a"]\n', stderr: "" });
      expect(
        run(script(`openStore(${JSON.stringify({ path: file, migrationsFolder, mode: "daemon" })})`)).stderr,
      ).toMatch(/may not be written .*mode 0755, owner 0:0; .* 65534/);
    },
  );
});

describe("writing", () => {
  it("commits what was written, or nothing when the function throws", () => {
    const store = open();
    insert(store, "a");
    const boom = new Error("boom");
    expect(() =>
      store.write(() => {
        store.prepare("INSERT INTO orders VALUES (?, ?)").run("b", "");
        throw boom;
      }),
    ).toThrow(boom);
    expect(() => insert(store, "a")).toThrow(expect.objectContaining({ code: "SQLITE_CONSTRAINT_PRIMARYKEY" }));
    expect(ids(open("readonly"))).toEqual(["a"]);
    expect(store.longestWriteMs).toBeGreaterThan(0);
    expect(store.walBytes()).toBe(statSync(`${file}-wal`).size);
  });

  it("refuses a transaction inside another and an async function, and goes on", () => {
    const store = open();
    expect(() => store.write(() => insert(store, "a"))).toThrow("inside another");
    expect(() => store.db.transaction(() => insert(store, "a"))()).toThrow("inside another");
    expect(() => store.write(async () => store.db.exec("INSERT INTO orders VALUES ('b', '')"))).toThrow();
    insert(store, "c");
    expect(ids(store)).toEqual(["c"]);
  });

  it("prepares a statement once", () => {
    const store = open();
    expect(store.prepare("SELECT 1")).toBe(store.prepare("SELECT 1"));
  });

  it("does not commit what SQLite has given up, even when the function hides it", () => {
    const store = open();
    const hide = () =>
      store.write(() => {
        store.db.exec("INSERT INTO orders VALUES ('a', '')");
        store.db.exec("ROLLBACK");
      });
    expect(codeOf(hide)).toBe("disk_failed");
    expect(ids(store)).toEqual([]);
  });

  it("writes again by itself when a full database has room again", () => {
    const store = open();
    insert(store, "a");
    store.db.pragma(`max_page_count = ${String(store.db.pragma("page_count", { simple: true }))}`);
    expect(codeOf(() => insert(store, "b", "x".repeat(100_000)))).toBe("disk_full");
    expect(store.db.inTransaction).toBe(false);
    store.db.pragma("max_page_count = 1000000");
    insert(store, "c");
    expect(ids(store)).toEqual(["a", "c"]);
  });

  itSome(1)(["replaced", "removed"])("commits nothing into a file that was %s", (how) => {
    const store = open();
    insert(store, "a");
    if (how === "replaced") {
      writeFileSync(`${file}.new`, "");
      renameSync(`${file}.new`, file);
    } else rmSync(file);
    expect(() => insert(store, "b")).toThrow(/replaced or removed while the bridge was running/);
    expect(ids(store)).toEqual(["a"]);
  });

  it("closes while a reader stays, keeping the log, and may be closed twice", async () => {
    const store = open();
    insert(store, "a");
    await otherProgram("BEGIN; SELECT * FROM orders");
    store.close();
    store.close();
    expect(ids(open("readonly"))).toEqual(["a"]);
  });
});

describe("errors of the machine", () => {
  const withCode = (code: string) => Object.assign(new Error("words"), { code });
  itSome(1)([
    ["SQLITE_FULL", "disk_full"],
    ["ENOSPC", "disk_full"],
    ["SQLITE_IOERR_FSYNC", "disk_failed"],
    ["SQLITE_READONLY", "database_refused"],
    ["EROFS", "disk_failed"],
    ["EACCES", "database_refused"],
    ["SQLITE_BUSY_SNAPSHOT", "database_busy"],
    ["SQLITE_CORRUPT_VTAB", "database_corrupt"],
    ["SQLITE_NOTADB", "database_corrupt"],
    ["SQLITE_READONLY_DIRECTORY", "database_refused"],
    ["SQLITE_CANTOPEN", "database_refused"],
    ["SQLITE_ERROR", "internal"],
  ])("turns %s, also wrapped, into %s", (code, expected) => {
    expect(asBridgeError(withCode(code), m.database.writing, file).code).toBe(expected);
    const wrapped = asBridgeError(new Error("Failed query", { cause: withCode(code) }), m.database.writing);
    expect(wrapped.code).toBe(expected);
    expect(wrapped.message).toMatch(/^Writing to the database: .*\.$/);
  });
});

describe("a disk that became read-only", () => {
  itSome(1)(["mounted", "error"] as const)("(%s) is the disk's trouble, whatever SQLite calls it", (how) => {
    if (how === "error") acquireInstanceLock(file, { command: "run" }).release();
    makeReadOnly(path.dirname(file), how);
    for (const code of ["SQLITE_READONLY", "SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN", "SQLITE_IOERR_SHMSIZE"]) {
      const error = asBridgeError(Object.assign(new Error("words"), { code }), m.database.writing, file);
      expect([code, error.code, exitCodeOf(error)]).toEqual([code, "disk_failed", EXIT.failed]);
      expect(error.message).toBe(`Writing to the database: the file system is read-only (${file}, EROFS).`);
    }
  });

  it("is why a start fails, which the unit tries again", () => {
    open().close();
    acquireInstanceLock(file, { command: "run" }).release();
    makeReadOnly(path.dirname(file), "error");
    expect(codeOf(() => open("daemon"))).toBe("disk_failed");
  });
});

describe("a log that was removed while others have the database open", () => {
  itWhole("keeps a second log from being made, also where somebody has made an empty file", async () => {
    const store = open();
    insert(store, "a");
    store.close();
    await otherProgram("INSERT INTO orders VALUES ('b', '{}')");
    rmSync(`${file}-wal`);
    expect(codeOf(() => open())).toBe("database_busy");
    writeFileSync(`${file}-wal`, "");
    expect(codeOf(() => open())).toBe("database_busy");
    expect(codeOf(() => open("readonly"))).toBe("database_busy");
  });

  it("is not seen in a log that was moved and cut off while another program reads on", async () => {
    const store = open();
    insert(store, "a");
    await otherProgram("SELECT * FROM orders");
    store.close();
    expect(statSync(`${file}-wal`).size).toBe(0);
    expect(ids(open())).toEqual(["a"]);
  });
});
