/*
 * One read of the database, shared by all requests within a short time. However often a browser, a scraper or a hostile
 * page asks, reading takes a small share of the event loop: after each read, many times its cost must pass before the
 * next.
 */

import { machineFaultOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { type Condition, type HealthNow, type Limits, listConditions, measureAges } from "../health/conditions.ts";
import { loadFacts } from "../health/fact-rows.ts";
import { type Facts, withoutForeignWords } from "../health/facts.ts";
import { type HealthProblem, listHealthProblems } from "../health/health.ts";
import { reportConditions, type StatusReport } from "../health/status.ts";
import type { Language } from "../messages/language.ts";
import { m } from "../messages/messages.ts";

export interface Reading extends HealthNow {
  facts: Facts;
  conditions: Condition[];
  problems: HealthProblem[];
  /** Duration of the read. */
  tookS: number;
}

/** @throws BridgeError, or an error of SQLite, where the database cannot be read */
export function takeReading(store: Store, now: HealthNow, limits: Limits): Reading {
  const startedAt = performance.now();
  const facts = measureAges(withoutForeignWords(loadWatched(store)), now);
  const tookS = (performance.now() - startedAt) / 1000;
  // The daemon itself calls this.
  const conditions = listConditions(facts, { nowMs: now.nowMs, isRunning: true }, limits);
  return { ...now, facts, conditions, problems: listHealthProblems(conditions), tookS };
}

function loadWatched(store: Store): Facts {
  try {
    return loadFacts(store);
  } catch (error) {
    const failure = machineFaultOf(error, m.database.readingStatus, store.path);
    if (failure !== undefined) store.files?.notice(failure);
    throw failure ?? error;
  }
}

export function reportOf({ conditions, facts, nowMs }: Reading, language: Language = "en"): StatusReport {
  return reportConditions(conditions, facts, { nowMs }, language);
}
