import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import { inertText } from "../answers/inert-text.ts";
import { readDiskSpace } from "../backup/disk-space.ts";
import { judgeSpace, sizeOf } from "../backup/space-rule.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { probeService } from "../daemon/ask-outside.ts";
import { openReadOnly } from "../database/connection.ts";
import { describeObjects, ErpObjects } from "../database/erp-objects.ts";
import { checkDatabaseFile, resolveDatabasePath } from "../database/file-checks.ts";
import { isLocked } from "../database/instance-lock.ts";
import { describeOwn } from "../database/own-objects.ts";
import { verifyTables } from "../database/verify-tables.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { Fenced } from "../mirror/fenced.ts";
import { newDatabaseStatements } from "../pass/open-database.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, type ExitCode, exitCodeOf } from "../platform/errors.ts";
import { BROTLI_ADVISORY, isMended, loadBuildDate, monthsTooOld } from "../platform/runtime.ts";
import { checkInstances } from "./check-instances.ts";
import { checkListen } from "./check-listen.ts";
import { checkMirror } from "./check-mirror.ts";
import { type Call, type Command, load, worstOf } from "./command.ts";
import { readableSources } from "./preview.ts";
import { jsonLine } from "./terminal.ts";

export interface CheckResult {
  check: string;
  ok: boolean;
  message: Message;
  exitCode: ExitCode;
}

/** Looking through a database of this size takes longer than a person waits without a word. */
const LONG_FROM_BYTES = 256_000_000;

/** Configuration, database, permissions, disk; `--online` adds credentials, subscription and clocks. */
export const check: Command<{ online?: boolean }> = async (call, { online }) => {
  const loaded = await load(call);
  const results: CheckResult[] = [
    { check: "configuration", ok: true, message: m.check.valid({ file: loaded.file }), exitCode: EXIT.ok },
    ...loaded.warnings.map((message) => ({ check: "configuration", ok: false, message, exitCode: EXIT.attention })),
    ...checkDatabase(call, loaded),
    ...checkObjects(loaded),
    checkRuntime(),
    checkDisk(loaded),
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
};

function checkDatabase({ progress }: Call, loaded: LoadedConfig): CheckResult[] {
  try {
    const found = describeDatabase(loaded, () => void progress.announce(m.check.lookingThrough));
    return found.map((message) => ({ check: "database", ok: true, message, exitCode: EXIT.ok }));
  } catch (error) {
    return [{ check: "database", ok: false, message: inFull(asError(error)), exitCode: exitCodeOf(error) }];
  }
}

/** Nothing is asked for a shop that another machine has. */
function fencedCheck(thrown: unknown): CheckResult[] {
  if (!(thrown instanceof Fenced)) throw thrown;
  return [{ check: "service", ok: false, message: inFull(thrown), exitCode: exitCodeOf(thrown) }];
}

function inFull({ text, hint }: BridgeError): Message {
  return hint === undefined ? text : m.common.sentences({ parts: [text, hint] });
}

/** What the ERP has put on the bridge's tables, and what it has taken from them. What else is wrong with the database is reported by its own check. */
function checkObjects(loaded: LoadedConfig): CheckResult[] {
  try {
    using store = openReadOnly(loaded.config.database.path);
    const objects = new ErpObjects(store);
    const [found, changed] = [describeObjects(objects.list()), describeOwn(objects.own())];
    const fail = (message: Message): CheckResult => ({
      check: "database",
      ok: false,
      message,
      exitCode: EXIT.attention,
    });
    return [
      ...(found === "" ? [] : [fail(m.check.erpObjects({ names: found }))]),
      ...(changed === "" ? [] : [fail(m.check.ownChanged({ names: changed }))]),
    ];
  } catch {
    return [];
  }
}

/** Whether a bridge could work on it: it may be written, is sound, and belongs to this account. Changes nothing. */
function describeDatabase(loaded: LoadedConfig, onLong: () => void): Message[] {
  const file = resolveDatabasePath(loaded.config.database.path);
  const bytes = checkDatabaseFile(file, "write");
  if (bytes === undefined) return [m.check.notThereYet({ file })];
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
  return [sound, m.database.erpComplaints({ found: inertText(erpComplaints.join("; ")) })];
}

/** Whether what feeds read is there, with every column that they name, and ends. */
async function checkSources(loaded: LoadedConfig): Promise<CheckResult[]> {
  const isThere = existsSync(loaded.config.database.path);
  const looks = await readableSources(loaded, isThere ? null : newDatabaseStatements());
  return looks.map(({ feed, source, makesWritersWait, error }) => {
    const name = `imports.${feed}`;
    if (error !== undefined) {
      return { check: name, ok: false, message: inFull(error), exitCode: exitCodeOf(error) };
    }
    return makesWritersWait
      ? {
          check: name,
          ok: false,
          message: m.check.notWal({ source }),
          exitCode: EXIT.attention,
        }
      : {
          check: name,
          ok: true,
          message: m.check.readable({ source }),
          exitCode: EXIT.ok,
        };
  });
}

/** Fixes of Node reach an installation with newer packages only. */
function checkRuntime(): CheckResult {
  const { node } = process.versions;
  const built = loadBuildDate();
  const months = built === undefined ? undefined : monthsTooOld(built, Date.now());
  if (months !== undefined) {
    const message = m.check.nodeOld({ node, months });
    return { check: "node", ok: false, message, exitCode: EXIT.attention };
  }
  const message = isMended(node) ? m.check.node({ node }) : m.check.nodeAdvisory({ node, advisory: BROTLI_ADVISORY });
  return { check: "node", ok: true, message, exitCode: EXIT.ok };
}

function checkDisk(loaded: LoadedConfig): CheckResult {
  const folder = path.dirname(loaded.config.database.path);
  try {
    const space = readDiskSpace(folder);
    const free = sizeOf(space.free);
    return judgeSpace(space, false) === "room"
      ? { check: "disk", ok: true, message: m.check.freeIn({ free, folder }), exitCode: EXIT.ok }
      : { check: "disk", ok: false, message: m.check.fewFree({ free, folder }), exitCode: EXIT.attention };
  } catch (error) {
    return {
      check: "disk",
      ok: false,
      message: m.check.notLooked({ folder, why: asError(error).text }),
      exitCode: EXIT.config,
    };
  }
}

/** The folder of the images, where the feed reads files: its absence stops that feed alone. */
/** Whether copies and the journal can be written where they are to stand; a folder that is not there yet is made by the daemon. */
function checkCopies({ config: { backup } }: LoadedConfig): CheckResult[] {
  return [backup.dir, backup.journal].flatMap((folder) => {
    if (folder === null) return [];
    const lacks = whyUnwritable(folder);
    return lacks === undefined
      ? []
      : [
          {
            check: "backup",
            ok: false,
            message: m.check.noCopies({ folder, lacks }),
            exitCode: EXIT.attention,
          },
        ];
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

function checkImages({ config }: LoadedConfig): CheckResult[] {
  const { path: importPath, send, folder } = config.imports.images;
  if (importPath === null || send === "url" || folder === null) return [];
  const lacks = whyUnreadable(folder);
  return lacks === undefined
    ? [{ check: "images", ok: true, message: m.check.readable({ source: folder }), exitCode: EXIT.ok }]
    : [{ check: "images", ok: false, message: m.check.noImages({ folder, lacks }), exitCode: EXIT.attention }];
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
