/*
 * The page for the administrator and the owner: first the overall state in one sentence, then what to do, every flow,
 * and the history. Works on a phone, without JavaScript and with a screen reader. Shows only names, numbers and times.
 */
import { createHash } from "node:crypto";
import { clockTime, statusWords } from "../health/condition-words.ts";
import { type Condition, findReadsBehind } from "../health/conditions.ts";
import { describeFreshness, type ReportedCondition } from "../health/status.ts";
import { type Words, wordsOf } from "../messages/catalogues.ts";
import type { Language } from "../messages/language.ts";
import { isoTime } from "../platform/ports.ts";
import { CLOSED_POLICY, type Page } from "./answer-request.ts";
import type { Charts } from "./charts.ts";
import { Html, html } from "./html.ts";
import { flowSection } from "./page-flows.ts";
import { orderPlot, sitePlot } from "./page-plots.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { type Reading, reportOf } from "./reading.ts";

type Verdict = keyof Words["page"]["verdicts"];

export interface PageSources {
  read: () => Reading;
  charts: () => Charts;
  language: Language;
  /** Identifies the shop: the name of its configuration and the host of its service. */
  instance: string;
  serviceHost: string;
  program: string;
  databaseBytes: () => number;
}

const RENEW_S = 60;
const HTML_TYPE = "text/html; charset=utf-8";

/** The data of one rendering, for every part of the page. */
export interface View extends PageSources {
  reading: Reading;
  words: Words["page"];
}

export function statusPage(sources: PageSources): Page {
  const hash = createHash("sha256").update(PAGE_STYLE).digest("base64");
  // The icon is a data URL.
  const csp = `${CLOSED_POLICY}; style-src 'sha256-${hash}'; img-src data:`;
  return () => {
    const view = { ...sources, reading: sources.read(), words: wordsOf(sources.language, "page") };
    return { status: 200, type: HTML_TYPE, body: renderPage(view).text, csp };
  };
}

function renderPage(view: View): Html {
  const { language, words, instance, serviceHost, reading } = view;
  const { conditions } = reportOf(reading, language);
  const verdict = verdictOf(reading);
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${RENEW_S}">
<meta name="robots" content="noindex">
<title>${[words.verdicts[verdict], instance, "erp-bridge"].join(" – ")}</title>
<link rel="icon" href="${iconOf(verdict)}">
<style>${new Html(PAGE_STYLE)}</style>
</head>
<body>
<header><strong>erp-bridge</strong><span>${instance}</span><span>${serviceHost}</span></header>
<main>
${verdictSection(view, verdict, conditions)}
${conditions.length === 0 ? undefined : todoSection(view, verdict, conditions)}
${flowSection(view, conditions)}
<div class="plots">
${orderPlot(view.charts(), view)}
${sitePlot(view.charts(), view)}
</div>
${numberSection(view)}
</main>
${footer(view)}
</body>
</html>
`;
}

/** Conditions that every start causes. */
function isOfStart({ code }: Condition): boolean {
  return code === "flow_starting" || code === "first_pass";
}

function verdictOf({ facts, conditions, problems }: Reading): Verdict {
  if (problems.length > 0) return "ill";
  if (conditions.some((condition) => !isOfStart(condition))) return "attention";
  const orders = facts.flows.find(({ flow }) => flow === "orders");
  return conditions.length > 0 || orders?.lastSuccessAt == null ? "starting" : "well";
}

/** The heading is the most important condition; without any, or just after a start, it is a fixed sentence. */
function verdictSection(
  { reading, words, language }: View,
  verdict: Verdict,
  [worst]: readonly ReportedCondition[],
): Html {
  const { facts, nowMs } = reading;
  const isBehind = findReadsBehind(facts, nowMs) !== undefined;
  const calm = facts.orders === 0 ? words.noOrdersYet : isBehind ? statusWords(language).catchingUp : words.allWell;
  const heading = verdict === "starting" ? words.justStarted : (worst?.text ?? calm);
  return html`<section class="verdict ${verdict}">
<p class="say">${ICONS[verdict]}${words.verdicts[verdict]}</p>
<h1>${heading}</h1>
<p class="rest">${describeFreshness(facts, nowMs, language)}</p>
</section>`;
}

function todoSection({ words }: View, verdict: Verdict, conditions: readonly ReportedCondition[]): Html {
  const others = verdict === "starting" ? conditions : conditions.slice(1);
  const seen = new Set<string>();
  const steps = conditions.filter(({ next, command }) => !seen.has(command ?? next) && seen.add(command ?? next));
  return html`<section class="todo">
${others.length === 0 ? undefined : html`<h2>${words.headings.attention}</h2><ul>${others.map(({ text }) => html`<li>${text}</li>`)}</ul>`}
<h2>${words.headings.steps}</h2>
<ul>${steps.map(({ next, command }) => html`<li>${next}${command === null ? undefined : html` <code>${command}</code>`}</li>`)}</ul>
</section>`;
}

function numberSection({ reading, words, language, databaseBytes, program }: View): Html {
  const { facts, startedAtMs, nowMs } = reading;
  const { numbers, number } = words;
  const bytes = statusWords(language).bytes;
  const flow = (name: string) => facts.flows.find((row) => row.flow === name);
  const quarantined = facts.flows
    .filter(({ flow: name }) => name !== "erp")
    .reduce((sum, { quarantined: n }) => sum + n, 0);
  const pairs: [string, string][] = [
    [numbers.orders, number(facts.orders)],
    [numbers.pending, number(flow("erp")?.waiting ?? 0)],
    [numbers.unconfirmed, number(flow("orders")?.waiting ?? 0)],
    [numbers.quarantined, number(quarantined)],
    [numbers.database, bytes(databaseBytes())],
    [numbers.log, bytes(facts.walBytes)],
    ...(facts.disk === undefined ? [] : [[numbers.free, bytes(facts.disk.free)] satisfies [string, string]]),
    [numbers.since, clockTime(isoTime(startedAtMs), nowMs)],
    [numbers.version, program],
  ];
  return html`<section class="numbers">
<h2>${words.headings.numbers}</h2>
<dl>${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
</section>`;
}

function footer({ reading, words }: View): Html {
  const at = isoTime(reading.nowMs);
  return html`<footer>
<p>${words.asOf(clockTime(at, reading.nowMs))} ${words.renewed}</p>
<p>${words.forMachines} <a href="/health">/health</a> <a href="/metrics">/metrics</a></p>
</footer>`;
}

/** Verdicts differ in shape as well as in colour. */
const SHAPES: Record<Verdict, string> = {
  well: '<circle cx="10" cy="10" r="9"/><path d="m5.8 10.4 2.8 2.8 5.6-6" fill="none" stroke="#fff" stroke-width="2"/>',
  starting: '<circle cx="10" cy="10" r="9"/><path d="M10 5v5l3.5 2" fill="none" stroke="#fff" stroke-width="2"/>',
  attention: '<path d="M10 1.5 19 18H1z"/><path d="M10 7.5v5m0 2v1.6" fill="none" stroke="#fff" stroke-width="2"/>',
  ill: '<rect x="1" y="1" width="18" height="18" rx="3"/><path d="m6 6 8 8m0-8-8 8" fill="none" stroke="#fff" stroke-width="2"/>',
};

const ICONS = {
  well: iconSvg("well"),
  starting: iconSvg("starting"),
  attention: iconSvg("attention"),
  ill: iconSvg("ill"),
} satisfies Record<Verdict, Html>;

function iconSvg(verdict: Verdict): Html {
  return new Html(`<svg viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">${SHAPES[verdict]}</svg>`);
}

const ICON_COLOURS: Record<Verdict, string> = {
  well: "#1c6b45",
  starting: "#5b626b",
  attention: "#b57a00",
  ill: "#c0392f",
};

/** The icon of the browser's tab shows the state. */
function iconOf(verdict: Verdict): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="${ICON_COLOURS[verdict]}">${SHAPES[verdict]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
