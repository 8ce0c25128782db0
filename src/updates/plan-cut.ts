/*
 * The search for changes that were left out, as it stands after a pass. Pure; `find-cut-changes.ts` saves it and requests the reads.
 */

import type { Cut } from "./cut-rows.ts";
import { type High, instantOf } from "./follow.ts";

/** What is known of changes that pages have left out. */
export interface Found {
  verdict: "unsure" | "cut";
  /** How many changes the page held. */
  size: number;
  isMixed: boolean;
  lacks?: readonly string[];
}

export interface CutFacts {
  standing: Cut | undefined;
  at: string;
  watermark: string | undefined;
  timezone: string;
  /** The largest timestamp of the pass. */
  high: High | undefined;
  found: Found | undefined;
  /** Between these times the service could not be asked. */
  skipped: { from: string; to: string } | undefined;
  /** The service's time up to which changes are covered once the search is over. */
  covered: string | undefined;
}

/** Undefined where there is none. A search that stands begins once more where another page was cut meanwhile. */
export function planCut(facts: CutFacts): Cut | undefined {
  const { standing, at, high, found, skipped } = facts;
  if (skipped !== undefined) return planSkipped(facts, skipped);
  if (found === undefined || high === undefined) {
    const isLater = standing !== undefined && high !== undefined && high.ns > standing.high.ns;
    return isLater ? { ...standing, high } : standing;
  }
  const { verdict, size, isMixed, lacks } = found;
  const isShown = verdict === "cut";
  if (standing === undefined)
    return { since: at, size, stage: "open", after: 0, again: false, isShown, isMixed, lacks, high };
  return {
    ...standing,
    again: true,
    isShown: standing.isShown || isShown,
    high: high.ns > standing.high.ns ? high : standing.high,
  };
}

/** The changes between the position and the `since` that was answered are looked for as those that a page left out. */
function planSkipped(
  { standing, at, watermark, timezone, high, covered }: CutFacts,
  skipped: { from: string; to: string },
): Cut {
  const reached = high ?? standing?.high ?? { text: watermark ?? "", ns: instantOf(watermark, timezone) ?? 0n };
  const begun = { since: at, size: 0, stage: "open", after: 0, again: false } as const;
  const search = standing === undefined ? begun : { ...standing, again: true };
  return { ...search, isShown: true, high: reached, skipped, covered };
}
