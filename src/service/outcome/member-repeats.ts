/*
 * What the members of an answer's elements repeat of the records that they name: `{"sku": "B", "stock": 3}`, where 3 were sent.
 * A member that does so for all records of the first answers is missed where a later record lacks it. One that differed in one of them,
 * as an id of the service does, repeats nothing, even where it is equal by chance once. Pure.
 */

import { bareName, isScalar, membersIn, numberOf, WORD_MAX } from "./named-records.ts";
import { saysTaken, saysWell } from "./unknown-outcome.ts";
import { NAMES } from "./vocabulary.ts";

/**
 * Suffixes for a member that repeats a number of its record, or says yes, for all records of an answer; and for a record of another
 * answer that has nothing there, or a larger number than was sent. A smaller one may be what buyers have left.
 */
export const HOLDS = "^";
export const HOLDS_NOT = "^!";
/** The same for a number that differs from those of most records of an answer, smaller or larger. */
export const DIFFERS = "^?";
/** Equal by chance too often to prove that a number is repeated. */
const SMALL_MAX = 1;
/** Per place. */
const MEMBERS_MAX = 20;
/** Per place, because there is a limit of usual words. */
const DIFFERING_MAX = 10;

/** What names a record beside its key. */
export interface NamedElement {
  index: number;
  key: readonly string[];
  /** Those that have the name: which of them the element is about is not known. */
  records: readonly object[];
  element: object;
}

/**
 * The words for each record that is named at a place.
 * @param usual words of former answers: of these, members that held for all their records
 */
export function wordsOfMembers(
  place: string,
  elements: readonly NamedElement[],
  usual: readonly string[],
): { index: number; word: string }[] {
  const named = elements.map(({ element, ...of }) => {
    // Also those of an object below.
    const members = new Map(membersIn(element, 1).map(({ path, value }) => [path, value]));
    return { ...of, members };
  });
  // A word that is cut would name another member.
  const isWhole = (name: string) => place.length + name.length + HOLDS_NOT.length <= WORD_MAX;
  const compared = (name: string) =>
    named.map(({ index, members, ...of }) => ({ index, holds: holdsOf(name, members.get(name), of) }));
  const names = [...new Set(named.flatMap(({ members }) => [...members.keys()]))].slice(0, MEMBERS_MAX);
  const held = names.flatMap((name) => {
    const all = compared(name);
    const isHeld =
      all.every(({ holds }) => holds === "yes" || holds === "maybe") && all.some(({ holds }) => holds === "yes");
    return isHeld && isWhole(name) ? all.map(({ index }) => ({ index, word: place + name + HOLDS })) : [];
  });
  const differing = names.flatMap((name) => {
    const [first, ...others] = compared(name).filter(({ holds }) => holds === "less" || holds === "more");
    const isMost = first !== undefined && 2 * (1 + others.length) > named.length;
    return isMost && isWhole(name) ? [{ index: first.index, word: place + name + DIFFERS }] : [];
  });
  const before = usual.filter((word) => word.endsWith(HOLDS) && word.startsWith(place));
  const lacking = before.flatMap((word) => {
    const name = word.slice(place.length, -HOLDS.length);
    // Of a list below this place.
    if (name.includes("[]")) return [];
    const without = compared(name).filter(({ holds }) => holds === "more" || holds === "nothing");
    return without.map(({ index }) => ({ index, word: place + name + HOLDS_NOT }));
  });
  return [...held, ...differing.slice(0, DIFFERING_MAX), ...lacking];
}

/**
 * Whether a member of what names records repeats a number of one of them, or says yes. `maybe`: a small number, which may do so by
 * chance; `less`: one that is smaller than a number of the record; `key`: its key.
 */
function holdsOf(
  name: string,
  value: unknown,
  { key, records }: { key: readonly string[]; records: readonly object[] },
): "yes" | "maybe" | "less" | "more" | "key" | "nothing" {
  if (isYes(bareName(name.split(".").at(-1) ?? ""), value)) return "yes";
  if (isScalar(value) && key.includes(String(value))) return "key";
  const number = numberOf(value);
  if (number === undefined) return "nothing";
  const sent = records.flatMap((record) => membersIn(record, 1)).flatMap(({ value: own }) => numberOf(own) ?? []);
  if (!sent.includes(number)) return number < Math.max(...sent) ? "less" : "more";
  return Math.abs(number) > SMALL_MAX ? "yes" : "maybe";
}

/** Not where another word of acceptance may stand in its place: `updated`, `created`. */
function isYes(name: string, value: unknown): boolean {
  const isVerdict = NAMES.recordVerdict.test(name) && !NAMES.takenFlag.test(name) && !NAMES.changed.test(name);
  if (!isVerdict || !isScalar(value)) return false;
  const text = String(value).trim().toLowerCase();
  return saysWell(`${name}=${text}`) || saysTaken(text);
}
