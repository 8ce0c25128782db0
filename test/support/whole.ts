/*
 * The rule of the two forms. `npm test` gives an answer within 100 seconds of two free cores: of a `describe` it takes one main
 * test, and of the others those that take less than a tenth of a second (`itWhole`); of a table one case, or so many as take that
 * long together (`itSome`); of random cases few; and what takes half a second, or processes, kills or a PostgreSQL, only where no
 * quicker test asserts the same (`inWhole`). `npm run test:whole` takes everything, with many random cases; `TEST_RUNS=2000` makes
 * a campaign of one property.
 */

import { existsSync } from "node:fs";
import path from "node:path";
import { describe, it } from "vitest";

export const isWhole = process.env["TESTS"] === "whole";

/** So many of the cases, evenly spread, including the first one. */
export function some<T>(cases: readonly T[], count: number): readonly T[] {
  if (isWhole || cases.length <= count) return cases;
  return Array.from({ length: count }, (_, at) => cases[Math.floor((at * cases.length) / count)] as T);
}

/** A test for each of so many of the cases. */
export function itSome(count: number): typeof it.each {
  return ((cases: readonly unknown[]) => it.each(some(cases, count))) as typeof it.each;
}

/** The number of runs of a property. */
export function runs(few: number, many: number): number {
  return Number(process.env["TEST_RUNS"] ?? (isWhole ? many : few));
}

/** The number of rows, orders or rounds in a test of a rule that holds for any number. */
export function size(few: number, many: number): number {
  return isWhole ? many : few;
}

/**
 * Tests of the whole form alone: they show with processes, kills, disks or long times what quicker tests assert too.
 * @param quicker the files of those tests below `test`, without `.test.ts`; the own one where its other blocks do
 */
export function inWhole(...quicker: [string, ...string[]]): { it: typeof it; describe: typeof describe } {
  for (const name of quicker) {
    if (!existsSync(path.join(import.meta.dirname, "..", `${name}.test.ts`)))
      throw new Error(`no test is named ${name}`);
  }
  return { it: it.runIf(isWhole) as typeof it, describe: describe.runIf(isWhole) as typeof describe };
}

/**
 * A test only in the whole form. It checks the rule of its `describe` under another circumstance: after a restart, with
 * a lost answer, with another form of the service, beside another program, or over hours of polls. Other tests of the
 * same `describe` check the rule in the short form; `test/whole.test.ts` checks that there are some.
 */
export const itWhole = it.runIf(isWhole) as typeof it;
