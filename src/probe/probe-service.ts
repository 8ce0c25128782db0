/*
 * Answers the questions that the interface document leaves open, from stored data and from requests without an effect.
 * Writes nothing, never pulls new orders, and asks a person before the two requests that could have an effect.
 * Interrupted at any point, it leaves nothing behind on either side.
 */

import { m } from "../messages/messages.ts";
import { loadHolds } from "../pass/hold-rows.ts";
import { Asker, type Probe, type ProbeOptions } from "./probe.ts";
import { probeImports } from "./probe-imports.ts";
import { reportKnown } from "./probe-known.ts";
import { probeOrders } from "./probe-orders.ts";
import { type Finding, ProbeReport } from "./probe-report.ts";
import { loadProbeKnowledge } from "./probe-rows.ts";
import { probeUpdates } from "./probe-updates.ts";

export interface Explored {
  findings: Finding[];
  /**
   * Values for the configuration by dotted path: those that the answers show, and those that only a person can confirm.
   */
  keys: Record<string, unknown>;
  choices: Record<string, unknown>;
  requests: number;
  /** Requests for orders or for imports were held, refused or not answered, so nothing is known about them. */
  isCutShort: boolean;
}

export async function probeOpenQuestions(options: ProbeOptions): Promise<Explored> {
  const { store } = options;
  const report = new ProbeReport();
  const asker = new Asker(options, store === undefined ? [] : loadHolds(store));
  const probe: Probe = {
    ...options,
    report,
    asker,
    known: store === undefined ? undefined : loadProbeKnowledge(store),
  };
  reportKnown(probe);
  const entries = await probeUpdates(probe);
  await probeOrders(probe, entries);
  await probeImports(probe);
  for (const [area, reason] of asker.blocked) {
    const questions = area === "orders" ? (["bodies", "since"] as const) : (["importAnswer", "refusals"] as const);
    for (const question of questions) report.skipped(question, m.common.about({ subject: area, text: reason }));
  }
  const { findings, keys, choices } = report;
  return { findings, keys, choices, requests: asker.requests, isCutShort: asker.blocked.size > 0 };
}
