/* The counts in an answer: read, and compared with what each usually counts. Pure. */

import type { WhyUnknown } from "./acceptance.ts";
import { type Answer, isVaryingKey, TEXT_BYTES } from "./answer.ts";
import { readCountsInWords } from "./partial-acceptance.ts";
import {
  COUNTS_MAX,
  IN_TEXT,
  IN_WORDS,
  isCalled,
  isEqualOften,
  isOfElse,
  type KnownCount,
  type LearnedCounts,
  SIZES_MAX,
  takenBy,
} from "./usual-counts.ts";

/** Numbers of the answer by name: `data.imported`. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** Numbers in the top three levels of an object, including those inside texts; else the number or text of the answer. */
export function readCounts(answer: Answer): AnswerCounts {
  const counts: Record<string, number> = {};
  const addNumber = (name: string, text: string) => {
    const isCount = /^\d{1,9}$/.test(text);
    if (isCount) counts[name] = Number(text);
    return isCount;
  };
  // Named by position, because the words beside a number vary. Counts of changed and unchanged records become one count.
  const addText = (place: string, text: string) => {
    if (addNumber(place, text.trim())) return;
    const { changed, others } = readCountsInWords(text.slice(0, TEXT_BYTES));
    if (changed !== undefined) counts[`${place}.updated`] = changed;
    for (const [at, count] of others.entries()) counts[`${place}.${at + 1}/${others.length}`] = count;
  };
  if (answer.kind === "number") addNumber(IN_TEXT, answer.text);
  else addText(IN_TEXT, answer.text);
  for (const { path, kind, head } of answer.without(isVaryingKey)) {
    if (Object.keys(counts).length >= COUNTS_MAX) break;
    if (kind === "number") addNumber(path, head);
    if (kind === "string" && !addNumber(path, head)) addText(`${path}.${IN_TEXT}`, head);
  }
  return counts;
}

/** The text that a count stands in; a text may repeat the counts beside it. */
export function placeOf(name: string): string {
  return name.slice(0, name.indexOf(IN_TEXT) + 1);
}

/** Without the records that the answer reports as refused by name. */
export function countsBeside(counts: AnswerCounts, refused: number): AnswerCounts {
  if (refused === 0) return counts;
  const restOf = (name: string, count: number) => (isCalled("leftOut", name) ? Math.max(0, count - refused) : count);
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, restOf(name, count)]));
}

/**
 * `taken`: accepted records according to that count. `mayBeSame`: it is 0, and may also mean that nothing has changed.
 * `isFirst`: only its name shows that none was accepted; no other answer has shown yet what it counts.
 */
export interface CountedOtherwise {
  name: string;
  count: number;
  taken: number;
  mayBeSame?: true;
  isFirst?: true;
}

export function unknownByCount({ name, count }: CountedOtherwise): WhyUnknown {
  const called = name.replace(/\.?#(?:\.\d+\/\d+)?/, "").replace(/^\./, "");
  return { why: "counts", words: called === "" ? `${count}` : `${called}: ${count}` };
}

interface ShortCountOptions {
  size: number;
  isPart: boolean;
  counting?: ReadonlySet<string>;
  isYes?: boolean;
  needs?: "name" | "one size" | "two sizes";
}

/**
 * Finds a count of accepted records, known from former answers or by its name, that is smaller than `size`.
 * @param size number of records that the answer does not report as refused
 * @param isPart whether the records are of a request of which only a part was counted: then 0 is such a count too. Otherwise
 * a 0 means that nothing has changed if the name is one of changes, and may mean it with any other name, unless another
 * count shows that the records were received.
 * @param counting counts that were recently smaller than other requests, whatever they were equal to before
 * @param isYes whether the answer also has a word for success
 * @param needs evidence that a count follows the number of records. `name`: a fitting name suffices; `one size`: a fitting
 * name and one request size that it was equal to; `two sizes`: two such sizes. One size that it was equal to several times
 * always suffices.
 */
export function findShortCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  { size, isPart, counting, isYes = false, needs = "name" }: ShortCountOptions,
): CountedOtherwise | undefined {
  let short: CountedOtherwise | undefined;
  for (const [name, count] of Object.entries(counts)) {
    const known = learned[name];
    const taken = takenBy(name, count, size);
    if (isOfElse(known, name) || taken >= size) continue;
    const sizes = sizesOf(learned, name).length;
    const isLeftOut = isCalled("leftOut", name);
    const isCounting = counting?.has(name) ?? false;
    // A first count larger than the request counts something else.
    if (isLeftOut && sizes === 0 && count > size) continue;
    const isNamed = isCalled("taken", name) || isLeftOut;
    const isMeant =
      isCalled("takenAtAll", name) || isLeftOut || isBesideTotal(counts, name, { size, isYes: isYes || isCounting });
    const isEqual = sizes >= SIZES_MAX || isUsuallyEqual(known, { name, count, isCounting });
    const isSure = known?.isOfTaken === true || (sizes > 0 && saysNone(learned, counts, { name, size }));
    if (count === 0 && !isPart && !isSure && (!isEqual || isCalled("changed", name))) continue;
    const isFollowing = isEqual || (needs === "name" && isMeant) || (isNamed && needs !== "two sizes" && sizes > 0);
    if (isFollowing && !isExplained(counts, name, size) && (short === undefined || taken < short.taken))
      short = {
        ...{ name, count, taken },
        ...(count === 0 && !isSure ? { mayBeSame: true } : {}),
        ...(isLeftOut && taken === 0 && sizes === 0 && !isPart ? { isFirst: true } : {}),
      };
  }
  return short;
}

/** Whether other counts account for the rest: `{created: 2, updated: 4}`, `{imported: 12, unchanged: 488}`. */
function isExplained(counts: AnswerCounts, name: string, size: number): boolean {
  const isPart = (other: string) => {
    if (other === name) return !isCalled("leftOut", name);
    if (placeOf(other) !== placeOf(name)) return false;
    if (isCalled("same", other)) return true;
    if (isCalled("takenAtAll", name)) return counts[name] === 0 && isCalled("changed", other);
    return isCalled("taken", other) && !isCalled("all", other);
  };
  const total = Object.entries(counts).reduce((sum, [other, count]) => sum + (isPart(other) ? count : 0), 0);
  return total >= size;
}

/** Whether a count of all records stands beside one of good ones. A 1 may be a flag. */
function isBesideTotal(counts: AnswerCounts, name: string, { size, isYes }: { size: number; isYes: boolean }): boolean {
  const isGood = isCalled("good", name) ? isYes || counts[name] !== 1 : isCalled("taken", name);
  const isTotal = ([other, count]: [string, number]) => other !== name && count === size && isCalled("all", other);
  return isGood && !isCalled("all", name) && Object.entries(counts).some(isTotal);
}

/** Whether it was equal several times to one request size. A number that never varies may count something else. */
function isUsuallyEqual(
  known: KnownCount | undefined,
  { name, count, isCounting }: { name: string; count: number; isCounting: boolean },
): boolean {
  if (!isEqualOften(known)) return false;
  if (isCounting) return true;
  return known?.sizes[0] !== count || isCalled("taken", name) || isCalled("all", name) || IN_WORDS.test(name);
}

/** Whether another count shows that all records were received, so that a 0 beside it means that none was accepted. */
function saysNone(learned: LearnedCounts, counts: AnswerCounts, of: { name: string; size: number }): boolean {
  const isOfAll = ([name, count]: [string, number]) => {
    if (name === of.name || count !== of.size || isCalled("leftOut", name)) return false;
    return isCalled("all", name) || (learned[name]?.of === undefined && sizesOf(learned, name).length >= SIZES_MAX);
  };
  return !isCalled("changed", of.name) && Object.entries(counts).some(isOfAll);
}

function sizesOf(learned: LearnedCounts, name: string): readonly number[] {
  return learned[name]?.sizes ?? [];
}

/** Finds a count larger than `size` that was equal to two request sizes, or to one where its name means confirmed records. */
export function findExcessCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  size: number,
): CountedOtherwise | undefined {
  for (const [name, count] of Object.entries(counts)) {
    const isEqual = sizesOf(learned, name).length >= (isCalled("confirmed", name) ? 1 : SIZES_MAX);
    const isFollowing = isEqual && learned[name]?.of === undefined;
    if (isFollowing && count > size && !isCalled("leftOut", name)) return { name, count, taken: count };
  }
  return undefined;
}

/** A count of changes that is smaller than the request. `isSure`: it has followed the number of records often enough. */
export interface FewChanges extends CountedOtherwise {
  isSure: boolean;
}

/**
 * Finds the count of changes, by its name or as it was learned, where it is smaller than `size` and no count beside it is of
 * unchanged records.
 */
export function findFewChanges(learned: LearnedCounts, counts: AnswerCounts, size: number): FewChanges | undefined {
  let few: FewChanges | undefined;
  for (const [name, count] of Object.entries(counts)) {
    const known = learned[name];
    const isOfChanges = known?.of === "changes" || (isCalled("changed", name) && !isCalled("leftOut", name));
    const taken = takenBy(name, count, size);
    if (!isOfChanges || known === undefined || known.mayLack || taken >= size) continue;
    const isPart = (each: string) => !isCalled("leftOut", name) && isCalled("changed", each) && isCalled("taken", each);
    const isBeside = (other: string) =>
      other !== name &&
      placeOf(other) === placeOf(name) &&
      (isCalled("unchanged", other) || (isPart(other) && isPart(name)));
    const beside = Object.entries(counts).reduce((sum, [other, each]) => sum + (isBeside(other) ? each : 0), 0);
    const isSure = known.of !== "else" && isEqualOften(known);
    const all = Math.min(size, taken + beside);
    if (all < size && (few === undefined || all > few.taken)) few = { name, count, taken: all, isSure };
  }
  return few;
}
