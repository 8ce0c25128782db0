/*
 * The counts in the answers to an import. A service that takes only a part of a request may say so in its usual form: with a
 * number that is smaller than that of the records. Some count only what they have changed: what is usual is learned. Pure.
 */

import { kindOf, type Span, someMember, stringOf, textOf } from "../answers/json-text.ts";
import { SAME_NAME, TAKEN_AT_ALL_NAME, TAKEN_NAME } from "./doubt-words.ts";

/** Numbers of the answer by name: `data.imported`. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** What is known of one count. */
interface KnownCount {
  /** Different numbers of records that it was equal to, two at most. */
  sizes: readonly number[];
  /** It counts what the records have changed, or something else, and not the records. */
  of?: "changes" | "else";
}

export type LearnedCounts = Readonly<Record<string, KnownCount>>;

const NAME_MAX = 40;
const COUNTS_MAX = 20;
const SIZES_MAX = 2;

/** The numbers at the top and one level below. */
export function readCounts(body: Buffer, root: Span | undefined): AnswerCounts {
  const counts: Record<string, number> = {};
  if (root !== undefined && kindOf(body, root) === "object") addCounts(body, root, { counts, above: "" });
  return counts;
}

function addCounts(
  body: Buffer,
  object: Span,
  { counts, above }: { counts: Record<string, number>; above: string },
): void {
  someMember(body, object, ({ key, value }) => {
    if (Object.keys(counts).length >= COUNTS_MAX) return true;
    // A key of a record, a number or an id is another one in each answer.
    if (key.length > NAME_MAX || /\d{3}/.test(key)) return false;
    const kind = kindOf(body, value);
    if (kind === "object" && above === "") addCounts(body, value, { counts, above: `${key}.` });
    if (kind !== "number" && kind !== "string") return false;
    const text = kind === "number" ? textOf(body, value) : stringOf(body, value);
    if (/^\d{1,9}$/.test(text)) counts[`${above}${key}`] = Number(text);
    return false;
  });
}

/** Of counts in the answer to a confirm. */
const CONFIRMED_NAME =
  /^(?:orders?|records?|items?)?(?:confirmed|acknowledged|accepted|processed|exported|подтверждено)(?:count|total|orders|records|items)?$/;

/** Shows by its name alone that it counts what was accepted. */
function isTakenName(name: string): boolean {
  return isCalled(TAKEN_AT_ALL_NAME, name);
}

function isCalled(pattern: RegExp, name: string): boolean {
  return pattern.test((name.split(".").at(-1) ?? "").replace(/[_\- .]/g, "").toLowerCase());
}

/** Whether other counts say what became of the rest: `{created: 2, updated: 4}`, `{imported: 12, unchanged: 488}`. */
function isExplained(counts: AnswerCounts, name: string, size: number): boolean {
  const isPart = (other: string) =>
    other === name || isCalled(SAME_NAME, other) || (!isTakenName(name) && isCalled(TAKEN_NAME, other));
  const total = Object.entries(counts).reduce((sum, [other, count]) => sum + (isPart(other) ? count : 0), 0);
  return total >= size;
}

export interface CountedOtherwise {
  name: string;
  count: number;
}

/**
 * A count that is known to follow the number of records, or is called so, and is smaller. Undefined where there is none.
 * @param size how many records the answer does not name as refused
 * @param isPart whether the records were in a request of which only a part was counted: then 0 is such a count too, and else
 * it says that none was taken or that nothing has changed.
 * @param needsProof whether no name says enough: only a count that was the number of the records twice follows it
 */
export function findShortCount(
  learned: LearnedCounts,
  counts: AnswerCounts,
  { size, isPart, needsProof = false }: { size: number; isPart: boolean; needsProof?: boolean },
): CountedOtherwise | undefined {
  let short: CountedOtherwise | undefined;
  for (const [name, count] of Object.entries(counts)) {
    const known = learned[name];
    if (known?.of !== undefined || count >= size || (count === 0 && !isPart)) continue;
    const times = known?.sizes.length ?? 0;
    const isFollowing = needsProof
      ? times >= SIZES_MAX
      : isTakenName(name) || times >= (isCalled(TAKEN_NAME, name) ? 1 : SIZES_MAX);
    if (isFollowing && !isExplained(counts, name, size) && (short === undefined || count < short.count))
      short = { name, count };
  }
  return short;
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
    if (isFollowing && count > size) return { name, count };
  }
  return undefined;
}

/** All records of such a request were taken, as far as is known. The same object where nothing is new. */
export function learnCounts(learned: LearnedCounts, counts: AnswerCounts, size: number): LearnedCounts {
  let next = learned;
  for (const [name, count] of Object.entries(counts)) {
    const known = next[name];
    if (known?.of !== undefined || (known === undefined && Object.keys(next).length >= COUNTS_MAX)) continue;
    const sizes = known?.sizes ?? [];
    if (count === size) {
      if (sizes.length < SIZES_MAX && !sizes.includes(size)) next = { ...next, [name]: { sizes: [...sizes, size] } };
    } else if (sizes.length < SIZES_MAX && !(isTakenName(name) && count < size))
      next = { ...next, [name]: { sizes: [], of: "else" } };
  }
  return next;
}

/** It was smaller where nothing was left out. */
export function learnCountOfChanges(learned: LearnedCounts, name: string): LearnedCounts {
  return learned[name]?.of === "changes" ? learned : { ...learned, [name]: { sizes: [], of: "changes" } };
}

/** Whether a count of what was taken is known to count changes alone: then 0 says nothing against an acceptance. */
export function countsChanges(learned: LearnedCounts): boolean {
  return Object.entries(learned).some(([name, { of }]) => of === "changes" && isTakenName(name));
}
