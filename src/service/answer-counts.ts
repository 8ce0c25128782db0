/*
 * The counts in the answers to an import. A service that takes only a part of a request may say so in its usual form: with a
 * number that is smaller than that of the records. Some count only what they have changed: what is usual is learned. Pure.
 */

import { kindOf, type Span, someMember, stringOf, textOf } from "../answers/json-text.ts";
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

/** Numbers of the answer by name: `data.imported`. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** What is known of one count. */
interface KnownCount {
  /** Different numbers of records that it was equal to, two at most; of a count of what was left out: of which it left out none. */
  sizes: readonly number[];
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

/** The numbers at the top and two levels below. */
export function readCounts(body: Buffer, root: Span | undefined): AnswerCounts {
  const counts: Record<string, number> = {};
  if (root !== undefined && kindOf(body, root) === "object") addCounts(body, root, { counts, above: "", level: 0 });
  return counts;
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
    const text = kind === "number" ? textOf(body, value) : stringOf(body, value);
    if (/^\d{1,9}$/.test(text)) counts[`${above}${key}`] = Number(text);
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

/** Whether other counts say what became of the rest: `{created: 2, updated: 4}`, `{imported: 12, unchanged: 488}`. */
function isExplained(counts: AnswerCounts, name: string, size: number): boolean {
  const isLeftOut = isLeftOutName(name);
  const isZero = counts[name] === 0;
  const isPart = (other: string) => {
    if (other === name) return !isLeftOut;
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

/** `taken`: how many records were, by that count. */
export interface CountedOtherwise {
  name: string;
  count: number;
  taken: number;
}

export function doubtOf({ name, count }: CountedOtherwise): Doubt {
  return { why: "counts", words: `${name}: ${count}` };
}

/**
 * A count that is known to follow the number of records, or is called so, and says now that fewer were taken. Undefined where there is none.
 * @param size how many records the answer does not name as refused
 * @param isPart whether the records were in a request of which only a part was counted: then 0 is such a count too. Else it says that
 * nothing has changed, unless it never counted changes by its name and another count says that the records came.
 * @param needs what shows that a count follows the number of records: `name`: being called so is enough; `one size`: no name is, and of a
 * name that says so one number that it was equal to; `two sizes`: two of them whatever it is called
 */
export function findShortCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  { size, isPart, needs = "name" }: { size: number; isPart: boolean; needs?: "name" | "one size" | "two sizes" },
): CountedOtherwise | undefined {
  let short: CountedOtherwise | undefined;
  for (const [name, count] of Object.entries(counts)) {
    const known = learned[name];
    const taken = takenBy(name, count, size);
    if (isOfElse(known, name) || taken >= size) continue;
    const times = known?.sizes.length ?? 0;
    if (count === 0 && !isPart && !(times > 0 && saysNone(learned, counts, { name, size }))) continue;
    const isNamed = isCalled(TAKEN_NAME, name) || isLeftOutName(name);
    const isFollowing =
      (needs === "name" && isTakenName(name)) || times >= (isNamed && needs !== "two sizes" ? 1 : SIZES_MAX);
    if (isFollowing && !isExplained(counts, name, size) && (short === undefined || taken < short.taken))
      short = { name, count, taken };
  }
  return short;
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
    const sizes = known?.sizes ?? [];
    const taken = takenBy(name, count, size);
    if (taken === size) {
      if (sizes.length < SIZES_MAX && !sizes.includes(size)) next = { ...next, [name]: { sizes: [...sizes, size] } };
    } else if (sizes.length < SIZES_MAX && !(isTakenName(name) && taken < size))
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
