import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { openReadOnly } from "../../src/database/connection.ts";
import { decodeSlots, encodeSlot, isBehind, type Note, SLOT_BYTES, SLOTS } from "../../src/database/log/progress.ts";
import { markSettled, readNote } from "../../src/database/log/progress-note.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

const ID = "0d6f3f6e-8f5c-4b60-9a3d-1a2b3c4d5e6f";

function openIn(folder: string): { file: string; store: Store } {
  const file = path.join(folder, "bridge.db");
  const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  onTestFinished(() => store.close());
  return { file, store };
}

function begin() {
  const folder = tempFolder("progress");
  copyFileSync(inject("emptyDatabase"), path.join(folder, "bridge.db"));
  const opened = openIn(folder);
  opened.store.write(() => opened.store.db.prepare("INSERT INTO meta VALUES ('database', ?)").run(ID));
  opened.store.progress?.trust();
  return { ...opened, folder };
}

function storeBatch(store: Store, name: string): void {
  store.write(() => {
    store.db
      .prepare("INSERT INTO batches (fingerprint, received_at, order_count, state) VALUES (?, '', 0, 'stored')")
      .run(name);
    store.db.prepare("CREATE TABLE IF NOT EXISTS erp_big (x)").run();
    store.db.prepare("INSERT INTO erp_big VALUES (zeroblob(9000))").run();
  });
}

function saveOrder(store: Store, key: number): void {
  store.write(() => insertOrder(store, key));
}

function insertOrder(store: Store, key: number): void {
  const id = `00000000-0000-4000-8000-${String(key).padStart(12, "0")}`;
  const needed = store.db
    .prepare(`SELECT name, type FROM pragma_table_info('orders') WHERE "notnull" AND dflt_value IS NULL`)
    .all() as { name: string; type: string }[];
  const values = new Map<string, unknown>(
    needed.map(({ name, type }) => [name, type === "BLOB" ? Buffer.alloc(1) : "x"]),
  );
  values.set("order_key", key).set("order_id", id).set("payload_source", "batch");
  const names = [...values.keys()];
  store.db
    .prepare(`INSERT INTO orders (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
    .run(...values.values());
}

/** What a crash at this moment would leave: the files as they are, by another process, which keeps this one's locks. */
function crash(folder: string, to: string): string {
  const copy = path.join(folder, to);
  mkdirSync(copy);
  for (const suffix of ["", "-wal", "-shm", ".progress"])
    execFileSync("cp", ["--preserve=timestamps", path.join(folder, `bridge.db${suffix}`), copy]);
  return copy;
}

function doubtIn(folder: string): string | undefined {
  const { store } = openIn(folder);
  const found = store.progress!.findProblem()?.kind;
  store.close();
  return found;
}

function isToBeVerified(folder: string): boolean {
  const { store } = openIn(folder);
  store.close();
  return store.isMixed;
}

describe("how far a database had come", () => {
  itWhole("is never ahead of it, whatever moment a crash comes at", () => {
    const { folder, file, store } = begin();
    for (let batch = 0; batch < 5; batch++) {
      const before = readFileSync(`${file}.progress`);
      storeBatch(store, `b${batch}`);
      expect(doubtIn(crash(folder, `committed${batch}`))).toBeUndefined();
      store.secure();
      const copy = crash(folder, `noted${batch}`);
      const after = readFileSync(`${file}.progress`);
      expect(doubtIn(copy)).toBeUndefined();
      // A write that was cut off anywhere.
      for (let bytes = 0; bytes <= SLOTS * SLOT_BYTES; bytes += 64) {
        const torn = decodeSlots(Buffer.concat([after.subarray(0, bytes), before.subarray(bytes)]));
        expect([decodeSlots(before), decodeSlots(after)]).toContainEqual(torn);
      }
    }
  });

  itWhole("shows an older database, one without its log, and one beside a newer log", () => {
    const { folder, store } = begin();
    storeBatch(store, "first");
    store.secure();
    const old = crash(folder, "old");
    for (let batch = 0; batch < 10; batch++) storeBatch(store, `b${batch}`);
    store.secure();
    const newest = readFileSync(path.join(crash(folder, "newest"), "bridge.db.progress"));
    storeBatch(store, "in the log alone");
    const mixed = crash(folder, "mixed");
    copyFileSync(path.join(old, "bridge.db"), path.join(mixed, "bridge.db"));
    utimesSync(path.join(mixed, "bridge.db"), Date.now() / 1000 + 300, Date.now() / 1000 + 300);
    expect(isToBeVerified(mixed)).toBe(true);
    const clean = begin();
    storeBatch(clean.store, "first");
    clean.store.secure();
    clean.store.close();
    expect(isToBeVerified(clean.folder)).toBe(false);
    writeFileSync(path.join(old, "bridge.db.progress"), newest);
    expect(doubtIn(old)).toBe("older");
  });

  itWhole("shows a log that was removed after a crash", () => {
    const { folder, store } = begin();
    const reader = openReadOnly(path.join(folder, "bridge.db"));
    onTestFinished(() => reader.close());
    reader.db.exec("BEGIN");
    reader.db.prepare("SELECT count(*) FROM batches").get();
    storeBatch(store, "in the log alone");
    store.secure();
    const copy = crash(folder, "crashed");
    expect(doubtIn(crash(folder, "whole"))).toBeUndefined();
    truncateSync(path.join(copy, "bridge.db-wal"));
    truncateSync(path.join(copy, "bridge.db-shm"));
    expect(doubtIn(copy)).toBe("older");
  });

  it("says nothing of another database, and is made anew where it is gone or unreadable", () => {
    const { file, store } = begin();
    const note: Note = { ...readNote(file)!, batches: 900, n: 900, database: "another" };
    for (const content of [encodeSlot(note), Buffer.from("nonsense"), Buffer.alloc(0)]) {
      writeFileSync(`${file}.progress`, content);
      const { store: again } = openIn(path.dirname(file));
      expect(again.progress!.findProblem()).toBeUndefined();
      again.close();
    }
    storeBatch(store, "b");
    store.secure();
    expect(readNote(file)).toMatchObject({ database: ID, batches: 1 });
  });

  itWhole(
    "stays where it is when an earlier copy is brought in through SQLite, also one whose numbers have overtaken",
    async () => {
      const { folder, file, store } = begin();
      const troubles: string[] = [];
      store.onTrouble = ({ kind }) => void troubles.push(kind);
      storeBatch(store, "first");
      saveOrder(store, 1);
      store.secure();
      const copy = path.join(folder, "monday.db");
      await store.db.backup(copy);
      storeBatch(store, "second");
      saveOrder(store, 2);
      store.secure();
      const noted = readNote(file);
      const old = new Database(copy);
      await old.backup(file);
      old.close();
      expect(() => store.look()).toThrow("older than what was confirmed to the service");
      for (const batch of ["third", "fourth", "fifth"]) storeBatch(store, batch);
      saveOrder(store, 3);
      saveOrder(store, 4);
      expect(() => store.secure()).toThrow("older than what was confirmed to the service");
      expect(troubles).toEqual(["older", "older"]);
      expect(readNote(file)).toEqual(noted);
      store.close();
      expect(doubtIn(folder)).toBe("older");
    },
  );

  itSome(1)(["DELETE FROM orders", "DELETE FROM meta", "DELETE FROM orders WHERE order_key = 2"])(
    "notices %s",
    (sql) => {
      const { store } = begin();
      for (const key of [1, 2]) saveOrder(store, key);
      storeBatch(store, "first");
      store.secure();
      store.db.exec(sql);
      expect(() => store.secure()).toThrow("older than what was confirmed to the service");
    },
  );

  itSome(1)(["DELETE FROM sqlite_sequence", "UPDATE sqlite_sequence SET seq = 0"])(
    "takes no notice of %s, and no number is given twice",
    (sql) => {
      const { file, store } = begin();
      saveOrder(store, 1);
      for (const batch of ["first", "second", "third"]) storeBatch(store, batch);
      store.secure();
      store.db.exec("DELETE FROM batches WHERE id > 1");
      store.db.exec(sql);
      store.look();
      storeBatch(store, "fourth");
      store.secure();
      expect(store.db.prepare("SELECT max(id) FROM batches").pluck().get()).toBe(4);
      expect(readNote(file)).toMatchObject({ batches: 4 });
    },
  );

  itWhole("is missed where there was one, and after a restore it is not", () => {
    const { file, store, folder } = begin();
    storeBatch(store, "first");
    store.secure();
    store.close();
    const isUnnoted = () => {
      const { store: again } = openIn(folder);
      const found = again.progress!.isUnnoted;
      again.close();
      return found;
    };
    expect(isUnnoted()).toBe(false);
    rmSync(`${file}.progress`);
    expect(isUnnoted()).toBe(true);
    const { store: restored } = openIn(folder);
    restored.write(() => markSettled(restored.db, undefined));
    restored.close();
    expect(isUnnoted()).toBe(false);
  });

  itSome(1)([
    [{}, false],
    [{ batches: 6 }, false],
    [{ batches: 4 }, true],
    [{ events: 4 }, true],
    [{ batches: 4, database: "another" }, false],
  ])("%o is behind: %s", (own, expected) => {
    const note: Note = { database: "d", batches: 5, events: 5, n: 1, at: "", suspect: null };
    expect(isBehind({ database: "d", batches: 5, events: 5, ...own }, note)).toBe(expected);
    expect(isBehind({ database: "d", batches: 5, events: 5, ...own }, undefined)).toBe(false);
  });
});
