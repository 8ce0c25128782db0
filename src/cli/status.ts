import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findAccepted, type SeenConfig } from "../config/accepted.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked, type LockHolder, machineMs } from "../database/file/instance-lock.ts";
import { unwritableDisk } from "../database/sqlite-errors.ts";
import { statusWords } from "../health/condition-words.ts";
import { measureAges } from "../health/conditions.ts";
import { loadFacts } from "../health/fact-rows.ts";
import { describeRow } from "../health/flow-row.ts";
import { type ConditionRow, loadConditions } from "../health/health-rows.ts";
import { describeStatus, type ReportedCondition } from "../health/status.ts";
import { m } from "../messages/messages.ts";
import { becomeOwnerOf } from "../platform/become-owner.ts";
import type { ExitCode } from "../platform/errors.ts";
import type { Style } from "../platform/paint.ts";
import { type Trouble, Troubles } from "../platform/troubles.ts";
import { loadObservations } from "../probe/observations.ts";
import { asTyped, isByHand, speakAs } from "./call.ts";
import type { Call, Command } from "./command.ts";
import { jsonLine } from "./terminal.ts";

/** Interval of `--watch`. */
const WATCH_MS = 2_000;
/** A daemon that can write gives a sign of life each second. */
const SIGN_WITHIN_MS = 3_000;
const CLEAR = "\u001b[2J\u001b[H";

/** Shows one sentence on the overall state, then a line a flow; with `--watch` repeatedly, until it is interrupted. */
export const status: Command<{ watch?: boolean }> = async (call, { watch = false }) => {
  const config = await loadSeen(call);
  if (!watch) {
    const look = await lookNow(config, call);
    call.terminal.out(call.json ? look.json : look.lines.join("\n"));
    return look.exitCode;
  }
  const { interruption } = await import("./signals.ts");
  using stop = interruption();
  return await watchStatus(call, config, stop.signal);
};

/** Validates the whole file only where no daemon has accepted this version of it. */
async function loadSeen(call: Call): Promise<SeenConfig> {
  const { configFile, terminal } = call;
  const accepted = findAccepted({ file: configFile, env: terminal.env });
  if (accepted === undefined) {
    const { load, readExisting } = await import("./command.ts");
    const { refuseOtherAccount } = await import("../daemon/account.ts");
    const loaded = await load(call);
    using store = readExisting(loaded);
    // What is well with another shop says nothing of this one.
    refuseOtherAccount(store, loaded);
    return loaded.config;
  }
  speakAs(call, accepted);
  becomeOwnerOf(path.dirname(accepted.database.path), terminal.env);
  return accepted;
}

/** Redraws the whole status on a terminal; writes one line per look to a file or a pipe. */
async function watchStatus(call: Call, config: SeenConfig, signal: AbortSignal): Promise<ExitCode> {
  const { terminal } = call;
  for (;;) {
    const look = await lookNow(config, call);
    const time = new Date().toISOString().slice(11, 19);
    if (call.json) terminal.out(look.json);
    else if (terminal.outIsTerminal === true) terminal.out(`${CLEAR}${look.lines.join("\n")}`);
    else terminal.out(`${time} ${look.lines[0] ?? ""}`);
    if (terminal.outFailure?.() !== undefined || terminal.outIsClosed?.() === true) return look.exitCode;
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

async function lookNow(config: SeenConfig, call: Call): Promise<Look> {
  const { paint } = call;
  const say = call.terminal.say ?? String;
  using store = openReadOnly(config.database.path);
  const nowMs = Date.now();
  const lock = isLocked(config.database.path);
  const silentMs = silenceOf(lock?.holder);
  const unwritable = diskTrouble(store.path, nowMs, silentMs);
  const met = unwritable ?? store.troubles.first ?? lock?.holder?.met;
  const facts = measureAges({ ...loadFacts(store), met }, { nowMs, startedAtMs: startOf(lock?.holder, nowMs) });
  const now = { nowMs, isRunning: lock !== undefined, silentMs: unwritable === undefined ? silentMs : undefined };
  const limits = { erpReadWithinMs: config.erp.read_within };
  const report = describeStatus(facts, now, limits);
  const observations = loadObservations(store).filter(({ state }) => state === "new");
  const { holds } = facts;
  const kept = loadConditions(store);
  const flows = facts.flows.map((flow) => {
    const { lead, rest } = splitRow(flow.sentence, kept, report.conditions);
    return { ...flow, sentence: lead + rest };
  });
  const json = jsonLine({ ok: report.exitCode === 0, running: now.isRunning, ...report, flows, holds, observations });
  const noticed =
    observations.length === 0
      ? undefined
      : (await import("../probe/observation.ts")).describeObservations(observations);
  const { language } = config;
  const shown = describeStatus(facts, now, limits, language);
  // A daemon that was started by hand does not log to the journal.
  const isTyped = (command: string) => !(command.startsWith("journalctl ") && isByHand(call));
  const next = (command: string | null) =>
    command === null || !isTyped(command)
      ? []
      : [`${statusWords(language).next}: ${paint("name", asTyped(command, call, lock?.holder?.pid))}`];
  const [worst, ...others] = shown.conditions;
  const lines = [
    paint(worst === undefined ? "good" : styleOf(worst), shown.sentence),
    ...next(worst?.command ?? null).map((line) => `  ${line}`),
    ...others.map((one) => [paint(styleOf(one), "!"), one.text, ...next(one.command)].join(" ")),
    ...facts.flows
      .filter(({ enabled, waiting, quarantined, held }) => enabled || waiting + quarantined > 0 || held !== null)
      .map((flow) => {
        const { lead, isBehind } = splitRow(flow.sentence, kept, shown.conditions);
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

/** Undefined where the holder writes no signs of life, or wrote them before the machine was restarted. */
function silenceOf(holder: LockHolder | undefined): number | undefined {
  const silentMs = machineMs() - (holder?.aliveMs ?? Number.POSITIVE_INFINITY);
  return silentMs >= 0 ? silentMs : undefined;
}

/**
 * A disk that cannot be written. The daemon can then write down neither its trouble nor signs of life, so their absence
 * proves nothing; and where it gives them, only this command cannot write, as in a container of its own.
 */
function diskTrouble(file: string, nowMs: number, silentMs: number | undefined): Trouble | undefined {
  if (silentMs !== undefined && silentMs < SIGN_WITHIN_MS) return undefined;
  const error = unwritableDisk(file, m.database.writing);
  if (error === undefined) return undefined;
  const troubles = new Troubles(() => nowMs - (silentMs ?? 0));
  troubles.note("write", error, path.dirname(file));
  return troubles.first;
}

/** When the daemon started; a lock without details is of one that has just started. */
function startOf(holder: LockHolder | undefined, nowMs: number): number {
  const startedAtMs = Date.parse(holder?.since ?? "");
  return Number.isNaN(startedAtMs) ? nowMs : startedAtMs;
}

/** A sentence in `sync_status` may begin with a condition that is out of date; the present one replaces it, if any. */
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
