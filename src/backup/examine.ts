/*
 * The checks of a restore before it changes anything: whether the file is a complete copy of a bridge's database, and
 * what the database to be replaced still has. Writes nothing: the copy is read through a duplicate, the database
 * through a read-only connection.
 */

import { existsSync } from "node:fs";
import type Database from "better-sqlite3";
import { openFile } from "../database/file/open-file.ts";
import { compareReach, type Reached } from "../database/log/progress.ts";
import { reachedBy } from "../database/log/progress-note.ts";
import { inspectDatabase, isBridgeDatabase, loadMigrations } from "../database/migrations.ts";
import { verifyTables } from "../database/objects/verify-tables.ts";
import { onlyRow } from "../database/only-row.ts";
import { faultCodeOf } from "../database/sqlite-errors.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { hasTable, isDamage } from "./rows.ts";

const PROBLEMS_MAX = 3;

export interface CopyFacts {
  /** The time of the copy's snapshot: UTC, ISO 8601; null where it is unknown. */
  copiedAt: string | null;
  orders: number;
  lastOrderAt: string | null;
  account: string | null;
}

export type Replaced =
  /** There is no readable database; `why` is the end of a sentence about it. */
  | { state: "gone"; why: Message }
  | {
      state: "there";
      db: Database.Database;
      continues: boolean;
      activeAt: string | null;
      orders: number | null;
      /** SQLite's description of the damage; undefined where the file was verified as sound. */
      damage: string | undefined;
      /** SQLite's complaints about objects of the ERP's, which may be sound for the ERP. */
      erpComplaints: readonly string[];
    };

/**
 * Verifies the whole copy.
 * @throws BridgeError `database_refused` where it is not a bridge's database, `database_corrupt` where it is damaged
 */
export function examineCopy(work: string, file: string): CopyFacts {
  let db: Database.Database | undefined;
  try {
    db = openFile(work, { fileMustExist: true });
    if (!isBridgeDatabase(db) || !hasTable(db, "orders")) throw notOurs(file);
    const { problems } = verifyTables(db, "integrity_check", PROBLEMS_MAX);
    if (problems.length > 0) throw damaged(file, problems.join("; "));
    return factsOf(db);
  } catch (error) {
    if (faultCodeOf(error) === "SQLITE_NOTADB") throw notOurs(file, error);
    if (isDamage(error)) throw damaged(file, m.backup.unreadable, error);
    throw error;
  } finally {
    db?.close();
  }
}

function factsOf(db: Database.Database): CopyFacts {
  const one = (sql: string) => db.prepare<unknown[], string | null>(sql).pluck().get() ?? null;
  const lastOrderAt =
    one("SELECT max(received_at) FROM batches") ??
    one("SELECT received_at FROM orders ORDER BY order_key DESC LIMIT 1");
  return {
    copiedAt: one("SELECT value FROM meta WHERE key = 'copied_at'") ?? activityOf(db),
    orders: onlyRow(db.prepare<unknown[], number>("SELECT count(*) FROM orders").pluck().get()),
    lastOrderAt,
    account: one("SELECT value FROM meta WHERE key = 'account'"),
  };
}

/** The newest time that the bridge wrote, for a copy that was made by other means. */
function activityOf(db: Database.Database): string | null {
  const sql =
    "SELECT max(at) FROM (SELECT max(finished_at) AS at FROM runs UNION ALL SELECT max(received_at) FROM batches)";
  return onlyRow(db.prepare<unknown[], string | null>(sql).pluck().get());
}

/**
 * Opens a snapshot of the database to be replaced. The connection stays open for the caller.
 * @throws BridgeError `account_changed`, `database_newer`: the copy, or this program, does not belong to this database
 */
export function examineReplaced(
  file: string,
  copy: { db: Database.Database; facts: CopyFacts },
  migrationsFolder: string,
): Replaced {
  let db: Database.Database | undefined;
  try {
    db = openFile(file, { readonly: true, fileMustExist: true });
    db.pragma("trusted_schema = OFF");
    inspectDatabase(db, loadMigrations(migrationsFolder), file);
    if (!hasTable(db, "orders")) return gone(db, m.backup.isEmpty);
    const account = db.prepare<unknown[], string>("SELECT value FROM meta WHERE key = 'account'").pluck().get();
    if (account !== undefined && copy.facts.account !== null && account !== copy.facts.account)
      throw otherAccount(file);
    db.exec("BEGIN");
    const { activeAt, orders } = factsOfReplaced(db);
    return { state: "there", db, continues: continuesCopy(db, copy, activeAt), activeAt, orders, ...verify(db) };
  } catch (error) {
    if (error instanceof BridgeError && error.code !== "database_refused" && error.code !== "migration_edited") {
      db?.close();
      throw error.code === "database_newer" ? newerReplaced(file, error) : error;
    }
    if (db === undefined && !existsSync(file)) return gone(undefined, m.backup.isGone);
    return gone(
      db,
      m.backup.isUnreadable({ why: error instanceof BridgeError ? error.text : (faultCodeOf(error) ?? String(error)) }),
    );
  }
}

/** A damaged file may be readable without an error and have less than was stored. */
function verify(db: Database.Database): { damage: string | undefined; erpComplaints: readonly string[] } {
  try {
    const { problems, erpComplaints } = verifyTables(db, "integrity_check", PROBLEMS_MAX);
    return { damage: problems.length === 0 ? undefined : problems.join("; ").replaceAll("\n", "; "), erpComplaints };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { damage: (error as Error).message, erpComplaints: [] };
  }
}

function gone(db: Database.Database | undefined, why: Message): Replaced {
  db?.close();
  return { state: "gone", why };
}

function factsOfReplaced(db: Database.Database): { activeAt: string | null; orders: number | null } {
  try {
    return {
      activeAt: activityOf(db),
      orders: onlyRow(db.prepare<unknown[], number>("SELECT count(*) FROM orders").pluck().get()),
    };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { activeAt: null, orders: null };
  }
}

/**
 * Whether the replaced file continues the copy: it has the copy's newest order, or where that cannot be read its newest
 * batch, with the same key and time of receipt. Where the copy has neither, the database's id decides. False for a file
 * that was created again, and for one that is older than the copy.
 */
function continuesCopy(
  db: Database.Database,
  { db: copy, facts }: { db: Database.Database; facts: CopyFacts },
  activeAt: string | null,
): boolean {
  let isAsked = false;
  for (const { newest, same } of WITNESSES) {
    const row = copy.prepare<unknown[], [number, string, string]>(newest).raw(true).get();
    if (row === undefined) continue;
    isAsked = true;
    try {
      return db.prepare(same).get(...row) !== undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  if (isAsked) return false;
  const [own, copied] = [reachOf(db), reachOf(copy)];
  if (own !== undefined && copied !== undefined)
    return own.database === copied.database && compareReach(own, copied) >= 0;
  // Older versions assigned no id.
  return facts.copiedAt === null || activeAt === null || activeAt >= facts.copiedAt;
}

/** Undefined where the database has no id, or it cannot be read. */
function reachOf(db: Database.Database): (Reached & { database: string }) | undefined {
  try {
    const database = db.prepare<unknown[], string>("SELECT value FROM meta WHERE key = 'database'").pluck().get();
    return database === undefined || !hasTable(db, "order_event_rows") ? undefined : { database, ...reachedBy(db) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

const WITNESSES = [
  {
    newest: "SELECT order_key, order_id, received_at FROM orders ORDER BY order_key DESC LIMIT 1",
    same: "SELECT 1 FROM orders WHERE order_key = ? AND order_id = ? AND received_at = ?",
  },
  {
    newest: "SELECT id, fingerprint, received_at FROM batches WHERE state <> 'unread' ORDER BY id DESC LIMIT 1",
    same: "SELECT 1 FROM batches WHERE id = ? AND fingerprint = ? AND received_at = ?",
  },
];

function notOurs(file: string, cause?: unknown): BridgeError {
  return new BridgeError("database_refused", m.backup.notCopy({ file }), { hint: m.backup.nameCopy, cause });
}

function damaged(file: string, found: string | Message, cause?: unknown): BridgeError {
  return new BridgeError("database_corrupt", m.backup.damaged({ file, found }), { hint: m.backup.otherCopy, cause });
}

/** The usual hint for this code suggests a restore, which has just been refused. */
function newerReplaced(file: string, cause: BridgeError): BridgeError {
  return new BridgeError("database_newer", m.backup.newerReplaced({ file }), { hint: m.backup.installNewer, cause });
}

function otherAccount(file: string): BridgeError {
  return new BridgeError("account_changed", m.backup.otherAccount({ file }), { hint: m.backup.nameOwnCopy });
}
