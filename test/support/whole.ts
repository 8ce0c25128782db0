import { it } from "vitest";

/**
 * `npm test` takes some of the cases that show one rule, and few random ones; `npm run test:whole` takes every case, and
 * many random ones. `TEST_RUNS=2000` makes a campaign of one property.
 */
export const isWhole = process.env["TESTS"] === "whole";

/** So many of the cases, evenly spread from the first one on. */
export function some<T>(cases: readonly T[], count: number): readonly T[] {
  if (isWhole || cases.length <= count) return cases;
  return Array.from({ length: count }, (_, at) => cases[Math.floor((at * cases.length) / count)] as T);
}

/** A test for each of so many of the cases. */
export function itSome(count: number): typeof it.each {
  return ((cases: readonly unknown[]) => it.each(some(cases, count))) as typeof it.each;
}

/** How often a property is tried. */
export function runs(few: number, many: number): number {
  return Number(process.env["TEST_RUNS"] ?? (isWhole ? many : few));
}
