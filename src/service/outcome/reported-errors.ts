import {
  elementsOf,
  headOf,
  kindOf,
  membersOf,
  type Span,
  skipBlanks,
  someMember,
  stringOf,
  textOf,
} from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";

/**
 * The purpose of an answer, which determines what is examined:
 *
 * - `acceptance`: to a POST. Counts of failed records and lists of results are examined too.
 * - `list`: to a GET, without records. Lists and counts are data of the shop.
 * - `beside`: to a GET, with records. A plain message is no error beside them.
 * - `record`: to a GET for one record. States and messages are data of the shop.
 */
export type AnswerUse = "acceptance" | "list" | "beside" | "record";

/** Words with which a service reports a failure in an answer with a 2xx status. */
const FAILURE =
  /(?:errors?|exceptions?)$|(?:^|[^a-z])(?:err|fail|failed|failures?|false|rejected|refused|denied|declined|invalid|unauthori[sz]ed|unauthenticated|forbidden|faults?|fatal|nok|ko|ng|unavailable|not[ _-]?(?:ok|found|accepted|allowed|authori[sz]ed|applied|saved)|ошибк[аи]|сбой|отказ|отказано|отклонено|неудача|неуспешно|не принято)$/;
/** Values of `error` that mean no error, such as `no_error`. */
const NO_ERROR =
  /^(?:ok|okay|success|successful|successfully|succeeded|done|accepted|none|null|nil|false|n\/a|-*|0+(?:\.0+)?|(?:no|without|zero|0)[ _-]?(?:errors?|exceptions?|faults?|failures?))[.!]*$/;
/** Values of `success` or `ok` that mean a failure. */
const NOT_DONE = /^(?:no|n|f|нет|0+(?:\.0+)?)$/;

// Names are compared in lower case, without separators.
const ERROR_NAME =
  /^(?:has|is|any)?(?:errors?|exceptions?|faults?|err|errno|errcode|errmsg|errtext|ошибк[аи]|естьошибки|текстошибки|кодошибки|исключение)$|^(?:error|exception|fault(?:code|string|message|detail|actor)).*(?<!url|link|href|rate|level|policy|mode|at|tolerance)$/;
const CODE_NAME = /(?:code|codes|no|status|number)$/;
/** A list or count of records that were not accepted, or a flag that there are any. */
const FAILED_NAME =
  /^(?:is|has|num|number|numberof|total|count|countof)?(?:failed|failures?|rejected|refused|invalid|declined|denied|notaccepted|notsaved|notapplied)(?:count|total|records|items|rows|keys|ids|skus)?$/;
/** Fields in which 0 means false. */
const DONE_NAME = /^(?:is|was|has)?(?:success|successful|successfully|ok|успех|успешно)$/;
/** Fields in which a number is a count: 0 may mean that nothing differs. */
const ACCEPTED_NAME = /^(?:is|was|has)?(?:accepted|succeeded|saved|acknowledged|ack)$/;
const STATE_NAME =
  /^(?:status|state|result|outcome|response|type|code|ret|статус|состояние|результат|код|(?:status|state|result|response|return|ret|http|httpstatus)(?:code|status|text))$/;
const MESSAGE_NAME = /^(?:message|msg|detail|сообщение)$/;
/** Objects that wrap the answer's content, one level below the root. Those of `DATA_NAME` may also repeat a record. */
const ENVELOPE_NAME = /^(?:response|result|meta|status|reply|answer|return)$/;
const DATA_NAME = /^(?:data|body|payload)$/;
/** Lists of results, one per record. */
const RESULTS_NAME = /^(?:data|response|results?|items|records|reply|answer)$/;

const NAME_MAX = 40;
/** More than a message shows, in any script. */
const WORDS_BYTES = 1_200;

/**
 * The text of an error that a JSON answer reports, or undefined where it reports none. An error is:
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
  if (kind === "string") return readTextError(headOf(bytes, root, WORDS_BYTES));
  if (kind === "array") return use === "acceptance" ? readElements(bytes, root) : undefined;
  return kind === "object" ? readObject(bytes, root, { use, place: "root", report }) : undefined;
}

/** Deeper parts of an answer to an import are data. */
const REPORT_LEVELS = 5;
/** `userErrors`, `result_error`, `validationErrors`; `max_errors` is a number. */
const REPORT_NAME = /errors?$/;

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
    const isReport = key.length <= NAME_MAX && REPORT_NAME.test(nameOf(key));
    if (
      isReport &&
      /^(?:object|array)$/.test(kindOf(bytes, member)) &&
      !isNothing(bytes, member) &&
      !isListOfNothing(bytes, member, false)
    )
      return wordsOf(bytes, member);
    return readReportedWords(bytes, member, level + 1);
  });
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
    const name = nameOf(key);
    const isErrors = key.length <= NAME_MAX && REPORT_NAME.test(name) && !ERROR_NAME.test(name);
    if (isErrors && kindOf(bytes, member) === "array" && !isNothing(bytes, member)) return wordsOf(bytes, member);
    return level > OWN_LEVELS ? undefined : readSentWords(bytes, member, level + 1);
  });
}

/** The order itself, which may have an error of its own: it has a state, and nothing that says of success. `error` is no order's state. */
function isOrder(bytes: Buffer, object: Span): boolean {
  const members = [...membersOf(bytes, object)].map(({ key, value }) => ({ name: nameOf(key), value }));
  const hasState = members.some(({ name, value }) => /^stat(?:us|e)$/.test(name) && plainOf(bytes, value) !== "error");
  return hasState && !members.some(({ name }) => DONE_NAME.test(name));
}

/** Whether a member of that name describes an error, so that a list in it is no list of orders. */
export function isErrorName(key: string): boolean {
  const name = nameOf(key);
  return ERROR_NAME.test(name) || name === "details" || name === "trace";
}

/** The text, shortened, where it begins as an error of 1C (`failure`), PHP (`Fatal error: …`) and others; else undefined. */
export function readTextError(text: string): string | undefined {
  const head = text.slice(0, WORDS_BYTES);
  const [, rest] = TEXT_ERROR.exec(head) ?? TEXT_REFUSAL.exec(head) ?? [];
  const isNone = rest === undefined || NO_ERRORS_LEFT.test(rest) || NO_ERROR.test(head.trim().toLowerCase());
  return isNone && !TEXT_NO.test(head) ? undefined : shortWords(head);
}

const TEXT_ERROR =
  /^[^\p{L}\d]*(?:(?:php|fatal|parse|uncaught|internal|unexpected|unhandled|unknown|database|server|system|runtime|critical|syntax|application|validation)[ \t]+)*(?:[\w.\\$]*(?:errors?|exception)|fail|failed|failures?|faults?|warnings?|fatal|panic|traceback|false)(?![\p{L}\d_])(.*)/iu;
const TEXT_REFUSAL =
  /^[^\p{L}\d]*(?:unauthori[sz]ed|unauthenticated|forbidden|(?:access|permission) denied|not (?:allowed|authori[sz]ed|accepted|saved)|bad (?:request|gateway)|(?:service|temporarily) unavailable|gateway time-?out|too many (?:requests|connections)|rejected|refused|denied|could not|cannot|can't|unable to|invalid)(?![\p{L}\d])(.*)/iu;
const TEXT_NO = /^\W*(?:no|nok|ko|not ok|false)\W*$/i;
/** Follows the word for an error where there was none: `Errors: 0`. */
const NO_ERRORS_LEFT = /^(?:[ \t]+\p{L}+){0,2}[\s:=-]*(?:none|no|null|nil|0+)\s*(?:[,;.\r\n]|$)/iu;

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

function readObject(bytes: Buffer, object: Span, { use, place, report, depth = 0 }: Where): string | undefined {
  let error: string | undefined;
  let refusal: string | undefined;
  let code: string | undefined;
  let message: Span | undefined;
  let isWell = false;
  someMember(bytes, object, ({ key, value }) => {
    if (key.length > NAME_MAX) return false;
    const name = nameOf(key);
    const isError = ERROR_NAME.test(name);
    const isDone = DONE_NAME.test(name);
    // All other members of a record are data of the shop.
    if (use === "record" && !isError && !isDone) return false;
    const said = plainOf(bytes, value);
    if (isError) {
      if (report !== undefined && value.start <= report.start && report.end <= value.end) return false;
      const isCode = CODE_NAME.test(name);
      const isWord = (/^(?:has|is|any)/.test(name) && said === "no") || (isCode && isSuccessCode(said));
      if (!isWord && !isNothing(bytes, value) && !isListOfNothing(bytes, value, isCode))
        error ??= wordsOf(bytes, value);
      return false;
    }
    if (isDone || ACCEPTED_NAME.test(name)) {
      const isZero = isDone || kindOf(bytes, value) === "string" ? NOT_DONE.test(said) : false;
      if (isZero || isFailure(said)) refusal ??= `${shortWords(key)}: ${said}`;
      else if (said === "true" || Number(said) > 0) isWell = true;
    } else if (STATE_NAME.test(name)) {
      if (isFailure(said)) refusal ??= `${shortWords(key)}: ${said}`;
      // An article may have such a code.
      else if (use === "acceptance" && isErrorCode(said) && !(name === "code" && place === "record"))
        refusal ??= `${shortWords(key)}: ${said}`;
      else if (/^[45]\d\d$/.test(said)) {
        if (name === "code" && place === "record") code = `${shortWords(key)}: ${said}`;
        else refusal ??= `${shortWords(key)}: ${said}`;
      } else if (isSuccessCode(said) || said === "true" || /^[a-z]/.test(said))
        isWell ||= !/^(?:null|none|nil)$/.test(said);
    } else if (use === "acceptance" && FAILED_NAME.test(name)) {
      if (said !== "no" && !isNothing(bytes, value)) refusal ??= `${shortWords(key)}: ${wordsOf(bytes, value)}`;
    } else if (MESSAGE_NAME.test(name) && !isNothing(bytes, value)) {
      if (message === undefined || name.startsWith("m")) message = value;
    }
    if (place === "root" || (use === "acceptance" && depth < LEVELS))
      error ??= readInside(bytes, { name, value }, { use, report, depth: depth + 1 });
    return false;
  });
  if (error !== undefined) return error;
  if (message !== undefined) refusal ??= code;
  if (refusal !== undefined) return message === undefined ? refusal : wordsOf(bytes, message);
  if (message === undefined || isWell || use === "beside" || place === "record") return undefined;
  if (kindOf(bytes, message) !== "string") return undefined;
  const text = headOf(bytes, message, WORDS_BYTES);
  // A warning is no error.
  return /^\W*warning/i.test(text) ? undefined : readTextError(text);
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
  if (kind === "array") return use === "acceptance" && RESULTS_NAME.test(name) ? readElements(bytes, value) : undefined;
  if (kind !== "object") return undefined;
  if (report !== undefined && value.start === report.start && value.end === report.end) return undefined;
  if (ENVELOPE_NAME.test(name)) return readObject(bytes, value, { use, place: "envelope", report, depth });
  return DATA_NAME.test(name) ? readObject(bytes, value, { use, place: "record", report, depth }) : undefined;
}

function readElements(bytes: Buffer, list: Span): string | undefined {
  for (const [index, element] of elementsOf(bytes, list).entries()) {
    // `["error", "database is down"]`
    if (index === 0 && kindOf(bytes, element) === "string" && isFailure(plainOf(bytes, element)))
      return wordsOf(bytes, list);
    if (kindOf(bytes, element) !== "object") continue;
    const words = readObject(bytes, element, { use: "acceptance", place: "record" });
    if (words !== undefined) return words;
  }
  return undefined;
}

function nameOf(key: string): string {
  return key.replace(/[_\- .]/g, "").toLowerCase();
}

/** @param said in lower case */
function isFailure(said: string): boolean {
  return said === "false" || (FAILURE.test(said) && !NO_ERROR.test(said));
}

/** A negative code or one with an error prefix: `-1`, `E500`, `ERR_42`. */
function isErrorCode(said: string): boolean {
  return /^-[1-9]\d*$/.test(said) || /^(?:e|err|error)[-_ ]?\d+$/.test(said);
}

function isSuccessCode(said: string): boolean {
  return /^2\d\d$/.test(said);
}

/** A scalar in lower case, without the quotes of a string; for lists and objects the name of their kind. */
function plainOf(bytes: Buffer, value: Span): string {
  const kind = kindOf(bytes, value);
  if (kind === "object" || kind === "array") return kind;
  // A longer text is no single word.
  if (value.end - value.start > WORDS_BYTES) return kind;
  return (kind === "string" ? stringOf(bytes, value) : textOf(bytes, value)).trim().toLowerCase();
}

function wordsOf(bytes: Buffer, value: Span): string {
  if (kindOf(bytes, value) === "string") return shortWords(headOf(bytes, value, WORDS_BYTES));
  return shortWords(bytes.toString("utf8", value.start, Math.min(value.end, value.start + WORDS_BYTES)));
}

/** Whether a value means no error: null, false, 0, a word for success, an empty list, or an object of only such values. */
export function isNothing(bytes: Buffer, value: Span): boolean {
  const kind = kindOf(bytes, value);
  if (kind === "array") return skipBlanks(bytes, value.start + 1) === value.end - 1;
  if (kind === "object") {
    return !someMember(bytes, value, (member) => {
      const inner = kindOf(bytes, member.value);
      const isEmpty =
        inner === "object" || inner === "array"
          ? skipBlanks(bytes, member.value.start + 1) === member.value.end - 1
          : isNothing(bytes, member.value);
      return !isEmpty;
    });
  }
  if (kind === "number") return value.end - value.start <= WORDS_BYTES && Number(textOf(bytes, value)) === 0;
  return NO_ERROR.test(plainOf(bytes, value));
}
