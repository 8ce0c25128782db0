import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished } from "vitest";
import type { FileTrouble } from "../../src/database/store-files.ts";
import { openNewStore } from "../support/new-store.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

function openFile() {
  const { file, store } = openNewStore(tempFolder("database"));
  const trouble: FileTrouble[] = [];
  store.onTrouble = (met) => void trouble.push(met);
  const erp = new Database(file, { timeout: 0 });
  onTestFinished(() => void erp.close());
  erp.exec("CREATE TABLE erp_own (n INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)");
  const write = (rows = 1) => {
    for (let row = 0; row < rows; row++) erp.prepare("INSERT INTO erp_own (text) VALUES (?)").run("x".repeat(3000));
  };
  const note = () =>
    store.write(() =>
      store.db
        .prepare("INSERT INTO meta (key, value) VALUES ('n', '1') ON CONFLICT DO UPDATE SET value = value + 1")
        .run(),
    );
  const copy = path.join(path.dirname(file), "copy.db");
  return { file, store, trouble, erp, write, note, copy };
}

/** By another process: a descriptor that is closed here would drop this process's locks. */
const run = (...[program, ...words]: [string, ...string[]]) => execFileSync(program, words, { stdio: "pipe" });

describe("a database that another program writes over in place", () => {
  const ways: Record<string, (copy: string, file: string) => unknown> = {
    cp: (copy, file) => run("cp", copy, file),
    "cp -p": (copy, file) => run("cp", "-p", copy, file),
    "cat >": (copy, file) => run("sh", "-c", `cat ${copy} > ${file}`),
    dd: (copy, file) => run("dd", `if=${copy}`, `of=${file}`, "conv=notrunc"),
    truncate: (_, file) => run("truncate", "-s", "0", file),
    "another file": (_, file) => run("dd", "if=/dev/zero", `of=${file}`, "bs=4096", "count=4", "conv=notrunc"),
  };

  itSome(1)(Object.keys(ways))("takes no more and is not closed: %s", (way) => {
    const { file, store, trouble, write, note, copy } = openFile();
    note();
    expect(store.settle()).toBe(true);
    run("cp", file, copy);
    write(20);
    note();
    expect(store.settle()).toBe(true);
    note();
    ways[way]?.(copy, file);
    const left = readFileSync(run("sh", "-c", `cp ${file} ${file}.left; echo ${file}.left`).toString().trim());
    expect(store.settle()).toBe(false);
    expect(() => note()).toThrow("was overwritten by another program");
    expect(() => store.secure()).toThrow("was overwritten by another program");
    expect(() => store.look()).toThrow("was overwritten by another program");
    expect(trouble[0]).toMatchObject({ kind: "damaged", error: { code: "disk_failed" } });
    store.close();
    run("cp", file, `${file}.left`);
    expect(readFileSync(`${file}.left`).equals(left)).toBe(true);
  });

  itWhole("is noticed also where another program tries a checkpoint in between", () => {
    const { file, store, erp, write, note, copy } = openFile();
    expect(store.settle()).toBe(true);
    run("cp", file, copy);
    write(20);
    expect(store.settle()).toBe(true);
    write(20);
    run("cp", copy, file);
    erp.pragma("wal_checkpoint(PASSIVE)");
    expect(() => note()).toThrow("was overwritten by another program");
  });

  itWhole("is noticed where the daemon is about to close it", () => {
    const { file, store, write, trouble, copy } = openFile();
    expect(store.settle()).toBe(true);
    run("cp", file, copy);
    write(20);
    expect(store.settle()).toBe(true);
    write(20);
    run("cp", copy, file);
    store.close();
    expect(trouble).toMatchObject([{ kind: "damaged" }]);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  });
});

describe("what is no reason for alarm", () => {
  const harmless: Record<string, (opened: ReturnType<typeof openFile>) => unknown> = {
    touch: ({ file }) => run("touch", file),
    "a backup that only reads": ({ file, copy }) => run("cp", "-p", file, copy),
    VACUUM: ({ erp }) => erp.exec("DELETE FROM erp_own WHERE n % 3; VACUUM"),
    "auto_vacuum and VACUUM": ({ erp }) => erp.exec("PRAGMA auto_vacuum = FULL; DELETE FROM erp_own; VACUUM"),
    "page_size and VACUUM": ({ erp }) => erp.exec("PRAGMA page_size = 8192; VACUUM"),
    PASSIVE: ({ erp }) => erp.pragma("wal_checkpoint(PASSIVE)"),
    FULL: ({ erp }) => erp.pragma("wal_checkpoint(FULL)"),
    RESTART: ({ erp }) => erp.pragma("wal_checkpoint(RESTART)"),
    TRUNCATE: ({ erp }) => erp.pragma("wal_checkpoint(TRUNCATE)"),
    "the checkpoints of another process that closes it": ({ file }) =>
      run(
        process.execPath,
        "-e",
        `
        const db = new (require("better-sqlite3"))(${JSON.stringify(file)}, { timeout: 2000 });
        db.pragma("wal_autocheckpoint = 5");
        for (let n = 0; n < 50; n++) db.prepare("INSERT INTO erp_own (text) VALUES (?)").run("y".repeat(2000));
        db.close();`,
      ),
  };

  itSome(1)(Object.keys(harmless))("%s", (what) => {
    const opened = openFile();
    const { store, trouble, write, note, erp } = opened;
    for (let round = 0; round < 6; round++) {
      write(15);
      if (round % 2 === 0) store.settle();
      harmless[what]?.(opened);
      note();
      if (round % 3 === 0) harmless[what]?.(opened);
      store.secure();
      harmless[what]?.(opened);
      store.look();
    }
    erp.close();
    expect(trouble).toEqual([]);
    expect(store.settle()).toBe(true);
    expect(store.db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
});
