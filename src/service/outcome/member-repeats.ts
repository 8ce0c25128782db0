/*
 * What the members of an answer's elements repeat of the records that they name: `{"sku": "B", "stock": 3}`, where 3 were sent.
 * A member that does so for all records of the first answers is missed where a later record lacks it. Pure.
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
/** Equal by chance too often to prove that a number is repeated. */
const SMALL_MAX = 1;
/** Per place. */
const MEMBERS_MAX = 20;

/** What names a record beside its key. */
export interface NamedElement {
  index: number;
  key: readonly string[];
  record: object;
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
  const compared = (name: string) =>
    named.map(({ index, members, ...of }) => ({ index, holds: holdsOf(name, members.get(name), of) }));
  const names = [...new Set(named.flatMap(({ members }) => [...members.keys()]))].slice(0, MEMBERS_MAX);
  const held = names.flatMap((name) => {
    const all = compared(name);
    const isHeld =
      all.every(({ holds }) => holds === "yes" || holds === "maybe") && all.some(({ holds }) => holds === "yes");
    // A word that is cut would name another member.
    if (!isHeld || place.length + name.length + HOLDS_NOT.length > WORD_MAX) return [];
    return all.map(({ index }) => ({ index, word: place + name + HOLDS }));
  });
  const before = usual.filter((word) => word.endsWith(HOLDS) && word.startsWith(place));
  const lacking = before.flatMap((word) => {
    const name = word.slice(place.length, -HOLDS.length);
    // Of a list below this place.
    if (name.includes("[]")) return [];
    const without = compared(name).filter(({ holds }) => holds === "no");
    return without.map(({ index }) => ({ index, word: place + name + HOLDS_NOT }));
  });
  return [...held, ...lacking];
}

/**
 * Whether a member of what names a record repeats a number of it, or says yes. `maybe`: a small number, which may do so by
 * chance; `other`: one that is smaller than a number of the record, or its key.
 */
function holdsOf(
  name: string,
  value: unknown,
  { key, record }: { key: readonly string[]; record: object },
): "yes" | "maybe" | "other" | "no" {
  if (isYes(bareName(name.split(".").at(-1) ?? ""), value)) return "yes";
  if (isScalar(value) && key.includes(String(value))) return "other";
  const number = numberOf(value);
  const sent = membersIn(record, 1).flatMap(({ value: own }) => numberOf(own) ?? []);
  if (number === undefined || !sent.includes(number))
    return number !== undefined && number < Math.max(...sent) ? "other" : "no";
  return Math.abs(number) > SMALL_MAX ? "yes" : "maybe";
}

/** Not where another word of acceptance may stand in its place: `updated`, `created`. */
function isYes(name: string, value: unknown): boolean {
  const isVerdict = NAMES.recordVerdict.test(name) && !NAMES.takenFlag.test(name) && !NAMES.changed.test(name);
  if (!isVerdict || !isScalar(value)) return false;
  const text = String(value).trim().toLowerCase();
  return saysWell(`${name}=${text}`) || saysTaken(text);
}
