/*
 * The counts in answers to an import. A service that accepts only a part of a request may report it in its usual form,
 * with a number smaller than that of the records. Some services count only changed records, so the meaning of each count
 * is learned. Pure.
 */

import { headOf, kindOf, type Span, stringOf, textOf } from "../../answers/json-text.ts";
import type { WhyUnknown } from "./acceptance.ts";
import { isVaryingKey, plainName, someMemberWithin, TEXT_BYTES } from "./members.ts";
import { readCountsInWords } from "./partial-acceptance.ts";
import { NAMES } from "./vocabulary.ts";

/** Numbers of the answer by name: `data.imported`. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** What was learned about one count. */
interface KnownCount {
  /** Up to two different request sizes that it was equal to; for a count of skipped records, sizes at which it was 0. */
  sizes: readonly number[];
  /** How often it was equal, up to `TIMES_MAX`. Absent where an earlier version learned it. */
  times?: number;
  /** It also counts unchanged records: 0 means that none was accepted, not that nothing has changed. */
  isOfTaken?: true;
  /**
   * Set where it does not count accepted records, but changes or something else. `left out`: a count of skipped records that
   * was above 0 in an acceptance.
   */
  of?: "changes" | "left out" | "else";
  /** Where it was smaller than accepted requests although it may count records: see {@link learnShort}. */
  short?: ShortBefore;
  /** An acceptance counted fewer changes than there were: others also change what the site has. */
  mayLack?: true;
}

/** `times`: how often it was `count`, up to two. `since`: of the first such acceptance, by this machine's clock. */
interface ShortBefore {
  count: number;
  times: number;
  since: string;
}

export type LearnedCounts = Readonly<Record<string, KnownCount>>;

const COUNTS_MAX = 20;
const SIZES_MAX = 2;
/** A count that was equal so often follows the number of records, even where all requests have the same size. */
const TIMES_MAX = 5;
/** Part of the name of a number inside a text, or of an answer that is a number: `message.#.1/2`, `message.#.updated`, `#` */
const IN_TEXT = "#";
const IN_WORDS = /#\.\d/;

/** Numbers in the top three levels of an object, including those inside texts; else the number or text of the answer. */
export function readCounts(body: Buffer, root: Span | undefined): AnswerCounts {
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
  const whole = root && kindOf(body, root);
  if (root === undefined) addText(IN_TEXT, body.toString("utf8", 0, TEXT_BYTES));
  else if (whole === "number") addNumber(IN_TEXT, textOf(body, root));
  else if (whole === "string") addText(IN_TEXT, stringOf(body, root));
  else
    someMemberWithin(body, root, ({ key, value, kind, path }) => {
      if (Object.keys(counts).length >= COUNTS_MAX) return true;
      if (isVaryingKey(key)) return "outside";
      if (kind === "number") addNumber(path, textOf(body, value));
      const text = kind === "string" ? headOf(body, value, TEXT_BYTES) : undefined;
      if (text !== undefined && !addNumber(path, text)) addText(`${path}.${IN_TEXT}`, text);
      return false;
    });
  return counts;
}

function isCalled(what: keyof typeof NAMES, name: string): boolean {
  return NAMES[what].test(plainName(name.split(".").at(-1) ?? ""));
}

/** The number of accepted records according to a count; a count of skipped records is subtracted from `size`. */
export function takenBy(name: string, count: number | undefined, size: number): number {
  if (count === undefined) return size;
  return isCalled("leftOut", name) ? Math.max(0, size - count) : count;
}

/** The text that a count stands in; a text may repeat the counts beside it. */
function placeOf(name: string): string {
  return name.slice(0, name.indexOf(IN_TEXT) + 1);
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

/** Whether it was equal several times to one request size. A number that never varies may count something else. */
function isUsuallyEqual(
  known: KnownCount | undefined,
  { name, count, isCounting }: { name: string; count: number; isCounting: boolean },
): boolean {
  if ((known?.times ?? 0) < TIMES_MAX) return false;
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

/** Earlier versions learned a count of skipped records that was 0 as `else`. */
function isOfElse(known: KnownCount | undefined, name: string): boolean {
  return known?.of === "else" ? !isCalled("leftOut", name) : known?.of !== undefined;
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

/**
 * Learns from an answer to a request whose records were all accepted. Returns the same object where nothing is new.
 * @param at when it was answered, where the acceptance of fewer records can be repeated later: see {@link findShortSince}
 */
export function learnCounts(learned: LearnedCounts, counts: AnswerCounts, size: number, at?: string): LearnedCounts {
  let next = learned;
  for (const [name, count] of Object.entries(counts)) {
    const known = next[name];
    if (known?.short !== undefined) {
      const after = learnShort(known, known.short, { name, count, size });
      if (after !== known) next = { ...next, [name]: after };
      continue;
    }
    const taken = takenBy(name, count, size);
    // What was left out of a former acceptance is shown by a 0.
    const isShown = (known?.of === "left out" || known?.of === "changes") && taken === size;
    if ((isOfElse(known, name) && !isShown) || (known === undefined && Object.keys(next).length >= COUNTS_MAX))
      continue;
    const { sizes = [], times = 0 } = known ?? {};
    if (taken === size) {
      const isNew = sizes.length < SIZES_MAX && !sizes.includes(size);
      const after = { sizes: isNew ? [...sizes, size] : sizes, times: Math.min(times + 1, TIMES_MAX) };
      if (isNew || after.times > times) next = { ...next, [name]: { ...after, ...lastingOf(known) } };
    } else if (
      sizes.length < SIZES_MAX &&
      !(isCalled("takenAtAll", name) && taken < size) &&
      !(count === 0 && times === TIMES_MAX)
    )
      next = { ...next, [name]: otherwise({ ...known, sizes }, { name, count, size, at }) };
  }
  return next;
}

/** What stays known of a count whatever it is equal to. */
function lastingOf(known: KnownCount | undefined): Partial<KnownCount> {
  const { isOfTaken, mayLack, of } = known ?? {};
  return { ...(isOfTaken && { isOfTaken }), ...(mayLack && { mayLack }), ...(of === "changes" && { of }) };
}

/** A count of something else than accepted records, or of fewer than were sent. */
function otherwise(
  { sizes, times = 0, mayLack }: KnownCount,
  { name, count, size, at }: { name: string; count: number; size: number; at: string | undefined },
): KnownCount {
  if (isCalled("leftOut", name)) return { sizes: [], of: "left out" };
  // A 1 may be a flag.
  if (at === undefined || count <= 1 || count > size) return { sizes: [], of: "else" };
  const short = { count, times: 1, since: at };
  return { sizes, times, of: "else", short, ...(mayLack && { mayLack }) };
}

/**
 * A count that was smaller than accepted requests may be of the records that the service has taken of each: with a fixed
 * number of records a request, it is that number for all larger requests, and equal to the size of smaller ones. It is also
 * one of records if it was equal to the size of many requests, with another size or a fitting name.
 */
function learnShort(
  known: KnownCount,
  short: ShortBefore,
  { name, count, size }: { name: string; count: number; size: number },
): KnownCount {
  if (count === 0) return known;
  if (count > size) return { sizes: [], of: "else" };
  if (count < size) {
    if (count !== short.count) return { ...known, sizes: [], times: 0, short: { ...short, count, times: 1 } };
    return short.times > 1 ? known : { ...known, short: { ...short, times: 2 } };
  }
  // A number that never varies is equal to a request of its size by chance.
  if (count === short.count) return known;
  const sizes = known.sizes.includes(size) ? known.sizes : [...known.sizes, size].slice(0, SIZES_MAX);
  const times = Math.min((known.times ?? 0) + 1, TIMES_MAX);
  const isFixed = short.times > 1 && sizes.some((each) => each < short.count);
  const isNamed = isCalled("taken", name) || isCalled("all", name) || isCalled("changed", name);
  const isOften = times === TIMES_MAX && (sizes.length === SIZES_MAX || isNamed || IN_WORDS.test(name));
  const after = { ...known, sizes, times };
  if (!isFixed && !isOften) return after;
  const { of: _, short: __, ...ofRecords } = after;
  // It was equal to that number of records as well.
  return { ...ofRecords, sizes: [...new Set([...sizes, short.count])].slice(0, SIZES_MAX) };
}

/**
 * Since when, by this machine's clock, requests were accepted of which the service has taken fewer records than were sent: it
 * is known only now that the count is of records.
 */
export function findShortSince(before: LearnedCounts, after: LearnedCounts): string | undefined {
  const found = Object.entries(before).flatMap(([name, { short }]) =>
    short !== undefined && after[name] !== undefined && after[name].of === undefined ? [short.since] : [],
  );
  return found.sort()[0];
}

/** Marks a count that was smaller although nothing was skipped as one of changes, and counts with similar names as well. */
export function learnCountOfChanges(learned: LearnedCounts, name: string): LearnedCounts {
  if (learned[name]?.of === "changes") return learned;
  const isSuch = (other: string) => other === name || isCalled("leftOutOrSame", other) || isCalled("changed", other);
  const same = Object.keys(learned).filter(isSuch);
  const ofChanges = (each: string): [string, KnownCount] => {
    const { times, mayLack } = learned[each] ?? {};
    return [each, { sizes: [], of: "changes", ...(times && { times }), ...(mayLack && { mayLack }) }];
  };
  return { ...learned, ...Object.fromEntries([name, ...same].map(ofChanges)) };
}

/** @see KnownCount.mayLack */
export function learnLack(learned: LearnedCounts, name: string): LearnedCounts {
  return { ...learned, [name]: { sizes: [], ...learned[name], mayLack: true } };
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

/** Whether a count was equal to the number of records so often that fewer of it mean something. */
export function isEqualOften(known: KnownCount | undefined): boolean {
  return known?.times === TIMES_MAX;
}

/** Whether a count of accepted or skipped records is known to count only changes: then a 0 does not contradict an acceptance. */
export function countsChanges(learned: LearnedCounts): boolean {
  return Object.entries(learned).some(
    ([name, { of }]) => of === "changes" && (isCalled("takenAtAll", name) || isCalled("leftOut", name)),
  );
}

/** Marks a count that included an unchanged record as one of accepted records. */
export function learnCountOfTaken(learned: LearnedCounts, name: string): LearnedCounts {
  return { ...learned, [name]: { sizes: [], ...learned[name], isOfTaken: true } };
}
