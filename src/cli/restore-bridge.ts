/*
 * Puts a copy in the database's place without losing anything that either file holds: everything happens in a new file,
 * DATABASE.RANDOM.restoring, and the names change only when that is complete, checked and flushed. The replaced file is
 * kept under another name. After a crash before the change the old state stands, and the next restore removes the new
 * file; a crash during the change is completed by the next start.
 */

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fchownSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import path from "node:path";
import { lookForFuller } from "../backup/backup-files.ts";
import { carryOver } from "../backup/carry-over.ts";
import { RULES } from "../backup/carry-tables.ts";
import { readContent } from "../backup/copy-owner.ts";
import { type CopyFacts, examineCopy, examineReplaced, type Replaced } from "../backup/examine.ts";
import { findLack, numbersOfCopy } from "../backup/find-lack.ts";
import { CarryReport, isDamage } from "../backup/rows.ts";
import {
  doubtFeeds,
  forgetPassing,
  holdFeeds,
  loseDelivery,
  markAcknowledgedUnknown,
  markRequestsUnknown,
  raiseNumbers,
  reportGap,
} from "../backup/settle.ts";
import { readDiskSpace, sizeOf } from "../backup/space-rule.ts";
import type { LoadedConfig } from "../config/load.ts";
import { accountOf } from "../daemon/account.ts";
import { lookElsewhere, settleElsewhere } from "../daemon/newer-elsewhere.ts";
import { timeInName } from "../database/file/copy-names.ts";
import {
  checkDatabaseFile,
  isSwapUnfinished,
  modeOfNew,
  refuseLinkedBeside,
  resolveDatabasePath,
} from "../database/file/file-checks.ts";
import { acquireInstanceLock, isLocked } from "../database/file/instance-lock.ts";
import { listOpeners } from "../database/file/open-elsewhere.ts";
import { setJournalAside } from "../database/file/set-journal-aside.ts";
import { finishSwap, retireSavedCopy, swapDatabase } from "../database/file/swap-files.ts";
import type { Note } from "../database/log/progress.ts";
import { markSettled, ProgressNote, readNote } from "../database/log/progress-note.ts";
import { verifyTables } from "../database/objects/verify-tables.ts";
import { openStore } from "../database/open.ts";
import { asBridgeError } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { beginTimeline } from "../database/timeline.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { loadHoldsOf } from "../pass/hold-rows.ts";
import { BridgeError } from "../platform/errors.ts";
import { freshName, leftNames, openOnlyName, removeName, setMode } from "../platform/fresh-file.ts";
import { type Clock, isoTime, type Log } from "../platform/ports.ts";
import { requireReadable } from "./given-path.ts";
import { describeGap } from "./restore-gap.ts";
import { type JournalReport, replayJournal } from "./restore-journal.ts";

export interface RestoreOptions {
  loaded: LoadedConfig;
  file: string;
  migrationsFolder: string;
  clock: Clock;
  log: Log;
  /** Called when everything is known and nothing has changed; false cancels the restore. */
  agree: (plan: RestorePlan) => Promise<boolean>;
  /** Called with one line for each longer step. */
  onStep: (step: Message) => void;
  /**
   * Orders from the mirror are added afterwards with their numbers there, which are higher than those of orders from
   * the journal.
   */
  isFollowedByMirror?: boolean;
}

export interface RestorePlan {
  copy: CopyFacts;
  /** A copy in `backup.dir` that has more, unless the replaced file has that too. */
  newer: string | undefined;
  database: string;
  replaced:
    | { state: "gone"; why: Message }
    | {
        state: "there";
        continues: boolean;
        orders: number | null;
        activeAt: string | null;
        /** SQLite's description of the damage. */
        damage: string | null;
      };
}

export interface RestoreReport {
  database: string;
  copiedAt: string | null;
  /** The new name of the replaced file; null where there was none. */
  replaced: string | null;
  /** Nothing is missing and no outcome is unknown. */
  complete: boolean;
  carried: Record<string, number>;
  journal: JournalReport;
  /** Messages for the person, in whole sentences. */
  notes: (Message | string)[];
  /** What could not be restored; null where nothing is missing. */
  gap: Message | null;
}

/** `DATABASE.RANDOM.restoring` is the restored file until it takes the database's place. */
const RESTORING = "restoring";

/**
 * Undefined where the person declined.
 * @throws BridgeError `instance_running`, `database_…`, `account_changed`, `disk_full`, `usage`
 */
export async function restoreDatabase(options: RestoreOptions): Promise<RestoreReport | undefined> {
  const { loaded, clock } = options;
  const database = resolveDatabasePath(loaded.config.database.path);
  const lock = acquireInstanceLock(database, { command: "restore", now: () => clock.nowMs() });
  const work = freshName(database, RESTORING);
  let replaced: Replaced | undefined;
  try {
    finishSwap(database);
    checkDatabaseFile(database, "read"); // an unreadable file is not a missing one
    setJournalAside(database); // else nothing could be read from the replaced file
    refuseOpen(database);
    const copy = duplicateCopy(options, database, work);
    const store = openWork(work, options.migrationsFolder, clock);
    try {
      refuseAccount(copy, loaded);
      if (existsSync(database)) options.onStep(m.restore.verifying({ file: database }));
      replaced = examineReplaced(database, { db: store.db, facts: copy }, options.migrationsFolder);
      const newer = replaced.state === "there" && replaced.continues ? undefined : findNewerCopy(options);
      if (!(await options.agree({ ...planOf(database, copy, replaced), newer }))) return undefined;
      return await build({ ...options, database, work, copy, store, replaced, newer });
    } finally {
      store.close();
    }
  } finally {
    if (replaced?.state === "there" && replaced.db.open) replaced.db.close();
    if (!isSwapUnfinished(database)) removeWork(database);
    lock.release();
  }
}

/** @throws BridgeError `usage` where there is no file that can be read */
export function requireCopy(file: string): Stats {
  if (!existsSync(file)) throw new BridgeError("usage", m.restore.noFile({ file }), { hint: m.restore.copiesLie });
  const stat = statSync(file);
  if (!stat.isFile()) throw new BridgeError("usage", m.restore.notFile({ file }), { hint: m.restore.copiesLie });
  requireReadable(file, m.database.copying({ file }));
  return stat;
}

/** Works on a duplicate, because reading a copy may create files beside it, and migrating writes to it. */
function duplicateCopy({ file, onStep }: RestoreOptions, database: string, work: string): CopyFacts {
  const { size, ino, dev } = requireCopy(file);
  const mine = statSync(database, { throwIfNoEntry: false });
  if (mine?.ino === ino && mine.dev === dev) throw new BridgeError("usage", m.restore.isDatabase({ file }));
  if (isLocked(file) !== undefined) throw new BridgeError("usage", m.restore.inUse({ file }));
  refuseLinkedBeside(file);
  removeWork(database);
  const free = readDiskSpace(path.dirname(database)).free;
  if (free < 2 * size) {
    throw new BridgeError("disk_full", m.restore.noRoom({ needed: sizeOf(2 * size), free: sizeOf(free), database }));
  }
  onStep(m.restore.verifying({ file }));
  try {
    for (const suffix of ["", "-wal"]) {
      if (!existsSync(`${file}${suffix}`)) continue;
      copyFileSync(`${file}${suffix}`, `${work}${suffix}`, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      setMode(`${work}${suffix}`, 0o600);
    }
  } catch (error) {
    throw asBridgeError(error, m.database.copying({ file }), database);
  }
  return examineCopy(work, file);
}

/** Migrates the file to this version. The backup that a migration makes is not needed: the named copy is one. */
function openWork(work: string, migrationsFolder: string, clock: Clock): Store {
  const store = openStore({ path: work, migrationsFolder, mode: "command", now: () => clock.nowMs() });
  if (store.migrated.backup !== undefined) rmSync(store.migrated.backup, { force: true });
  return store;
}

function refuseAccount(copy: CopyFacts, { config }: LoadedConfig): void {
  if (copy.account === null || copy.account === accountOf(config)) return;
  const [url, id] = JSON.parse(copy.account) as [string, string];
  throw new BridgeError("account_changed", m.restore.otherAccount({ id, url }), {
    hint: m.restore.useItsConfiguration,
  });
}

/** Compares contents, because the names of copies and the times in them depend on a clock. */
function findNewerCopy({ file, loaded }: RestoreOptions): string | undefined {
  const own = readContent(file);
  return own === undefined ? undefined : lookForFuller(loaded.config.backup.dir, own);
}

function planOf(database: string, copy: CopyFacts, replaced: Replaced): Omit<RestorePlan, "newer"> {
  if (replaced.state === "gone") return { copy, database, replaced };
  const { continues, orders, activeAt, damage = null } = replaced;
  return { copy, database, replaced: { state: "there", continues, orders, activeAt, damage } };
}

interface BuildOptions extends RestoreOptions {
  database: string;
  work: string;
  copy: CopyFacts;
  store: Store;
  replaced: Replaced;
  newer: string | undefined;
}

async function build(options: BuildOptions): Promise<RestoreReport> {
  const { loaded, store, replaced, clock, copy, onStep } = options;
  const at = isoTime(clock.nowMs());
  const report = new CarryReport();
  if (options.newer !== undefined) report.notes.push(m.restore.newerCopy({ file: options.newer }));
  const versionBefore = replaced.state === "there" ? dataVersion(replaced) : 0;
  const copied = numbersOfCopy(store);
  const note = readNote(options.database);
  // Before any row gets a new number: the numbers that follow the copy's belonged to rows that are lost.
  const isRaised = (replaced.state !== "there" || !replaced.continues) && options.isFollowedByMirror !== true;
  if (isRaised) raise({ store, replaced, report, note }, false);
  if (replaced.state === "there") {
    onStep(m.restore.carrying);
    const { db, continues, erpComplaints } = replaced;
    if (erpComplaints.length > 0) report.notes.push(m.restore.erpComplaints({ found: erpComplaints.join("; ") }));
    const isSound = replaced.damage === undefined;
    const carry = { from: db, to: store, report, continues, isSound, at };
    carryOver(carry, { migrationsFolder: options.migrationsFolder, zone: loaded.config.service.timezone });
  }
  const journal = await replayJournal(options, report);
  const { words: lack, isOlder } =
    replaced.state === "there"
      ? findLack({ replaced, result: store, note, copied })
      : { words: [], isOlder: options.isFollowedByMirror !== true };
  const hasOurs =
    replaced.state === "there" &&
    replaced.continues &&
    [...report.damaged].every((name) => replaced.damage === undefined && isErps(name)) &&
    report.damagedOrders.length === 0 &&
    lack.length === 0;
  raise({ store, replaced, report, note }, hasOurs || isRaised);
  // A gap that an earlier restore or start reported stays a condition until a person has resumed.
  const open = loadHoldsOf(store, "orders").find(({ reason }) => reason === "restored")?.detail ?? null;
  forgetPassing(store);
  const isWhole = hasOurs && report.damaged.size === 0 && journal.damaged === 0;
  const gap = isWhole ? open : describeGap({ copy, replaced, report, lack, journal, open, at, hasOurs });
  if (gap !== null && !isWhole) reportGap(store, gap, at);
  // Copies of the replaced file's timeline may have what this one lacks, as long as that hold stands.
  else if (gap !== null) store.write(() => beginTimeline(store));
  const missing = new Set([...report.damaged].filter(isErps));
  const { imports } = loaded.config;
  const because = m.restore.wasRestored;
  report.notes.push(
    ...(isOlder ? doubtFeeds(store, imports, { because, at }) : holdFeeds(store, imports, { missing, at })),
  );
  if (!hasOurs) {
    if (!isOlder && (lack.length > 0 || !areFeedsWhole(replaced, report))) markAcknowledgedUnknown(store, because);
    markRequestsUnknown(store, loaded.config.statuses.map);
    loseDelivery(store, at);
  }
  // Reported by this restore, because the next start does not compare with the note of the replaced database.
  const elsewhere = lookElsewhere(store, loaded);
  store.write(() => {
    markSettled(store.db, note);
    settleElsewhere(store, elsewhere);
  });
  onStep(m.restore.verifyingResult);
  verifyResult(store);
  store.close();
  if (replaced.state === "there") refuseWritten(replaced, versionBefore, options.database);
  refuseOpen(options.database);
  const aside = `${path.basename(options.database)}.replaced-${timeInName(clock.nowMs())}`;
  const wasThere = existsSync(options.database);
  handOver(options.work, options.database);
  swapDatabase(options.database, { work: path.basename(options.work), replaced: aside });
  forgetSuspicion(options.database);
  retireSavedCopy(options.database, options.file);
  return {
    database: options.database,
    copiedAt: copy.copiedAt,
    replaced: wasThere ? path.join(path.dirname(options.database), aside) : null,
    complete: gap === null,
    carried: report.counts,
    journal,
    notes: report.notes,
    gap,
  };
}

function isErps(name: string): boolean {
  return (RULES[name] ?? "erp") === "erp" && !name.startsWith("sqlite_");
}

/** Where the numbers of the replaced file cannot be read, those of the copy and of the note are used. */
function raise(
  {
    store,
    replaced,
    report,
    note,
  }: Pick<BuildOptions, "store" | "replaced"> & { report: CarryReport; note: Note | undefined },
  isComplete: boolean,
): void {
  const from = replaced.state === "there" ? replaced.db : undefined;
  const raiseFrom = () => {
    raiseNumbers(store, from, { isComplete, note });
    return true;
  };
  const isDone = report.tolerate("sqlite_sequence", raiseFrom);
  if (isDone === undefined) raiseNumbers(store, undefined, { isComplete: false, note });
}

/**
 * Clears the suspicion of damage, since the restored database was verified. Where this fails, the next start verifies
 * it once more.
 */
function forgetSuspicion(database: string): void {
  const beside = new ProgressNote(database);
  try {
    // Only where there is one: settled positions refer to the note as it is.
    if (beside.last !== undefined && beside.last.suspect !== null) beside.write(beside.last, null);
  } catch {
    // The disk may be full.
  } finally {
    beside.close();
  }
}

/** Everything acknowledged and everything the ERP wrote came over, so no outcome is unknown. */
function areFeedsWhole(replaced: Replaced, report: CarryReport): boolean {
  return (
    replaced.state === "there" && replaced.continues && [...report.damaged].every((table) => RULES[table] === "own")
  );
}

function verifyResult(store: Store): void {
  const [found] = verifyTables(store.db, "integrity_check", 1).problems;
  if (found === undefined) return;
  throw new BridgeError("database_corrupt", m.restore.resultDamaged({ found }), { hint: m.restore.checkMachine });
}

/** A program that has the file open would go on writing to the replaced file. */
function refuseOpen(database: string): void {
  const openers = listOpeners(database).map(({ pid, name }) => m.restore.opener({ name, pid }));
  if (openers.length === 0) return;
  throw new BridgeError("instance_running", m.restore.open({ database, openers }), { hint: m.restore.stopIt });
}

/** Changes with every write of another connection to the replaced database. */
function dataVersion({ db }: Replaced & { state: "there" }): number {
  return db.pragma("data_version", { simple: true }) as number;
}

/** A write after the file was read would be lost with the replaced file. */
function refuseWritten(replaced: Replaced & { state: "there" }, before: number, database: string): void {
  const isWritten = wasWritten(replaced, before);
  replaced.db.close();
  if (!isWritten) return;
  throw new BridgeError("database_busy", m.restore.writtenMeanwhile({ database }), { hint: m.restore.stopErp });
}

/**
 * Gives the new file the mode of the replaced one and, as far as this user may, its owner and group, so that the same
 * programs can open it. Where there is none, the mode is that of a new database.
 */
function handOver(work: string, database: string): void {
  const before = statSync(database, { throwIfNoEntry: false });
  const { uid, gid } = before ?? statSync(path.dirname(database));
  const descriptor = openOnlyName(work, constants.O_RDONLY);
  try {
    const self = process.geteuid?.() ?? uid;
    try {
      fchownSync(descriptor, self === 0 ? uid : self, gid);
    } catch {
      // This user is not in that group.
    }
    fchmodSync(descriptor, before === undefined ? modeOfNew(database, RESTORING) : before.mode & 0o777);
  } finally {
    closeSync(descriptor);
  }
}

function wasWritten(replaced: Replaced & { state: "there" }, before: number): boolean {
  try {
    replaced.db.exec("COMMIT");
    return dataVersion(replaced) !== before;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false; // too damaged to be written to
  }
}

/** Removes files of this restore or of one that crashed; the instance lock excludes another one at work. */
function removeWork(database: string): void {
  for (const left of leftNames(database, RESTORING)) removeName(left);
}
