import type { Code } from "../health/condition-traits.ts";
import { statusWords } from "../health/condition-words.ts";
import type { FlowFacts } from "../health/facts.ts";
import type { ReportedCondition } from "../health/status.ts";
import type { Words } from "../messages/catalogues.ts";
import type { Language } from "../messages/language.ts";
import { render } from "../messages/message.ts";
import { failureWords, holdWords, type StatusWords } from "../messages/words/status.ts";
import { type Html, html } from "./html.ts";
import type { View } from "./status-page.ts";

type FlowKey = keyof Words["page"]["flows"];
type FlowState = keyof Words["page"]["states"];

/** In the order in which data travels: from the site to the ERP, and back. */
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
  "mirror",
  "backup",
  "upkeep",
];

export function flowSection({ reading, words, language }: View, conditions: readonly ReportedCondition[]): Html {
  const { facts, nowMs } = reading;
  const position = ({ flow }: FlowFacts) => (ORDER as readonly string[]).indexOf(flow);
  const flows = facts.flows.toSorted((a, b) => position(a) - position(b));
  const off = flows.filter(({ enabled }) => !enabled).map(({ flow }) => flowName(flow, words));
  const now: RowContext = { words, status: statusWords(language), nowMs, language, conditions };
  return html`<section>
<h2>${words.headings.flows}</h2>
<ul class="flows">
${flows.filter(({ enabled }) => enabled).map((flow) => flowItem(flow, now))}</ul>
${off.length === 0 ? undefined : html`<p class="off">${words.switchedOff(off.join(", "))}</p>`}
</section>`;
}

interface RowContext {
  words: Words["page"];
  status: StatusWords;
  nowMs: number;
  language: Language;
  conditions: readonly ReportedCondition[];
}

function flowItem(flow: FlowFacts, context: RowContext): Html {
  const { words } = context;
  const state = stateOf(flow, context);
  const what = Object.hasOwn(words.flows, flow.flow) ? words.flows[flow.flow as FlowKey].what : "";
  return html`<li><span class="name">${flowName(flow.flow, words)}<span>${what}</span></span>
<span class="state ${state}">${words.states[state]}</span>
<span class="told">${keptTogether(describeFlow(flow, context))}</span></li>
`;
}

/** Conditions that the row shows as its state. */
const STATES: Partial<Record<Code, FlowState>> = {
  flow_stale: "stale",
  flow_failing: "failing",
  flow_starting: "starting",
  first_pass: "starting",
  orders_untaken: "late",
};
/** Conditions that the row's own sentences already describe. */
const IN_ROW: ReadonlySet<Code> = new Set<Code>(["quarantined", "refused_rows", "blocked_orders"]);

function stateOf(flow: FlowFacts, { conditions }: RowContext): FlowState {
  if (flow.held !== null) return "held";
  const worst = conditions.find(({ subject }) => subject === flow.flow);
  if (worst !== undefined) return STATES[worst.code] ?? "look";
  return flow.flow !== "erp" && flow.lastSuccessAt === null ? "starting" : "fresh";
}

/** Conditions of the flow that neither its state nor its sentences show. */
function otherWords(flow: FlowFacts, conditions: readonly ReportedCondition[]): string[] {
  return conditions
    .filter(({ code, subject, params }) => subject === flow.flow && !("reason" in params) && !IN_ROW.has(code))
    .filter(({ code }) => STATES[code] === undefined)
    .map(({ text }) => text);
}

const JUST_NOW_MS = 5_000;

/** Keeps a number and its unit on one line. */
function keptTogether(text: string): string {
  return text.replace(/(\d) (?=\p{L})/gu, "$1\u00a0");
}

/** The sentences of a flow's row: those of `sync_status` in the page's language, and its other conditions. */
function describeFlow(flow: FlowFacts, { words, status, nowMs, language, conditions }: RowContext): string {
  const isErp = flow.flow === "erp";
  const ago = (at: string) => status.duration(Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000)));
  const sinceSuccess = (at: string) => (nowMs - Date.parse(at) < JUST_NOW_MS ? null : ago(at));
  const parts: string[] = [];
  if (flow.held !== null) {
    const reasons = flow.held.split(", ").map((reason) => holdWords(reason, status));
    parts.push(words.heldFor(reasons.join("; ")));
  } else if (flow.failingSince !== null) {
    const why = flow.error === null ? null : render(language, flow.error);
    parts.push(words.failing(failureWords({ error: flow.errorCode, why }, status)));
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
  return [...parts, ...otherWords(flow, conditions)].join(" ");
}

function flowName(flow: string, { flows }: Words["page"]): string {
  return Object.hasOwn(flows, flow) ? flows[flow as FlowKey].name : flow;
}
