import { setTimeout as sleep } from "node:timers/promises";
import type { LoadedConfig } from "../config/load.ts";
import { isLocked } from "../database/instance-lock.ts";
import { describeStatus, withWords } from "../health/status.ts";
import { loadStatusFacts } from "../health/status-rows.ts";
import { openDatabase } from "../pass/open-database.ts";
import type { ExitCode } from "../platform/errors.ts";
import { loadObservations } from "../probe/observations.ts";
import { describeObservations } from "../probe/observe.ts";
import { type Call, type Command, load, requireDatabase } from "./command.ts";
import { jsonLine } from "./terminal.ts";

/** How often `--watch` looks again. */
const WATCH_MS = 2_000;
const CLEAR = "\u001b[2J\u001b[H";

/** Is all well? One sentence, then a line a flow; with `--watch` again and again until it is interrupted. */
export const status: Command<{ watch?: boolean }> = async (call, { watch = false }) => {
  const loaded = load(call);
  requireDatabase(loaded);
  if (!watch) {
    const look = lookNow(loaded, call.terminal.say);
    call.terminal.out(call.json ? look.json : look.lines.join("\n"));
    return look.exitCode;
  }
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    return await watchStatus(call, loaded, stop.signal);
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
};

/** On a terminal the whole picture is drawn anew; into a file or a pipe goes a line for each look. */
async function watchStatus(call: Call, loaded: LoadedConfig, signal: AbortSignal): Promise<ExitCode> {
  const { terminal } = call;
  for (;;) {
    const look = lookNow(loaded, terminal.say);
    const time = new Date().toISOString().slice(11, 19);
    if (call.json) terminal.out(look.json);
    else if (terminal.outIsTerminal === true) terminal.out(`${CLEAR}${look.lines.join("\n")}`);
    else terminal.out(`${time} ${look.lines[0] ?? ""}`);
    try {
      await sleep(WATCH_MS, undefined, { signal });
    } catch {
      return look.exitCode;
    }
  }
}

interface Look {
  lines: string[];
  json: string;
  exitCode: ExitCode;
}

function lookNow(loaded: LoadedConfig, say: (text: string) => string = (text) => text): Look {
  const store = openDatabase(loaded, "readonly");
  try {
    const facts = loadStatusFacts(store);
    const now = { nowMs: Date.now(), isRunning: isLocked(loaded.config.database.path) !== undefined };
    const limits = { erpReadWithinMs: loaded.config.erp.read_within };
    const report = describeStatus(facts, now, limits);
    const observations = loadObservations(store).filter(({ state }) => state === "new");
    const { flows, holds } = facts;
    const json = jsonLine({ ok: report.exitCode === 0, running: now.isRunning, ...report, flows, holds, observations });
    const noticed = describeObservations(observations);
    const told = describeStatus(withWords(facts, say), now, limits, loaded.config.language);
    const lines = [
      told.sentence,
      ...told.attention.slice(1).map((line) => `! ${line}`),
      ...flows.filter(({ enabled }) => enabled).map(({ flow, sentence }) => `  ${flow.padEnd(10)} ${say(sentence)}`),
      ...holds.flatMap(({ area, reason, detail }) =>
        detail === null ? [] : [`  hold: ${area} (${reason}): ${detail}`],
      ),
      ...(facts.acceptedByStatusOnly.length === 0
        ? []
        : [`  ${facts.acceptedByStatusOnly.join(", ")}: accepted by status code only.`]),
      ...(noticed === undefined ? [] : [`  ${noticed}`]),
    ];
    return { lines, json, exitCode: report.exitCode };
  } finally {
    store.close();
  }
}
