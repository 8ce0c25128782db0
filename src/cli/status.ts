import { setTimeout as sleep } from "node:timers/promises";
import type { LoadedConfig } from "../config/load.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked, type LockHolder, machineMs } from "../database/instance-lock.ts";
import { type ConditionRow, loadConditions } from "../health/condition-rows.ts";
import { statusWords } from "../health/condition-words.ts";
import { loadFacts } from "../health/fact-rows.ts";
import { describeRow } from "../health/flow-row.ts";
import { measureAges } from "../health/health.ts";
import { describeStatus, type ReportedCondition } from "../health/status.ts";
import { m } from "../messages/messages.ts";
import type { ExitCode } from "../platform/errors.ts";
import type { Style } from "../platform/paint.ts";
import { describeObservations } from "../probe/observation.ts";
import { loadObservations } from "../probe/observations.ts";
import { asTyped, type Call, type Command, isByHand, load, requireDatabase } from "./command.ts";
import { interruption } from "./signals.ts";
import { jsonLine } from "./terminal.ts";

/** How often `--watch` looks again. */
const WATCH_MS = 2_000;
const CLEAR = "\u001b[2J\u001b[H";

/** Is all well? One sentence, then a line a flow; with `--watch` again and again until it is interrupted. */
export const status: Command<{ watch?: boolean }> = async (call, { watch = false }) => {
  const loaded = await load(call);
  requireDatabase(loaded);
  if (!watch) {
    const look = lookNow(loaded, call);
    call.terminal.out(call.json ? look.json : look.lines.join("\n"));
    return look.exitCode;
  }
  using stop = interruption();
  return await watchStatus(call, loaded, stop.signal);
};

/** On a terminal the whole picture is drawn anew; into a file or a pipe goes a line for each look. */
async function watchStatus(call: Call, loaded: LoadedConfig, signal: AbortSignal): Promise<ExitCode> {
  const { terminal } = call;
  for (;;) {
    const look = lookNow(loaded, call);
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

function lookNow(loaded: LoadedConfig, call: Call): Look {
  const { paint } = call;
  const say = call.terminal.say ?? String;
  using store = openReadOnly(loaded.config.database.path);
  const nowMs = Date.now();
  const lock = isLocked(loaded.config.database.path);
  const met = store.troubles.first ?? lock?.holder?.met;
  const facts = measureAges({ ...loadFacts(store), met }, { nowMs, startedAtMs: startOf(lock?.holder, nowMs) });
  const now = { nowMs, isRunning: lock !== undefined, silentMs: silenceOf(lock?.holder) };
  const limits = { erpReadWithinMs: loaded.config.erp.read_within };
  const report = describeStatus(facts, now, limits);
  const observations = loadObservations(store).filter(({ state }) => state === "new");
  const { holds } = facts;
  const kept = loadConditions(store);
  const flows = facts.flows.map((flow) => {
    const { lead, rest } = splitRow(flow.sentence, kept, report.conditions);
    return { ...flow, sentence: lead + rest };
  });
  const json = jsonLine({ ok: report.exitCode === 0, running: now.isRunning, ...report, flows, holds, observations });
  const noticed = describeObservations(observations);
  const { language } = loaded.config;
  const told = describeStatus(facts, now, limits, language);
  // The log of a daemon that was started by hand is where it was started.
  const isTyped = (command: string) => !(command.startsWith("journalctl ") && isByHand(call));
  const next = (command: string | null) =>
    command === null || !isTyped(command)
      ? []
      : [`${statusWords(language).next}: ${paint("name", asTyped(command, call))}`];
  const [worst, ...others] = told.conditions;
  const lines = [
    paint(worst === undefined ? "good" : styleOf(worst), told.sentence),
    ...next(worst?.command ?? null).map((line) => `  ${line}`),
    ...others.map((one) => [paint(styleOf(one), "!"), one.text, ...next(one.command)].join(" ")),
    ...facts.flows
      .filter(({ enabled }) => enabled)
      .map((flow) => {
        const { lead, isBehind } = splitRow(flow.sentence, kept, told.conditions);
        return `  ${paint("name", flow.flow.padEnd(10))} ${lead}${say(describeRow(flow, facts, nowMs, isBehind))}`;
      }),
    ...holds.flatMap(({ area, reason, detail }) =>
      detail === null ? [] : [say(m.common.indented({ text: m.status.hold({ area, reason, detail }) }))],
    ),
    ...(facts.acceptedByStatusOnly.length === 0
      ? []
      : [say(m.common.indented({ text: m.status.byStatusOnly({ names: facts.acceptedByStatusOnly }) }))]),
    ...(noticed === undefined ? [] : [say(m.common.indented({ text: noticed }))]),
  ];
  return { lines, json, exitCode: report.exitCode };
}

function styleOf({ severity }: ReportedCondition): Style {
  return severity === "critical" || severity === "error" ? "error" : "warning";
}

/** Undefined where the holder gives no signs of life, or gave them to another start of the machine. */
function silenceOf(holder: LockHolder | undefined): number | undefined {
  const silentMs = machineMs() - (holder?.aliveMs ?? Number.POSITIVE_INFINITY);
  return silentMs >= 0 ? silentMs : undefined;
}

/** When the daemon began to look; a holder without words has just begun. */
function startOf(holder: LockHolder | undefined, nowMs: number): number {
  const startedAtMs = Date.parse(holder?.since ?? "");
  return Number.isNaN(startedAtMs) ? nowMs : startedAtMs;
}

/**
 * A sentence of `sync_status` may begin with a condition as it stood when the daemon last wrote them down: the one that stands now takes its
 * place, or nothing does.
 */
function splitRow(sentence: string, kept: readonly ConditionRow[], now: readonly ReportedCondition[]) {
  const first = kept.find(({ text }) => sentence.startsWith(`${text} `));
  if (first === undefined) return { lead: "", rest: sentence, isBehind: false };
  const standing = now.find(({ code, subject }) => code === first.code && subject === first.subject);
  return {
    lead: standing === undefined ? "" : `${standing.text} `,
    rest: sentence.slice(first.text.length + 1),
    isBehind: true,
  };
}
