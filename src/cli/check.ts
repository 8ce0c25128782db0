import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import { readDiskSpace } from "../backup/disk-space.ts";
import { describeBytes, judgeSpace } from "../backup/space-rule.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { probeService } from "../daemon/ask-outside.ts";
import { describeObjects, ErpObjects } from "../database/erp-objects.ts";
import { checkDatabaseFile, resolveDatabasePath } from "../database/file-checks.ts";
import { isLocked } from "../database/instance-lock.ts";
import { verifyTables } from "../database/verify-tables.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { newDatabaseStatements, openDatabase } from "../pass/open-database.ts";
import { systemClock } from "../platform/clock.ts";
import { asError, BridgeError, EXIT, type ExitCode, exitCodeOf } from "../platform/errors.ts";
import { BROTLI_ADVISORY, isMended, loadBuildDate, monthsTooOld } from "../platform/runtime.ts";
import { checkInstances } from "./check-instances.ts";
import { checkListen } from "./check-listen.ts";
import { type Call, type Command, load, worstOf } from "./command.ts";
import { readableSources } from "./preview.ts";
import { jsonLine } from "./terminal.ts";

export interface CheckResult {
  check: string;
  ok: boolean;
  message: Message | string;
  exitCode: ExitCode;
}

/** Looking through a database of this size takes longer than a person waits without a word. */
const LONG_FROM_BYTES = 256 * 1024 * 1024;

/** Configuration, database, permissions, disk; `--online` adds credentials, subscription and clocks. */
export const check: Command<{ online?: boolean }> = async (call, { online }) => {
  const loaded = load(call);
  const results: CheckResult[] = [
    { check: "configuration", ok: true, message: `${loaded.file} is valid`, exitCode: EXIT.ok },
    ...loaded.warnings.map((message) => ({ check: "configuration", ok: false, message, exitCode: EXIT.attention })),
    checkDatabase(call, loaded),
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
      () => probeService(loaded, systemClock),
    );
    results.push(...asked);
  }
  report(call, results);
  return worstOf(results.map(({ exitCode }) => exitCode));
};

function checkDatabase({ progress }: Call, loaded: LoadedConfig): CheckResult {
  try {
    const message = describeDatabase(loaded, () => void progress.announce(m.check.lookingThrough));
    return { check: "database", ok: true, message, exitCode: EXIT.ok };
  } catch (error) {
    const { message, hint } = asError(error);
    const text = hint === undefined ? message : `${message} ${hint}`;
    return { check: "database", ok: false, message: text, exitCode: exitCodeOf(error) };
  }
}

/** What the ERP has put on the bridge's tables. What else is wrong with the database is told by its own check. */
function checkObjects(loaded: LoadedConfig): CheckResult[] {
  try {
    const store = openDatabase(loaded, "readonly");
    try {
      const found = new ErpObjects(store).list();
      if (found.length === 0) return [];
      const message = `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${describeObjects(found)}.`;
      return [{ check: "database", ok: false, message, exitCode: EXIT.attention }];
    } finally {
      store.close();
    }
  } catch {
    return [];
  }
}

/** Whether a bridge could work on it: it may be written, is sound, and belongs to this account. Changes nothing. */
function describeDatabase(loaded: LoadedConfig, onLong: () => void): string {
  const file = resolveDatabasePath(loaded.config.database.path);
  const bytes = checkDatabaseFile(file, "write");
  if (bytes === undefined) return `${file} does not exist yet and is made at the first start`;
  if (bytes >= LONG_FROM_BYTES) onLong();
  const store = openDatabase(loaded, "readonly");
  try {
    refuseOtherAccount(store, loaded);
    const [found] = verifyTables(store.db, "quick_check", 1).problems;
    if (found !== undefined) {
      throw new BridgeError("database_corrupt", `${file} is damaged (${found}).`, {
        hint: "Restore a backup: erp-bridge restore FILE.",
      });
    }
    return `${file} is sound${isLocked(file) === undefined ? "" : "; a bridge is running on it"}`;
  } finally {
    store.close();
  }
}

/** Whether what feeds read is there, with every column that they name, and ends. */
async function checkSources(loaded: LoadedConfig): Promise<CheckResult[]> {
  const isThere = existsSync(loaded.config.database.path);
  const looks = await readableSources(loaded, isThere ? null : newDatabaseStatements());
  return looks.map(({ feed, source, makesWritersWait, error }) => {
    const name = `imports.${feed}`;
    if (error !== undefined) {
      const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
      return { check: name, ok: false, message: text, exitCode: exitCodeOf(error) };
    }
    return makesWritersWait
      ? {
          check: name,
          ok: false,
          message: `${source} is not in WAL mode: programs that write it wait while it is read`,
          exitCode: EXIT.attention,
        }
      : { check: name, ok: true, message: `${source} can be read`, exitCode: EXIT.ok };
  });
}

/** Fixes of Node reach an installation with newer packages only. */
function checkRuntime(): CheckResult {
  const { node } = process.versions;
  const built = loadBuildDate();
  const months = built === undefined ? undefined : monthsTooOld(built, Date.now());
  if (months !== undefined) {
    const message = `Node ${node} came with a package that is ${months} months old: install a newer one, for its security fixes`;
    return { check: "node", ok: false, message, exitCode: EXIT.attention };
  }
  const known = isMended(node) ? "" : `; ${BROTLI_ADVISORY} is known against it, in a part that is never used here`;
  return { check: "node", ok: true, message: `Node ${node}${known}`, exitCode: EXIT.ok };
}

function checkDisk(loaded: LoadedConfig): CheckResult {
  const folder = path.dirname(loaded.config.database.path);
  try {
    const space = readDiskSpace(folder);
    const free = describeBytes(space.free);
    return judgeSpace(space, false) === "room"
      ? { check: "disk", ok: true, message: `${free} free in ${folder}`, exitCode: EXIT.ok }
      : { check: "disk", ok: false, message: `only ${free} free in ${folder}`, exitCode: EXIT.attention };
  } catch (error) {
    return {
      check: "disk",
      ok: false,
      message: `${folder} cannot be looked at: ${asError(error).message}`,
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
            message: `${folder} ${lacks}; no copy can be kept there`,
            exitCode: EXIT.attention,
          },
        ];
  });
}

function whyUnwritable(folder: string): string | undefined {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined)
      return path.dirname(folder) === folder ? "is not a folder" : whyUnwritable(path.dirname(folder));
    if (!found.isDirectory()) return "is not a folder";
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch {
    return "may not be written";
  }
}

function checkImages({ config }: LoadedConfig): CheckResult[] {
  const { path: importPath, send, folder } = config.imports.images;
  if (importPath === null || send === "url" || folder === null) return [];
  const lacks = whyUnreadable(folder);
  return lacks === undefined
    ? [{ check: "images", ok: true, message: `${folder} can be read`, exitCode: EXIT.ok }]
    : [{ check: "images", ok: false, message: `${folder} ${lacks}; no image is sent`, exitCode: EXIT.attention }];
}

function whyUnreadable(folder: string): string | undefined {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return "is not a folder";
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return undefined;
  } catch {
    return "may not be read";
  }
}

function report({ json, terminal }: Call, results: readonly CheckResult[]): void {
  if (json) {
    terminal.out(
      jsonLine({
        ok: results.every(({ ok }) => ok),
        checks: results.map(({ check, ok, message }) => ({ check, ok, message })),
      }),
    );
    return;
  }
  for (const result of results) terminal.out(describeCheck(result));
}

export function describeCheck({ check, ok, message }: CheckResult): Message {
  const text = typeof message === "string" ? m.common.plain({ text: message }) : message;
  return ok ? m.check.passed({ check, text }) : m.check.failed({ check, text });
}
