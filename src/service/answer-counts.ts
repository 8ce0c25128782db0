/*
 * The counts in the answers to an import. A service that takes only a part of a request may say so in its usual form: with a
 * number that is smaller than that of the records. Some count only what they have changed: what is usual is learned. Pure.
 */

import { headOf, kindOf, type Span, someMember, stringOf, textOf } from "../answers/json-text.ts";
import type { Doubt } from "./acceptance.ts";
import {
  CAME_NAME,
  CHANGED_NAME,
  CONFIRMED_NAME,
  LEFT_OUT_NAME,
  SAME_NAME,
  TAKEN_AT_ALL_NAME,
  TAKEN_NAME,
  UNCHANGED_OR_LEFT_OUT_NAME,
} from "./doubt-words.ts";
import { readCountsInWords } from "./part-words.ts";

/** Numbers of the answer by name: `data.imported`. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** What is known of one count. */
interface KnownCount {
  /** Different numbers of records that it was equal to, two at most; of a count of what was left out: of which it left out none. */
  sizes: readonly number[];
  /** So often it was equal, up to as often as is enough for one number of records. Absent: an earlier version has learned it. */
  times?: number;
  /** A record that the service had was counted again: 0 says that none was taken, and not that nothing has changed. */
  isOfTaken?: true;
  /**
   * It counts what the records have changed, or something else, and not the records. `left out`: one of what was left out, which was
   * above 0 in an acceptance.
   */
  of?: "changes" | "left out" | "else";
}

export type LearnedCounts = Readonly<Record<string, KnownCount>>;

const NAME_MAX = 40;
const COUNTS_MAX = 20;
const LEVELS = 2;
const SIZES_MAX = 2;
/** Where every request has the same number of records, a count that was equal so often follows that number. */
const TIMES_MAX = 5;
const TEXT_BYTES = 1_200;
/** In the name of a number that stands in a text, or is the whole answer: `message.#.1/2`, `message.#.updated`, `#` */
const IN_TEXT = "#";

/** The numbers at the top and two levels below, and those in texts; of an answer that is no object its number, or those of its text. */
export function readCounts(body: Buffer, root: Span | undefined): AnswerCounts {
  const counts: Record<string, number> = {};
  const kind = root === undefined ? undefined : kindOf(body, root);
  if (root === undefined) addText(body.toString("utf8", 0, TEXT_BYTES), { counts, above: "" });
  else if (kind === "object") addCounts(body, root, { counts, above: "", level: 0 });
  else if (kind === "number") addNumber(textOf(body, root), { counts, name: IN_TEXT });
  else if (kind === "string") addText(stringOf(body, root), { counts, above: "" });
  return counts;
}

function addNumber(text: string, { counts, name }: { counts: Record<string, number>; name: string }): boolean {
  const isCount = /^\d{1,9}$/.test(text);
  if (isCount) counts[name] = Number(text);
  return isCount;
}

/** By their places: words change with the numbers beside them. Those of what was changed, or was the same, are one count. */
function addText(text: string, { counts, above }: { counts: Record<string, number>; above: string }): void {
  const place = `${above}${IN_TEXT}`;
  if (addNumber(text.trim(), { counts, name: place })) return;
  const { changed, others } = readCountsInWords(text.slice(0, TEXT_BYTES));
  if (changed !== undefined) counts[`${place}.updated`] = changed;
  for (const [at, count] of others.entries()) counts[`${place}.${at + 1}/${others.length}`] = count;
}

function addCounts(
  body: Buffer,
  object: Span,
  { counts, above, level }: { counts: Record<string, number>; above: string; level: number },
): void {
  someMember(body, object, ({ key, value }) => {
    if (Object.keys(counts).length >= COUNTS_MAX) return true;
    // A key of a record, a number or an id is another one in each answer.
    if (key.length > NAME_MAX || /\d{3}/.test(key)) return false;
    const kind = kindOf(body, value);
    if (kind === "object" && level < LEVELS)
      addCounts(body, value, { counts, above: `${above}${key}.`, level: level + 1 });
    if (kind !== "number" && kind !== "string") return false;
    const text = kind === "number" ? textOf(body, value) : headOf(body, value, TEXT_BYTES);
    if (!addNumber(text, { counts, name: `${above}${key}` }) && kind === "string")
      addText(text, { counts, above: `${above}${key}.` });
    return false;
  });
}

/** Shows by its name alone that it counts what was accepted. */
function isTakenName(name: string): boolean {
  return isCalled(TAKEN_AT_ALL_NAME, name);
}

function isCalled(pattern: RegExp, name: string): boolean {
  return pattern.test((name.split(".").at(-1) ?? "").replace(/[_\- .]/g, "").toLowerCase());
}

function isLeftOutName(name: string): boolean {
  return isCalled(LEFT_OUT_NAME, name);
}

/** How many of the records a count says were taken: one of what was left out says it of the others. */
export function takenBy(name: string, count: number | undefined, size: number): number {
  if (count === undefined) return size;
  return isLeftOutName(name) ? Math.max(0, size - count) : count;
}

function placeOfText(name: string): string {
  return name.slice(0, name.indexOf(IN_TEXT) + 1);
}

/** Whether other counts say what became of the rest: `{created: 2, updated: 4}`, `{imported: 12, unchanged: 488}`. */
function isExplained(counts: AnswerCounts, name: string, size: number): boolean {
  const isLeftOut = isLeftOutName(name);
  const isZero = counts[name] === 0;
  const isPart = (other: string) => {
    if (other === name) return !isLeftOut;
    // A text beside counts may repeat them.
    if (placeOfText(other) !== placeOfText(name)) return false;
    if (isCalled(SAME_NAME, other)) return true;
    if (isTakenName(name)) return isZero && isCalled(CHANGED_NAME, other);
    return isCalled(TAKEN_NAME, other) && !isCalled(CAME_NAME, other);
  };
  const total = Object.entries(counts).reduce((sum, [other, count]) => sum + (isPart(other) ? count : 0), 0);
  return total >= size;
}

/** Whether another count says that all records came, so that one of 0 beside it says that none of them was taken. */
function hasCame(
  learned: LearnedCounts,
  counts: AnswerCounts,
  { name, size }: { name: string; size: number },
): boolean {
  return Object.entries(counts).some(([other, count]) => {
    if (other === name || count !== size || isLeftOutName(other)) return false;
    const { sizes = [], of } = learned[other] ?? {};
    return isCalled(CAME_NAME, other) || (of === undefined && sizes.length >= SIZES_MAX);
  });
}

/** `taken`: how many records were, by that count. `mayBeSame`: it is 0, and may say as well that nothing has changed. */
export interface CountedOtherwise {
  name: string;
  count: number;
  taken: number;
  mayBeSame?: true;
}

export function doubtOf({ name, count }: CountedOtherwise): Doubt {
  const called = name.replace(/\.?#(?:\.\d+\/\d+)?/, "").replace(/^\./, "");
  return { why: "counts", words: called === "" ? `${count}` : `${called}: ${count}` };
}

interface ShortCountOptions {
  size: number;
  isPart: boolean;
  counting?: ReadonlySet<string>;
  needs?: "name" | "one size" | "two sizes";
}

/**
 * A count that is known to follow the number of records, or is called so, and says now that fewer were taken. Undefined where there is none.
 * @param size how many records the answer does not name as refused
 * @param isPart whether the records were in a request of which only a part was counted: then 0 is such a count too. Else one that is
 * called a count of changes says that nothing has changed, and any other one may, unless another count says that the records came.
 * @param counting counts that were smaller than the records of other requests lately, whatever they were equal to before
 * @param needs what shows that a count follows the number of records: `name`: being called so is enough; `one size`: no name is, and of a
 * name that says so one number that it was equal to; `two sizes`: two of them whatever it is called. One number is enough where it was
 * equal to that several times.
 */
export function findShortCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  { size, isPart, counting, needs = "name" }: ShortCountOptions,
): CountedOtherwise | undefined {
  let short: CountedOtherwise | undefined;
  for (const [name, count] of Object.entries(counts)) {
    const known = learned[name];
    const taken = takenBy(name, count, size);
    if (isOfElse(known, name) || taken >= size) continue;
    const sizes = known?.sizes.length ?? 0;
    const isNamed = isCalled(TAKEN_NAME, name) || isLeftOutName(name);
    const isEqual = sizes >= SIZES_MAX || isUsuallyEqual(known, { name, count, isCounting: counting?.has(name) });
    const isSure = known?.isOfTaken === true || (sizes > 0 && saysNone(learned, counts, { name, size }));
    if (count === 0 && !isPart && !isSure && (!isEqual || isCalled(CHANGED_NAME, name))) continue;
    const isFollowing =
      isEqual || (needs === "name" && isTakenName(name)) || (isNamed && needs !== "two sizes" && sizes > 0);
    if (isFollowing && !isExplained(counts, name, size) && (short === undefined || taken < short.taken))
      short = { name, count, taken, ...(count === 0 && !isSure ? { mayBeSame: true } : {}) };
  }
  return short;
}

/** It was equal several times, of one number of records. A number that is the same again may be none of records, unless it was another one since. */
function isUsuallyEqual(
  known: KnownCount | undefined,
  { name, count, isCounting = false }: { name: string; count: number; isCounting?: boolean | undefined },
): boolean {
  if ((known?.times ?? 0) < TIMES_MAX) return false;
  if (isCounting) return true;
  return known?.sizes[0] !== count || isCalled(TAKEN_NAME, name) || isCalled(CAME_NAME, name) || /#\.\d/.test(name);
}

function saysNone(learned: LearnedCounts, counts: AnswerCounts, of: { name: string; size: number }): boolean {
  return !isCalled(CHANGED_NAME, of.name) && hasCame(learned, counts, of);
}

/** Earlier versions have learned a count of what was left out, which was 0, as one of something else. */
function isOfElse(known: KnownCount | undefined, name: string): boolean {
  return known?.of === "else" ? !isLeftOutName(name) : known?.of !== undefined;
}

/** A count that was the number of the records twice, or once where it is called so, and is larger now. Undefined where there is none. */
export function findExcessCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  size: number,
): CountedOtherwise | undefined {
  for (const [name, count] of Object.entries(counts)) {
    const { sizes = [], of } = learned[name] ?? {};
    const isFollowing = of === undefined && sizes.length >= (isCalled(CONFIRMED_NAME, name) ? 1 : SIZES_MAX);
    if (isFollowing && count > size && !isLeftOutName(name)) return { name, count, taken: count };
  }
  return undefined;
}

/** All records of such a request were taken, as far as is known. The same object where nothing is new. */
export function learnCounts(learned: LearnedCounts, counts: AnswerCounts, size: number): LearnedCounts {
  let next = learned;
  for (const [name, count] of Object.entries(counts)) {
    const known = next[name];
    if (isOfElse(known, name) || (known === undefined && Object.keys(next).length >= COUNTS_MAX)) continue;
    const { sizes = [], times = 0 } = known ?? {};
    const taken = takenBy(name, count, size);
    if (taken === size) {
      const isNew = sizes.length < SIZES_MAX && !sizes.includes(size);
      const after = { sizes: isNew ? [...sizes, size] : sizes, times: Math.min(times + 1, TIMES_MAX) };
      if (isNew || after.times > times)
        next = { ...next, [name]: { ...after, ...(known?.isOfTaken ? { isOfTaken: true } : {}) } };
    } else if (
      sizes.length < SIZES_MAX &&
      !(isTakenName(name) && taken < size) &&
      !(count === 0 && times === TIMES_MAX)
    )
      next = { ...next, [name]: { sizes: [], of: isLeftOutName(name) ? "left out" : "else" } };
  }
  return next;
}

/** It was smaller where nothing was left out. Then others that say the same in other words count the same. */
export function learnCountOfChanges(learned: LearnedCounts, name: string): LearnedCounts {
  if (learned[name]?.of === "changes") return learned;
  const isSuch = (other: string) =>
    other === name || isCalled(UNCHANGED_OR_LEFT_OUT_NAME, other) || isCalled(CHANGED_NAME, other);
  const same = Object.keys(learned).filter(isSuch);
  return { ...learned, ...Object.fromEntries([name, ...same].map((each) => [each, { sizes: [], of: "changes" }])) };
}

/** Whether a count of what was taken, or of what was not, is known to count changes alone: then 0 says nothing against an acceptance. */
export function countsChanges(learned: LearnedCounts): boolean {
  return Object.entries(learned).some(
    ([name, { of }]) => of === "changes" && (isTakenName(name) || isLeftOutName(name)),
  );
}

/** A record that the service had was counted once more: it counts what was taken. */
export function learnCountOfTaken(learned: LearnedCounts, name: string): LearnedCounts {
  return { ...learned, [name]: { sizes: [], ...learned[name], isOfTaken: true } };
}
