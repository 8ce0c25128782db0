import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { type CopyProgress, copyDatabase, longestBeside } from "../backup/copy-database.ts";
import { sizeOf } from "../backup/space-rule.ts";
import { showConfig } from "../config/show.ts";
import { isNameOfDatabase } from "../database/file/copy-names.ts";
import { checkDatabaseFile, resolveDatabasePath } from "../database/file/file-checks.ts";
import { m } from "../messages/messages.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { load, requireDatabase } from "./command.ts";
import { requireFolderOf } from "./given-path.ts";
import { type Step, withProgress } from "./progress.ts";
import { interruption } from "./signals.ts";
import { jsonLine } from "./terminal.ts";

const BYTES_PER_MB = 1_000_000;

/** Makes a consistent, verified copy, even while the daemon runs, with the effective configuration beside it. */
export const backup = withProgress<{ file: string }>(async (call, { file }) => {
  const loaded = await load(call);
  requireDatabase(loaded);
  using stop = interruption();
  const source = resolveDatabasePath(loaded.config.database.path);
  checkDatabaseFile(source, "read");
  const target = path.resolve(file);
  refuseOwnName(target, source);
  requireFolderOf(target, longestBeside(target), m.backup.copyingTo({ target }));
  let current: CopyProgress = { step: "copying", share: 0 };
  const copying = () =>
    copyDatabase({
      source,
      target,
      at: isoTime(Date.now()),
      configText: showConfig(loaded),
      signal: stop.signal,
      onProgress: (progress) => {
        current = progress;
      },
    });
  const made = await call.progress.during(() => stepOf(current, statSync(source).size), copying);
  if (call.json) call.terminal.out(jsonLine(made));
  else call.terminal.out(m.restore.copyMade({ file: made.file, size: sizeOf(made.bytes) }));
  if (!call.json && made.skipped.length > 0) {
    call.terminal.out(m.restore.notVerified({ names: made.skipped }));
  }
  if (!call.json && made.erpComplaints.length > 0) {
    call.terminal.out(m.database.erpComplaints({ found: made.erpComplaints.join("; ") }));
  }
  return EXIT.ok;
});

/**
 * Refuses names that SQLite uses beside the database: SQLite would treat the copy as its own file and destroy one or
 * the other.
 */
function refuseOwnName(target: string, database: string): void {
  const folder = path.dirname(target);
  const real = path.join(existsSync(folder) ? realpathSync(folder) : folder, path.basename(target));
  if (!isNameOfDatabase(real, database)) return;
  throw new BridgeError("usage", m.restore.databaseName({ target }), { hint: m.restore.otherName });
}

function stepOf({ step, share }: CopyProgress, bytes: number): Step {
  if (step === "verifying") return { what: m.restore.verifyingCopy };
  const total = bytes / BYTES_PER_MB;
  return { what: m.restore.copying, unit: "MB", done: share * total, total };
}
