/*
 * One look at the database, shared by everything that asks within a moment. However often a browser, a scraper or a
 * hostile page asks, looks take a small share of the event loop: after each one there is a rest of many times its cost.
 */

import { machineFaultOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { type HealthNow, type Illness, listIllnesses, measureAges } from "../health/health.ts";
import { describeStatus, type StatusFacts, type StatusLimits, type StatusReport, withWords } from "../health/status.ts";
import { loadStatusFacts } from "../health/status-rows.ts";
import type { Language } from "../messages/language.ts";
import type { Clock } from "../platform/ports.ts";

const REST_MIN_MS = 1_000;
/** At most two per cent of the time goes into looks. */
const REST_PER_COST = 50;

/** Remembers what `load` gave, for a second or for many times what it cost, whichever is longer. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #load: () => T;
  readonly #restMinMs: number;
  #value: { of: T; untilMs: number } | undefined;

  constructor(clock: Clock, load: () => T, restMinMs = REST_MIN_MS) {
    this.#clock = clock;
    this.#load = load;
    this.#restMinMs = restMinMs;
  }

  get(): T {
    if (this.#value !== undefined && this.#clock.monotonicMs() < this.#value.untilMs) return this.#value.of;
    const startedAt = performance.now();
    const of = this.#load();
    const restMs = Math.max(this.#restMinMs, REST_PER_COST * (performance.now() - startedAt));
    this.#value = { of, untilMs: this.#clock.monotonicMs() + restMs };
    return of;
  }
}

export interface Reading extends HealthNow {
  facts: StatusFacts;
  illnesses: Illness[];
  /** How long the look took. */
  tookS: number;
}

/** @throws BridgeError or an error of SQLite's where the database cannot be read. */
export function takeReading(store: Store, now: HealthNow, limits: StatusLimits): Reading {
  const startedAt = performance.now();
  const facts = measureAges(withoutForeignWords(loadFacts(store)), now);
  const tookS = (performance.now() - startedAt) / 1000;
  return { ...now, facts, illnesses: listIllnesses(facts, now, limits), tookS };
}

function loadFacts(store: Store): StatusFacts {
  try {
    return loadStatusFacts(store);
  } catch (error) {
    const failure = machineFaultOf(error, "Reading the status", store.path);
    if (failure !== undefined) store.notice(failure);
    throw failure ?? error;
  }
}

/** In the words of a language; the daemon that says it runs. */
export function reportOf(
  { facts, nowMs }: Reading,
  limits: StatusLimits,
  language: Language,
  say: (text: string) => string = (text) => text,
): StatusReport {
  return describeStatus(withWords(facts, say), { nowMs, isRunning: true }, limits, language);
}

/** What the service wrote may hold anything, a customer's data included: here its meaning is told, never its words. */
function withoutForeignWords(facts: StatusFacts): StatusFacts {
  return {
    ...facts,
    flows: facts.flows.map((flow) => ({ ...flow, error: null })),
    holds: facts.holds.map((hold) => ({ ...hold, detail: null })),
  };
}
