/*
 * What each count of an endpoint's answers was equal to: a service that accepts only a part of a request may report it in its
 * usual form, with a smaller number, but some count only changed records, or something else. Pure.
 */

import { plainName } from "./answer.ts";
import type { AnswerCounts } from "./answer-counts.ts";
import { NAMES } from "./vocabulary.ts";

/** What was learned about one count. */
export interface KnownCount {
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

export const COUNTS_MAX = 20;
export const SIZES_MAX = 2;
/** A count that was equal so often follows the number of records, even where all requests have the same size. */
const TIMES_MAX = 5;
/** Part of the name of a number inside a text, or of an answer that is a number: `message.#.1/2`, `message.#.updated`, `#` */
export const IN_TEXT = "#";
export const IN_WORDS = /#\.\d/;

export function isCalled(what: keyof typeof NAMES, name: string): boolean {
  return NAMES[what].test(plainName(name.split(".").at(-1) ?? ""));
}

/** The number of accepted records according to a count; a count of skipped records is subtracted from `size`. */
export function takenBy(name: string, count: number | undefined, size: number): number {
  if (count === undefined) return size;
  return isCalled("leftOut", name) ? Math.max(0, size - count) : count;
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
  if (at === undefined || count === 0 || count > size) return { sizes: [], of: "else" };
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

/** Marks a count that included an unchanged record as one of accepted records. */
export function learnCountOfTaken(learned: LearnedCounts, name: string): LearnedCounts {
  return { ...learned, [name]: { sizes: [], ...learned[name], isOfTaken: true } };
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

/** Earlier versions learned a count of skipped records that was 0 as `else`. */
export function isOfElse(known: KnownCount | undefined, name: string): boolean {
  return known?.of === "else" ? !isCalled("leftOut", name) : known?.of !== undefined;
}
