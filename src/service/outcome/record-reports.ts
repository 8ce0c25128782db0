/*
 * What an answer to an import reports of single records: `{"not_found": ["B"]}`, `[{"sku": "B", "status": 404}]`,
 * `{"B": "NOT_FOUND"}`. Wherever the answer names a record of the request, the words there belong to that record. No list of
 * words covers every form of a refusal, so the usual words for accepted records are learned. A list that names no record
 * and has as many elements as the request may report each by its position: `{"results": ["ok", "skipped"]}`. Pure.
 */

import { CHANGED_NAME, LEFT_OUT_NAME, SAME_NAME, saysWell, TAKEN_NAME } from "./unknown-outcome.ts";

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

/** The usual words for accepted records of one endpoint. */
export interface UsuallySaid {
  words: readonly string[];
  /** Whether every record was named in every answer. */
  isEachNamed: boolean;
  /** Number of answers, up to {@link USUAL_TIMES}. */
  times: number;
  /** Number of these answers whose lists without named records were examined. */
  listTimes?: number;
  /** Names and values of answers that named no record, by their place: `code`, `code#` for any number, `status=ok`. */
  ordinary?: readonly string[];
}

/** A record of a request: the text of its key columns, and its JSON. */
export interface SentRecord {
  key: readonly string[];
  record: string;
}

export const NOTHING_SAID: UsuallySaid = { words: [], isEachNamed: true, times: 0 };

const USUAL_TIMES = 3;
/** More different words than this are values of the records and no verdicts. */
const WORDS_MAX = 30;
const WORD_MAX = 60;
const DEPTH_MAX = 6;
const ORDINARY_MAX = 100;
/** Shorter keys, and short numbers, occur in texts that do not refer to them. */
const KEY_IN_TEXT_MIN = 3;
const TEXT_MAX = 4_000;
/** Numbers that are no counts. */
const CODE = /^(?:0\d{2,}|\d{6,})$/;
const IN_WORD = /[\p{L}\d_]/u;
const SEPARATORS = ["/", ":", "|"];

/** Means accepted, in whatever words. */
const WELL = "+";
/** Prefix of words that a list reports by position. */
const IN_PLACE = "@";
/** Suffixes for lists: a verdict for each of several records; for a single record, which may be about the whole; other content. */
const LIST_OF_ALL = "+";
const LIST_OF_ONE = "1";
const OTHER_LIST = "…";
/** More different words in such a list are no verdicts. */
const IN_PLACE_MAX = 10;
/** Means not named. */
const NOT_NAMED = "-";
/** Prefix of flags. */
const FLAG = "?";
const [FLAG_YES, FLAG_NO] = ["=true", "=false"];
/** A word that refuses one record, wherever it stands. */
const REFUSAL =
  /^(?:err|error|fail|failed|failure|refused|rejected|declined|denied|invalid|ignored|skipped|not[ _-]?(?:found|accepted|saved|applied|updated)|unknown|nok|ko|ошибка|отказ|отклонено|не найдено?|не принято)$/;

/** Names of members that report the outcome beside a record's key. */
const VERDICT =
  /^(?:is|was|has|http)?(?:status|state|code|result|outcome|errno|errors?|errorcode|errortext|errormessage|statuscode|resultcode|success|successful|succeeded|ok|accepted|saved|stored|applied|done|updated|created|processed|found|skipped|ignored|rejected|message|msg|reason|detail|details|warnings?|note)$/;

/**
 * @param answer the parsed JSON of the answer
 * @param ordinary see {@link UsuallySaid.ordinary}: a record whose key is `ok` is not named by `{ ok: true }`
 * @example
 * readSaid({ ok: ["A"], unknown: ["B"] }, [{ key: ["A"], … }, { key: ["B"], … }]).of; // [{"ok[]"}, {"unknown[]"}]
 */
export function readSaid(
  answer: unknown,
  sent: readonly SentRecord[],
  ordinary: readonly string[] = [],
): SaidOfRecords {
  const said = sent.map(() => new Set<string>());
  const names = new Names(sent, new Set(ordinary));
  const unnamed = new Set<string>();
  let times = 0;
  const say = (index: number, words: string) => {
    times += 1;
    said[index]?.add(words.slice(0, WORD_MAX));
  };
  const records = new Map<number, Record<string, unknown>>();
  const recordAt = (index: number) => {
    const record = records.get(index) ?? (JSON.parse(sent[index]?.record ?? "{}") as Record<string, unknown>);
    records.set(index, record);
    return record;
  };
  const visit = (value: unknown, path: string, depth: number) => {
    if (depth > DEPTH_MAX || value === null || value === undefined) return;
    if (typeof value === "string") for (const index of names.inText(value, path)) say(index, `${path}~`);
    if (typeof value === "string") sayRefusal(value, path);
    if (typeof value === "boolean" && !/\[\]|\d/.test(path)) sayFlag(value, path);
    if (typeof value !== "object") return;
    if (Array.isArray(value)) {
      visitList(value, path, depth);
      return;
    }
    const members = Object.entries(value);
    const named = members.map(([key]) => names.ofMember(key, path));
    if (members.length > 0 && named.every((indexes) => indexes.length > 0)) {
      members.forEach(([, about], at) => {
        for (const index of named[at] ?? [])
          for (const words of saidAt(path, "status", about, index)) say(index, words);
      });
      return;
    }
    if (isNumbered(members)) {
      visitList(Object.values(value), path, depth);
      return;
    }
    const indexes = names.ofElement(value, path);
    for (const index of indexes) for (const words of saidBeside(path, value, index)) say(index, words);
    if (indexes.length > 0) return;
    for (const [key, below] of members) visit(below, memberPath(path, key), depth + 1);
  };
  const sayRefusal = (value: string, path: string) => {
    const word = value.slice(0, WORD_MAX).trim().toLowerCase();
    if (REFUSAL.test(word)) unnamed.add(`${path.slice(0, WORD_MAX - word.length)}=${word}`);
  };
  const sayFlag = (value: boolean, path: string) => {
    const name = plainName(path.split(".").at(-1) ?? "");
    // A count of changes may be 0, and a flag of changes false, where nothing differs.
    if (CHANGED_NAME.test(name) || SAME_NAME.test(name)) return;
    unnamed.add(FLAG + path.slice(0, WORD_MAX - FLAG_NO.length - 1) + (value ? FLAG_YES : FLAG_NO));
  };
  const visitList = (list: readonly unknown[], path: string, depth: number) => {
    const named = list.map((element) => (isScalar(element) ? names.ofValue(element, `${path}[]`) : []));
    const isOfKeys = named.every((indexes) => indexes.length > 0);
    for (const index of isOfKeys ? named.flat() : []) say(index, placeWords(path));
    const before = times;
    if (!isOfKeys) for (const element of list) visit(element, `${path}[]`, depth + 1);
    if (!isOfKeys && times === before) sayInPlaces(list, path);
  };
  const sayInPlaces = (list: readonly unknown[], path: string) => {
    // `[100, null, 102]`: what was made of each record, and nothing of one.
    const hasGaps = list.length === sent.length && list.includes(null) && list.some((element) => element !== null);
    list.forEach((element, index) => {
      if (hasGaps && element === null) say(index, `${path}[]=null`);
    });
    const place = `${IN_PLACE}${path}[]`;
    const words = list.length === sent.length ? list.map((element) => verdictsInPlace(place, element)) : [];
    const different = new Set(words.flat());
    // A list of scalars without a yes may list anything else, unless all of them are the code 0.
    const isYes = different.has(WELL) || (words.length > 0 && list.every((element) => element === 0));
    const isSaid = list.some((element) => typeof element === "object") ? different.size > 0 : isYes;
    if (!isSaid || different.size > IN_PLACE_MAX) {
      if (!isTakenPlace(path)) unnamed.add(listWord(place, OTHER_LIST));
      return;
    }
    unnamed.add(listWord(place, sent.length > 1 ? LIST_OF_ALL : LIST_OF_ONE));
    words.forEach((each, index) => {
      for (const word of each) if (word !== WELL) say(index, word);
    });
  };
  const saidAt = (path: string, name: string, value: unknown, index: number): string[] => {
    const place = placeWords(path);
    if (isScalar(value)) return [place, ...verdictOf(place, { name, value, sent: sent[index] })];
    return Array.isArray(value) ? [place] : saidBeside(path, value ?? {}, index);
  };
  const saidBeside = (path: string, element: object, index: number): string[] => {
    const place = placeWords(path.replace(/\[\]$/, ""));
    const verdicts = verdictsIn(element, 0).flatMap(({ name, value }) =>
      verdictOf(place, { name, value, sent: sent[index] }),
    );
    return [place, ...verdicts, ...repeatsIn(place, element, recordAt(index))];
  };
  visit(answer, "", 0);
  const isSilent = said.every(({ size }) => size === 0);
  return {
    of: said,
    unnamed: [...unnamed],
    ordinary: isSilent ? ordinaryOf(answer, "", 0).slice(0, ORDINARY_MAX) : [],
  };
}

function ordinaryOf(value: unknown, place: string, depth: number): string[] {
  if (depth > DEPTH_MAX || value === null || value === undefined) return [];
  if (typeof value === "string")
    return [equalTo(place, value), ...wordsIn(value.slice(0, WORD_MAX * 2)).map(({ text }) => wordAt(place, text))];
  if (isScalar(value)) return [equalTo(place, value)];
  if (Array.isArray(value))
    return value.slice(0, WORDS_MAX).flatMap((each) => ordinaryOf(each, `${place}[]`, depth + 1));
  return Object.entries(value)
    .slice(0, WORDS_MAX)
    .flatMap(([key, below]) => [memberPath(place, key), ...ordinaryOf(below, memberPath(place, key), depth + 1)]);
}

/** `{"1": "ok", "2": "not found"}`: a list, as PHP writes one that begins with 1. */
function isNumbered(members: readonly [string, unknown][]): boolean {
  const first = members[0]?.[0];
  return (first === "0" || first === "1") && members.every(([key], at) => key === `${Number(first) + at}`);
}

function memberPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** Numbers at one place differ from answer to answer. */
function equalTo(place: string, value: string | number | boolean): string {
  return numberOf(value) === undefined ? `${place}=${String(value).slice(0, WORD_MAX)}` : `${place}#`;
}

function wordAt(place: string, word: string): string {
  return `${place}~${word}`;
}

/** The words for a record by its position in a list. Numbers are verdicts only as flags and HTTP statuses. */
function verdictsInPlace(place: string, element: unknown): string[] {
  const verdict = (name: string, value: unknown) => verdictOf(place, { name, value, sent: undefined });
  if (isObject(element)) return verdictsIn(element, 0).flatMap(({ name, value }) => verdict(name, value));
  const isVerdict =
    isScalar(element) && (typeof element !== "number" || element === 0 || /^[01]$|^[1-5]\d\d$/.test(`${element}`));
  return isVerdict ? verdict("status", element) : [];
}

function listWord(place: string, sign: string): string {
  return `${place.slice(0, WORD_MAX - 1)}${sign}`;
}

/** The list that a word reported by position comes from; undefined for words of named records. */
function placeOf(word: string): string | undefined {
  return word.startsWith(IN_PLACE) ? word.slice(0, word.lastIndexOf("[]") + 2) : undefined;
}

function isTakenPlace(path: string): boolean {
  const name = plainName(path.split(".").at(-1) ?? "");
  return TAKEN_NAME.test(name) || SAME_NAME.test(name);
}

/** The path where records are named is a word itself: `updated` means accepted, `ignored` does not. */
function placeWords(path: string): string {
  return isTakenPlace(path) ? WELL : `${path}[]`;
}

function verdictsIn(element: object, depth: number): { name: string; value: unknown }[] {
  return Object.entries(element).flatMap(([key, value]) => {
    const name = plainName(key);
    if (VERDICT.test(name) && (isScalar(value) || Array.isArray(value)))
      return [{ name, value: Array.isArray(value) ? (value[0] ?? null) : value }];
    const isDeeper = typeof value === "object" && value !== null && !Array.isArray(value) && depth < 2;
    return isDeeper ? verdictsIn(value, depth + 1) : [];
  });
}

/** The answer may repeat what was sent: reports numbers that differ. */
function repeatsIn(place: string, element: object, record: object): string[] {
  return Object.entries(element).flatMap(([name, value]) => {
    const own: unknown = (record as Readonly<Record<string, unknown>>)[name];
    if (isObject(value) && isObject(own)) return repeatsIn(`${place}${name}.`, value, own);
    const [sent, said] = [own, value].map(numberOf);
    return sent === undefined || said === undefined || sent === said ? [] : [`${place}${name}=other`];
  });
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Empty where the value has no meaning or repeats what was sent. */
function verdictOf(
  place: string,
  { name, value, sent }: { name: string; value: unknown; sent: SentRecord | undefined },
): string[] {
  if (value === null || value === "" || (value === false && /^errors?$|^warnings?$/.test(name))) return [];
  const text = isScalar(value) ? String(value).trim().toLowerCase() : JSON.stringify(value);
  if (saysWell(`${name}=${text}`) || (/status|code/.test(name) && /^2\d\d$/.test(text))) return [WELL];
  if (sent?.record.includes(JSON.stringify(value))) return [];
  const isShort = /^-?\d{1,3}$/.test(text);
  return [`${place}${name}=${isShort ? text : plainWords(text, sent?.key ?? [])}`];
}

function plainWords(text: string, key: readonly string[]): string {
  let plain = text;
  for (const part of key) if (part.length > 0) plain = plain.replaceAll(part.toLowerCase(), "…");
  return plain.replace(/\d[\d.,:]*/g, "0");
}

function plainName(name: string): string {
  return name.replace(/[_\- .[\]]/g, "").toLowerCase();
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

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
class Names {
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
        isScalar(member[1]) && !VERDICT.test(plainName(member[0])),
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

/** Words without punctuation at their end. */
function wordsIn(text: string): { text: string; at: number }[] {
  return [...text.matchAll(/[\p{L}\d_./-]*[\p{L}\d_]/gu)].map(({ 0: word, index }) => ({ text: word, at: index }));
}

function wordsOfOne(said: ReadonlySet<string>): string[] {
  const isNamed = [...said].some((word) => placeOf(word) === undefined);
  return isNamed ? [...said] : [...said, NOT_NAMED];
}

/** All words, for the form of the answer. */
export function wordsOf(said: SaidOfRecords): string[] {
  return [...new Set([...said.of.flatMap(wordsOfOne), ...said.unnamed])].sort();
}

/** A word of the outcome, or the code of a refusal; not a message, and no code of this one answer. */
const BRIEF = /(?<!text|message|msg|reason|details?|note|warnings?)=(?:\p{L}[\p{L} _-]*|[45]\d\d)$/u;

/** The words for the one record of a request, without what may differ from one acceptance to the next. */
export function briefWordsOf({ of }: SaidOfRecords): string[] {
  return of.flatMap((words) => [...words].filter((word) => word === WELL || BRIEF.test(word)));
}

/** Whether some of these words are not usual for accepted records. */
export function isUnusuallySaid(usual: UsuallySaid, words: readonly string[]): boolean {
  return isKnown(usual) && words.some((word) => isOdd(usual, word));
}

/**
 * Records, by index in the request, with unusual words, or not named where usually each is. Until that is known, those that
 * are named where only records are named that were left out.
 */
export function findOdd(usual: UsuallySaid, said: SaidOfRecords): { index: number; words: string }[] {
  return said.of.flatMap((each, index) => {
    const odd = wordsOfOne(each).find((word) => (isKnown(usual) ? isOdd(usual, word) : isOfLeftOut(usual, word)));
    return odd === undefined ? [] : [{ index, words: odd }];
  });
}

/** `unknown[]`, `data.skipped[]reason=…` */
function isOfLeftOut({ words }: UsuallySaid, word: string): boolean {
  const [place = ""] = word.split("=");
  const names = place.split(/\[\]|[.~]/).slice(0, -1);
  return !words.includes(word) && names.some((name) => LEFT_OUT_NAME.test(plainName(name)));
}

/** Whether nothing more is learned from further answers. */
export function hasSettled({ times, listTimes = 0, ordinary }: UsuallySaid): boolean {
  return times >= USUAL_TIMES && listTimes >= USUAL_TIMES && ordinary !== undefined;
}

function isKnown(usual: UsuallySaid): boolean {
  return usual.times >= USUAL_TIMES && usual.words.length <= WORDS_MAX;
}

function isOdd({ words, isEachNamed, listTimes = 0 }: UsuallySaid, word: string): boolean {
  if (word === NOT_NAMED) return isEachNamed && words.length > 0;
  if (word === WELL || words.includes(word)) return false;
  if (word.startsWith(FLAG)) return word.endsWith(FLAG_NO) && words.includes(word.replace(FLAG_NO, FLAG_YES));
  const place = placeOf(word);
  if (place === undefined) return true;
  if (listTimes < USUAL_TIMES) return false;
  const [isOfAll, isOfOne, isOther] = [LIST_OF_ALL, LIST_OF_ONE, OTHER_LIST].map((sign) =>
    words.includes(listWord(place, sign)),
  );
  if (word === listWord(place, OTHER_LIST)) return isOfAll === true || isOfOne !== true;
  const isListWord = [LIST_OF_ALL, LIST_OF_ONE].some((sign) => word === listWord(place, sign));
  return !isListWord && isOther !== true;
}

/** Learns from an answer whose records were accepted. Returns the same object where nothing is new. */
export function learnSaid(usual: UsuallySaid, words: readonly string[], ordinary: readonly string[] = []): UsuallySaid {
  if (hasSettled(usual)) return usual;
  const { times, listTimes = 0 } = usual;
  const all = [...new Set([...(usual.ordinary ?? []), ...ordinary])].slice(0, ORDINARY_MAX);
  // Words learned by a version that examined no lists are kept.
  const learned = times < USUAL_TIMES ? words : words.filter((word) => placeOf(word) !== undefined);
  const counted = { times: Math.min(times + 1, USUAL_TIMES), listTimes: listTimes + 1 };
  return { ...withWords(usual, learned), ...counted, ordinary: all };
}

/** Makes these words usual. */
export function adoptSaid(usual: UsuallySaid, words: readonly string[]): UsuallySaid {
  return isUnusuallySaid(usual, words) ? withWords(usual, words) : usual;
}

function withWords(usual: UsuallySaid, words: readonly string[]): UsuallySaid {
  const isEachNamed = usual.isEachNamed && !words.includes(NOT_NAMED);
  const more = words.filter((word) => word !== NOT_NAMED && !usual.words.includes(word));
  return { ...usual, words: [...usual.words, ...more].slice(0, WORDS_MAX + 1), isEachNamed };
}
