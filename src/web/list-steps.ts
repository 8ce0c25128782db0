import type { StatusFacts } from "../health/status.ts";
import type { PageWords } from "./page-words.ts";

/** Something that a person can do. */
export interface Step {
  text: string;
  command?: string;
}

/** What to do about all that needs attention; each command once. */
export function listSteps(facts: StatusFacts, illnesses: readonly { reason: string }[], words: PageWords): Step[] {
  const { steps } = words;
  const list: Step[] = facts.holds.map(({ area, reason }) => stepForHold(area, reason, words));
  if (facts.unread > 0) list.push({ text: steps.unread, command: "erp-bridge status" });
  if (facts.flows.some(({ flow, quarantined }) => flow !== "erp" && quarantined > 0)) {
    list.push({ text: steps.quarantine, command: "erp-bridge quarantine list" });
  }
  if (facts.flows.some(({ flow, quarantined }) => flow === "erp" && quarantined > 0))
    list.push({ text: steps.blocked });
  if (illnesses.some(({ reason }) => reason === "untaken")) list.push({ text: steps.untaken });
  if (illnesses.some(({ reason }) => reason === "unwritten")) list.push({ text: steps.unwritten });
  if (list.length === 0) list.push({ text: steps.status, command: "erp-bridge status" });
  const seen = new Set<string>();
  return list.filter(({ text, command = text }) => !seen.has(command) && seen.add(command));
}

function stepForHold(area: string, reason: string, { steps }: PageWords): Step {
  const resume = `erp-bridge resume ${area}`;
  if (reason === "mapping") return { text: steps.remap, command: "erp-bridge remap" };
  if (reason === "guard") return { text: steps.approve, command: `erp-bridge approve ${area}` };
  if (reason === "credentials") return { text: steps.credentials, command: resume };
  if (reason === "payment") return { text: steps.payment, command: resume };
  return { text: steps.resume, command: resume };
}
