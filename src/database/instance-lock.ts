/**
 * One database, one daemon. The lock is SQLite's own exclusive lock on a second, empty file, `DATABASE.lock`: the
 * kernel releases it when the process ends, in whatever way, so nothing is ever left to clean up. The holder is
 * described in `DATABASE.lock.json`, which counts only while the lock is held. The lock file itself stays for ever:
 * removing it would let two processes lock two files of one name.
 */

import { closeSync, existsSync, lstatSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { m } from "../messages/messages.ts";
import { messageBehind, packed } from "../messages/pack.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, giveTo, openOnlyName, readRegular, removeName, replaceFile } from "../platform/fresh-file.ts";
import type { Trouble } from "../platform/troubles.ts";
import { BESIDE, resolveDatabasePath } from "./file-checks.ts";
import { openFile } from "./open-file.ts";
import { asBridgeError, faultCodeOf } from "./sqlite-errors.ts";

export interface LockHolder {
  pid: number;
  command: string;
  /** UTC, ISO 8601. */
  since: string;
  /** Where systemd took the holder's secret from, and when. */
  secret?: { file: string; atMs: number };
  /** The configuration that it works with: see `config/accepted.ts`. */
  config?: AcceptedConfig;
  /** Its last sign of life, by the machine's monotonic clock; absent where it gives none. */
  aliveMs?: number;
  /** Its trouble then, which it cannot write down elsewhere. */
  met?: Trouble;
}

export interface AcceptedConfig {
  /** Of the program and the file. */
  version: string;
  /** `erp.read_within`, in milliseconds. */
  readWithinMs: number;
}

export interface InstanceLock {
  /** The lock file. */
  path: string;
  /** Whether the lock file has lost its name: then another bridge could take a lock of its own. */
  isLost(): boolean;
  /** A sign of life beside the lock. Costs no flush; never throws. */
  signal(met?: Trouble): void;
  /** Gives the lock back. May be called twice; never throws. */
  release(): void;
}

/** Long enough to sit out an `isLocked` of another process, which holds a shared lock for an instant. */
const ACQUIRE_TIMEOUT_MS = 500;
/** Longer than the words of any holder. */
const SIGNAL_BYTES = 4_096;
const SENTENCE_CHARACTERS = 1_200;

function lockPathOf(databasePath: string): string {
  return `${resolveDatabasePath(databasePath)}.lock`;
}

/** The holder's words; undefined where they are missing or unreadable, as in the instant after it took the lock. */
function readHolder(lockPath: string): LockHolder | undefined {
  try {
    const words = JSON.parse(readRegular(`${lockPath}.json`)) as Record<string, unknown>;
    const { pid, command, since, secret, config, aliveMs, met } = words;
    if (typeof pid !== "number" || typeof command !== "string" || typeof since !== "string") return undefined;
    return {
      pid,
      command,
      since,
      ...(isSecretPlace(secret) ? { secret } : {}),
      ...(isAccepted(config) ? { config } : {}),
      ...(typeof aliveMs === "number" ? { aliveMs } : {}),
      ...(isTrouble(met) ? { met: troubleOf(met) } : {}),
    };
  } catch {
    return undefined;
  }
}

function isSecretPlace(value: unknown): value is NonNullable<LockHolder["secret"]> {
  const { file, atMs } = (value ?? {}) as Record<string, unknown>;
  return typeof file === "string" && typeof atMs === "number";
}

function isAccepted(value: unknown): value is AcceptedConfig {
  const { version, readWithinMs } = (value ?? {}) as Record<string, unknown>;
  return typeof version === "string" && typeof readWithinMs === "number";
}

function isTrouble(value: unknown): value is Omit<Trouble, "sentence"> & { sentence: string; message: unknown } {
  const { of, code, sentence, since } = (value ?? {}) as Record<string, unknown>;
  return [of, code, sentence, since].every((each) => typeof each === "string");
}

function troubleOf({ message, ...met }: Omit<Trouble, "sentence"> & { sentence: string; message: unknown }): Trouble {
  return { ...met, sentence: messageBehind(met.sentence, message) };
}

/**
 * Written aside and renamed: a reader gets the former words or these, never half of them. For all who may read the database, and
 * for no other user. Not a reason to fail.
 */
function saveHolder(lockPath: string, holder: LockHolder): void {
  try {
    const mode = (statSync(lockPath).mode & 0o666) | 0o600;
    replaceFile(`${lockPath}.json`, `${JSON.stringify(holder)}\n`, { mode, flush: false });
  } catch {
    // A folder of that name, or a full disk: who holds the lock is not named then.
  }
}

/** Of the same clock for every process of the machine; it is never set. */
export function machineMs(): number {
  return Math.floor(Number(process.hrtime.bigint() / 1_000_000n));
}

/** Writes the holder's words anew in their place, with the time: as long each time, so that no reader finds a part. */
function signalIn(lockPath: string, holder: LockHolder): (met?: Trouble) => void {
  let file: number | undefined;
  return (met) => {
    try {
      file ??= openOnlyName(`${lockPath}.json`);
      writeSync(file, signalText({ ...holder, aliveMs: machineMs() }, met).padEnd(SIGNAL_BYTES), 0);
    } catch {
      // As above.
    }
  };
}

/** The sentence in English, cut to a length, with the message behind it where there is room. */
function signalText(holder: LockHolder, met: Trouble | undefined): string {
  if (met === undefined) return JSON.stringify(holder);
  const told = { ...met, sentence: String(met.sentence).slice(0, SENTENCE_CHARACTERS) };
  const text = JSON.stringify({ ...holder, met: { ...told, message: packed(met.sentence) } });
  return Buffer.byteLength(text) < SIGNAL_BYTES ? text : JSON.stringify({ ...holder, met: told });
}

/**
 * Never wider than the database itself, and the service's own where root starts a command before the first daemon. Only
 * what is made here is given away: a name that is there may be a link to any file.
 */
function makeLockFile(databasePath: string, lockPath: string): void {
  let file: number;
  try {
    file = createFile(lockPath, 0o660);
  } catch (error) {
    if (faultCodeOf(error) === "EEXIST") return;
    throw error;
  }
  try {
    giveTo(lstatSync(databasePath, { throwIfNoEntry: false }) ?? statSync(path.dirname(lockPath)), file);
  } finally {
    closeSync(file);
  }
}

/** Whether there is a lock file. What else may bear its name is refused: SQLite would follow a link and wait for a pipe. */
function hasLockFile(lockPath: string): boolean {
  for (const name of ["", ...BESIDE].map((suffix) => `${lockPath}${suffix}`)) {
    const stat = lstatSync(name, { throwIfNoEntry: false });
    if (stat === undefined || (stat.isFile() && stat.nlink === 1)) continue;
    throw new BridgeError("database_refused", m.database.lockNoFile({ file: name }), { hint: m.database.removeIt });
  }
  return existsSync(lockPath);
}

function closeQuietly(db: Database.Database | undefined): void {
  try {
    db?.close();
  } catch {
    // The kernel releases the lock with the process in any case.
  }
}

function runningError(databasePath: string, lockPath: string): BridgeError {
  const holder = readHolder(lockPath);
  const file = databasePath;
  const text = holder === undefined ? m.database.inUse({ file }) : m.database.inUseBy({ file, ...holder });
  return new BridgeError("instance_running", text, { hint: m.database.stopOther });
}

/** Takes the lock until `release` or the end of the process. @throws BridgeError `instance_running` (exit code 75), `database_refused` */
export function acquireInstanceLock(
  databasePath: string,
  { command, now = Date.now, ...rest }: Pick<LockHolder, "command" | "secret" | "config"> & { now?: () => number },
): InstanceLock {
  const lockPath = lockPathOf(databasePath);
  let db: Database.Database | undefined;
  try {
    makeLockFile(resolveDatabasePath(databasePath), lockPath);
    hasLockFile(lockPath);
  } catch (error) {
    throw asBridgeError(error, m.database.takingLock, lockPath);
  }
  try {
    db = openFile(lockPath, { timeout: ACQUIRE_TIMEOUT_MS });
    db.pragma("journal_mode = MEMORY"); // no journal file beside the lock
    db.pragma("locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    closeQuietly(db);
    if (faultCodeOf(error)?.startsWith("SQLITE_BUSY")) throw runningError(databasePath, lockPath);
    throw asBridgeError(error, m.database.takingLock, lockPath);
  }
  const held = db;
  const since = new Date(now()).toISOString();
  const holder = { pid: process.pid, command, since, ...rest };
  saveHolder(lockPath, holder);
  const taken = statSync(lockPath, { throwIfNoEntry: false });
  const isLost = () => {
    const now = statSync(lockPath, { throwIfNoEntry: false });
    return held.open && (now?.ino !== taken?.ino || now?.dev !== taken?.dev);
  };
  const release = () => {
    process.off("exit", release);
    if (!held.open) return;
    removeName(`${lockPath}.json`);
    closeQuietly(held);
  };
  // Also keeps the connection reachable: better-sqlite3 closes a collected one, and the lock would go with it.
  process.on("exit", release);
  return { path: lockPath, isLost, signal: signalIn(lockPath, holder), release };
}

/** The configuration of the last holder of the lock, as far as that is known. It does not look whether the lock is held. */
export function readAcceptedConfig(databasePath: string): AcceptedConfig | undefined {
  try {
    return readHolder(lockPathOf(databasePath))?.config;
  } catch {
    return undefined; // there is no such folder
  }
}

/** Who holds the lock of this database, this process included; undefined where it is free. Takes and leaves nothing. */
export function isLocked(databasePath: string): { holder: LockHolder | undefined } | undefined {
  const lockPath = lockPathOf(databasePath);
  let db: Database.Database | undefined;
  try {
    if (!hasLockFile(lockPath)) return undefined;
    db = openFile(lockPath, { readonly: true, fileMustExist: true, timeout: 0 });
    db.prepare("SELECT 1 FROM sqlite_schema").get();
    return undefined;
  } catch (error) {
    if (faultCodeOf(error)?.startsWith("SQLITE_BUSY")) return { holder: readHolder(lockPath) };
    throw asBridgeError(error, m.database.lookingAtLock, lockPath);
  } finally {
    closeQuietly(db);
  }
}
