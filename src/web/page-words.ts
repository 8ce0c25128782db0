import type { Language } from "../messages/language.ts";
import { englishPage } from "./page-words-en.ts";
import { russianPage } from "./page-words-ru.ts";

export type Verdict = "well" | "starting" | "attention" | "ill";
export type FlowState = "fresh" | "starting" | "failing" | "stale" | "held" | "late" | "look";
export type FlowKey =
  | "orders"
  | "updates"
  | "statuses"
  | "stocks"
  | "prices"
  | "catalog"
  | "images"
  | "reconcile"
  | "backup"
  | "upkeep"
  | "erp";

/** Every word of the status page that the status itself does not tell. */
export interface PageWords {
  verdicts: Record<Verdict, string>;
  /** The heading where nothing needs attention. */
  allWell: string;
  noOrdersYet: string;
  /** The heading before the first success. */
  justStarted: string;
  headings: { attention: string; steps: string; flows: string; orders: string; site: string; numbers: string };
  flows: Record<FlowKey, { name: string; what: string }>;
  states: Record<FlowState, string>;
  switchedOff(names: string): string;
  /** Null: only just. */
  succeeded(ago: string | null): string;
  neverSucceeded: string;
  failing(why: string): string;
  heldFor(reason: string): string;
  waiting(flow: string, n: number, oldest: string | null): string;
  quarantined(flow: string, n: number): string;
  refused(n: number): string;
  everythingTaken: string;
  siteAsOf(ago: string): string;
  orders: { caption(total: number, days: number): string; most(n: number, day: string): string; none: string };
  site: { caption(hours: number): string; most(age: string): string; now(age: string): string; none: string };
  values: string;
  day: string;
  hour: string;
  count: string;
  age: string;
  today: string;
  now: string;
  unknown: string;
  ordersOf(n: number): string;
  dayName(date: Date): string;
  number(n: number): string;
  numbers: {
    orders: string;
    pending: string;
    unconfirmed: string;
    quarantined: string;
    database: string;
    log: string;
    free: string;
    since: string;
    version: string;
  };
  asOf(time: string): string;
  renewed: string;
  forMachines: string;
}

const WORDS: Record<Language, PageWords> = { en: englishPage, ru: russianPage };

export function pageWords(language: Language): PageWords {
  return WORDS[language];
}

export function flowName(flow: string, { flows }: PageWords): string {
  return Object.hasOwn(flows, flow) ? flows[flow as FlowKey].name : flow;
}
