/*
 * Checks at a start whether the database is the one that was last in use, and whole. It may have been replaced by an
 * older copy (SQLite itself can do that under a running daemon), its folder may have been rolled back as a whole, or
 * its log may have been removed or truncated. Then orders that were confirmed to the service may be missing, and what the
 * feeds read may be older than what the site has. Conditions report that, the feeds wait for a person, and what the service
 * has acknowledged since is treated as unknown, as after a restore. After a crash in the middle the same is done again.
 */

import { lookForCopy, orNothing } from "../backup/backup-files.ts";
import {
  doubtFeeds,
  loseDelivery,
  markAcknowledgedUnknown,
  markRequestsUnknown,
  raiseNumbers,
  reportGap,
} from "../backup/settle.ts";
import { loadBatch } from "../batches/batch-rows.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Note } from "../database/log/progress.ts";
import { findMissingTables, verifyTables } from "../database/objects/verify-tables.ts";
import { quoteName } from "../database/quote-name.ts";
import { faultCodeOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { openDatabase } from "../pass/open-database.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime, type Log } from "../platform/ports.ts";
import type { Troubles } from "../platform/troubles.ts";
import { accountOf } from "./account.ts";
import { type Elsewhere, findNewer, furthest, lookElsewhere, settleElsewhere } from "./newer-elsewhere.ts";

interface Verify {
  /** The statements that create an empty database. */
  schema: () => readonly string[];
  log: Log;
}

const PROBLEMS_MAX = 3;
const NOWHERE: Elsewhere = { entry: undefined, copy: undefined };

/**
 * Opens the database for the daemon. Where the file is unreadable, the error names the newest copy of the account.
 * @throws BridgeError as `openStore` does
 */
export function openForDaemon(loaded: LoadedConfig, troubles: Troubles): Store {
  try {
    return openDatabase(loaded, "daemon", troubles);
  } catch (thrown) {
    const error = asError(thrown);
    const isNoDatabase = faultCodeOf(error.cause) === "SQLITE_NOTADB";
    const copy = isNoDatabase || error.code === "database_corrupt" ? copyOf(loaded) : undefined;
    if (copy === undefined) throw error;
    const hint = isNoDatabase ? m.database.restoreIfRight({ copy }) : m.daemon.restoreNewest({ copy });
    throw new BridgeError(error.code, error.text, { hint, cause: error.cause });
  }
}

/**
 * Checks the database at a start, before any request. Returns the reported message where something may be missing.
 * @throws BridgeError `database_corrupt`
 */
export function settleDatabaseProblem(
  store: Store,
  loaded: LoadedConfig,
  { nowMs, ...verify }: { nowMs: number } & Verify,
): Message | undefined {
  const found = findProblem(store, loaded, verify);
  const isUnnoted = found === undefined && store.progress?.isUnnoted === true;
  // A database that no start has used has nothing elsewhere.
  const elsewhere = isUnnoted || store.progress?.wasNoted === true ? lookElsewhere(store, loaded) : NOWHERE;
  if (isUnnoted) {
    const detail = settleUnnoted(store, loaded, { nowMs, verify, elsewhere });
    store.progress?.trust();
    return detail;
  }
  const newer = findNewer(store, elsewhere);
  // After a crash the file may have been overwritten. Pages that were moved into the database beside a reader are
  // complete only together with the log.
  if (found !== undefined || newer !== undefined || store.isMixed) refuseDamaged(store, loaded, verify);
  // Damage that has disappeared by itself has lost nothing.
  const why = found?.kind === "log" ? "log" : found?.isBehind === true ? "older" : "elsewhere";
  const detail =
    why === "elsewhere" && newer === undefined ? undefined : describeGap(store, loaded, { why, elsewhere, newer });
  if (detail !== undefined)
    reportPossibleLoss(store, loaded, { detail, note: found?.note, elsewhere, at: isoTime(nowMs) });
  store.progress?.trust();
  return detail;
}

function findProblem(store: Store, loaded: LoadedConfig, verify: Verify) {
  try {
    return store.progress?.findProblem();
  } catch (error) {
    if (asError(error).code === "database_corrupt") refuseDamaged(store, loaded, verify);
    throw asError(error);
  }
}

/**
 * For a database whose progress note is missing: restoring an earlier copy by hand removes the note with the other
 * files. Only the journal can show that no order is missing; acknowledgements and marks may be missing even then.
 */
function settleUnnoted(
  store: Store,
  loaded: LoadedConfig,
  { nowMs, verify, elsewhere }: { nowMs: number; verify: Verify; elsewhere: Elsewhere },
): Message | undefined {
  refuseDamaged(store, loaded, verify);
  const older = { note: undefined, elsewhere, at: isoTime(nowMs) };
  if (isAsNewAsKnown(store, elsewhere)) {
    settleOlder(store, loaded, older);
    return undefined;
  }
  const detail = describeGap(store, loaded, { why: "unnoted", elsewhere });
  reportPossibleLoss(store, loaded, { ...older, detail });
  return detail;
}

function copyOf({ config }: LoadedConfig): string | undefined {
  return orNothing(() => lookForCopy(config.backup.dir, accountOf(config)));
}

function isAsNewAsKnown(store: Store, elsewhere: Elsewhere): boolean {
  const { entry } = elsewhere;
  if (entry === undefined || loadBatch(store, entry.fingerprint) === undefined) return false;
  return findNewer(store, elsewhere) === undefined;
}

function refuseDamaged(store: Store, loaded: LoadedConfig, verify: Verify): void {
  const found = findDamage(store, verify);
  if (found === undefined) return;
  const copy = copyOf(loaded) ?? m.daemon.copyName;
  throw new BridgeError("database_corrupt", m.daemon.damaged({ file: store.path, found }), {
    hint: m.daemon.restoreNewest({ copy }),
  });
}

function findDamage(store: Store, { schema, log }: Verify): Message | undefined {
  try {
    const { problems, erpComplaints, staleIndexes } = verifyTables(store.db, "integrity_check", PROBLEMS_MAX);
    if (erpComplaints.length > 0) log.warn({}, m.database.erpComplaints({ found: erpComplaints.join("; ") }));
    if (problems.length === 0) for (const index of staleIndexes) rebuildIndex(store, index);
    const missing = findMissingTables(store.db, schema());
    const parts = [...problems, ...(missing.length === 0 ? [] : [m.daemon.noTables({ tables: missing })])];
    return parts.length === 0 ? undefined : m.common.joined({ parts });
  } catch (error) {
    const { code, text } = asError(error);
    if (code !== "database_corrupt") throw error;
    return text;
  }
}

/** Rebuilds a stale index: SQLite reports a change of a row that is missing in its index as damage of the file. */
function rebuildIndex(store: Store, index: string): void {
  try {
    store.write(() => store.db.exec(`REINDEX ${quoteName(index)}`));
  } catch (error) {
    if (asError(error).code === "database_corrupt") throw error;
    // The ERP holds the write lock, or its unique index is violated under this program's collation.
  }
}

function reportPossibleLoss(
  store: Store,
  loaded: LoadedConfig,
  { detail, ...older }: Older & { detail: Message },
): void {
  reportGap(store, detail, older.at);
  settleOlder(store, loaded, older);
  // Last, because afterwards the database no longer counts as behind. Numbers first: after a crash in between,
  // everything is reported again.
  store.write(() => settleElsewhere(store, older.elsewhere));
}

interface Older {
  note: Note | undefined;
  elsewhere: Elsewhere;
  at: string;
}

/** The database may be older than what was sent, whatever shows it and even where no order is missing. */
function settleOlder(store: Store, { config }: LoadedConfig, { note, elsewhere, at }: Older): void {
  // One that was never used was made anew, and nothing in it is old.
  if (store.progress?.wasUsed === true) doubtFeeds(store, config.imports, { because: m.daemon.mayLackSent, at });
  else markAcknowledgedUnknown(store, m.daemon.mayLackSent);
  markRequestsUnknown(store, config.statuses.map);
  // The mark of an answer that was lost may be missing: a confirm that names nothing would cover what that answer delivered.
  loseDelivery(store, at);
  // Changes after the newest batch may be missing, and with them events, revisions and requests.
  raiseNumbers(store, undefined, { isComplete: false, note: furthest(note, elsewhere) });
}

interface Gap {
  why: "older" | "log" | "unnoted" | "elsewhere";
  elsewhere: Elsewhere;
  newer?: ReturnType<typeof findNewer>;
}

function describeGap({ path: file }: Store, loaded: LoadedConfig, { why, elsewhere, newer }: Gap): Message {
  const copy = elsewhere.copy?.file ?? copyOf(loaded);
  const more = newer?.copy ?? loaded.config.backup.journal ?? "";
  const first = {
    older: m.restore.older({ file }),
    log: m.restore.logSpoilt({ file }),
    elsewhere: m.restore.newerElsewhere({ file, place: more }),
    unnoted: m.restore.unnoted({ file }),
  };
  const gap = m.common.sentences({ parts: [first[why], m.restore.confirmedSince] });
  const hasMore = copy !== undefined || loaded.config.backup.journal !== null;
  const parts = [
    ...(hasMore ? [m.restore.newestComesBack({ copy: copy ?? m.daemon.copyName })] : []),
    m.restore.compareNewest,
  ];
  return m.restore.gapAndSteps({ gap, steps: m.common.sentences({ parts }) });
}
