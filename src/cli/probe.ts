import { printable } from "../config/problems.ts";
import { loadable, proposalLines } from "../config/proposal.ts";
import { exploreService } from "../daemon/ask-outside.ts";
import { counted } from "../messages/counted.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import type { Finding } from "../probe/probe-report.ts";
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
async function consent({ terminal, json }: Call, yes: boolean, what: string): Promise<boolean> {
  if (yes) return true;
  const { input } = terminal;
  if (json || input?.isInteractive !== true) {
    terminal.err(`Not done without --yes: ${what}`);
    return false;
  }
  const answer = await input.ask(`${what} [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

const WIDTH = 10;
const FACT_MAX = 600;

function report(
  { terminal }: Call,
  probed: { findings: readonly Finding[]; requests: number; proposal: string },
): void {
  for (const { question, state, facts } of probed.findings) {
    terminal.out(`${state.padEnd(WIDTH)} ${question}`);
    for (const fact of facts) terminal.out(`${" ".repeat(WIDTH + 1)}- ${printable(fact).slice(0, FACT_MAX)}`);
  }
  terminal.out("");
  if (probed.proposal === "") terminal.out("Nothing in the configuration needs to be changed by what was found.");
  else terminal.out(`Proposed for the configuration:\n\n${probed.proposal}`);
  terminal.err(`${counted(probed.requests, "request")} made, and no GET /orders among them.`);
}
