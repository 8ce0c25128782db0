/* The usual words for accepted records of an endpoint: words that accepted records never had are unusual. Pure. */

import { DIFFERS, HOLDS, HOLDS_NOT } from "./member-repeats.ts";
import { bareName } from "./named-records.ts";
import {
  FLAG,
  FLAG_NO,
  FLAG_YES,
  LIST_OF_ALL,
  LIST_OF_ONE,
  listWord,
  OTHER_LIST,
  placeOf,
  type SaidOfRecords,
  WELL,
} from "./record-reports.ts";
import { USUAL_TIMES } from "./usual.ts";
import { NAMES } from "./vocabulary.ts";

/** The usual words for accepted records of one endpoint. */
export interface UsuallySaid {
  words: readonly string[];
  /** Whether every record was named in every answer. */
  isEachNamed: boolean;
  /** Number of answers, up to {@link USUAL_TIMES}. */
  times: number;
  /** Number of these answers whose lists without named records were examined. */
  listTimes?: number;
  /** Number of these answers whose members were compared with the records, and repeated something of them. */
  memberTimes?: number;
  /** Names and values of answers that named no record, by their place: `code`, `code#` for any number, `status=ok`. */
  ordinary?: readonly string[];
}

export const NOTHING_SAID: UsuallySaid = { words: [], isEachNamed: true, times: 0 };

/** More different words than this are values of the records and no verdicts. */
const WORDS_MAX = 30;
const ORDINARY_MAX = 100;
/** After so many answers in which no member repeated anything, none does. */
const MEMBERLESS_TIMES = 10;
/** Means not named. */
const NOT_NAMED = "-";

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
  const isBrief = (word: string) => word === WELL || (!word.startsWith(FLAG) && BRIEF.test(word));
  return of.flatMap((words) => [...words].filter(isBrief));
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
  return !words.includes(word) && names.some((name) => NAMES.leftOut.test(bareName(name)));
}

/** Whether nothing more is learned from further answers. */
export function hasSettled({ times, listTimes = 0, memberTimes = 0, ordinary }: UsuallySaid): boolean {
  return Math.min(times, listTimes, memberTimes) >= USUAL_TIMES && ordinary !== undefined;
}

function isKnown(usual: UsuallySaid): boolean {
  return usual.times >= USUAL_TIMES && usual.words.length <= WORDS_MAX;
}

function isOdd({ words, isEachNamed, listTimes = 0, memberTimes = 0 }: UsuallySaid, word: string): boolean {
  if (word === NOT_NAMED) return isEachNamed && words.length > 0;
  if (word === WELL || words.includes(word) || word.endsWith(HOLDS) || word.endsWith(DIFFERS)) return false;
  if (word.endsWith(HOLDS_NOT))
    return memberTimes >= USUAL_TIMES && !words.includes(word.slice(0, -HOLDS_NOT.length) + DIFFERS);
  if (word.startsWith(FLAG)) return isOddFlag(words, word);
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

/** False where it always was true; true where it always was false, and means that nothing is accepted. */
function isOddFlag(words: readonly string[], word: string): boolean {
  if (word.endsWith(FLAG_NO)) return words.includes(word.replace(FLAG_NO, FLAG_YES));
  const name = bareName(word.slice(FLAG.length, -FLAG_YES.length).split(/[.\]]/).at(-1) ?? "");
  const isRefusal = NAMES.downFlag.test(name) || NAMES.leftOut.test(name);
  return isRefusal && words.includes(word.replace(FLAG_YES, FLAG_NO));
}

/** Learns from an answer whose records were accepted. Returns the same object where nothing is new. */
export function learnSaid(usual: UsuallySaid, words: readonly string[], ordinary: readonly string[] = []): UsuallySaid {
  if (hasSettled(usual)) return usual;
  const { times, listTimes = 0, memberTimes = 0 } = usual;
  const { ordinary: known = [] } = usual;
  const isAllKnown = usual.ordinary !== undefined && listTimes >= USUAL_TIMES;
  const all = isAllKnown ? known : [...new Set([...known, ...ordinary])].slice(0, ORDINARY_MAX);
  // Words learned by a version that examined no lists, or no members, are kept.
  const isNew = (word: string) => (isOfMember(word) ? memberTimes : placeOf(word) ? listTimes : times) < USUAL_TIMES;
  const learned = words.filter(isNew);
  // Small numbers are equal by chance too often to show whether they are repeated.
  const isRepeated = words.some((word) => word.endsWith(HOLDS) || word.endsWith(HOLDS_NOT));
  const isCompared = isRepeated || listTimes + 1 >= MEMBERLESS_TIMES;
  const counted = {
    times: Math.min(times + 1, USUAL_TIMES),
    listTimes: listTimes + 1,
    memberTimes: memberTimes + Number(isCompared),
  };
  return { ...withWords(usual, learned), ...counted, ordinary: all };
}

function isOfMember(word: string): boolean {
  return [HOLDS, HOLDS_NOT, DIFFERS].some((sign) => word.endsWith(sign));
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
