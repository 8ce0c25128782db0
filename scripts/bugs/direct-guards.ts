/* Guards of the database's files and of what a restore and a start conclude from them: each spoils what its guard is for. */

import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { closeSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { saveUnlinked } from "../../src/backup/save-unlinked.ts";
import { isSameBody, writeBody } from "../../src/batches/keep-body.ts";
import { restoreDatabase } from "../../src/cli/restore-bridge.ts";
import type { LoadedConfig } from "../../src/config/load.ts";
import { deleteUnnamedParts } from "../../src/database/body-parts.ts";
import { readNote } from "../../src/database/log/progress-note.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { ErpObjects } from "../../src/database/objects/erp-objects.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import { m } from "../../src/messages/messages.ts";
import { commit } from "../../src/pass/commit.ts";
import { saveHold } from "../../src/pass/hold-rows.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type Check, configOf, inFolder, isRefused, withStore } from "./direct-files.ts";

const AT = "2026-03-01T12:00:00.000Z";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const { signal } = new AbortController();

const open = (file: string) => openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });

/** Orders from `first` on, each with its event, and a batch of them. */
function addBatch(store: Store, first: number, count: number): void {
  store.write(() => {
    const order = store.db.prepare(
      `INSERT INTO orders (order_key, order_id, is_cancelled, is_open, revision, erp_revision, received_at, changed_at,
         payload_source, payload_hash, payload) VALUES (?, ?, 0, 1, 1, 1, ?, ?, 'batch', ?, '{}')`,
    );
    const event = store.db.prepare(
      `INSERT INTO order_event_rows (order_key, revision, kind, status_changed, lines_changed, fields_changed, source, at)
       VALUES (?, 1, 'created', 0, 0, 0, 'batch', ?)`,
    );
    for (let key = first; key < first + count; key++) {
      order.run(key, `${key}`.padStart(36, "0"), AT, AT, hash("sha256", "{}", "buffer"));
      event.run(key, AT);
    }
    store.db
      .prepare("INSERT INTO batches (fingerprint, received_at, order_count, state) VALUES (?, ?, ?, 'confirmed')")
      .run(`batch-${first}`, AT, count);
  });
}

const note = (store: Store) => () =>
  store.write(() =>
    store.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('n', hex(randomblob(9)))").run(),
  );

/** A log with something in it that no checkpoint may move, because somebody reads. */
function cutBy(
  cut: (wal: string, erp: Database.Database) => void,
  act: (store: Store) => unknown = (store) => note(store)(),
): Check {
  return withStore((store, file) => {
    const erp = new Database(file);
    try {
      erp.exec("CREATE TABLE erp_own (a)");
      store.settle();
      erp.exec("BEGIN; SELECT count(*) FROM meta");
      erp.prepare("SELECT count(*) FROM meta").get();
      for (let row = 0; row < 5; row++) note(store)();
      const writer = new Database(file);
      cut(`${file}-wal`, writer);
      let told = "";
      store.onTrouble = (trouble) => {
        told = "error" in trouble ? trouble.error.code : told;
      };
      const isStopped = isRefused(() => act(store));
      writer.close();
      if (!isStopped) return "more is committed to a log that was cut";
      return told === "disk_failed" ? undefined : `a log that was cut is told as ${told}`;
    } finally {
      erp.close();
    }
  });
}

function framesIn(erp: Database.Database): number {
  const [counted] = erp.pragma("wal_checkpoint(NOOP)") as { log: number }[];
  return counted?.log ?? 0;
}

/** Of a log with so many frames. */
function bytesOfFrames(erp: Database.Database, frames: number): number {
  return 32 + frames * (24 + (erp.pragma("page_size", { simple: true }) as number));
}

/** Writes into the file as another program does. */
function overwrite(file: string, position: number, bytes: Buffer): void {
  const script = `const fs = require("node:fs");
    fs.writeSync(fs.openSync(process.argv[1], "r+"), Buffer.from(process.argv[2], "hex"), 0, ${bytes.length}, ${position});`;
  execFileSync(process.execPath, ["-e", script, file, bytes.toString("hex")]);
}

function places(db: Database.Database, name: string): { position: number; pageBytes: number } {
  const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(name) as number;
  const pageBytes = db.pragma("page_size", { simple: true }) as number;
  return { position: (root - 1) * pageBytes, pageBytes };
}

/** A daemon that has noted how far it is, and whose database goes back. */
function goneBack(spoil: string): Check {
  return withStore((store, file) => {
    store.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('database', 'one')").run();
    store.progress?.trust();
    addBatch(store, 1, 3);
    store.secure();
    const erp = new Database(file);
    erp.pragma("foreign_keys = OFF");
    erp.exec(spoil);
    erp.close();
    return isRefused(() => store.secure()) ? undefined : "an earlier state counts as what was noted";
  });
}

/** What a restore says that is done onto a database that was spoilt. */
function restoredOnto(spoil: (file: string, folder: string) => void): Check {
  return () =>
    inFolder(async (folder) => {
      const file = path.join(folder, "bridge.db");
      const copy = path.join(folder, "copy.db");
      const store = open(file);
      store.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('database', 'one')").run();
      addBatch(store, 1, 3);
      store.progress?.trust();
      store.settle();
      await store.db.backup(copy);
      addBatch(store, 4, 3);
      store.secure();
      store.close();
      spoil(file, folder);
      const loaded: LoadedConfig = configOf(["database:", "  path: bridge.db"], path.join(folder, "b.yaml"));
      const report = await restoreDatabase({
        ...{ loaded, file: copy, migrationsFolder: MIGRATIONS_FOLDER, clock: systemClock, log: SILENT },
        ...{ agree: () => Promise.resolve(true), onStep: () => {} },
      });
      return report?.gap === null ? "a restore says that nothing is missing" : undefined;
    });
}

function inSql(sql: string): (file: string) => void {
  return (file) => {
    const db = new Database(file);
    db.pragma("foreign_keys = OFF");
    db.exec(sql);
    db.close();
  };
}

const GO_BACK = `DELETE FROM orders WHERE order_key > 3; DELETE FROM order_event_rows WHERE order_key > 3;
  DELETE FROM batches WHERE id > 1; UPDATE sqlite_sequence SET seq = 3 WHERE name = 'order_event_rows';
  UPDATE sqlite_sequence SET seq = 1 WHERE name = 'batches'`;

export const GUARD_CHECKS: Readonly<Record<string, Check>> = {
  "emptied log": cutBy((wal) => truncateSync(wal)),
  "torn log": cutBy((wal, erp) => truncateSync(wal, bytesOfFrames(erp, framesIn(erp)) - 100)),
  "log with a hole": cutBy(
    (wal, erp) => {
      truncateSync(wal, bytesOfFrames(erp, 1));
      erp.exec("INSERT INTO erp_own VALUES (1)");
    },
    (store) => store.look(), // a write would meet the zeros themselves
  ),
  "overwritten database": withStore((store, file) => {
    store.settle();
    const { position, pageBytes } = places(store.db, "sqlite_sequence");
    overwrite(file, position + pageBytes - 64, Buffer.alloc(64, 1));
    return isRefused(note(store)) ? undefined : "more is committed to a database that was overwritten";
  }),
  "lost order": goneBack("DELETE FROM orders WHERE order_key = 3"),
  "lost events": goneBack(
    "DELETE FROM order_event_rows; UPDATE sqlite_sequence SET seq = 1 WHERE name = 'order_event_rows'",
  ),
  "another database": goneBack("UPDATE meta SET value = 'another' WHERE key = 'database'"),
  "note before a confirm": withStore((store, file) => {
    store.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('database', 'one')").run();
    store.progress?.trust();
    addBatch(store, 1, 3);
    store.secure();
    return readNote(file)?.events === 3 ? undefined : "what is confirmed next is not noted";
  }),
  "swallowing trigger": () =>
    withOpen(async (store, file) => {
      const context = { store, clock: systemClock, log: SILENT, objects: new ErpObjects(store) };
      inSql("CREATE TRIGGER quiet BEFORE INSERT ON batches BEGIN SELECT RAISE(IGNORE); END")(file);
      const stored = await commit(context, signal, () => true).catch(() => false);
      return stored ? "a transaction is committed that a trigger may have left rows out of" : undefined;
    }),
  "foreign journal": withStore((store, file) => {
    writeFileSync(`${file}-journal`, "x".repeat(600));
    return isRefused(() => store.secure()) ? undefined : "something is confirmed beside a foreign journal";
  }),
  "same body": () =>
    withOpen(async (store) => {
      const context = { store, clock: systemClock, log: SILENT };
      const body = Buffer.alloc(1_500_000, "x");
      const place = await writeBody(context, body, signal);
      const longer = Buffer.concat([body, Buffer.from("y")]);
      return (await isSameBody(context, place, longer, signal)) ? "a longer body counts as the stored one" : undefined;
    }),
  "open body": () =>
    withOpen(async (store) => {
      const { bodyId } = await writeBody({ store, clock: systemClock, log: SILENT }, Buffer.alloc(1_500_000), signal);
      const removed = store.write(() => deleteUnnamedParts(store, 10, [bodyId ?? 0]));
      return removed === 0 ? undefined : "parts of a body are removed that is being written";
    }),
  "copy of nothing": () =>
    withOpen(async (store) => {
      store.db.backup = () => Promise.resolve({ totalPages: 0, remainingPages: 0 });
      const saved = await saveUnlinked(store, Date.parse(AT));
      return saved === undefined ? undefined : "a copy of nothing counts as what was saved";
    }),
  "unclean end": () =>
    withOpen((store, file) => {
      note(store)();
      const left = path.join(path.dirname(file), "left.db");
      for (const suffix of ["", "-wal"]) execFileSync("cp", [`${file}${suffix}`, `${left}${suffix}`]);
      const again = open(left);
      const { isMixed } = again;
      again.close();
      return isMixed ? undefined : "a database that was left with its log is not verified";
    }),
  "own trouble": withStore((store) => {
    const limits = { erpReadWithinMs: 1_000_000 };
    store.db.pragma(`max_page_count = ${store.db.pragma("page_count", { simple: true })}`);
    const fill = () => store.write(() => store.db.exec("INSERT INTO meta VALUES ('full', hex(zeroblob(4000000)))"));
    if (!isRefused(fill)) return "the disk is not full";
    const now = { nowMs: Date.now(), isRunning: true };
    const { sentence } = describeStatus(loadFacts(store), now, limits);
    return sentence.includes("is full") ? undefined : `a disk that is full is told as: ${sentence}`;
  }),
  "restore onto damage": restoredOnto((file) => {
    const db = new Database(file);
    const { position } = places(db, "batches_fingerprint");
    db.close();
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, Buffer.alloc(2), 0, 2, position + 3);
    closeSync(descriptor);
  }),
  "restore onto an earlier copy": restoredOnto(inSql(GO_BACK)),
  "restore beside no note": restoredOnto((file) => rmSync(`${file}.progress`)),
  "restore onto lost orders": restoredOnto(inSql("DELETE FROM orders WHERE order_key IN (4, 5)")),
  "restore onto lost events": restoredOnto(inSql("DELETE FROM order_event_rows WHERE order_key = 6")),
  "restore onto a former version's": restoredOnto((file) => {
    inSql(
      `DELETE FROM orders WHERE order_key > 3; DELETE FROM order_event_rows WHERE order_key > 3;
       UPDATE sqlite_sequence SET seq = 3 WHERE name = 'order_event_rows'; DELETE FROM meta WHERE key = 'progress';
       UPDATE batches SET received_at = '2026-03-02T12:00:00.000Z' WHERE id > 1`,
    )(file);
    rmSync(`${file}.progress`);
  }),
  "restore beside an open gap": restoredOnto((file) => {
    const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" });
    const hold = { area: "orders", reason: "restored", since: AT, nextProbeAt: null, detail: m.restore.confirmedSince };
    store.write(() => saveHold(store, { ...hold, reason: "restored" }));
    store.close();
  }),
};

/** The same for what takes its time. */
function withOpen<T>(check: (store: Store, file: string) => Promise<T> | T): Promise<T> {
  return inFolder(async (folder) => {
    const file = path.join(folder, "bridge.db");
    const store = open(file);
    try {
      return await check(store, file);
    } finally {
      store.close();
    }
  });
}
