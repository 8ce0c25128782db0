/*
 * What an answer to an import reports of single records: `{"not_found": ["B"]}`, `[{"sku": "B", "status": 404}]`,
 * `{"B": "NOT_FOUND"}`. Wherever the answer names a record of the request, the words there belong to that record; which are
 * usual is learned (`usual-reports.ts`). A list that names no record and has as many elements as the request may report
 * each by its position: `{"results": ["ok", "skipped"]}`. Pure.
 */

import { type NamedElement, wordsOfMembers } from "./member-repeats.ts";
import {
  bareName,
  DEPTH_MAX,
  isObject,
  isScalar,
  memberPath,
  membersIn,
  NamedRecords,
  numberOf,
  ordinaryOf,
  type SentRecord,
  WORD_MAX,
} from "./named-records.ts";
import { saysTaken, saysWell } from "./unknown-outcome.ts";
import { NAMES, VALUES } from "./vocabulary.ts";

export interface SaidOfRecords {
  /** The words for each record, in the order of the request; an empty set where it is not named. */
  of: readonly ReadonlySet<string>[];
  /**
   * What concerns no record by name: non-empty lists, words of a refusal (`rows.2=error`), and flags (`?complete=true`), of
   * which one that was always true before is unusual where it is false.
   */
  unnamed: readonly string[];
  /** Where no record is named: the names and values of the answer, which name none later either. */
  ordinary: readonly string[];
}

/** Means accepted, in whatever words. */
export const WELL = "+";
/** Prefix of words that a list reports by position. */
export const IN_PLACE = "@";
/** Suffixes for lists: a verdict for each of several records; for a single record, which may be about the whole; other content. */
export const LIST_OF_ALL = "+";
export const LIST_OF_ONE = "1";
export const OTHER_LIST = "…";
/** More different words in such a list are no verdicts. */
const IN_PLACE_MAX = 10;
const ORDINARY_MAX = 100;
/** Per record, because there is a limit of usual words. */
const FLAGS_MAX = 4;
/** Prefix of flags. */
export const FLAG = "?";
export const [FLAG_YES, FLAG_NO] = ["=true", "=false"];
/**
 * @param answer the parsed JSON of the answer
 * @param usual.ordinary see {@link UsuallySaid.ordinary}: a record whose key is `ok` is not named by `{ ok: true }`
 * @param usual.words the words that are known so far
 * @example
 * readSaid({ ok: ["A"], unknown: ["B"] }, [{ key: ["A"], … }, { key: ["B"], … }]).of; // [{"ok[]"}, {"unknown[]"}]
 */
export function readSaid(
  answer: unknown,
  sent: readonly SentRecord[],
  { ordinary = [], words = [] }: { ordinary?: readonly string[]; words?: readonly string[] } = {},
): SaidOfRecords {
  const reader = new ReportReader(sent, ordinary);
  reader.visit(answer, "", 0);
  reader.compareMembers(words);
  const { of, unnamed } = reader;
  const isSilent = of.every(({ size }) => size === 0);
  return { of, unnamed: [...unnamed], ordinary: isSilent ? ordinaryOf(answer, "", 0).slice(0, ORDINARY_MAX) : [] };
}

/** A record, by its index in the request; `all`: with those that have the same name, as the warehouses of an article do. */
interface Named {
  index: number;
  all: readonly number[];
}

class ReportReader {
  readonly of: readonly Set<string>[];
  readonly unnamed = new Set<string>();
  readonly #sent: readonly SentRecord[];
  readonly #names: NamedRecords;
  readonly #records: object[] = [];
  /** What names a record beside its key, by place. */
  readonly #elements = new Map<string, NamedElement[]>();
  /** How often a record was named. */
  #times = 0;

  constructor(sent: readonly SentRecord[], ordinary: readonly string[]) {
    this.of = sent.map(() => new Set());
    this.#sent = sent;
    this.#names = new NamedRecords(sent, new Set(ordinary));
  }

  visit(value: unknown, path: string, depth: number): void {
    if (depth > DEPTH_MAX || value === null || value === undefined) return;
    if (typeof value === "string") {
      for (const index of this.#names.inText(value, path)) this.#say(index, [`${path}~`]);
      this.#sayRefusal(value, path);
    }
    if (typeof value === "boolean" && !/\[\]|\d/.test(path)) this.#sayFlag(value, path);
    if (Array.isArray(value)) this.#visitList(value, path, depth);
    else if (typeof value === "object") this.#visitObject(value, path, depth);
  }

  /** @param usual the words that are known so far */
  compareMembers(usual: readonly string[]): void {
    for (const [place, elements] of this.#elements)
      for (const { index, word } of wordsOfMembers(place, elements, usual)) this.of[index]?.add(word);
  }

  #say(index: number, words: readonly string[]): void {
    this.#times += words.length;
    for (const word of words) this.of[index]?.add(word.slice(0, WORD_MAX));
  }

  #visitObject(value: object, path: string, depth: number): void {
    const members = Object.entries(value);
    const named = members.map(([key]) => this.#names.ofMember(key, path));
    if (members.length > 0 && named.every((indexes) => indexes.length > 0)) {
      for (const [at, [, about]] of members.entries())
        for (const index of named[at] ?? [])
          this.#say(index, this.#wordsAt(path, about, { index, all: named[at] ?? [] }));
      return;
    }
    if (isNumbered(members)) {
      this.#visitList(Object.values(value), path, depth);
      return;
    }
    const indexes = this.#names.ofElement(value, path);
    for (const index of indexes) this.#say(index, this.#wordsBeside(path, value, { index, all: indexes }));
    if (indexes.length > 0) return;
    for (const [key, below] of members) this.visit(below, memberPath(path, key), depth + 1);
  }

  #visitList(list: readonly unknown[], path: string, depth: number): void {
    const named = list.map((element) => (isScalar(element) ? this.#names.ofValue(element, `${path}[]`) : []));
    if (named.every((indexes) => indexes.length > 0)) {
      for (const index of named.flat()) this.#say(index, [placeWords(path)]);
      return;
    }
    const before = this.#times;
    for (const element of list) this.visit(element, `${path}[]`, depth + 1);
    if (this.#times === before) this.#sayInPlaces(list, path);
  }

  #sayRefusal(value: string, path: string): void {
    const word = value.slice(0, WORD_MAX).trim().toLowerCase();
    if (VALUES.refusal.test(word)) this.unnamed.add(`${path.slice(0, WORD_MAX - word.length)}=${word}`);
  }

  #sayFlag(value: boolean, path: string): void {
    const name = bareName(path.split(".").at(-1) ?? "");
    // A count of changes may be 0, and a flag of changes false, where nothing differs.
    if (NAMES.changed.test(name) || NAMES.same.test(name)) return;
    this.unnamed.add(FLAG + path.slice(0, WORD_MAX - FLAG_NO.length - 1) + (value ? FLAG_YES : FLAG_NO));
  }

  #sayInPlaces(list: readonly unknown[], path: string): void {
    const isOfSize = list.length === this.#sent.length;
    // `[100, null, 102]`: what was made of each record, and nothing of one.
    const hasGaps = isOfSize && list.includes(null) && list.some((element) => element !== null);
    for (const [index, element] of list.entries())
      if (hasGaps && element === null) this.#say(index, [`${path}[]=null`]);
    const place = `${IN_PLACE}${path}[]`;
    const words = isOfSize ? list.map((element, at) => verdictsInPlace(place, element, this.#sent[at])) : [];
    const different = new Set(words.flat());
    // A list of scalars without a yes may list anything else, unless all of them are the code 0.
    const isYes = different.has(WELL) || (words.length > 0 && list.every((element) => element === 0));
    const isSaid = list.some((element) => typeof element === "object") ? different.size > 0 : isYes;
    if (!isSaid || different.size > IN_PLACE_MAX) {
      if (!isTakenPlace(path)) this.unnamed.add(listWord(place, OTHER_LIST));
      return;
    }
    this.unnamed.add(listWord(place, this.#sent.length > 1 ? LIST_OF_ALL : LIST_OF_ONE));
    const isOdd = (word: string) => word !== WELL;
    for (const [index, each] of words.entries()) this.#say(index, each.filter(isOdd));
  }

  #wordsAt(path: string, value: unknown, named: Named): string[] {
    const place = placeWords(path);
    if (isScalar(value)) return [place, ...verdictOf(place, { name: "status", value, sent: this.#sent[named.index] })];
    return Array.isArray(value) ? [place] : this.#wordsBeside(path, value ?? {}, named);
  }

  #wordsBeside(path: string, element: object, { index, all }: Named): string[] {
    const place = placeWords(path.replace(/\[\]$/, ""));
    const sent = this.#sent[index];
    const records = all.map((each) => this.#recordAt(each));
    const verdicts = verdictsIn(element).flatMap((verdict) => verdictOf(place, { ...verdict, sent }));
    const others = this.#elements.get(place) ?? [];
    this.#elements.set(place, [...others, { index, key: sent?.key ?? [], records, element }]);
    return [
      place,
      ...verdicts,
      ...flagsIn(place, element, this.#recordAt(index)),
      ...repeatsIn(place, element, records),
    ];
  }

  #recordAt(index: number): object {
    this.#records[index] ??= JSON.parse(this.#sent[index]?.record ?? "{}") as object;
    return this.#records[index];
  }
}

/** `{"1": "ok", "2": "not found"}`: a list, as PHP writes one that begins with 1. */
function isNumbered(members: readonly [string, unknown][]): boolean {
  const first = members[0]?.[0];
  return (first === "0" || first === "1") && members.every(([key], at) => key === `${Number(first) + at}`);
}

/** The words for a record by its position in a list. Numbers are verdicts only as flags and HTTP statuses. */
function verdictsInPlace(place: string, element: unknown, of: SentRecord | undefined): string[] {
  const verdict = (name: string, value: unknown) => verdictOf(place, { name, value, of });
  if (isObject(element)) return verdictsIn(element).flatMap(({ name, value }) => verdict(name, value));
  const isVerdict =
    isScalar(element) && (typeof element !== "number" || element === 0 || /^[01]$|^[1-5]\d\d$/.test(`${element}`));
  return isVerdict ? verdict("status", element) : [];
}

export function listWord(place: string, sign: string): string {
  return `${place.slice(0, WORD_MAX - 1)}${sign}`;
}

/** The list that a word reported by position comes from; undefined for words of named records. */
export function placeOf(word: string): string | undefined {
  return word.startsWith(IN_PLACE) ? word.slice(0, word.lastIndexOf("[]") + 2) : undefined;
}

function isTakenPlace(path: string): boolean {
  const name = bareName(path.split(".").at(-1) ?? "");
  return NAMES.taken.test(name) || NAMES.same.test(name);
}

/** The path where records are named is a word itself: `updated` means accepted, `ignored` does not. */
function placeWords(path: string): string {
  return isTakenPlace(path) ? WELL : `${path}[]`;
}

function verdictsIn(element: object): { name: string; value: unknown }[] {
  return membersIn(element, 2).flatMap(({ key, value }) => {
    const name = bareName(key);
    if (!NAMES.recordVerdict.test(name) || !(isScalar(value) || Array.isArray(value))) return [];
    return [{ name, value: Array.isArray(value) ? (value[0] ?? null) : value }];
  });
}

/** Flags that the request did not contain, and ids of the service that are null: `exists: false`, `product_id: null`. */
function flagsIn(place: string, element: object, record: object): string[] {
  const flags = Object.entries(element).flatMap(([key, value]) => {
    const name = bareName(key);
    if (value === null) return NAMES.recordId.test(name) ? [`${place}${name}=null`] : [];
    if (typeof value !== "boolean" || key in record || NAMES.recordVerdict.test(name)) return [];
    const isOfArticle = NAMES.articleFlag.test(name) || NAMES.changed.test(name) || NAMES.same.test(name);
    return isOfArticle ? [] : [FLAG + place + name + (value ? FLAG_YES : FLAG_NO)];
  });
  return flags.slice(0, FLAGS_MAX);
}

/** The answer may repeat what was sent: reports numbers that differ from those of every record that is named. */
function repeatsIn(place: string, element: object, records: readonly object[]): string[] {
  return Object.entries(element).flatMap(([name, value]) => {
    const own = records.map((record) => (record as Readonly<Record<string, unknown>>)[name]);
    if (isObject(value) && own.some(isObject)) return repeatsIn(`${place}${name}.`, value, own.filter(isObject));
    const said = numberOf(value);
    const sent = own.flatMap((each) => numberOf(each) ?? []);
    return sent.length === 0 || said === undefined || sent.includes(said) ? [] : [`${place}${name}=other`];
  });
}

/**
 * Empty where the value has no meaning or repeats what was sent.
 * @param sent the record, where the answer may repeat it; `of`: the record, also where it is named by its position
 */
function verdictOf(
  place: string,
  {
    name,
    value,
    sent,
    of = sent,
  }: { name: string; value: unknown; sent?: SentRecord | undefined; of?: SentRecord | undefined },
): string[] {
  if (value === null || value === "" || (value === false && /^errors?$|^warnings?$/.test(name))) return [];
  const text = isScalar(value) ? String(value).trim().toLowerCase() : JSON.stringify(value);
  if (value === true && NAMES.changed.test(name)) return [WELL];
  if (saysWell(`${name}=${text}`) || (/status|code/.test(name) && VALUES.httpSuccess.test(text))) return [WELL];
  if (of?.mayBeThere !== undefined && saysTaken(text)) return [WELL];
  if (value === false && NAMES.changed.test(name) && of?.mayBeThere?.() === true) return [];
  if (sent !== undefined && repeats(sent.record, name, value)) return [];
  const isShort = /^-?\d{1,3}$/.test(text);
  return [`${place}${name}=${isShort ? text : plainWords(text, sent?.key ?? [])}`];
}

/** A number only under its own name: `status: 0` is no quantity. */
function repeats(record: string, name: string, value: unknown): boolean {
  const text = JSON.stringify(value);
  return record.includes(typeof value === "number" ? `"${name}":${text}` : text);
}

function plainWords(text: string, key: readonly string[]): string {
  let plain = text;
  for (const part of key) if (part.length > 0) plain = plain.replaceAll(part.toLowerCase(), "…");
  return plain.replace(/\d[\d.,:]*/g, "0");
}
