/* The form of an answer to a POST, which is compared with the usual ones of its endpoint. */

import { countInside, elementsOf, kindOf, type Span, stringOf, textOf } from "../../answers/json-text.ts";
import type { WhyUnknown } from "./acceptance.ts";
import { type Answer, isVaryingKey } from "./answer.ts";
import type { AnswerForm, Texts } from "./known-forms.ts";
import { readFailureWords, saysWell } from "./unknown-outcome.ts";
import { NAMES, TEXTS, VALUES } from "./vocabulary.ts";

const NAMES_MAX = 40;
export const PLACES_MAX = 10;
/** Values of the request that are searched for in a text. */
const OWN_MAX = 10;
/** Shorter values occur inside other words. */
const OWN_LENGTH_MIN = 3;
const WORD_MAX = 40;
/** Of the answer. */
const TEXT_MAX = 60;
/** Of a member. */
const MEMBER_TEXT_MAX = 100;
const NO_MEMBER = "{}";

/**
 * @param size number of records, for a request with records
 * @param own values of the request, which the answer may repeat: record keys, the status that was set
 */
export function formOf(
  answer: Answer,
  { unknown, size }: { unknown?: WhyUnknown; size?: number | undefined },
  own: ReadonlySet<string> = new Set(),
): AnswerForm {
  const begun: AnswerForm = { kind: "empty", names: [], verdicts: [], doubt: unknown?.why ?? null };
  const shape = { ...begun, ...shapeOf(answer, own) };
  return isAcceptance(answer, shape, { own, size }) ? { ...shape, isWell: true } : shape;
}

/** Adds the status of an order in the answer; a status that can only mean success is no status of an order. */
export function withShown(form: AnswerForm, status: string): AnswerForm {
  const word = status.trim().toLowerCase().slice(0, WORD_MAX);
  if (VALUES.onlyYes.test(word)) return form;
  const shown = form.verdicts.find((verdict) => verdict.endsWith(`=${word}`)) ?? `status=${word}`;
  const verdicts = form.verdicts.includes(shown) ? form.verdicts : [...form.verdicts, shown];
  return { ...form, verdicts, shown };
}

function shapeOf(answer: Answer, own: ReadonlySet<string>): Partial<AnswerForm> {
  const { kind, body, root, text } = answer;
  if (root === undefined) {
    const words = plainWords(body.toString("utf8", 0, TEXT_MAX * 4), own);
    return words === "" ? {} : { kind: "text", names: [words.slice(0, TEXT_MAX)] };
  }
  if (kind === "string") return { kind, names: [plainWords(text, own).slice(0, TEXT_MAX)] };
  if (kind === "boolean") return { kind, verdicts: [text] };
  if (kind === "array") {
    const [first] = elementsOf(body, root);
    return { kind, names: [first === undefined ? "[]" : `[${kindOf(body, first)}]`] };
  }
  if (kind !== "object") return { kind };
  if (countInside(body, root, 1) === 0) return { kind, names: [NO_MEMBER] };
  const texts = readTexts(answer, own);
  return { kind, ...readMembers(answer, own), ...(Object.keys(texts).length > 0 && { texts }) };
}

function readMembers(answer: Answer, own: ReadonlySet<string>): Pick<AnswerForm, "names" | "verdicts"> {
  const members = answer
    .without((member) => member.level > 2 || isVaryingKey(member) || own.has(member.key))
    .slice(0, NAMES_MAX);
  const verdicts = members.flatMap(({ body, span, name, key, path }) => {
    const verdict = verdictOf(body, span, { name, own });
    return verdict === undefined ? [] : [`${path.slice(0, path.length - key.length)}${name}=${verdict}`];
  });
  return { names: members.map(({ path, kind }) => `${path} ${kind}`), verdicts };
}

function readTexts(answer: Answer, own: ReadonlySet<string>): Texts {
  const texts: Record<string, string> = {};
  for (const member of answer.without((member) => member.level > 2 || isVaryingKey(member))) {
    if (Object.keys(texts).length >= PLACES_MAX) break;
    if (member.kind !== "string" || !NAMES.text.test(member.name)) continue;
    const text = plainWords(member.text.slice(0, MEMBER_TEXT_MAX * 4), own).slice(0, MEMBER_TEXT_MAX);
    if (text !== "") texts[member.path] = text;
  }
  return texts;
}

/** Whether it has signs of an acceptance, and no word of a failure or a delay. */
function isAcceptance(
  { start }: Answer,
  { kind, names, verdicts, doubt }: AnswerForm,
  { own, size }: { own: ReadonlySet<string>; size: number | undefined },
): boolean {
  if (doubt !== null || TEXTS.putOff.test(start) || readFailureWords(start) !== undefined) return false;
  const isText = kind === "text" || kind === "string";
  const said = isText ? [names[0]?.split(/[^\p{L}]+/u)[0] ?? ""] : verdicts;
  if (said.some(isYes)) return true;
  if (isText && Number(TEXTS.takenFirst.exec(start)?.[1]) === size) return true;
  const isNamed = (value: string) => start.includes(isText ? value : JSON.stringify(value));
  return [...own].some((value) => value.length >= OWN_LENGTH_MIN && isNamed(value));
}

/** A word, a small number or a boolean; values that vary between answers become `…`, `#` or undefined. */
export function verdictOf(
  body: Buffer,
  value: Span,
  { name, own }: { name: string; own: ReadonlySet<string> },
): string | undefined {
  const kind = kindOf(body, value);
  if (kind === "number" && NAMES.takenOrSame.test(name)) return Number(textOf(body, value)) > 0 ? "+" : undefined;
  if (!NAMES.verdict.test(name)) return undefined;
  if (kind === "boolean") return textOf(body, value);
  const said = kind === "string" ? stringOf(body, value) : textOf(body, value);
  if (own.has(said)) return "…";
  const text = said.trim().toLowerCase();
  if (kind === "number") return /^-?\d{1,3}$/.test(text) ? text : "#";
  if (kind !== "string" || text === "") return undefined;
  if (/^\d{1,3}$/.test(text)) return text;
  return text.length <= WORD_MAX && /^\p{L}[\p{L} _-]*$/u.test(text) ? text : "…";
}

/** The text in lower case, with 0 for each number, `…` for own values, and single blanks. */
export function plainWords(text: string, own: ReadonlySet<string>): string {
  let plain = text;
  for (const value of [...own].slice(0, OWN_MAX))
    if (value.length >= OWN_LENGTH_MIN) plain = plain.replaceAll(value, "…");
  return plain
    .replace(/^\ufeff/, "")
    .toLowerCase()
    .replace(/[\d.,:]*\d/g, "0")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
}

/** Whether the answer is empty in some form: `""`, `null`, `{}` or no body. All of these mean the same. */
export function isSilent({ kind, names: [first = ""] }: AnswerForm): boolean {
  if (kind === "string") return first === "";
  return kind === "empty" || kind === "null" || (kind === "object" && first === NO_MEMBER);
}

export function isYes(verdict: string): boolean {
  return verdict.endsWith("=+") || saysWell(verdict);
}

/** Keys under which the forms of an endpoint are stored. */
export const ENDPOINT = {
  confirm: "confirm",
  import: (path: string) => path,
  status: ({ method, path }: { method: string; path: string }) => [method, path].join(" "),
} as const;
