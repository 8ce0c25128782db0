import { existsSync, statfsSync } from "node:fs";
import path from "node:path";
import type { LoadedConfig } from "../config/load.ts";
import { openDatabase, probeService } from "../daemon.ts";
import { asError, EXIT, type ExitCode, exitCodeOf } from "../domain/errors.ts";
import { systemClock } from "../platform/clock.ts";
import { jsonLine } from "../platform/terminal.ts";
import { isLocked } from "../store/instance-lock.ts";
import { type Call, type Command, load } from "./command.ts";

export interface CheckResult {
  check: string;
  ok: boolean;
  message: string;
  exitCode: ExitCode;
}

/** Less free space than this is worth a word: a day of orders and a migration's copy need room. */
const FREE_BYTES_MIN = 200 * 1024 * 1024;

/** Configuration, database, permissions, disk; `--online` adds credentials, subscription and clocks. */
export const check: Command<{ online?: boolean }> = async (call, { online }) => {
  const loaded = load(call);
  const results: CheckResult[] = [
    { check: "configuration", ok: true, message: `${loaded.file} is valid`, exitCode: EXIT.ok },
    ...loaded.warnings.map((message) => ({ check: "configuration", ok: false, message, exitCode: EXIT.attention })),
    checkDatabase(loaded),
    checkDisk(loaded),
  ];
  if (online === true) results.push(...(await probeService(loaded, systemClock)));
  report(call, results);
  const order: ExitCode[] = [
    EXIT.config,
    EXIT.credentials,
    EXIT.busyInstance,
    EXIT.unreachable,
    EXIT.failed,
    EXIT.attention,
  ];
  return order.find((code) => results.some((result) => result.exitCode === code)) ?? EXIT.ok;
};

function checkDatabase(loaded: LoadedConfig): CheckResult {
  const file = loaded.config.database.path;
  try {
    if (!existsSync(file)) {
      // Opening would make the file; whether that can work is seen from its folder.
      const folder = path.dirname(file);
      if (!existsSync(folder)) throw new Error(`its folder ${folder} does not exist`);
      return {
        check: "database",
        ok: true,
        message: `${file} does not exist yet and is made at the first start`,
        exitCode: EXIT.ok,
      };
    }
    const store = openDatabase(loaded, "readonly");
    try {
      const [problem] = store.db.pragma("quick_check(1)", { simple: false }) as { quick_check: string }[];
      const isOk = problem?.quick_check === "ok";
      const running = isLocked(file) === undefined ? "" : "; a bridge is running on it";
      return isOk
        ? { check: "database", ok: true, message: `${file} is sound${running}`, exitCode: EXIT.ok }
        : {
            check: "database",
            ok: false,
            message: `${file} is damaged: ${problem?.quick_check}`,
            exitCode: EXIT.config,
          };
    } finally {
      store.close();
    }
  } catch (error) {
    const { message, hint } = asError(error);
    return {
      check: "database",
      ok: false,
      message: `${message}${hint === undefined ? "" : ` ${hint}`}`,
      exitCode: exitCodeOf(error),
    };
  }
}

function checkDisk(loaded: LoadedConfig): CheckResult {
  const folder = path.dirname(loaded.config.database.path);
  try {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const mb = Math.floor(free / 1024 / 1024);
    return free >= FREE_BYTES_MIN
      ? { check: "disk", ok: true, message: `${mb} MB free in ${folder}`, exitCode: EXIT.ok }
      : { check: "disk", ok: false, message: `only ${mb} MB free in ${folder}`, exitCode: EXIT.attention };
  } catch (error) {
    return {
      check: "disk",
      ok: false,
      message: `${folder} cannot be looked at: ${asError(error).message}`,
      exitCode: EXIT.config,
    };
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
  for (const { check: name, ok, message } of results) terminal.out(`${ok ? "ok  " : "FAIL"} ${name}: ${message}`);
}
