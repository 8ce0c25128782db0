/*
 * Finds what makes an acceptance doubtful without being a refusal: counts of 0, and words of errors. The outcome is
 * unknown until such answers are known to be usual for the endpoint.
 */

import { kindOf, type Span, someMember, stringOf, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import type { Doubt } from "./acceptance.ts";

/** Counts of accepted records. All 0 beside a count of skipped ones means that none was accepted. */
export const TAKEN_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:accepted|imported|processed|saved|updated|created|inserted|upserted|received|stored|queued|applied|written|succeeded|added|changed)(?:count|total|records|items|rows)?$/;
/** Counts of which a 0 alone means that none was accepted; a count of changes is also 0 where nothing differs. */
export const TAKEN_AT_ALL_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:accepted|imported|processed|saved)(?:count|total|records|items|rows)?$/;
export const SAME_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:unchanged|same|equal|uptodate|identical|existing|duplicates?|matched|found|already[a-z]*)(?:count|total|records|items|rows)?$/;
/** Counts of changes. */
export const CHANGED_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:updated|created|inserted|upserted|added|changed|modified|affected|edited|replaced|new)(?:count|total|records|items|rows)?$/;
/** Counts of received records, accepted or not. */
export const CAME_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:received|processed|total|count|size|all|sent|submitted|requested|records|items|rows|всего|получено)(?:count|total|records|items|rows)?$/;
/** Counts of accepted records beside one of all. They may also be flags. */
export const GOOD_NAME =
  /^(?:ok|success|successful|successfully|good|valid|done|completed?|passed|успешно)(?:count|total|records|items|rows)?$/;
const RECEIVED_NAME = /^(?:num|number|total|count)?(?:of)?received(?:count|total|records|items|rows)?$/;
/** Counts, lists and texts of what was not accepted. */
export const LEFT_OUT_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:records?|items?|rows?|lines?|skus?|keys?|ids?|articles?|products?)?(?:skipped|ignored|omitted|excluded|discarded|failed|failures?|refused|declined|rejected|invalid|missing|absent|unknown|unmatched|unrecogni[sz]ed|unprocessed|not(?:found|matched|known|recogni[sz]ed|accepted|saved|stored|updated|imported|processed|applied|loaded)|errors?|dropped|lost|пропущен[оы]?|пропущенные|проигнорирован[оы]|отклонен[оы]|отброшен[оы]|неизвестн(?:о|ы|ые)|отсутству(?:ет|ют|ющие)|не(?:найден|принят|обновлен|обработан|загружен|сохранен|распознан|сопоставлен)(?:о|ы|ные))(?:count|total|records?|items?|rows?|lines?|skus?|keys?|ids?|articles?|products?|list)?$/;
/** Lists and texts that may be about anything, and counts of these. */
export const WARNING_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:warnings?|предупреждени[ея])(?:count|total|list|text)?$/;
/** Counts of confirmed orders. */
export const CONFIRMED_NAME =
  /^(?:orders?|records?|items?)?(?:confirmed|acknowledged|accepted|processed|exported|подтверждено)(?:count|total|orders|records|items)?$/;
/** Counts that may also count unchanged records where nothing else is counted. */
export const UNCHANGED_OR_LEFT_OUT_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:records?|items?|rows?|lines?)?(?:skipped|ignored|omitted|dropped|lost|пропущен[оы]?)(?:count|total|records?|items?|rows?|lines?)?$/;
/** Flags that are false where nothing was accepted. "Not processed yet" is no refusal. */
const TAKEN_FLAG =
  /^(?:is|was|has)?(?:queued|received|stored|saved|imported|updated|applied|acknowledged|delivered|committed)$/;
const DOWN_FLAG =
  /^(?:is|in|under)?(?:maintenance|offline|unavailable|outage|degraded|readonly|locked|blocked|busy|down)(?:mode)?$/;
const MESSAGE_NAME =
  /^(?:message|msg|detail|details|reason|description|info|note|title|text|hint|warning|сообщение|причина|описание)$/;
const WELL_NAME =
  /^(?:is|was|has)?(?:success|successful|ok|accepted|status|state|result|outcome|успех|успешно|статус|результат)$/;
const WELL =
  /^(?:ok|okay|success|successful|succeeded|done|accepted|created|saved|queued|processed|completed?|true|yes|1|2\d\d|успех|успешно|принято|готово|да)$/;

const TEXT_BYTES = 1_200;
const NAME_MAX = 40;
/** The root, an envelope, and its content. */
const LEVELS = 3;

const FAILURE =
  /(?<![\p{L}\d_])(?:errors?|err|[a-z]*exception|fail|failed|failures?|failing|faults?|fatal|panic|traceback|refused|denied|rejected|forbidden|unauthori[sz]ed|unavailable|unreachable|time(?:d)?[ -]?out|timeout|down|offline|maintenance|overload(?:ed)?|aborted|broken|crash(?:ed)?|cannot|can't|could not|unable|not (?:found|available|allowed|accepted|saved|processed|possible|ready|responding)|bad (?:request|gateway)|no (?:connection|route|space|such)|too many|try (?:again|later)|please wait|starting|ошибк\p{L}*|сбо[йяюе]\p{L}*|отказ\p{L}*|отклон\p{L}*|неудач\p{L}*|недоступ\p{L}*|невозможно|запрещ\p{L}*|нет (?:связи|соединения|доступа|подключения|места)|не (?:удалось|найден\p{L}*|принят\p{L}*|отвечает|доступ\p{L}*|сохран\p{L}*|выполн\p{L}*|загруж\p{L}*|обработ\p{L}*)|обслуживани\p{L}*|технически\p{L}*|повторите|попробуйте|время ожидания|тайм-?аут\p{L}*)(?![\p{L}\d_])/giu;
/** Before a word of failure: negates it. */
const NONE_BEFORE = /(?:^|[^\p{L}\d])(?:no|not|without|zero|0|нет|без|не было)[ _-]*$/iu;
/** After a word of failure: negates it. */
const NONE_AFTER =
  /^(?:[ _-]*\p{L}+){0,2}["']?\s*[:=-]\s*(?:""|''|["']?(?:0+(?![\d.])|none|no|null|nil|false|нет|\[\s*\]|\{\s*\}))/iu;
/** An HTTP status in a text: alone, with its reason, or labelled as one. A mere number may be a count. */
const STATUS =
  /^[^\p{L}\d]*[45]\d\d[^\p{L}\d]*$|(?<!\p{L})(?:http|status|code|код|статус)[ \t:=/\d.]*[ :=/][45]\d\d(?!\d)|^[^\p{L}\d]*[45]\d\d[ :-]+(?:conflict|gone|payment)/iu;

/** The text, shortened, where it contains a word of failure; else undefined. */
export function readTextDoubt(text: string): string | undefined {
  const head = text.slice(0, TEXT_BYTES);
  if (STATUS.test(head)) return shortWords(head);
  for (const found of head.matchAll(FAILURE)) {
    const before = head.slice(Math.max(0, found.index - 20), found.index);
    const after = head.slice(found.index + found[0].length, found.index + found[0].length + 60);
    if (!NONE_BEFORE.test(before) && !NONE_AFTER.test(after)) return shortWords(head);
  }
  return undefined;
}

/** Whether a verdict is a yes: `ok` in a text; `data.status=ok` or `code=0` in JSON. */
export function saysWell(verdict: string): boolean {
  const at = verdict.indexOf("=");
  const value = verdict.slice(at + 1);
  if (at < 0) return WELL.test(value);
  const name = verdict.slice(verdict.lastIndexOf(".", at) + 1, at);
  if (/code$|^errno$/.test(name)) return /^(?:0+|2\d\d)$/.test(value);
  return (WELL_NAME.test(name) && WELL.test(value)) || (TAKEN_FLAG.test(name) && value === "true");
}

/** Whether a member at the top, which is no number, is a yes. */
export function saysYes(body: Buffer, root: Span): boolean {
  if (kindOf(body, root) !== "object") return false;
  return someMember(body, root, ({ key, value }) => {
    const kind = kindOf(body, value);
    if (key.length > NAME_MAX || (kind !== "string" && kind !== "boolean")) return false;
    const text = kind === "string" ? stringOf(body, value) : textOf(body, value);
    return /^\p{L}/u.test(text) && saysWell(`${plainName(key)}=${text.toLowerCase()}`);
  });
}

function plainName(key: string): string {
  return key.replace(/[_\- .]/g, "").toLowerCase();
}

interface Said {
  /** Whether a count of received records is above 0. */
  isReceived: boolean;
  taken: number[];
  takenAtAll: number[];
  same: number;
  leftOut: number;
  isWell: boolean;
  isDown: string | undefined;
  messages: string[];
}

export function readDoubt(body: Buffer, root: Span): Doubt | undefined {
  const kind = kindOf(body, root);
  if (kind === "string" || kind === "number") {
    const words = readTextDoubt(kind === "string" ? stringOf(body, root) : textOf(body, root));
    return words === undefined ? undefined : { why: "words", words };
  }
  if (kind !== "object") return undefined;
  const said: Said = {
    isReceived: false,
    taken: [],
    takenAtAll: [],
    same: 0,
    leftOut: 0,
    isWell: false,
    isDown: undefined,
    messages: [],
  };
  collect(body, root, said, 1);
  if (said.isDown !== undefined) return { why: "words", words: said.isDown };
  if (said.taken.length > 0 && said.same === 0 && said.taken.every((count) => count === 0)) {
    const isNothing = said.leftOut > 0 || (said.takenAtAll.length > 0 && said.taken.length === said.takenAtAll.length);
    if (isNothing)
      return { why: "counts", words: shortWords(body.toString("utf8", root.start, root.start + TEXT_BYTES)) };
  }
  if (said.isWell || said.isReceived || said.taken.some((count) => count > 0)) return undefined;
  for (const message of said.messages) {
    const words = readTextDoubt(message);
    if (words !== undefined) return { why: "words", words };
  }
  return undefined;
}

/** Fields in which 0 or one letter may mean a failure; in others a code that is none of success. */
const ZERO_NAME = /^(?:status|state|result|outcome|response|статус|состояние|результат)$/;
const CODE_NAME = /^(?:err(?:or)?no|(?:err(?:or)?|status|state|result|response|return|ret|sub)?code|ret|код)$/;
/** Envelopes of such a field. */
const ABOVE_NAME = /^(?:response|result|meta|status|header|head|reply|answer|return|ответ|результат)$/;

/**
 * A verdict that some services mean as a failure, and others as a success: `{"status": 0}`, `{"code": 10010}`, `{"resultCode": "F"}`. It
 * is for requests of which something else shows whether they had an effect.
 */
export function readCodeDoubt(body: Buffer, root: Span, level = 1): Doubt | undefined {
  if (kindOf(body, root) !== "object") return undefined;
  let [words, isWell]: [string | undefined, boolean] = [undefined, false];
  someMember(body, root, ({ key, value }) => {
    const name = plainName(key.slice(0, NAME_MAX));
    const kind = kindOf(body, value);
    if (kind === "object" && level < LEVELS && ABOVE_NAME.test(name))
      words ??= readCodeDoubt(body, value, level + 1)?.words;
    const said = kind === "string" ? stringOf(body, value).trim() : kind === "number" ? textOf(body, value) : "";
    const isNo = ZERO_NAME.test(name) && /^(?:0|[fnex])$/i.test(said);
    const isCode = CODE_NAME.test(name) && /^(?:[fnex]|-?\d+)$/i.test(said) && !/^(?:0+|2\d\d)$/.test(said);
    if (isNo || isCode) words ??= `${key}: ${said}`;
    if (WELL_NAME.test(name) && WELL.test((kind === "boolean" ? textOf(body, value) : said).toLowerCase()))
      isWell = true;
    return false;
  });
  return words === undefined || isWell ? undefined : { why: "code", words };
}

function collect(body: Buffer, object: Span, said: Said, level: number): void {
  someMember(body, object, ({ key, value }) => {
    if (key.length > NAME_MAX) return false;
    const name = plainName(key);
    const kind = kindOf(body, value);
    if (kind === "object") {
      // Objects with other names are data of the shop.
      if (
        level < LEVELS &&
        /^(?:data|response|result|results?|meta|body|payload|summary|stats|report|counts?|import|status|answer|ответ|результат|данные)$/.test(
          name,
        )
      )
        collect(body, value, said, level + 1);
      return false;
    }
    const text = kind === "string" ? stringOf(body, value) : kind === "array" ? "" : textOf(body, value);
    if (kind === "number" || (kind === "string" && /^\d+$/.test(text))) {
      const count = Number(text);
      // Received records need not have been accepted.
      const isReceived = count > 0 && RECEIVED_NAME.test(name);
      if (isReceived) said.isReceived = true;
      else if (TAKEN_NAME.test(name)) said.taken.push(count);
      if (TAKEN_AT_ALL_NAME.test(name)) said.takenAtAll.push(count);
      if (SAME_NAME.test(name)) said.same += count;
      if (LEFT_OUT_NAME.test(name)) said.leftOut += count;
    }
    if (kind === "boolean" && TAKEN_FLAG.test(name) && text === "false") said.isDown ??= `${key}: ${text}`;
    if (kind === "boolean" && DOWN_FLAG.test(name) && text === "true") said.isDown ??= `${key}: ${text}`;
    if (WELL_NAME.test(name) && WELL.test(text.trim().toLowerCase())) said.isWell = true;
    if (kind === "string" && MESSAGE_NAME.test(name)) said.messages.push(text);
    return false;
  });
}
