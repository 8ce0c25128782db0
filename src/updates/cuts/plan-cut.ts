/*
 * Plans the search for changes that were left out, as it stands after a pass. Pure; `find-cut-changes.ts` saves it and
 * queues the reads.
 */

import { type High, instantOf } from "../pages/follow.ts";
import type { Cut } from "./cut-rows.ts";

/** What is known of changes that pages left out. */
export interface Found {
  verdict: "unsure" | "cut";
  /** Number of changes on the page. */
  size: number;
  isMixed: boolean;
  /** The page held few changes, and nothing else suggests a cut. */
  isFew?: boolean;
  lacks?: readonly string[];
  /** The page answered another question ({@link Cut.isOther}). */
  isOther?: boolean;
}

export interface CutFacts {
  standing: Cut | undefined;
  at: string;
  watermark: string | undefined;
  isWide?: boolean;
  timezone: string;
  /** The largest timestamp of the pass. */
  high: High | undefined;
  found: Found | undefined;
  /** Changes between these times could not be requested. */
  skipped: { from: string; to: string } | undefined;
  /**
   * Pages of equal timestamps may have left out changes up to this instant, and no later change can be before it any
   * more.
   */
  tieNs: bigint | undefined;
  /** The service's time up to which changes are covered once the search is over. */
  covered: string | undefined;
}

/**
 * Returns undefined where there is nothing to search for. A search in progress starts again at its end if another page
 * was cut meanwhile.
 */
export function planCut(facts: CutFacts): Cut | undefined {
  const { standing: begun, skipped, tieNs, found, isWide } = facts;
  // Not in a wide re-poll: its first page may reach the requested time even if the service answers another question.
  const isAnswered = begun?.isOther && !found?.isOther && !isWide;
  const standing = isAnswered ? { ...begun, again: false } : begun;
  const cut =
    skipped !== undefined
      ? planGap(facts, skipped)
      : found?.isOther === true
        ? planOther(facts, found)
        : planFound({ ...facts, standing });
  if (tieNs === undefined || tieNs <= (cut?.tieNs ?? -1n)) return cut;
  // Orders read before that instant was over are read once more.
  return cut === undefined ? plan(facts, { tieNs }) : { ...cut, tieNs, again: cut.again || standing !== undefined };
}

function planFound({ standing: begun, at, high, found, covered }: CutFacts): Cut | undefined {
  // A pass without a gap extends what the search covers.
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

/** A single such answer may come from a faulty machine; it is shown to the user once the next one is the same. */
function planOther(facts: CutFacts, { size }: Found): Cut {
  const { standing } = facts;
  if (standing === undefined) return plan(facts, { size, isOther: true });
  const isOther = standing.isOther === true;
  return { ...standing, again: true, size: Math.max(standing.size, size), isShown: standing.isShown || isOther };
}

/** What is refused and answered as before has nothing new for a search that goes on: it would never end. */
function planGap(facts: CutFacts, skipped: NonNullable<CutFacts["skipped"]>): Cut {
  const { standing, covered } = facts;
  const planned = plan(facts, { isShown: true, isOther: false, skipped, covered });
  const isSame = standing?.skipped?.from === skipped.from && standing.skipped.to === skipped.to;
  return isSame ? { ...planned, again: standing.again, covered: standing.covered } : planned;
}

/** A search without a page size: for times that could not be requested, or after pages of equal timestamps. */
function plan({ standing, at, watermark, timezone, high }: CutFacts, more: Partial<Cut>): Cut {
  const reached = high ?? standing?.high ?? { text: watermark ?? "", ns: instantOf(watermark, timezone) ?? 0n };
  const begun = { since: at, size: 0, stage: "open", after: 0, again: false, isShown: false } as const;
  const search = standing === undefined ? begun : { ...standing, again: true };
  return { ...search, high: reached, ...more };
}
