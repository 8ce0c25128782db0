/*
 * Finds words or fractions in an answer to an import which mean that only a part of the records was accepted:
 * `"progress": "2/3"`, `Updated 2 of 3`, `Обновлено: 2, не найдено: 1`. They leave the outcome unknown even beside a word for
 * success. Counts in fields of their own are compared in `answer-counts.ts`. Pure.
 */

import { elementsOf, headOf, kindOf, type Span, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import { type Answer, TEXT_BYTES } from "./answer.ts";
import { isNothing } from "./reported-errors.ts";
import { readFailureWords } from "./unknown-outcome.ts";
import { LABELS, NAMES, OTHER_THINGS, TEXTS, VALUES } from "./vocabulary.ts";

/** A text or number in an answer. */
interface Part {
  /** The member's name in words: `not found`. Empty for the whole answer and for elements of a list. */
  label: string;
  text: string;
  isNumber: boolean;
}

const TEXTS_MAX = 100;
/** Elements of a list of texts. */
const LISTED_MAX = 20;

const NOT_INSIDE = String.raw`(?<![\p{L}\d_./-]|\d:)`;
const NOT_ON = String.raw`(?![\p{L}\d_%/]|[.,:-]\d)`;
const NUMBER = String.raw`${NOT_INSIDE}(?<number>\d{1,9})${NOT_ON}`;
const NUMBERS = new RegExp(NUMBER, "gu");
const ELSE_BEFORE = new RegExp(`(?<!\\p{L})${OTHER_THINGS}\\p{L}*[\\s:=#№(]*$`, "iu");
const ELSE_AFTER = new RegExp(String.raw`^\s*${OTHER_THINGS}\p{L}*`, "iu");

const WHOLE = "([1-9]\\d{0,8}|0)";
const FRACTION = new RegExp(
  `${NOT_INSIDE}${WHOLE}(?:\\s*/\\s*|\\s+(?:\\p{L}{3,}\\s+)?(?:out\\s+of|of|из)\\s+(?:(?:the|all|всех)\\s+)?)${WHOLE}${NOT_ON}`,
  "giu",
);
/** `Из 3 записей обновлено 2` */
const OF_WHOLE = new RegExp(
  `(?<![\\p{L}\\d_])(?:of|из)\\s+(?:(?:the|all|всех)\\s+)?${WHOLE}(?:\\s+\\p{L}+){0,3}[\\s:]+${WHOLE}${NOT_ON}`,
  "giu",
);

/**
 * The text, shortened, which means that the service has accepted only a part of the records; undefined where there is none.
 * @param sent the records of the request: texts repeated from them are ignored
 */
export function readPartWords(
  answer: Answer,
  sent: readonly { record: string; key: readonly string[] }[],
): string | undefined {
  const isRepeated = (text: string) => sent.some(({ record }) => record.includes(JSON.stringify(text)));
  const part = findPart(partsOf(answer), sent.length, isRepeated);
  return part && wordsOf(part);
}

/**
 * The text, shortened, of a list, a text or a flag whose name means records that were left out, or of warnings: these only
 * with a word of failure. Counts of such records are compared in `answer-counts.ts`.
 */
export function readLeftOut({ members }: Answer): string | undefined {
  const found = members.find(isLeftOut);
  return found && shortWords(`${found.key}: ${textOf(found.body, found.span).slice(0, TEXT_BYTES)}`);
}

function isLeftOut({ body, span, kind, key }: Answer): boolean {
  const name = inWords(key).replaceAll(" ", "");
  const isWarning = NAMES.warning.test(name);
  if ((!isWarning && !NAMES.leftOut.test(name)) || isNothing(body, span)) return false;
  const text = textIn(body, span);
  if (kind === "number" || (kind === "string" && /^\s*\d*\s*$/.test(text))) return isWarning && Number(text) > 0;
  if (kind === "string" && TEXTS.notAny.test(text)) return false;
  return isWarning ? readFailureWords(text) !== undefined || hasFailed(text) : true;
}

/** Of a list of texts. */
const LIST_BYTES = 10 * TEXT_BYTES;
/** Of a longer text only the sentence is shown. */
const SHOWN_MAX = 200;
const ESCAPED = /\\u([\da-f]{4})/gi;

/** A string, or the texts in another value as JSON. */
function textIn(body: Buffer, value: Span): string {
  if (kindOf(body, value) === "string") return headOf(body, value, TEXT_BYTES);
  const json = body.toString("utf8", value.start, Math.min(value.end, value.start + LIST_BYTES));
  return json.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/**
 * The text, or of a longer text the sentence, which says that records were left out, without a "no" or
 * a 0 beside it.
 * @param value a text, or a list or an object with texts
 */
export function findLostWords(body: Buffer, value: Span): string | undefined {
  const text = textIn(body, value);
  const found = segmentsOf(plain("", text)).find(saysLost);
  return found !== undefined && text.length <= SHOWN_MAX ? text : found;
}

function saysLost(segment: string): boolean {
  const text = segment.replaceAll("_", " ").replace(TEXTS.notFound, " ");
  if (countsAt(text, TEXTS.lost).includes(0)) return false;
  return text.matchAll(TEXTS.lost).some(({ index, 0: word }) => {
    const before = text.slice(0, index);
    return (
      ![TEXTS.noneBefore, TEXTS.noneFirst].some((none) => none.test(before)) &&
      !TEXTS.noErrorsLeft.test(text.slice(index + word.length))
    );
  });
}

/** A word of failure or absence, without a 0 beside it. */
function hasFailed(text: string): boolean {
  const isFailed = (segment: string) => segment.search(TEXTS.failed) >= 0 || TEXTS.none.test(segment);
  return segmentsOf(plain("", text)).some(
    (segment) => isFailed(segment) && !countsAt(segment, TEXTS.failed).includes(0),
  );
}

/** The text of a member that counts refused records: beside it no other count can be one of changes. */
export function readRefusedCount(answer: Answer): string | undefined {
  const refused = partsOf(answer).find(isRefusedCount);
  return refused && wordsOf(refused);
}

/**
 * The counts in a text, without fractions and skipped records: the sum for changed and unchanged records, and all others.
 * @example
 * readCountsInWords("Loaded 7 rows: 2 created, 5 updated"); // { changed: 7, others: [7] }
 */
export function readCountsInWords(text: string): { changed: number | undefined; others: number[] } {
  const counts = segmentsOf(plain("", text))
    .flatMap(clausesOf)
    .map((clause) => clause.replace(FRACTION, " "))
    .filter((clause) => clause.search(TEXTS.failed) < 0)
    .map((clause) => {
      const found = [TEXTS.either, TEXTS.same].map((words) => countsAt(clause, words)).find(({ length }) => length > 0);
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
  return isNumber && Number(text) > 0 && LABELS.refused.test(label);
}

/** The text or number which means that fewer than `size` records were accepted. */
function findPart(parts: readonly Part[], size: number, isRepeated: (text: string) => boolean): Part | undefined {
  const all = parts.map((each) => ({ each, segments: segmentsOf(each) }));
  const flat = all.flatMap(({ segments }) => segments.flatMap(clausesOf));
  const either = sum(flat.map((segment) => Math.max(0, ...countsAt(segment, TEXTS.either))));
  const same = sum(flat.map((segment) => Math.max(0, ...countsAt(segment, TEXTS.same))));
  const isShort = (clause: string) =>
    fractionsOf(clause, size).some(({ part, isEither }) => (isEither ? either : part + same) < size);
  const isFailed = (segment: string) =>
    segment.search(TEXTS.same) < 0 && countsAt(segment, TEXTS.failed).some((count) => count > 0);
  return all.find(({ each, segments }) => {
    const { text, isNumber } = each;
    if (isNumber) return isRefusedCount(each);
    const isPart =
      VALUES.partial.test(text) || segments.some((segment) => clausesOf(segment).some(isShort) || isFailed(segment));
    return isPart && !isRepeated(text);
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
    const [called, next, former] = [read(AFTER_COLON, after), read(AFTER, after), read(BEFORE, before)];
    return called ?? (isNumberFirst ? (former ?? next) : (next ?? former)) ?? [];
  });
}

const AFTER_COLON = new RegExp(String.raw`^(?<words>(?:\s+\p{L}+){0,2})\s*[:=\u2013\u2014-]\s*${NUMBER}`, "u");
const AFTER = new RegExp(String.raw`^[\s(]+${NUMBER}`, "u");
const BEFORE = new RegExp(String.raw`${NUMBER}(?<words>(?:[\s(]+\p{L}+){0,2})[\s(]+$`, "u");

function read(pattern: RegExp, text: string): number | undefined {
  const { words = "", number } = pattern.exec(text)?.groups ?? {};
  return number === undefined || TEXTS.none.test(words) ? undefined : Number(number);
}

/** Fractions of `size` or more records in which fewer were accepted. */
function fractionsOf(segment: string, size: number): { part: number; isEither: boolean }[] {
  if (segment.search(TEXTS.same) >= 0 || segment.search(TEXTS.failed) >= 0) return [];
  const isEither = segment.search(TEXTS.either) >= 0;
  const rest = segment.replace(FRACTION, " ");
  const found = [
    ...[...segment.matchAll(FRACTION)].map((match) => ({ match, part: match[1], whole: match[2] })),
    ...[...rest.matchAll(OF_WHOLE)].map((match) => ({ match, part: match[2], whole: match[1] })),
  ];
  return found.flatMap(({ match, part, whole }) => {
    const [few, many] = [Number(part), Number(whole)];
    const end = match.index + match[0].length;
    const isElse = ELSE_BEFORE.test(segment.slice(0, match.index)) || ELSE_AFTER.test(segment.slice(end));
    const isOfRequest = few < many && few < size && (many === size || (many > size && TEXTS.counted.test(segment)));
    return isOfRequest && !isElse ? [{ part: few, isEither }] : [];
  });
}

/** The texts and numbers of the answer, without lists of objects, which are lists of records. */
function partsOf(answer: Answer): Part[] {
  const parts: Part[] = [];
  for (const member of answer.kind === "object" ? answer.members : [answer]) {
    parts.push(...partsIn(member));
    if (parts.length >= TEXTS_MAX) break;
  }
  return parts;
}

function partsIn({ body, span, kind, key, head }: Answer): Part[] {
  const label = inWords(key);
  if (kind === "string" || kind === "text") return [plain(label, head)];
  if (kind === "number") return [{ label, text: head, isNumber: true }];
  if (kind === "boolean" && LABELS.partial.test(label) && head === "true") return [plain(label, "partial")];
  const elements = kind === "array" ? elementsOf(body, span).slice(0, LISTED_MAX) : [];
  const texts = elements.filter((element) => kindOf(body, element) === "string");
  return texts.map((element) => plain("", headOf(body, element, TEXT_BYTES)));
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
