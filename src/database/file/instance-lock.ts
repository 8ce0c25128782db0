/**
 * Allows one daemon per database. The lock is SQLite's exclusive lock on a second, empty file, `DATABASE.lock`: the
 * kernel releases it however the process ends, so no stale lock can remain. `DATABASE.lock.json` describes the holder
 * and is valid only while the lock is held. The lock file itself is never removed: otherwise two processes could lock
 * two files of the same name.
 */

import { closeSync, existsSync, lstatSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import type Database from "better-sqlite3";
import { m } from "../../messages/messages.ts";
import { messageBehind, packed } from "../../messages/pack.ts";
import { BridgeError } from "../../platform/errors.ts";
import { createFile, giveTo, openOnlyName, readRegular, removeName, replaceFile } from "../../platform/fresh-file.ts";
import type { Trouble } from "../../platform/troubles.ts";
import { asBridgeError, faultCodeOf } from "../sqlite-errors.ts";
import { BESIDE, resolveDatabasePath } from "./file-checks.ts";
import { openFile } from "./open-file.ts";

export interface LockHolder {
  pid: number;
  command: string;
  /** UTC, ISO 8601. */
  since: string;
  /** The file from which systemd loaded the holder's secret, and when. */
  secret?: { file: string; atMs: number };
  /** The configuration in use: see `config/accepted.ts`. */
  config?: AcceptedConfig;
  /** Its last sign of life, in milliseconds of the machine's monotonic clock; absent where it sends none. */
  aliveMs?: number;
  /** Its trouble at that time, which it cannot record in the database. */
  met?: Trouble;
}

export interface AcceptedConfig {
  /** Identifies the program's version and the file's content. */
  version: string;
  /** `erp.read_within`, in milliseconds. */
  readWithinMs: number;
}

export interface InstanceLock {
  /** The lock file. */
  path: string;
  /** Whether the lock file was removed or replaced: another bridge could then lock a new file. */
  isLost(): boolean;
  /** Writes a sign of life to `DATABASE.lock.json`, without an fsync. Never throws. */
  signal(met?: Trouble): void;
  /** Releases the lock. May be called twice; never throws. */
  release(): void;
}

/** Longer than `isLocked` of another process, which holds a shared lock for an instant. */
const ACQUIRE_TIMEOUT_MS = 500;
/** Longer than the description of any holder. */
const SIGNAL_BYTES = 4_096;
const SENTENCE_CHARACTERS = 1_200;

function lockPathOf(databasePath: string): string {
  return `${resolveDatabasePath(databasePath)}.lock`;
}

/** The holder's description; undefined where it is missing or unreadable, as just after the lock was taken. */
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
 * Written to a temporary file and renamed, so that a reader never gets a partial description. Readable by the same users
 * as the database. Failures are ignored.
 */
function saveHolder(lockPath: string, holder: LockHolder): void {
  try {
    const mode = (statSync(lockPath).mode & 0o666) | 0o600;
    replaceFile(`${lockPath}.json`, `${JSON.stringify(holder)}\n`, { mode, flush: false });
  } catch {
    // A folder of that name, or a full disk: errors then do not name the holder.
  }
}

/** Milliseconds of the monotonic clock, which all processes of the machine share and nobody can set. */
export function machineMs(): number {
  return Math.floor(Number(process.hrtime.bigint() / 1_000_000n));
}

/** Overwrites the holder's description in place, with the time; padded to one length, so that no reader gets a part. */
function signalIn(lockPath: string, holder: LockHolder): (met?: Trouble) => void {
  let file: number | undefined;
  return (met) => {
    try {
      file ??= openOnlyName(`${lockPath}.json`);
      writeSync(file, signalText({ ...holder, aliveMs: machineMs() }, met).padEnd(SIGNAL_BYTES), 0);
    } catch {
      // Failures are ignored, as in `saveHolder`.
    }
  };
}

/** The sentence in English, truncated, with its translatable message where there is room. */
function signalText(holder: LockHolder, met: Trouble | undefined): string {
  if (met === undefined) return JSON.stringify(holder);
  const shown = { ...met, sentence: String(met.sentence).slice(0, SENTENCE_CHARACTERS) };
  const text = JSON.stringify({ ...holder, met: { ...shown, message: packed(met.sentence) } });
  return Buffer.byteLength(text) < SIGNAL_BYTES ? text : JSON.stringify({ ...holder, met: shown });
}

/**
 * Never more accessible than the database, and owned by the database's owner also where root runs a command before the
 * first daemon starts. Only a file created here changes its owner: an existing name may be a link to any file.
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

/** Whether there is a lock file. Refuses links and non-files: SQLite would follow a link and block on a pipe. */
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

/** Names the process that holds the lock of this database. */
export function runningError(databasePath: string, lockPath = lockPathOf(databasePath)): BridgeError {
  const holder = readHolder(lockPath);
  const file = databasePath;
  const text = holder === undefined ? m.database.inUse({ file }) : m.database.inUseBy({ file, ...holder });
  return new BridgeError("instance_running", text, { hint: m.database.stopOther });
}

/**
 * Holds the lock until `release` or the end of the process.
 * @throws BridgeError `instance_running` (exit code 75), `database_refused`
 */
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
  // Also keeps the connection reachable: better-sqlite3 closes a garbage-collected one, which releases the lock.
  process.on("exit", release);
  return { path: lockPath, isLost, signal: signalIn(lockPath, holder), release };
}

/** The configuration of the last holder, if known. Does not check whether the lock is held. */
export function readAcceptedConfig(databasePath: string): AcceptedConfig | undefined {
  try {
    return readHolder(lockPathOf(databasePath))?.config;
  } catch {
    return undefined; // there is no such folder
  }
}

/** The holder of this database's lock, which may be this process; undefined where it is free. Creates no files. */
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
