/* The search for changes that were left out, as it stands after a pass. Pure; `find-cut-changes.ts` saves it and requests the reads. */

import type { Cut } from "./cut-rows.ts";
import { type High, instantOf } from "./follow.ts";

/** What is known of changes that pages have left out. */
export interface Found {
  verdict: "unsure" | "cut";
  /** How many changes the page held. */
  size: number;
  isMixed: boolean;
  /** The page held a few changes, and there is no other reason to doubt it. */
  isFew?: boolean;
  lacks?: readonly string[];
  /** The page was an answer to another question ({@link Cut.isOther}). */
  isOther?: boolean;
}

export interface CutFacts {
  standing: Cut | undefined;
  at: string;
  watermark: string | undefined;
  isSweep?: boolean;
  timezone: string;
  /** The largest timestamp of the pass. */
  high: High | undefined;
  found: Found | undefined;
  /** Between these times the service could not be asked. */
  skipped: { from: string; to: string } | undefined;
  /** Up to this instant pages of one timestamp may have left out changes, and no later change can bear it any more. */
  tieNs: bigint | undefined;
  /** The service's time up to which changes are covered once the search is over. */
  covered: string | undefined;
}

/** Undefined where there is none. A search that stands begins once more where another page was cut meanwhile. */
export function planCut(facts: CutFacts): Cut | undefined {
  const { standing: begun, skipped, covered, tieNs, found, isSweep } = facts;
  // The first page may reach the time from which a sweep asks.
  const isAnswered = begun?.isOther && !found?.isOther && !isSweep;
  const standing = isAnswered ? { ...begun, again: false } : begun;
  const cut =
    skipped !== undefined
      ? plan(facts, { isShown: true, isOther: false, skipped, covered })
      : found?.isOther === true
        ? planOther(facts, found)
        : planFound({ ...facts, standing });
  if (tieNs === undefined || tieNs <= (cut?.tieNs ?? -1n)) return cut;
  // What was read before nothing more could bear that timestamp is read once more.
  return cut === undefined ? plan(facts, { tieNs }) : { ...cut, tieNs, again: cut.again || standing !== undefined };
}

function planFound({ standing: begun, at, high, found, covered }: CutFacts): Cut | undefined {
  // A pass without a gap goes on from what was covered before it.
  const isOn = begun?.covered !== undefined && covered !== undefined;
  const standing = isOn ? { ...begun, covered } : begun;
  if (found === undefined || high === undefined) {
    const isLater = standing !== undefined && high !== undefined && high.ns > standing.high.ns;
    return isLater ? { ...standing, high } : standing;
  }
  const { verdict, size, isMixed, isFew, lacks } = found;
  const isShown = verdict === "cut";
  if (standing === undefined)
    return { since: at, size, stage: "open", after: 0, again: false, isShown, isMixed, isFew, lacks, high };
  return {
    ...standing,
    again: true,
    size: Math.max(standing.size, size),
    isMixed: standing.isMixed ?? isMixed,
    isFew: standing.isFew && isFew,
    isOther: false,
    isShown: standing.isShown || isShown,
    high: high.ns > standing.high.ns ? high : standing.high,
  };
}

/** One such answer may be that of a machine that is out of order; once the next one is such an answer too it is shown. */
function planOther(facts: CutFacts, { size }: Found): Cut {
  const { standing } = facts;
  if (standing === undefined) return plan(facts, { size, isOther: true });
  const isOther = standing.isOther === true;
  return { ...standing, again: true, size: Math.max(standing.size, size), isShown: standing.isShown || isOther };
}

/** A search for what no page shows the size of: what lies before the `since` that was answered, or behind pages of one timestamp. */
function plan({ standing, at, watermark, timezone, high }: CutFacts, more: Partial<Cut>): Cut {
  const reached = high ?? standing?.high ?? { text: watermark ?? "", ns: instantOf(watermark, timezone) ?? 0n };
  const begun = { since: at, size: 0, stage: "open", after: 0, again: false, isShown: false } as const;
  const search = standing === undefined ? begun : { ...standing, again: true };
  return { ...search, high: reached, ...more };
}
