import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import { judgeSpace, readDiskSpace, sizeOf } from "../backup/space-rule.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { probeService } from "../daemon/ask-outside.ts";
import { hasDatabase } from "../daemon/missing-database.ts";
import { openReadOnly } from "../database/connection.ts";
import { checkDatabaseFile, resolveDatabasePath } from "../database/file/file-checks.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import { describeObjects, ErpObjects } from "../database/objects/erp-objects.ts";
import { describeOwn } from "../database/objects/own-objects.ts";
import { verifyTables } from "../database/objects/verify-tables.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { Fenced } from "../mirror/claim/fenced.ts";
import { newDatabaseStatements } from "../pass/open-database.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, exitCodeOf } from "../platform/errors.ts";
import { BROTLI_ADVISORY, isMended, loadBuildDate, monthsTooOld } from "../platform/runtime.ts";
import { type CheckResult, failed, passed } from "../probe/check-result.ts";
import { checkInstances } from "./check-instances.ts";
import { checkListen } from "./check-listen.ts";
import { checkMirror } from "./check-mirror.ts";
import { type Call, load, worstOf } from "./command.ts";
import { readableSources } from "./preview.ts";
import { type LongCall, withProgress } from "./progress.ts";
import { jsonLine } from "./terminal.ts";

/** From this size on, checking the database takes longer than a person waits without a message. */
const LONG_FROM_BYTES = 256_000_000;

/** Checks configuration, database, permissions and disk; with `--online` also credentials, subscription and clocks. */
export const check = withProgress<{ online?: boolean }>(async (call, { online }) => {
  const loaded = await load(call);
  const results: CheckResult[] = [
    passed("configuration", m.check.valid({ file: loaded.file })),
    ...loaded.warnings.map((warning) => failed("configuration", warning)),
    ...checkDatabase(call, loaded),
    ...checkObjects(loaded),
    checkRuntime(),
    ...checkDisk(loaded),
    ...checkCopies(loaded),
    ...(await checkSources(loaded)),
    await checkListen(loaded),
    ...checkInstances(loaded, call.terminal.env),
    ...checkImages(loaded),
  ];
  if (online === true) {
    const asked = await call.progress.during(
      () => ({ what: m.check.askingService }),
      () => probeService(loaded, systemClock).catch(fencedCheck),
    );
    results.push(...asked, ...(await checkMirror(loaded)));
  }
  report(call, results);
  return worstOf(results.map(({ exitCode }) => exitCode));
});

function checkDatabase({ progress }: LongCall, loaded: LoadedConfig): CheckResult[] {
  try {
    const found = describeDatabase(loaded, () => void progress.announce(m.check.lookingThrough));
    return found.map((message) => passed("database", message));
  } catch (error) {
    return [failed("database", asError(error).inFull, exitCodeOf(error))];
  }
}

/** No request is sent for a shop that another machine works for. */
function fencedCheck(thrown: unknown): CheckResult[] {
  if (!(thrown instanceof Fenced)) throw thrown;
  return [failed("service", thrown.inFull, exitCodeOf(thrown))];
}

/**
 * Objects that the ERP has put on the bridge's tables, and changes to the bridge's own. Other faults of the database
 * are reported by its own check.
 */
function checkObjects(loaded: LoadedConfig): CheckResult[] {
  try {
    using store = openReadOnly(loaded.config.database.path);
    const objects = new ErpObjects(store);
    const [found, changed] = [describeObjects(objects.list()), describeOwn(objects.own())];
    return [
      ...(found === "" ? [] : [failed("database", m.check.erpObjects({ names: found }))]),
      ...(changed === "" ? [] : [failed("database", m.check.ownChanged({ names: changed }))]),
    ];
  } catch {
    return [];
  }
}

/** Whether the bridge can use the database: it is writable, sound, and belongs to this account. Changes nothing. */
function describeDatabase(loaded: LoadedConfig, onLong: () => void): Message[] {
  const file = resolveDatabasePath(loaded.config.database.path);
  const bytes = checkDatabaseFile(file, "write");
  if (!hasDatabase(loaded) || bytes === undefined) return [m.check.notThereYet({ file })];
  const isLong = bytes >= LONG_FROM_BYTES;
  if (isLong) onLong();
  using store = openReadOnly(loaded.config.database.path);
  refuseOtherAccount(store, loaded);
  const { problems, erpComplaints } = verifyTables(store.db, isLong ? "quick_check" : "integrity_check", 1);
  const [found] = problems;
  if (found !== undefined) {
    throw new BridgeError("database_corrupt", m.check.damaged({ file, found }), { hint: m.check.restoreBackup });
  }
  const sound = isLocked(file) === undefined ? m.check.sound({ file }) : m.check.soundAndRunning({ file });
  if (erpComplaints.length === 0) return [sound];
  return [sound, m.database.erpComplaints({ found: erpComplaints.join("; ") })];
}

/** Whether the source of each feed exists, has every named column, and can be read to its end. */
async function checkSources(loaded: LoadedConfig): Promise<CheckResult[]> {
  const looks = await readableSources(loaded, statementsFor(loaded));
  return looks.map(({ feed, source, makesWritersWait, error }) => {
    const name = `imports.${feed}`;
    if (error !== undefined) return failed(name, error.inFull, exitCodeOf(error));
    return makesWritersWait ? failed(name, m.check.notWal({ source })) : passed(name, m.check.readable({ source }));
  });
}

/** None where the database is gone, which its own check reports. */
function statementsFor(loaded: LoadedConfig): string[] | null {
  if (existsSync(loaded.config.database.path)) return null;
  try {
    return hasDatabase(loaded) ? null : newDatabaseStatements();
  } catch {
    return [];
  }
}

/** Fixes of Node reach an installation only with newer packages. */
function checkRuntime(): CheckResult {
  const { node } = process.versions;
  const built = loadBuildDate();
  const months = built === undefined ? undefined : monthsTooOld(built, Date.now());
  if (months !== undefined) return failed("node", m.check.nodeOld({ node, months }));
  return passed(
    "node",
    isMended(node) ? m.check.node({ node }) : m.check.nodeAdvisory({ node, advisory: BROTLI_ADVISORY }),
  );
}

function checkDisk(loaded: LoadedConfig): CheckResult[] {
  const folder = path.dirname(loaded.config.database.path);
  // The result of the database says so.
  if (!existsSync(folder)) return [];
  return [judgeDisk(folder)];
}

function judgeDisk(folder: string): CheckResult {
  try {
    const space = readDiskSpace(folder);
    const free = sizeOf(space.free);
    return judgeSpace(space, false) === "room"
      ? passed("disk", m.check.freeIn({ free, folder }))
      : failed("disk", m.check.fewFree({ free, folder }));
  } catch (error) {
    return failed("disk", m.check.notLooked({ folder, why: asError(error).text }), EXIT.config);
  }
}

/** Whether backups and the journal can be written to their folders; the daemon creates missing folders. */
function checkCopies({ config: { backup } }: LoadedConfig): CheckResult[] {
  return [backup.dir, backup.journal].flatMap((folder) => {
    if (folder === null) return [];
    const lacks = whyUnwritable(folder);
    return lacks === undefined ? [] : [failed("backup", m.check.noCopies({ folder, lacks }))];
  });
}

function whyUnwritable(folder: string): Message | undefined {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined)
      return path.dirname(folder) === folder ? m.check.notFolder : whyUnwritable(path.dirname(folder));
    if (!found.isDirectory()) return m.check.notFolder;
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch {
    return m.check.notWritable;
  }
}

/** The images' folder, where the feed reads files. A missing folder stops that feed alone. */
function checkImages({ config }: LoadedConfig): CheckResult[] {
  const { path: importPath, send, folder } = config.imports.images;
  if (importPath === null || send === "url" || folder === null) return [];
  const lacks = whyUnreadable(folder);
  return lacks === undefined
    ? [passed("images", m.check.readable({ source: folder }))]
    : [failed("images", m.check.noImages({ folder, lacks }))];
}

function whyUnreadable(folder: string): Message | undefined {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return m.check.notFolder;
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return undefined;
  } catch {
    return m.check.notReadable;
  }
}

function report({ json, terminal, paint }: Call, results: readonly CheckResult[]): void {
  if (json) {
    terminal.out(
      jsonLine({
        ok: results.every(({ ok }) => ok),
        checks: results.map(({ check, ok, message }) => ({ check, ok, message })),
      }),
    );
    return;
  }
  const { say = String } = terminal;
  for (const result of results) {
    const style = result.ok ? "good" : "error";
    terminal.out(
      say(describeCheck(result)).replace(/^\S+/, (word) => paint(style, word)),
      "as it is",
    );
  }
}

export function describeCheck({ check, ok, message: text }: CheckResult): Message {
  return ok ? m.check.passed({ check, text }) : m.check.failed({ check, text });
}
