import type { FlowStatus } from "../health/status.ts";
import { errorWords, holdWords, type StatusWords, statusWords } from "../health/status-words.ts";
import { type Html, html } from "./html.ts";
import { type FlowKey, type FlowState, flowName, type PageWords } from "./page-words.ts";
import type { View } from "./status-page.ts";

/** In the order in which things travel: from the site to the ERP, and back. */
const ORDER: readonly FlowKey[] = [
  "orders",
  "updates",
  "erp",
  "statuses",
  "stocks",
  "prices",
  "catalog",
  "images",
  "reconcile",
  "backup",
  "upkeep",
];

export function flowSection({ reading, words, language, limits }: View): Html {
  const { facts, nowMs } = reading;
  const position = ({ flow }: FlowStatus) => (ORDER as readonly string[]).indexOf(flow);
  const flows = facts.flows.toSorted((a, b) => position(a) - position(b));
  const off = flows.filter(({ enabled }) => !enabled).map(({ flow }) => flowName(flow, words));
  const now: Told = { words, status: statusWords(language), nowMs, erpReadWithinMs: limits.erpReadWithinMs };
  return html`<section>
<h2>${words.headings.flows}</h2>
<ul class="flows">
${flows.filter(({ enabled }) => enabled).map((flow) => flowItem(flow, now))}</ul>
${off.length === 0 ? undefined : html`<p class="off">${words.switchedOff(off.join(", "))}</p>`}
</section>`;
}

interface Told {
  words: PageWords;
  status: StatusWords;
  nowMs: number;
  erpReadWithinMs: number;
}

function flowItem(flow: FlowStatus, told: Told): Html {
  const { words } = told;
  const state = stateOf(flow, told);
  const what = Object.hasOwn(words.flows, flow.flow) ? words.flows[flow.flow as FlowKey].what : "";
  return html`<li><span class="name">${flowName(flow.flow, words)}<span>${what}</span></span>
<span class="state ${state}">${words.states[state]}</span>
<span class="told">${keptTogether(describeFlow(flow, told))}</span></li>
`;
}

function stateOf(flow: FlowStatus, { nowMs, erpReadWithinMs }: Told): FlowState {
  if (flow.flow === "erp") {
    const isLate = flow.waitingSince !== null && nowMs - Date.parse(flow.waitingSince) > erpReadWithinMs;
    return isLate ? "late" : flow.quarantined > 0 ? "look" : "fresh";
  }
  if (flow.held !== null) return "held";
  if (flow.isStale) return "stale";
  if (flow.failingSince !== null) return "failing";
  if (flow.quarantined + flow.refused > 0) return "look";
  return flow.lastSuccessAt === null ? "starting" : "fresh";
}

const JUST_NOW_MS = 5_000;

/** A number and its unit stay on one line. */
function keptTogether(text: string): string {
  return text.replace(/(\d) (?=\p{L})/gu, "$1\u00a0");
}

/** What the view's own sentence says, in the page's language. */
function describeFlow(flow: FlowStatus, { words, status, nowMs }: Told): string {
  const isErp = flow.flow === "erp";
  const ago = (at: string) => status.duration(Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000)));
  const sinceSuccess = (at: string) => (nowMs - Date.parse(at) < JUST_NOW_MS ? null : ago(at));
  const parts: string[] = [];
  if (flow.held !== null) {
    const reasons = flow.held.split(", ").map((reason) => holdWords(reason, status));
    parts.push(words.heldFor(reasons.join("; ")));
  } else if (flow.failingSince !== null) {
    parts.push(words.failing(errorWords(flow.errorCode ?? "", status)));
  }
  if (!isErp)
    parts.push(flow.lastSuccessAt === null ? words.neverSucceeded : words.succeeded(sinceSuccess(flow.lastSuccessAt)));
  else if (flow.waiting === 0) parts.push(words.everythingTaken);
  if (flow.waiting > 0) {
    const oldest = flow.waitingSince === null ? null : ago(flow.waitingSince);
    parts.push(words.waiting(flow.flow, flow.waiting, oldest));
  }
  if (flow.refused > 0) parts.push(words.refused(flow.refused));
  if (flow.quarantined > 0) parts.push(words.quarantined(flow.flow, flow.quarantined));
  if (flow.asOf !== null && flow.asOf !== flow.lastSuccessAt) parts.push(words.siteAsOf(ago(flow.asOf)));
  return parts.join(" ");
}
