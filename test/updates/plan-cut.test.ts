import { describe, expect, it } from "vitest";
import type { Cut } from "../../src/updates/cuts/cut-rows.ts";
import { type CutFacts, planCut } from "../../src/updates/cuts/plan-cut.ts";

const high = (ns: bigint) => ({ text: `s${ns}`, ns });
const standing: Cut = {
  since: "before",
  size: 20,
  stage: "closed",
  after: 7,
  again: false,
  isShown: false,
  high: high(5n),
};
const facts: CutFacts = {
  standing: undefined,
  at: "now",
  watermark: "2026-03-01T12:00:00Z",
  timezone: "UTC",
  high: high(9n),
  found: undefined,
  skipped: undefined,
  tieNs: undefined,
  covered: undefined,
};
const cut = { verdict: "cut", size: 30, isMixed: true } as const;
const skipped = { from: "a", to: "b" };

describe("the search for changes that were left out", () => {
  it.each<[string, Partial<CutFacts>, Partial<Cut> | undefined]>([
    ["there is none", {}, undefined],
    [
      "begins, and is shown where it is proved",
      { found: cut },
      { since: "now", size: 30, stage: "open", after: 0, isShown: true, isMixed: true, high: high(9n) },
    ],
    [
      "begins, and is not shown where nothing is proved",
      { found: { ...cut, verdict: "unsure", lacks: ["k"] } },
      { isShown: false, lacks: ["k"] },
    ],
    [
      "is one of a few changes no more where a larger page begins it again",
      { standing: { ...standing, size: 4, isFew: true }, found: { ...cut, isFew: false } },
      { size: 30, isFew: false },
    ],
    [
      "begins with one answer to another question, which is not shown",
      { found: { ...cut, isOther: true } },
      { isShown: false, isOther: true },
    ],
    [
      "is shown at the second answer to another question",
      { standing: { ...standing, isOther: true }, found: { ...cut, isOther: true } },
      { isShown: true, isOther: true },
    ],
    ["goes on, up to what was served since", { standing }, { ...standing, high: high(9n) }],
    [
      "covers what is served without a gap while it goes on",
      { standing: { ...standing, covered: "c", skipped }, covered: "d" },
      { covered: "d", again: false, skipped },
    ],
    ["goes on as it was where nothing later came", { standing, high: high(3n) }, standing],
    [
      "begins once more behind its end",
      { standing, found: cut },
      { stage: "closed", after: 7, again: true, isShown: true, size: 30, high: high(9n) },
    ],
    ["never loses what was served before", { standing, found: cut, high: high(3n) }, { again: true, high: high(5n) }],
    [
      "begins where the service does not go back",
      { skipped, covered: "c" },
      { size: 0, isShown: true, skipped, covered: "c", high: high(9n) },
    ],
    [
      "begins there without a change: the position is what it was",
      { skipped, high: undefined },
      { high: { text: "2026-03-01T12:00:00Z", ns: 1_772_366_400_000_000_000n } },
    ],
    [
      "begins there without any position",
      { skipped, high: undefined, watermark: undefined },
      { high: { text: "", ns: 0n } },
    ],
    [
      "begins for pages of one timestamp",
      { tieNs: 8n },
      { size: 0, isShown: false, again: false, tieNs: 8n, high: high(9n) },
    ],
    ["goes on where it has begun for them", { standing: { ...standing, tieNs: 8n }, tieNs: 8n }, { again: false }],
    ["begins once more for others", { standing: { ...standing, tieNs: 7n }, tieNs: 8n }, { again: true, tieNs: 8n }],
    ["is one search for both", { found: cut, tieNs: 8n }, { size: 30, again: false, isShown: true, tieNs: 8n }],
    [
      "shows how much a later page has held",
      { standing: { ...standing, size: 0, tieNs: 8n }, found: cut },
      { size: 30, again: true, isMixed: true, isShown: true },
    ],
    [
      "begins once more there",
      { standing, skipped, high: undefined },
      { after: 7, again: true, skipped, high: high(5n) },
    ],
    [
      "goes on where the same is skipped by the next pass, and covers no more",
      { standing: { ...standing, skipped, covered: "c" }, skipped, covered: "d" },
      { after: 7, again: false, skipped, covered: "c", high: high(9n) },
    ],
    [
      "begins once more where it had to already",
      { standing: { ...standing, again: true, skipped }, skipped },
      { again: true },
    ],
    [
      "begins once more where more is skipped",
      { standing: { ...standing, skipped, covered: "c" }, skipped: { from: "a", to: "c" }, covered: "d" },
      { again: true, skipped: { from: "a", to: "c" }, covered: "d" },
    ],
    [
      "begins once more where it is skipped from earlier",
      { standing: { ...standing, skipped }, skipped: { from: "0", to: "b" } },
      { again: true },
    ],
  ])("%s", (_, more, expected) => {
    const planned = planCut({ ...facts, ...more });
    if (expected === undefined) expect(planned).toBeUndefined();
    else expect(planned).toMatchObject(expected);
  });
});
