/*
 * `DATABASE.progress`: the progress of the database at the last irreversible request, or a second ago. An older database
 * put in its place, or one that has lost its log, is behind this note. Its two slots are overwritten in turn and flushed:
 * after a crash in the middle the other slot has the note before. It is not a file of SQLite's, so closing it drops no locks.
 */

import { closeSync, fdatasyncSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { createFile, giveTo, openOnlyName, openRegular, removeName } from "../../platform/fresh-file.ts";
import { onlyRow } from "../only-row.ts";
import { faultCodeOf } from "../sqlite-errors.ts";
import type { Store } from "../store.ts";
import {
  decodeSlots,
  encodeSlot,
  markOf,
  NOTED,
  type Note,
  type Progress,
  type Reached,
  type RowMark,
  readMark,
  SLOT_BYTES,
  SLOTS,
  type Standing,
  type Suspicion,
  settledBeside,
  type WitnessTable,
} from "./progress.ts";

/**
 * Tables whose newest row is noted: the key, and an expression that identifies the row. `stays`: rows are never deleted
 * (of the other tables old rows are).
 */
const ROWS: readonly { table: WitnessTable; key: string; row: string; among: string; stays: boolean }[] = [
  { table: "orders", key: "order_key", row: "order_id || ' ' || received_at", among: "true", stays: true },
  {
    table: "order_event_rows",
    key: "seq",
    row: "order_key || ' ' || revision || ' ' || at",
    among: "true",
    stays: false,
  },
  { table: "batches", key: "id", row: "fingerprint", among: "state <> 'unread'", stays: false },
];

/** Tables whose AUTOINCREMENT counters are noted. */
const COUNTERS = { batches: "id", order_event_rows: "seq" } as const;
type Counter = keyof typeof COUNTERS;
const NUMBERED = { ...COUNTERS, runs: "id" } as const;

interface Numbers {
  /** The counter in `sqlite_sequence`; undefined where it has none. */
  seq: number | undefined;
  newest: number;
}

/** Read in one transaction. Undefined before a database has got its id. */
export function progressOf(db: Database.Database, note: Note | undefined): Standing | undefined {
  return db.transaction(() => readProgress(db, note))();
}

function readProgress(db: Database.Database, note: Note | undefined): Standing | undefined {
  const meta = db.prepare("SELECT value FROM meta WHERE key = ?").pluck();
  const database = meta.get("database") as string | undefined;
  if (database === undefined) return undefined;
  const noted = note?.database === database ? note : undefined;
  const found = ROWS.map((witness) => ({ witness, state: stateOf(db, witness, noted?.rows?.[witness.table]) }));
  const lacksRow = found.some(({ witness, state }) => state === "another" || (witness.stays && state === "gone"));
  const isSame =
    !lacksRow && found.some(({ witness, state }) => state === "same" && witness.table !== "order_event_rows");
  const count = (table: Counter, before: number | undefined) => {
    const { seq, newest } = numbersOf(db, table);
    // SQLite itself never sets the counter below the newest row.
    const isReset = (seq ?? 0) < newest || (isSame && (seq ?? 0) === 0 && (before ?? 0) > 0);
    return { number: Math.max(seq ?? 0, newest, isReset && isSame ? (before ?? 0) : 0), isReset };
  };
  const batches = count("batches", noted?.batches);
  const events = count("order_event_rows", noted?.events);
  return {
    database,
    batches: batches.number,
    events: events.number,
    passes: passesOf(db),
    ...askedOf(loadAsked(db)),
    rows: Object.fromEntries(ROWS.map((witness) => [witness.table, newestOf(db, witness)])),
    lacksRow,
    isReset: batches.isReset || events.isReset,
    mark: readMark(meta.get("progress") as string | undefined, note),
  };
}

/** The counters of the database. */
export function reachedBy(db: Database.Database): Reached {
  return db.transaction(() => ({
    batches: numberOf(db, "batches"),
    events: numberOf(db, "order_event_rows"),
    passes: passesOf(db),
  }))();
}

function passesOf(db: Database.Database): number {
  const starts = db.prepare<unknown[], string>("SELECT value FROM meta WHERE key = 'starts'").pluck().get();
  return numberOf(db, "runs") + Number(starts ?? 0);
}

function askedOf(asked: number | undefined): Pick<Progress, "asked"> {
  return asked === undefined ? {} : { asked };
}

/**
 * Counts a request that cannot be taken back, so that a copy made before it is behind. Inside the transaction that marks what
 * is sent, before `secure`.
 */
export function countAsked(store: Pick<Store, "prepare">): void {
  store
    .prepare(
      "INSERT INTO meta (key, value) VALUES ('asked', '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
    )
    .run();
}

/** The number of such requests; undefined where none was ever counted. */
export function loadAsked(db: Database.Database): number | undefined {
  const asked = db.prepare<unknown[], string>("SELECT value FROM meta WHERE key = 'asked'").pluck().get();
  return asked === undefined ? undefined : Number(asked);
}

/** A database that went back counts on from where it had come before. Inside a write transaction. */
export function raiseAsked(db: Database.Database, asked: number): void {
  if (asked <= (loadAsked(db) ?? 0)) return;
  db.prepare(
    "INSERT INTO meta (key, value) VALUES ('asked', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  ).run(String(asked));
}

/** Counts starts, so that a copy made before a start is behind it even before the first pass. Inside a write transaction. */
export function countStart(db: Database.Database): void {
  db.prepare(
    "INSERT INTO meta (key, value) VALUES ('starts', '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
  ).run();
}

function numberOf(db: Database.Database, table: keyof typeof NUMBERED): number {
  const { seq, newest } = numbersOf(db, table);
  return Math.max(seq ?? 0, newest);
}

function numbersOf(db: Database.Database, table: keyof typeof NUMBERED): Numbers {
  const seq = db.prepare("SELECT CAST(max(seq) AS INTEGER) FROM sqlite_sequence WHERE name = ?").pluck().get(table);
  const newest = onlyRow(
    db.prepare<unknown[], number>(`SELECT coalesce(max(${NUMBERED[table]}), 0) FROM ${table}`).pluck().get(),
  );
  return { seq: (seq as number | null) ?? undefined, newest };
}

function newestOf(db: Database.Database, { table, key, row, among }: (typeof ROWS)[number]): RowMark | undefined {
  const sql = `SELECT ${key}, ${row} FROM ${table} WHERE ${among} ORDER BY ${key} DESC LIMIT 1`;
  const newest = db.prepare<unknown[], [number, string]>(sql).raw(true).get();
  return newest === undefined ? undefined : markOf(...newest);
}

function stateOf(
  db: Database.Database,
  { table, key, row, among }: (typeof ROWS)[number],
  noted: RowMark | undefined,
): "unknown" | "same" | "another" | "gone" {
  if (noted === undefined) return "unknown";
  const sql = `SELECT ${row} FROM ${table} WHERE ${key} = ? AND ${among}`;
  const now = db.prepare<unknown[], string>(sql).pluck().get(noted[0]);
  if (now === undefined) return "gone";
  return markOf(noted[0], now)[1] === noted[1] ? "same" : "another";
}

/** Inside a write transaction. */
export function markNoted(db: Database.Database): void {
  saveMark(db, NOTED);
}

/** After it was reported what a restored database may lack: the next start does not compare it with this note. */
export function markSettled(db: Database.Database, note: Note | undefined): void {
  saveMark(db, settledBeside(note));
}

function saveMark(db: Database.Database, mark: string): void {
  db.prepare(
    "INSERT INTO meta (key, value) VALUES ('progress', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  ).run(mark);
}

/** Raises counters that were reset, so that no number is assigned twice. Inside a write transaction. */
export function raiseSequences(db: Database.Database, { batches, events }: Progress): void {
  for (const [table, number] of Object.entries({ batches, order_event_rows: events } satisfies Record<
    Counter,
    number
  >)) {
    if (number === 0) continue;
    const { changes } = db
      .prepare("UPDATE sqlite_sequence SET seq = max(CAST(seq AS INTEGER), ?) WHERE name = ?")
      .run(number, table);
    if (changes === 0) db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(table, number);
  }
}

/** Reads the note; undefined where the file is missing or unreadable: the note only serves to warn. */
export function readNote(databaseFile: string): Note | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openRegular(nameOf(databaseFile));
    const bytes = Buffer.alloc(SLOTS * SLOT_BYTES);
    readSync(descriptor, bytes, 0, bytes.length, 0);
    return decodeSlots(bytes);
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export function removeNote(databaseFile: string): void {
  removeName(nameOf(databaseFile));
}

export class ProgressNote {
  readonly #databaseFile: string;
  #descriptor: number | undefined;
  #last: Note | undefined;

  constructor(databaseFile: string) {
    this.#databaseFile = databaseFile;
    this.#last = readNote(databaseFile);
  }

  get last(): Note | undefined {
    return this.#last;
  }

  /** Writes and flushes the note. Does not write where it is unchanged. */
  write({ database, batches, events, asked, rows = {} }: Progress, suspect: Suspicion | null): void {
    const last = this.#last;
    const isThere = this.#isThere();
    const progress = { database, batches, events, ...(asked !== undefined && { asked }), rows };
    const isSame = last !== undefined && last.suspect === suspect && contentOf(last) === contentOf(progress);
    if (isThere && isSame) return;
    const note = { ...progress, suspect, n: (last?.n ?? 0) + 1, at: new Date().toISOString() };
    if (!isThere) this.#open();
    const descriptor = this.#descriptor as number;
    writeSync(descriptor, encodeSlot(note), 0, SLOT_BYTES, (note.n % SLOTS) * SLOT_BYTES);
    fdatasyncSync(descriptor);
    this.#last = note;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Whether the file is open and still has its name. */
  #isThere(): boolean {
    return this.#descriptor !== undefined && fstatSync(this.#descriptor).nlink > 0;
  }

  #open(): void {
    this.close();
    const name = nameOf(this.#databaseFile);
    try {
      this.#descriptor = openOnlyName(name);
      return;
    } catch (error) {
      // Removes a link or another user's file of that name: the folder belongs to this user.
      if (faultCodeOf(error) !== "ENOENT") removeName(name);
    }
    const descriptor = createFile(name, 0o640);
    this.#descriptor = descriptor;
    const folder = openSync(path.dirname(name), "r");
    try {
      giveTo(fstatSync(folder), descriptor);
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }
}

function contentOf({ database, batches, events, asked, rows = {} }: Progress): string {
  return JSON.stringify([database, batches, events, asked, ...ROWS.map(({ table }) => rows[table])]);
}

function nameOf(databaseFile: string): string {
  return `${databaseFile}.progress`;
}
