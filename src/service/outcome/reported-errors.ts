import {
  countInside,
  elementsOf,
  headOf,
  kindOf,
  type Member,
  membersOf,
  type Span,
  someMember,
  stringOf,
  textOf,
} from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import { NAME_MAX, plainName, TEXT_BYTES } from "./answer.ts";
import { NAMES, TEXTS, VALUES } from "./vocabulary.ts";

/**
 * The purpose of an answer. `acceptance`: to a POST; counts of failed records and lists of results are examined too. Others are
 * to a GET, where lists and counts are data of the shop. `list`: without records; `beside`: with records, beside which a plain
 * message is no error; `record`: for one record, whose states and messages are data of the shop too.
 */
export type AnswerUse = "acceptance" | "list" | "beside" | "record";

/**
 * The text of an error that a JSON answer reports:
 *
 * - the answer `false`, or a text that is an error for {@link readTextError};
 * - `error`, `errorMessage`, `has_errors`, `exception`, `fault` and similar names, unless null, false, 0, empty, or a word
 *   for success;
 * - `success`, `ok` or `accepted` that is false or a word for failure;
 * - `status`, `state`, `result`, `code` and similar names that are false, a word for failure, or an HTTP status from 400 on;
 * - `failed` or `rejected` that is not empty or 0, in the answer to a POST;
 * - a `message` that is an error text, unless another field reports success.
 *
 * Case, `_` and `-` in names are ignored; of duplicate names each counts. The same rules apply one level down, in objects
 * such as `data`, `response` and `meta`, and in the answer to a POST in the elements of lists.
 *
 * @param report the part of the answer that is read by itself, as a report of single records or as the order: it is no error
 * of the whole answer
 *
 * @example
 * { "error": "database is down", "orders": [] } // "database is down"
 * { "error": null, "errors": [], "success": 1 } // undefined
 */
export function readErrorWords(bytes: Buffer, root: Span, use: AnswerUse, report?: Span): string | undefined {
  const kind = kindOf(bytes, root);
  if (kind === "boolean") return textOf(bytes, root) === "false" ? "false" : undefined;
  if (kind === "string") return readTextError(headOf(bytes, root, TEXT_BYTES));
  if (kind === "array") return use === "acceptance" ? readElements(bytes, root) : undefined;
  return kind === "object" ? readObject(bytes, root, { use, place: "root", report }) : undefined;
}

/** Deeper parts of an answer to an import are data. */
const REPORT_LEVELS = 5;
/**
 * The text of an error that an answer to an import reports anywhere: in an element of any list, as {@link readErrorWords} reads
 * it in a list of results, or in a list or an object whose name ends with `error` or `errors`. The names of such lists are the
 * service's own; often it is that of the records in the request.
 */
export function readReportedWords(bytes: Buffer, value: Span, level = 1): string | undefined {
  const kind = kindOf(bytes, value);
  if (level > REPORT_LEVELS || (kind !== "object" && kind !== "array")) return undefined;
  if (kind === "array") {
    const listed = readElements(bytes, value);
    if (listed !== undefined) return listed;
    return firstOf(elementsOf(bytes, value), (element) => readReportedWords(bytes, element, level + 1));
  }
  return firstOf(membersOf(bytes, value), ({ key, value: member }) => {
    const isReport = isReportName(key) && /^(?:object|array)$/.test(kindOf(bytes, member));
    if (isReport && !isNothing(bytes, member) && !isListOfNothing(bytes, member, false)) return wordsOf(bytes, member);
    return readReportedWords(bytes, member, level + 1);
  });
}

/** `userErrors`, `result_error`, `validationErrors`; `max_errors` is a number. */
function isReportName(key: string): boolean {
  return key.length <= NAME_MAX && /errors?$/.test(plainName(key));
}

function firstOf<T>(all: Iterable<T>, read: (each: T) => string | undefined): string | undefined {
  for (const each of all) {
    const found = read(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An order in such an answer has parts of its own, whose errors are data of the shop. */
const OWN_LEVELS = 2;

/**
 * The text of an error that an answer to another POST reports of what was sent: `error` or `success` of an object or of an
 * element of a list below the root, whatever its name is, or a list such as `userErrors` one level deeper.
 */
export function readSentWords(bytes: Buffer, value: Span, level = 1): string | undefined {
  const kind = kindOf(bytes, value);
  if (kind === "array") return firstOf(elementsOf(bytes, value), (element) => readSentWords(bytes, element, level));
  if (kind !== "object") return undefined;
  const isReport = level > 1 && level <= OWN_LEVELS && !isOrder(bytes, value);
  const own = isReport ? readObject(bytes, value, { use: "record", place: "record" }) : undefined;
  if (own !== undefined) return own;
  return firstOf(membersOf(bytes, value), ({ key, value: member }) => {
    const isErrors = isReportName(key) && !NAMES.error.test(plainName(key));
    if (isErrors && kindOf(bytes, member) === "array" && !isNothing(bytes, member)) return wordsOf(bytes, member);
    return level > OWN_LEVELS ? undefined : readSentWords(bytes, member, level + 1);
  });
}

/** The order itself, which may have an error of its own: it has a state, and nothing that says of success. `error` is no order's state. */
function isOrder(bytes: Buffer, object: Span): boolean {
  const members = membersOf(bytes, object).map(({ key, value }) => ({ name: plainName(key), value }));
  const hasState = members.some(({ name, value }) => /^stat(?:us|e)$/.test(name) && plainOf(bytes, value) !== "error");
  return hasState && !members.some(({ name }) => NAMES.success.test(name));
}

/** Whether a member of that name describes an error, so that a list in it is no list of orders. */
export function isErrorName(key: string): boolean {
  const name = plainName(key);
  return NAMES.error.test(name) || name === "details" || name === "trace";
}

/** The text, shortened, where it begins as an error of 1C (`failure`), PHP (`Fatal error: …`) and others; else undefined. */
export function readTextError(text: string): string | undefined {
  const head = text.slice(0, TEXT_BYTES);
  const [, rest] = TEXTS.error.exec(head) ?? TEXTS.refusal.exec(head) ?? [];
  const isNone = rest === undefined || TEXTS.noErrorsLeft.test(rest) || VALUES.noError.test(head.trim().toLowerCase());
  return isNone && !TEXTS.no.test(head) ? undefined : shortWords(head);
}

interface Where {
  use: AnswerUse;
  /** `record`: the object may repeat a sent record, whose `code` is not the answer's. */
  place: "root" | "envelope" | "record";
  report?: Span | undefined;
  /** Levels below the root. */
  depth?: number;
}

/** Errors at deeper levels are data of the shop. */
const LEVELS = 2;

/** What the members of one object report, the first of each. */
interface Found {
  error?: string | undefined;
  refusal?: string | undefined;
  /** A code that a record may have of its own. */
  code?: string;
  message?: Span;
  isWell?: boolean;
}

function readObject(bytes: Buffer, object: Span, where: Where): string | undefined {
  const found: Found = {};
  someMember(bytes, object, (member) => {
    if (member.key.length <= NAME_MAX) readMember(bytes, member, { where, found });
    return false;
  });
  const { error, message } = found;
  if (error !== undefined) return error;
  const refusal = found.refusal ?? (message && found.code);
  if (refusal !== undefined) return message === undefined ? refusal : wordsOf(bytes, message);
  if (message === undefined || found.isWell || where.use === "beside" || where.place === "record") return undefined;
  if (kindOf(bytes, message) !== "string") return undefined;
  const text = headOf(bytes, message, TEXT_BYTES);
  // A warning is no error.
  return /^\W*warning/i.test(text) ? undefined : readTextError(text);
}

function readMember(bytes: Buffer, { key, value }: Member, { where, found }: { where: Where; found: Found }): void {
  const name = plainName(key);
  const { use, place, report, depth = 0 } = where;
  const isSuccess = NAMES.success.test(name);
  if (NAMES.error.test(name)) {
    if (report === undefined || value.start > report.start || report.end > value.end)
      found.error ??= readErrorMember(bytes, name, value);
    return;
  }
  // All other members of a record are data of the shop.
  if (use === "record" && !isSuccess) return;
  const said = plainOf(bytes, value);
  const isRecordCode = name === "code" && place === "record";
  const refuse = (words: string) => {
    found.refusal ??= `${shortWords(key)}: ${words}`;
  };
  if (isSuccess || NAMES.accepted.test(name)) {
    const isZero = (isSuccess || kindOf(bytes, value) === "string") && VALUES.notDone.test(said);
    if (isZero || isFailure(said)) refuse(said);
    else if (said === "true" || Number(said) > 0) found.isWell = true;
  } else if (NAMES.stateOrCode.test(name)) {
    const isHttpError = VALUES.httpError.test(said);
    // An article may have such a code.
    const isRefusal = (use === "acceptance" && VALUES.errorCode.test(said)) || isHttpError;
    if (isFailure(said) || (isRefusal && !isRecordCode)) refuse(said);
    else if (isHttpError) found.code = `${shortWords(key)}: ${said}`;
    else if (VALUES.httpSuccess.test(said) || /^[a-z]/.test(said)) found.isWell ||= !/^(?:null|none|nil)$/.test(said);
  } else if (use === "acceptance" && NAMES.failed.test(name)) {
    if (said !== "no" && !isNothing(bytes, value)) refuse(wordsOf(bytes, value));
  } else if (NAMES.message.test(name) && !isNothing(bytes, value)) {
    if (found.message === undefined || name.startsWith("m")) found.message = value;
  }
  if (place === "root" || (use === "acceptance" && depth < LEVELS))
    found.error ??= readInside(bytes, { name, value }, { use, report, depth: depth + 1 });
}

function readErrorMember(bytes: Buffer, name: string, value: Span): string | undefined {
  const said = plainOf(bytes, value);
  const isCode = /(?:code|codes|no|status|number)$/.test(name);
  const isWord = (/^(?:has|is|any)/.test(name) && said === "no") || (isCode && VALUES.httpSuccess.test(said));
  return isWord || isNothing(bytes, value) || isListOfNothing(bytes, value, isCode) ? undefined : wordsOf(bytes, value);
}

/** One value for each record, none of them an error. A 0 may be the place of a record, unless it is a code. */
function isListOfNothing(bytes: Buffer, value: Span, isCode: boolean): boolean {
  if (kindOf(bytes, value) !== "array") return false;
  return elementsOf(bytes, value).every(
    (element) => isNothing(bytes, element) && (isCode || !/^"?0/.test(textOf(bytes, element))),
  );
}

function readInside(
  bytes: Buffer,
  { name, value }: { name: string; value: Span },
  { use, report, depth = 1 }: Omit<Where, "place">,
): string | undefined {
  const kind = kindOf(bytes, value);
  if (kind === "array")
    return use === "acceptance" && NAMES.results.test(name) ? readElements(bytes, value) : undefined;
  if (kind !== "object") return undefined;
  if (report !== undefined && value.start === report.start && value.end === report.end) return undefined;
  if (NAMES.envelope.test(name)) return readObject(bytes, value, { use, place: "envelope", report, depth });
  return NAMES.data.test(name) ? readObject(bytes, value, { use, place: "record", report, depth }) : undefined;
}

function readElements(bytes: Buffer, list: Span): string | undefined {
  const elements = elementsOf(bytes, list);
  const [first] = elements;
  // `["error", "database is down"]`
  if (first !== undefined && kindOf(bytes, first) === "string" && isFailure(plainOf(bytes, first)))
    return wordsOf(bytes, list);
  return firstOf(elements, (element) =>
    kindOf(bytes, element) === "object"
      ? readObject(bytes, element, { use: "acceptance", place: "record" })
      : undefined,
  );
}

/** @param said in lower case */
function isFailure(said: string): boolean {
  return said === "false" || (VALUES.failure.test(said) && !VALUES.noError.test(said));
}

/** A scalar in lower case, without the quotes of a string; for lists and objects the name of their kind. */
function plainOf(bytes: Buffer, value: Span): string {
  const kind = kindOf(bytes, value);
  if (kind === "object" || kind === "array") return kind;
  // A longer text is no single word.
  if (value.end - value.start > TEXT_BYTES) return kind;
  return (kind === "string" ? stringOf(bytes, value) : textOf(bytes, value)).trim().toLowerCase();
}

function wordsOf(bytes: Buffer, value: Span): string {
  if (kindOf(bytes, value) === "string") return shortWords(headOf(bytes, value, TEXT_BYTES));
  return shortWords(bytes.toString("utf8", value.start, Math.min(value.end, value.start + TEXT_BYTES)));
}

/** Whether a value means no error: null, false, 0, a word for success, an empty list, or an object of only such values. */
export function isNothing(bytes: Buffer, value: Span): boolean {
  const kind = kindOf(bytes, value);
  if (kind === "array") return countInside(bytes, value, 1) === 0;
  if (kind === "object") {
    const isEmpty = (inner: Span) =>
      kindOf(bytes, inner) === "object" ? countInside(bytes, inner, 1) === 0 : isNothing(bytes, inner);
    return !someMember(bytes, value, (member) => !isEmpty(member.value));
  }
  if (kind === "number") return value.end - value.start <= TEXT_BYTES && Number(textOf(bytes, value)) === 0;
  return VALUES.noError.test(plainOf(bytes, value));
}
