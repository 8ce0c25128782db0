import { printable } from "../config/problems.ts";
import { loadable, proposalLines } from "../config/proposal.ts";
import { exploreService } from "../daemon/ask-outside.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import type { Finding, FindingState } from "../probe/probe-report.ts";
import { type Call, type Command, load } from "./command.ts";
import { jsonLine } from "./terminal.ts";

export interface ProbeCommandOptions {
  /** Yes to every request that could have an effect. */
  yes?: boolean;
}

/** Finds out, as harmlessly as it can be done, what the interface document leaves open. */
export const probe: Command<ProbeCommandOptions> = async (call, { yes }) => {
  const { terminal, json } = call;
  const loaded = load(call);
  const stop = new AbortController();
  const onStop = () => stop.abort();
  process.once("SIGINT", onStop);
  process.once("SIGTERM", onStop);
  try {
    const { findings, keys, requests } = await exploreService(loaded, {
      clock: systemClock,
      signal: stop.signal,
      consent: (what) => consent(call, yes === true, what),
      progress: (text) => terminal.err(text),
    });
    const proposal = proposalLines(loadable(keys));
    if (json) terminal.out(jsonLine({ findings, requests, proposal }));
    else report(call, { findings, requests, proposal });
    return findings.some(({ state }) => state === "needs you" || state === "skipped") ? EXIT.attention : EXIT.ok;
  } finally {
    process.off("SIGINT", onStop);
    process.off("SIGTERM", onStop);
  }
};

/** Only a person says yes, on a terminal or with --yes; silence is no. */
async function consent({ terminal, json }: Call, yes: boolean, what: Message): Promise<boolean> {
  if (yes) return true;
  const { input } = terminal;
  if (json || input?.isInteractive !== true) {
    terminal.err(m.probe.notWithoutYes({ what }));
    return false;
  }
  const answer = await input.ask(m.probe.yesOrNo({ what }));
  return /^y(es)?$/i.test(answer.trim());
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
  { terminal }: Call,
  probed: { findings: readonly Finding[]; requests: number; proposal: string },
): void {
  const say = terminal.say ?? String;
  for (const { question, state, facts } of probed.findings) {
    terminal.out(STATES[state]({ question }));
    for (const fact of facts) terminal.out(`${INDENT}- ${printable(say(fact)).slice(0, FACT_MAX)}`, "as it is");
  }
  terminal.out("");
  if (probed.proposal === "") terminal.out(m.probe.nothingToChange);
  else terminal.out(m.probe.proposed({ lines: probed.proposal }));
  terminal.err(m.probe.requestsMade({ requests: probed.requests }));
}
