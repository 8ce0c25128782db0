/*
 * Finds words or fractions in an answer to an import which mean that only a part of the records was accepted:
 * `"progress": "2/3"`, `Updated 2 of 3`, `Обновлено: 2, не найдено: 1`. They make an acceptance doubtful even beside a word
 * for success. Counts in fields of their own are compared in `answer-counts.ts`. Pure.
 */

import { elementsOf, headOf, kindOf, type Span, someMember, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import { isNothing } from "./reported-errors.ts";
import { LEFT_OUT_NAME, readTextDoubt, WARNING_NAME } from "./unknown-outcome.ts";

/** A text or number in an answer. */
interface Part {
  /** The member's name in words: `not found`. Empty for the whole answer and for elements of a list. */
  label: string;
  text: string;
  isNumber: boolean;
}

const TEXT_BYTES = 1_200;
const NAME_MAX = 40;
const LEVELS = 3;
const TEXTS_MAX = 100;
/** Elements of a list of texts. */
const LISTED_MAX = 20;

const NUMBER = String.raw`(?<![\p{L}\d_./-]|\d:)(\d{1,9})(?![\p{L}\d_%/]|[.,:-]\d)`;
const NUMBERS = new RegExp(NUMBER, "gu");
const WORD_START = String.raw`(?<![\p{L}\d_])`;
const WORD_END = String.raw`(?![\p{L}\d_])`;
/** Words for missing records. */
const MISSING_WORDS = [
  "not ?(?:found|matched|known|recogni[sz]ed|accepted|saved|stored|updated|imported|processed|applied|loaded)",
  "missing|absent|nonexistent|unknown|unmatched|unrecogni[sz]ed",
  `не ?(?:найден|обновл|принят|обработан|загру[жз]|сохран|записан|распозна|опозна|сопостав|импортир)\\p{L}*`,
  `отсутству\\p{L}*|неизвестн\\p{L}*`,
].join("|");
/** Words for refused records. */
const REFUSED_WORDS = [
  MISSING_WORDS,
  "fail(?:ed|ures?|s)?|reject(?:ed|ions?)|refused|declined|denied|invalid|err(?:ors?)?",
  `не удалось|отклон\\p{L}*|отказ\\p{L}*|отвергнут\\p{L}*|ошиб\\p{L}*|сбо[йяеюи]\\p{L}*|неверн\\p{L}*|некорректн\\p{L}*`,
].join("|");
/** Also words for skipped records; a bare count of these may be of unchanged records. */
const FAILED_WORDS = [
  REFUSED_WORDS,
  `skipped|ignored|omitted|dropped|lost|пропу(?:щен|ск)\\p{L}*|проигнорирован\\p{L}*|потерян\\p{L}*`,
].join("|");
const FAILED = new RegExp(`${WORD_START}(?:${FAILED_WORDS})${WORD_END}`, "giu");
/** Names of members that count refused records, and nothing else. */
const REFUSED_NAME = new RegExp(
  `^(?:(?:num|number|count|total)(?: of)? )?(?:${REFUSED_WORDS})(?: (?:count|total|records|items|rows|articles|products|skus|keys))?$`,
  "iu",
);
/** Words for unchanged records, which a count of changes does not include. */
const SAME =
  /(?<!\p{L})(?:unchanged|changed|same|identical|equal|up[ -]to[ -]date|already|без изменени\p{L}*|(?:не ?)?изменил\p{L}*|(?:не ?)?измен[её]н\p{L}*|совпада\p{L}*|актуальн\p{L}*|уже)(?!\p{L})/giu;
/** Words for created, updated and unchanged records: their counts add up to the request. */
const EITHER =
  /(?<!\p{L})(?:creat|insert|add|new|updat|созда|добавл|нов|обновл)\p{L}*|(?<!\p{L})(?:unchanged|same|identical|без изменени\p{L}*|не ?измен\p{L}*)(?!\p{L})/giu;
const COUNTED =
  /(?<!\p{L})(?:updat|process|accept|import|sav|stor|creat|insert|load|receiv|appl|writ|complet|succe|done|ok|progress|обновл|обработ|принят|импорт|сохран|созда|загру|получ|запис|успе|готов|выполн|прогресс)\p{L}*/iu;
/** A fraction of something else: `page 1 of 3`. */
const ELSE =
  "(?:pages?|parts?|chunks?|batch(?:es)?|steps?|stages?|attempts?|tr(?:y|ies)|retr(?:y|ies)|requests?|limits?|quota|rate|version|level|score|date|day|month|time|files?|shops?|stores?|warehouses?|workers?|threads?|queue|nodes?|страниц|част|пакет|шаг|этап|попыт|запрос|лимит|верси|дат|день|месяц|врем|файл|магазин|склад|поток|очеред)";
const ELSE_BEFORE = new RegExp(`(?<!\\p{L})${ELSE}\\p{L}*[\\s:=#№(]*$`, "iu");
const ELSE_AFTER = new RegExp(String.raw`^\s*${ELSE}\p{L}*`, "iu");
/** `0 of 4`, `none` */
const NOT_ANY = /^\P{L}*0(?!\d)|^[^\p{L}\d]*(?:no|none|zero|нет)[^\p{L}\d]*$/iu;
const NONE = /(?<!\p{L})(?:no|not|none|without|zero|нет|без|ни)(?!\p{L})/iu;

const WHOLE = "([1-9]\\d{0,8}|0)";
const NOT_INSIDE = String.raw`(?<![\p{L}\d_./-]|\d:)`;
const NOT_ON = String.raw`(?![\p{L}\d_%/]|[.,:-]\d)`;
const FRACTION = new RegExp(
  `${NOT_INSIDE}${WHOLE}(?:\\s*/\\s*|\\s+(?:\\p{L}{3,}\\s+)?(?:out\\s+of|of|из)\\s+(?:(?:the|all|всех)\\s+)?)${WHOLE}${NOT_ON}`,
  "giu",
);
/** `Из 3 записей обновлено 2` */
const OF_WHOLE = new RegExp(
  `${WORD_START}(?:of|из)\\s+(?:(?:the|all|всех)\\s+)?${WHOLE}(?:\\s+\\p{L}+){0,3}[\\s:]+${WHOLE}${NOT_ON}`,
  "giu",
);

/** A status that means partial acceptance. */
const PARTIAL =
  /^\W*(?:partial(?:ly)?(?:[ _-](?:success|succeeded|accepted|processed|updated|imported|saved|completed?|ok|content))?|частичн\p{L}*(?: \p{L}+)?)\W*$/iu;
const PARTIAL_FLAG = /^(?:is )?(?:partial|incomplete|truncated)$/;

/**
 * The text, shortened, which means that the service has accepted only a part of the records; undefined where there is none.
 * @param root of the answer's JSON, where it is JSON
 * @param sent the records of the request: texts repeated from them are ignored
 */
export function readPartWords(
  body: Buffer,
  root: Span | undefined,
  sent: readonly { record: string; key: readonly string[] }[],
): string | undefined {
  const parts = root === undefined ? [plain("", body.toString("utf8", 0, TEXT_BYTES))] : readParts(body, root);
  const part = findPart(parts, sent.length, (text) => isRepeated(text, sent));
  return part === undefined ? undefined : wordsOf(part);
}

/**
 * The text, shortened, of a list, a text or a flag whose name means records that were left out, or of warnings: these only
 * with a word of failure. Counts of such records are compared in `answer-counts.ts`.
 */
export function readLeftOut(body: Buffer, value: Span | undefined, level = 1): string | undefined {
  let found: string | undefined;
  if (value === undefined || kindOf(body, value) !== "object") return undefined;
  someMember(body, value, (member) => {
    if (member.key.length > NAME_MAX) return false;
    if (isLeftOut(body, member))
      found = shortWords(`${member.key}: ${textOf(body, member.value).slice(0, TEXT_BYTES)}`);
    else if (level < LEVELS) found = readLeftOut(body, member.value, level + 1);
    return found !== undefined;
  });
  return found;
}

function isLeftOut(body: Buffer, { key, value }: { key: string; value: Span }): boolean {
  const name = inWords(key).replaceAll(" ", "");
  const isWarning = WARNING_NAME.test(name);
  if ((!isWarning && !LEFT_OUT_NAME.test(name)) || isNothing(body, value)) return false;
  const kind = kindOf(body, value);
  const text = kind === "string" ? headOf(body, value, TEXT_BYTES) : textOf(body, value).slice(0, TEXT_BYTES);
  if (kind === "number" || (kind === "string" && /^\s*\d*\s*$/.test(text))) return isWarning && Number(text) > 0;
  if (kind === "string" && NOT_ANY.test(text)) return false;
  return isWarning ? readTextDoubt(text) !== undefined || hasFailed(text) : true;
}

/** A word of failure or absence, without a 0 beside it. */
function hasFailed(text: string): boolean {
  const isFailed = (segment: string) => segment.search(FAILED) >= 0 || NONE.test(segment);
  return segmentsOf(plain("", text)).some((segment) => isFailed(segment) && !countsAt(segment, FAILED).includes(0));
}

/** The text of a member that counts refused records: beside it no other count can be one of changes. */
export function readRefusedCount(body: Buffer, root: Span | undefined): string | undefined {
  const refused = root === undefined ? undefined : readParts(body, root).find(isRefusedCount);
  return refused === undefined ? undefined : wordsOf(refused);
}

/**
 * The counts in a text, without fractions and skipped records: the sum for changed and unchanged records, and all others.
 * @example
 * readCountsInWords("Loaded 7 rows: 2 created, 5 updated"); // { changed: 7, others: [7] }
 */
export function readCountsInWords(text: string): { changed: number | undefined; others: number[] } {
  const counts = segmentsOf({ label: "", text, isNumber: false })
    .flatMap(clausesOf)
    .map((clause) => clause.replace(FRACTION, " "))
    .filter((clause) => clause.search(FAILED) < 0)
    .map((clause) => {
      const found = [EITHER, SAME].map((words) => countsAt(clause, words)).find(({ length }) => length > 0);
      const changed = new Set(found);
      const all = [...clause.matchAll(NUMBERS)].map((match) => Number(match[1]));
      return { changed: [...changed], others: all.filter((count) => !changed.has(count)) };
    });
  const changed = counts.flatMap((each) => each.changed);
  return { changed: changed.length === 0 ? undefined : sum(changed), others: counts.flatMap(({ others }) => others) };
}

function wordsOf({ label, text }: Part): string {
  return shortWords(label === "" ? text : `${label}: ${text}`);
}

function isRefusedCount({ label, text, isNumber }: Part): boolean {
  return isNumber && Number(text) > 0 && REFUSED_NAME.test(label);
}

function isRepeated(text: string, sent: readonly { record: string }[]): boolean {
  const literal = JSON.stringify(text);
  return sent.some(({ record }) => record.includes(literal));
}

/** The text or number which means that fewer than `size` records were accepted. */
function findPart(parts: readonly Part[], size: number, isOwn: (text: string) => boolean): Part | undefined {
  const all = parts.map((each) => ({ each, segments: segmentsOf(each) }));
  const flat = all.flatMap(({ segments }) => segments.flatMap(clausesOf));
  const either = sum(flat.map((segment) => Math.max(0, ...countsAt(segment, EITHER))));
  const same = sum(flat.map((segment) => Math.max(0, ...countsAt(segment, SAME))));
  const isShort = (clause: string) =>
    fractionsOf(clause, size).some(({ part, isEither }) => (isEither ? either : part + same) < size);
  const isFailed = (segment: string) =>
    segment.search(SAME) < 0 && countsAt(segment, FAILED).some((count) => count > 0);
  return all.find(({ each, segments }) => {
    const { text, isNumber } = each;
    if (isNumber) return isRefusedCount(each);
    const isPart =
      PARTIAL.test(text) || segments.some((segment) => clausesOf(segment).some(isShort) || isFailed(segment));
    return isPart && !isOwn(text);
  })?.each;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Sentences and list items of the text; a bare number or fraction together with its label. */
function segmentsOf({ label, text }: Part): string[] {
  if (!/(?!of|из)\p{L}{2}/u.test(text)) return [label === "" ? text : `${label}: ${text}`];
  return text.split(/[,;|\n\r]+\s*|\.(?:\s|$)/).filter((segment) => segment.trim() !== "");
}

/** The texts outside and inside parentheses. */
function clausesOf(segment: string): string[] {
  return segment.split(/[()]/);
}

/** The numbers beside these words: `skipped: 1`, `1 article not found`. */
function countsAt(segment: string, words: RegExp): number[] {
  const text = segment.replace(FRACTION, "$1");
  const isNumberFirst = /^[^\p{L}\d]*\d/u.test(text);
  return [...text.matchAll(words)].flatMap((found) => {
    const after = text.slice(found.index + found[0].length);
    const before = text.slice(0, found.index);
    const called = read(AFTER_COLON, after);
    const next = read(AFTER, after);
    const former = read(BEFORE, before);
    return called ?? (isNumberFirst ? (former ?? next) : (next ?? former)) ?? [];
  });
}

const AFTER_COLON = new RegExp(`^((?:\\s+\\p{L}+){0,2})\\s*[:=–—-]\\s*${NUMBER}`, "u");
const AFTER = new RegExp(String.raw`^()[\s(]+${NUMBER}`, "u");
const BEFORE = new RegExp(String.raw`${NUMBER}((?:[\s(]+\p{L}+){0,2})[\s(]+$`, "u");

function read(pattern: RegExp, text: string): number | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [words = "", number = ""] = pattern === BEFORE ? [found[2], found[1]] : [found[1], found[2]];
  return NONE.test(words) ? undefined : Number(number);
}

/** Fractions of `size` or more records in which fewer were accepted. */
function fractionsOf(segment: string, size: number): { part: number; isEither: boolean }[] {
  if (segment.search(SAME) >= 0 || segment.search(FAILED) >= 0) return [];
  const isEither = segment.search(EITHER) >= 0;
  const rest = segment.replace(FRACTION, " ");
  const found = [
    ...[...segment.matchAll(FRACTION)].map((match) => ({ match, part: match[1], whole: match[2] })),
    ...[...rest.matchAll(OF_WHOLE)].map((match) => ({ match, part: match[2], whole: match[1] })),
  ];
  return found.flatMap(({ match, part, whole }) => {
    const [few, many] = [Number(part), Number(whole)];
    const end = match.index + match[0].length;
    const isElse = ELSE_BEFORE.test(segment.slice(0, match.index)) || ELSE_AFTER.test(segment.slice(end));
    const isOfRequest = few < many && few < size && (many === size || (many > size && COUNTED.test(segment)));
    return isOfRequest && !isElse ? [{ part: few, isEither }] : [];
  });
}

/** The texts and numbers of the answer, without lists of objects, which are lists of records. */
function readParts(body: Buffer, root: Span): Part[] {
  const parts: Part[] = [];
  const add = (label: string, value: Span, level: number) => {
    const kind = kindOf(body, value);
    if (kind === "string") parts.push(plain(label, headOf(body, value, TEXT_BYTES)));
    if (kind === "number") parts.push({ label, text: textOf(body, value), isNumber: true });
    if (kind === "boolean" && PARTIAL_FLAG.test(label) && textOf(body, value) === "true")
      parts.push(plain(label, "partial"));
    if (kind === "array") {
      for (const element of elementsOf(body, value).slice(0, LISTED_MAX))
        if (kindOf(body, element) === "string") parts.push(plain("", headOf(body, element, TEXT_BYTES)));
    }
    if (kind !== "object" || level >= LEVELS) return;
    someMember(body, value, (member) => {
      if (member.key.length <= NAME_MAX) add(inWords(member.key), member.value, level + 1);
      return parts.length >= TEXTS_MAX;
    });
  };
  add("", root, 0);
  return parts;
}

function plain(label: string, text: string): Part {
  return { label, text, isNumber: false };
}

/** `notFound_count` becomes `not found count`. */
function inWords(name: string): string {
  return name
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replace(/[_\-.\s]+/g, " ")
    .trim()
    .toLowerCase();
}
