/* Finds the records of a request that its answer names: by a member, a value, an element, or a word in a text. */

import { plainName } from "./answer.ts";
import { NAMES } from "./vocabulary.ts";

/** A record of a request: the text of its key columns, and its JSON. */
export interface SentRecord {
  key: readonly string[];
  record: string;
  /** Of an import: whether the service may have these values already, from a request that was accepted or not answered. */
  mayBeThere?: () => boolean;
}

/** Longer words are cut, and more values than this are not compared. */
export const WORD_MAX = 60;
const VALUES_MAX = 30;
export const DEPTH_MAX = 6;
/** Shorter keys, and short numbers, occur in texts that do not refer to them. */
const KEY_IN_TEXT_MIN = 3;
const TEXT_MAX = 4_000;
/** Numbers that are no counts. */
const CODE = /^(?:0\d{2,}|\d{6,})$/;
const IN_WORD = /[\p{L}\d_]/u;
const SEPARATORS = ["/", ":", "|"];

/** Finds records by a reported key: all key columns joined by a usual separator, in either order, or else the first alone. */
export function findByKey(keys: readonly (readonly string[])[]): (text: string) => readonly number[] {
  const whole = new Map<string, number[]>();
  const first = new Map<string, number[]>();
  const add = (to: Map<string, number[]>, text: string, index: number) => {
    const known = to.get(text);
    if (known === undefined) to.set(text, [index]);
    else if (known.at(-1) !== index) known.push(index);
  };
  keys.forEach((parts, index) => {
    add(first, parts[0] ?? "", index);
    const orders = parts.length > 1 ? [parts, parts.toReversed()] : [];
    for (const order of orders) for (const separator of SEPARATORS) add(whole, order.join(separator), index);
  });
  return (text) => whole.get(text) ?? first.get(text) ?? [];
}

/** Finds records of the request that an answer names. */
export class NamedRecords {
  readonly #keys: readonly (readonly string[])[];
  readonly #ordinary: ReadonlySet<string>;
  readonly #of: (text: string) => readonly number[];
  /** Keys of more than one word, by their first word. */
  readonly #long: ReadonlyMap<string, readonly { key: string; index: number; first: { text: string; at: number } }[]>;

  constructor(sent: readonly SentRecord[], ordinary: ReadonlySet<string>) {
    this.#keys = sent.map(({ key }) => key);
    this.#ordinary = ordinary;
    this.#of = findByKey(this.#keys);
    const long = this.#keys.flatMap(([key = ""], index) => {
      const [first] = wordsIn(key);
      return first === undefined || first.text === key || key.length < KEY_IN_TEXT_MIN ? [] : [{ key, index, first }];
    });
    this.#long = Map.groupBy(long, ({ first }) => first.text);
  }

  ofMember(key: string, path: string): readonly number[] {
    return this.#ordinary.has(memberPath(path, key)) ? [] : this.#of(key);
  }

  ofValue(value: string | number | boolean, place: string): readonly number[] {
    return this.#ordinary.has(equalTo(place, value)) ? [] : this.#of(String(value));
  }

  /** The other key columns may be members beside the first. */
  ofElement(element: object, path: string): readonly number[] {
    const scalars = Object.entries(element).filter(
      (member): member is [string, string | number | boolean] =>
        isScalar(member[1]) && !NAMES.recordVerdict.test(bareName(member[0])),
    );
    const found = (type: "string" | "number") =>
      scalars.find(([key, value]) => typeof value === type && this.ofValue(value, memberPath(path, key)).length > 0);
    const [, name = undefined] = found("string") ?? found("number") ?? [];
    const indexes = name === undefined ? [] : this.#of(String(name));
    if (indexes.length < 2) return indexes;
    const texts = new Set(scalars.map(([, value]) => String(value)));
    const exact = indexes.filter((index) => (this.#keys[index] ?? []).every((part) => texts.has(part)));
    return exact.length > 0 ? exact : indexes;
  }

  inText(text: string, place: string): readonly number[] {
    if (this.#ordinary.has(equalTo(place, text))) return [];
    const head = text.slice(0, TEXT_MAX);
    return wordsIn(head).flatMap(({ text: word, at }) => {
      const long = (this.#long.get(word) ?? []).filter(
        ({ key, first }) =>
          head.startsWith(key, at - first.at) && !IN_WORD.test(head[at - first.at + key.length] ?? ""),
      );
      const isKey = word.length >= KEY_IN_TEXT_MIN && (/[^\d.,]/.test(word) || CODE.test(word));
      const isOrdinary = this.#ordinary.has(wordAt(place, word));
      return [...long.map(({ index }) => index), ...(isKey && !isOrdinary ? this.#of(word) : [])];
    });
  }
}

/** The names and values of an answer: a record whose key is one of them in each answer is not named by it. */
export function ordinaryOf(value: unknown, place: string, depth: number): string[] {
  if (depth > DEPTH_MAX || value === null || value === undefined) return [];
  if (typeof value === "string")
    return [equalTo(place, value), ...wordsIn(value.slice(0, WORD_MAX * 2)).map(({ text }) => wordAt(place, text))];
  if (isScalar(value)) return [equalTo(place, value)];
  if (Array.isArray(value))
    return value.slice(0, VALUES_MAX).flatMap((each) => ordinaryOf(each, `${place}[]`, depth + 1));
  return Object.entries(value)
    .slice(0, VALUES_MAX)
    .flatMap(([key, below]) => [memberPath(place, key), ...ordinaryOf(below, memberPath(place, key), depth + 1)]);
}

/** Words without punctuation at their end. */
function wordsIn(text: string): { text: string; at: number }[] {
  return [...text.matchAll(/[\p{L}\d_./-]*[\p{L}\d_]/gu)].map(({ 0: word, index }) => ({ text: word, at: index }));
}

export function memberPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** Numbers at one place differ from answer to answer. */
function equalTo(place: string, value: string | number | boolean): string {
  return numberOf(value) === undefined ? `${place}=${String(value).slice(0, WORD_MAX)}` : `${place}#`;
}

function wordAt(place: string, word: string): string {
  return `${place}~${word}`;
}

/** Like {@link plainName}, without the signs of a list: `results[]`. */
export function bareName(name: string): string {
  return plainName(name.replace(/[[\]]/g, ""));
}

export function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object, and of objects in it down to `depth`, without those objects themselves. */
export function membersIn(object: object, depth: number, above = ""): { key: string; path: string; value: unknown }[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const path = above + key;
    return isObject(value) && depth > 0 ? membersIn(value, depth - 1, `${path}.`) : [{ key, path, value }];
  });
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined;
}
