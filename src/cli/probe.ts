import path from "node:path";
import { printable } from "../config/problems.ts";
import { loadable, proposalLines } from "../config/proposal.ts";
import { exploreService } from "../daemon/ask-outside.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { actAsOwnerOf } from "../platform/become-owner.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import type { Finding, FindingState } from "../probe/probe-report.ts";
import { asTyped } from "./call.ts";
import { type Call, type Command, isYes, load, loadAsCaller } from "./command.ts";
import { interruption } from "./signals.ts";
import { jsonLine } from "./terminal.ts";
import { type WrittenProposal, writeProposal } from "./write-proposal.ts";

export interface ProbeCommandOptions {
  /** Consent to every request that could have an effect. */
  yes?: boolean;
  /** Writes the findings into the configuration. */
  write?: boolean;
}

/** Answers the questions that the interface document leaves open, with as few effects as possible. */
export const probe: Command<ProbeCommandOptions> = async (call, { yes, write }) => {
  const { terminal, json } = call;
  const loaded = write === true ? await loadAsCaller(call) : await load(call);
  using stop = interruption();
  const goBack = write === true ? actAsOwnerOf(path.dirname(loaded.config.database.path)) : () => undefined;
  const explored = await exploreService(loaded, {
    clock: systemClock,
    signal: stop.signal,
    consent: (what) => consent(call, { yes: yes === true, isAsked: write !== true }, what),
    progress: (text) => terminal.err(text),
  }).finally(goBack);
  const { findings, requests, isCutShort } = explored;
  const keys = loadable(explored.keys);
  const lines = { proposal: proposalLines(keys), choices: proposalLines(loadable(explored.choices)) };
  const written =
    write === true && Object.keys(keys).length > 0 ? writeProposal(loaded, keys, terminal.env) : undefined;
  if (json) terminal.out(jsonLine({ findings, requests, ...lines, written: written ?? null }));
  else report(call, { findings, requests, ...lines, written });
  if (write === true) return isCutShort ? EXIT.attention : EXIT.ok;
  return findings.some(({ state }) => state === "needs you" || state === "skipped") ? EXIT.attention : EXIT.ok;
};

/** Consent needs a person at a terminal or --yes; no answer means no. */
async function consent(
  { terminal, json }: Call,
  { yes, isAsked }: { yes: boolean; isAsked: boolean },
  what: Message,
): Promise<boolean> {
  if (yes) return true;
  const { input } = terminal;
  if (!isAsked || json || input?.isInteractive !== true) {
    terminal.err(m.probe.notWithoutYes({ what }));
    return false;
  }
  const answer = await input.ask(m.probe.yesOrNo({ what }));
  return isYes(answer);
}

const STATES = {
  found: m.probe.found,
  "not found": m.probe.notFound,
  "needs you": m.probe.needsYou,
  skipped: m.probe.skipped,
} satisfies Record<FindingState, unknown>;
const INDENT = " ".repeat(11);
const FACT_MAX = 600;

function report(
  call: Call,
  probed: {
    findings: readonly Finding[];
    requests: number;
    proposal: string;
    choices: string;
    written: WrittenProposal | undefined;
  },
): void {
  const { terminal } = call;
  const { proposal, choices, written } = probed;
  const say = terminal.say ?? String;
  for (const { question, state, facts } of probed.findings) {
    terminal.out(STATES[state]({ question }));
    for (const fact of facts) terminal.out(`${INDENT}- ${printable(say(fact)).slice(0, FACT_MAX)}`, "as it is");
  }
  terminal.out("");
  if (written !== undefined) reportWritten(call, written);
  else if (proposal === "") terminal.out(m.probe.nothingToChange);
  else terminal.out(m.probe.proposed({ lines: proposal, command: asTyped("erp-bridge probe --write", call) }));
  if (choices !== "") terminal.out(m.probe.yours({ lines: choices }));
  terminal.err(m.probe.requestsMade({ requests: probed.requests }));
}

function reportWritten(call: Call, { file, kept, changes, reload }: WrittenProposal): void {
  const { terminal } = call;
  terminal.out(m.probe.written({ file }));
  for (const { removed, added } of changes) {
    for (const line of removed) terminal.out(`- ${printable(line)}`, "as it is");
    for (const line of added) terminal.out(`+ ${printable(line)}`, "as it is");
  }
  terminal.out(m.probe.kept({ kept }));
  if (reload === "asked") terminal.out(m.probe.daemonReads);
  else if (reload === "needed")
    terminal.out(m.probe.reloadDaemon({ command: asTyped("systemctl reload erp-bridge", call) }));
  else terminal.out(m.probe.thenSync({ command: asTyped("erp-bridge sync orders updates", call) }));
}
