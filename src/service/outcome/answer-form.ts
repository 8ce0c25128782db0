/*
 * The form of an answer to a POST, which is compared with the usual ones of its endpoint (`usual-forms.ts`): no list of words
 * covers every form of a refusal.
 */

import { countInside, elementsOf, kindOf, type Span, stringOf, textOf } from "../../answers/json-text.ts";
import type { WhyUnknown } from "./acceptance.ts";
import type { AnswerForm } from "./known-forms.ts";
import { isVaryingKey, plainName, someMemberWithin, TEXT_BYTES } from "./members.ts";
import { readFailureWords, saysWell } from "./unknown-outcome.ts";
import { readTexts } from "./usual-texts.ts";
import { NAMES, TEXTS, VALUES } from "./vocabulary.ts";

const NAMES_MAX = 40;
/** Values of the request that are searched for in a text. */
const OWN_MAX = 10;
/** Shorter values occur inside other words. */
const OWN_LENGTH_MIN = 3;
const WORD_MAX = 40;
const TEXT_MAX = 60;
const NO_MEMBER = "{}";

/**
 * @param root of the answer's JSON, where it is JSON
 * @param size number of records, for a request with records
 * @param own values of the request, which the answer may repeat: record keys, the status that was set
 */
export function formOf(
  body: Buffer,
  { root, unknown, size }: { root?: Span; unknown?: WhyUnknown; size?: number | undefined },
  own: ReadonlySet<string> = new Set(),
): AnswerForm {
  const form: AnswerForm = { kind: "empty", names: [], verdicts: [], doubt: unknown?.why ?? null };
  const shape = root === undefined ? shapeOfText(body, form, own) : shapeOfJson(body, root, form, own);
  return isAcceptance(body, shape, { own, size }) ? { ...shape, isWell: true } : shape;
}

/** Adds the status of an order in the answer; a status that can only mean success is no status of an order. */
export function withShown(form: AnswerForm, status: string): AnswerForm {
  const word = status.trim().toLowerCase().slice(0, WORD_MAX);
  if (VALUES.onlyYes.test(word)) return form;
  const shown = form.verdicts.find((verdict) => verdict.endsWith(`=${word}`)) ?? `status=${word}`;
  const verdicts = form.verdicts.includes(shown) ? form.verdicts : [...form.verdicts, shown];
  return { ...form, verdicts, shown };
}

function shapeOfText(body: Buffer, form: AnswerForm, own: ReadonlySet<string>): AnswerForm {
  const words = plainWords(body.toString("utf8", 0, TEXT_MAX * 4), own);
  return words === "" ? form : { ...form, kind: "text", names: [words.slice(0, TEXT_MAX)] };
}

function shapeOfJson(body: Buffer, root: Span, form: AnswerForm, own: ReadonlySet<string>): AnswerForm {
  const kind = kindOf(body, root);
  if (kind === "string") return { ...form, kind, names: [plainWords(stringOf(body, root), own).slice(0, TEXT_MAX)] };
  if (kind === "boolean") return { ...form, kind, verdicts: [textOf(body, root)] };
  if (kind === "array") {
    const first = elementsOf(body, root)[0];
    return { ...form, kind, names: first === undefined ? ["[]"] : [`[${kindOf(body, first)}]`] };
  }
  const whole = { ...form, kind };
  if (kind === "object" && countInside(body, root, 1) === 0) whole.names.push(NO_MEMBER);
  else if (kind === "object") addMembers(body, root, whole, own);
  const texts = kind === "object" ? readTexts(body, root, (text) => plainWords(text, own)) : {};
  return Object.keys(texts).length === 0 ? whole : { ...whole, texts };
}

/** Whether it has signs of an acceptance, and no word of a failure or a delay. */
function isAcceptance(
  body: Buffer,
  { kind, names, verdicts, doubt }: AnswerForm,
  { own, size }: { own: ReadonlySet<string>; size: number | undefined },
): boolean {
  if (doubt !== null) return false;
  const text = body.toString("utf8", 0, TEXT_BYTES);
  if (TEXTS.putOff.test(text) || readFailureWords(text) !== undefined) return false;
  const isText = kind === "text" || kind === "string";
  const said = isText ? [names[0]?.split(/[^\p{L}]+/u)[0] ?? ""] : verdicts;
  if (said.some(isYes)) return true;
  if (isText && Number(TEXTS.takenFirst.exec(text)?.[1]) === size) return true;
  const isNamed = (value: string) => text.includes(isText ? value : JSON.stringify(value));
  return [...own].some((value) => value.length >= OWN_LENGTH_MIN && isNamed(value));
}

function addMembers(body: Buffer, root: Span, form: AnswerForm, own: ReadonlySet<string>): void {
  someMemberWithin(
    body,
    root,
    ({ key, value, kind, path }) => {
      if (form.names.length >= NAMES_MAX) return true;
      if (isVaryingKey(key) || own.has(key)) return "outside";
      form.names.push(`${path} ${kind}`);
      const name = plainName(key);
      const verdict = verdictOf(body, value, { name, own });
      if (verdict !== undefined) form.verdicts.push(`${path.slice(0, path.length - key.length)}${name}=${verdict}`);
      return false;
    },
    { levels: 2 },
  );
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
