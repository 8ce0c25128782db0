import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  globSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readOwnerOfCopy } from "../../src/backup/copy-owner.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { acquireInstanceLock } from "../../src/database/file/instance-lock.ts";
import { openFile } from "../../src/database/file/open-file.ts";
import { ProgressNote, readNote } from "../../src/database/log/progress-note.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { collectingLog, configFor } from "../support/bridge.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const KINDS: Record<string, (name: string, precious: string) => void> = {
  "a link": (name, precious) => symlinkSync(precious, name),
  "a hard link": (name, precious) => linkSync(precious, name),
  "a pipe": (name) => execFileSync("mkfifo", [name]),
  "a folder": (name) => mkdirSync(name),
};
const SERVICE = { url: "http://127.0.0.1:1", clientId: "shop", clientSecret: "secret-of-shop" };
const BESIDE = ["-wal", "-shm", "-journal"];

let folder: string;
let file: string;
let precious: string;

/** A database in the mode of the write-ahead log, and a file of somebody else's. */
beforeEach(() => {
  folder = tempFolder("open-file");
  file = path.join(folder, "bridge.db");
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  db.close();
  precious = path.join(tempFolder("treasure"), "precious");
  writeFileSync(precious, "precious", { mode: 0o640 });
});

function expectUntouched(): void {
  expect(readFileSync(precious, "utf8")).toBe("precious");
  expect(statSync(precious).mode & 0o777).toBe(0o640);
}

const refused = expect.objectContaining({ code: "database_refused" });

describe.each(Object.keys(KINDS))("%s in the place of what SQLite uses", (kind) => {
  const plant = (name: string) => KINDS[kind]?.(name, precious);

  itWhole.each(BESIDE)("beside a file (%s) is neither written nor waited for, whoever opens the file", (suffix) => {
    plant(`${file}${suffix}`);
    expect(() => openFile(file)).toThrow(refused);
    expect(() => openFile(file, { readonly: true })).toThrow(refused);
    expectUntouched();
  });

  itWhole.each(BESIDE)("beside a database (%s) is found before a start looks into it", (suffix) => {
    const loaded = configFor(SERVICE, folder);
    plant(`${file}${suffix}`);
    expect(() => new Bridge({ loaded, log: collectingLog([]), clock: systemClock }, "run")).toThrow(refused);
    expectUntouched();
  });

  itWhole.each(BESIDE)("beside the lock file (%s) is no way past the lock", (suffix) => {
    const lock = new Database(`${file}.lock`);
    lock.pragma("journal_mode = WAL");
    lock.close();
    plant(`${file}.lock${suffix}`);
    expect(() => acquireInstanceLock(file, { command: "run" })).toThrow(refused);
    expectUntouched();
  });

  it("beside a copy, or beside what a link to it leads to, is no more than a copy of which nothing is known", () => {
    plant(`${file}-shm`);
    const link = path.join(folder, "copy.db");
    symlinkSync(file, link);
    for (const copy of [file, link]) expect(readOwnerOfCopy(copy)).toEqual({ account: undefined, database: undefined });
    expectUntouched();
  });

  it("as the note of how far the database had come makes way for a file", () => {
    plant(`${file}.progress`);
    const note = new ProgressNote(file);
    const progress = { database: "1", batches: 1, events: 1 };
    if (kind === "a folder") expect(() => note.write(progress, null)).toThrow();
    else {
      note.write(progress, null);
      expect(readNote(file)).toMatchObject(progress);
    }
    note.close();
    expectUntouched();
  });
});

describe("a file that is only read", () => {
  it("may have several names, and be reached through a link", () => {
    const [second, link] = [path.join(folder, "second.db"), path.join(folder, "link.db")];
    linkSync(file, second);
    symlinkSync(file, link);
    for (const name of [file, second, link]) {
      const db = openFile(name, { readonly: true, fileMustExist: true });
      expect(db.prepare("SELECT x FROM t").pluck().get()).toBe(1);
      db.close();
    }
    expect(() => openFile(file)).toThrow(refused);
    expect(() => openFile(link)).toThrow(refused);
  });

  it("is no pipe, and waits for none", () => {
    const pipe = path.join(folder, "pipe.db");
    execFileSync("mkfifo", [pipe]);
    // With both ends open nobody waits, so that a program that opens it fails here instead of standing still.
    const end = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(end));
    expect(() => openFile(pipe, { readonly: true })).toThrow(refused);
  });
});

it("no other place lets SQLite open a file", () => {
  const opening = globSync("src/**/*.ts", { exclude: ["src/sandbox/**"] }).filter((name) =>
    /new Database\((?!":memory:")/.test(readFileSync(name, "utf8")),
  );
  expect(opening).toEqual(["src/database/file/open-file.ts"]);
});
