import path from "node:path";
import { type CopyProgress, copyDatabase } from "../backup/copy-database.ts";
import { showConfig } from "../config/show.ts";
import { describeBytes } from "../domain/disk-space.ts";
import { EXIT } from "../domain/errors.ts";
import { isoTime } from "../domain/ports.ts";
import { jsonLine, type Terminal } from "../platform/terminal.ts";
import { resolveDatabasePath } from "../store/file-checks.ts";
import { type Command, load, requireDatabase } from "./command.ts";

/** A line for so much progress. */
const SHARE_PER_LINE = 0.1;

/** A consistent, verified copy, also while the daemon runs, with the effective configuration beside it. */
export const backup: Command<{ file: string }> = async (call, { file }) => {
  const loaded = load(call);
  requireDatabase(loaded);
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    const made = await copyDatabase({
      source: resolveDatabasePath(loaded.config.database.path),
      target: path.resolve(file),
      at: isoTime(Date.now()),
      configText: showConfig(loaded),
      signal: abort.signal,
      ...(call.terminal.isTerminal && { onProgress: tellProgress(call.terminal) }),
    });
    if (call.json) call.terminal.out(jsonLine(made));
    else call.terminal.out(`${made.file}: a verified copy (${describeBytes(made.bytes)}).`);
    return EXIT.ok;
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
};

function tellProgress(terminal: Terminal): (progress: CopyProgress) => void {
  let told = 0;
  let step = "";
  return (progress) => {
    if (progress.step === "verifying" && step !== "verifying") terminal.err("Verifying the copy");
    step = progress.step;
    if (progress.step === "verifying" || progress.share - told < SHARE_PER_LINE) return;
    told = progress.share;
    terminal.err(`Copying: ${Math.floor(progress.share * 100)} %`);
  };
}
