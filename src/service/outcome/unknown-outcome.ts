/*
 * Finds what leaves the outcome of an accepted request unknown without being a refusal: counts of 0, and words of errors.
 * Such answers are an acceptance only where they are known to be usual for the endpoint.
 */

import { kindOf, type Span, someMember, stringOf, textOf } from "../../answers/json-text.ts";
import { shortWords } from "../../messages/inert-text.ts";
import type { WhyUnknown } from "./acceptance.ts";
import { LEVELS, NAME_MAX, plainName, someMemberWithin, TEXT_BYTES } from "./members.ts";
import { NAMES, TEXTS, VALUES } from "./vocabulary.ts";

/** The text, shortened, where it contains a word of failure; else undefined. */
export function readFailureWords(text: string): string | undefined {
  const head = text.slice(0, TEXT_BYTES);
  const isFailure = (found: RegExpExecArray) => {
    const before = head.slice(Math.max(0, found.index - 20), found.index);
    const after = head.slice(found.index + found[0].length, found.index + found[0].length + 60);
    return !TEXTS.noneBefore.test(before) && !TEXTS.noneAfter.test(after);
  };
  return TEXTS.httpError.test(head) || head.matchAll(TEXTS.failure).some(isFailure) ? shortWords(head) : undefined;
}

/** Whether a verdict is a yes: `ok` in a text; `data.status=ok` or `code=0` in JSON. */
export function saysWell(verdict: string): boolean {
  const at = verdict.indexOf("=");
  const value = verdict.slice(at + 1);
  if (at < 0) return VALUES.yes.test(value);
  const name = verdict.slice(verdict.lastIndexOf(".", at) + 1, at);
  if (/code$|^errno$/.test(name)) return VALUES.successCode.test(value);
  return (NAMES.yes.test(name) && VALUES.yes.test(value)) || (NAMES.takenFlag.test(name) && value === "true");
}

/** Whether a member at the top, which is no number, is a yes. */
export function saysYes(body: Buffer, root: Span): boolean {
  const isYes = ({ key, value }: { key: string; value: Span }) => {
    const kind = kindOf(body, value);
    if (key.length > NAME_MAX || (kind !== "string" && kind !== "boolean")) return false;
    const text = kind === "string" ? stringOf(body, value) : textOf(body, value);
    return /^\p{L}/u.test(text) && saysWell(`${plainName(key)}=${text.toLowerCase()}`);
  };
  return kindOf(body, root) === "object" && someMember(body, root, isYes);
}

export function readUnknown(body: Buffer, root: Span): WhyUnknown | undefined {
  const kind = kindOf(body, root);
  if (kind === "string") return ofWords(readFailureWords(stringOf(body, root)));
  if (kind === "number") return ofWords(readFailureWords(textOf(body, root)));
  if (kind !== "object") return undefined;
  const { isReceived, taken, takenAtAll, same, leftOut, isWell, down, messages } = collect(body, root);
  if (down !== undefined) return ofWords(down);
  if (taken.length > 0 && same === 0 && taken.every((count) => count === 0)) {
    const isNothing = leftOut > 0 || (takenAtAll.length > 0 && taken.length === takenAtAll.length);
    if (isNothing)
      return { why: "counts", words: shortWords(body.toString("utf8", root.start, root.start + TEXT_BYTES)) };
  }
  if (isWell || isReceived || taken.some((count) => count > 0)) return undefined;
  return ofWords(messages.map(readFailureWords).find((words) => words !== undefined));
}

function ofWords(words: string | undefined): WhyUnknown | undefined {
  return words === undefined ? undefined : { why: "words", words };
}

interface Collected {
  /** Whether a count of received records is above 0. */
  isReceived: boolean;
  taken: number[];
  takenAtAll: number[];
  same: number;
  leftOut: number;
  isWell: boolean;
  /** A flag of a service that takes nothing now. */
  down?: string;
  messages: string[];
}

function collect(body: Buffer, root: Span): Collected {
  const said: Collected = {
    ...{ isReceived: false, taken: [], takenAtAll: [], same: 0, leftOut: 0, isWell: false, messages: [] },
  };
  someMemberWithin(body, root, ({ key, value, kind }) => {
    const name = plainName(key);
    if (kind === "object") return NAMES.envelopeOfCounts.test(name) ? false : "outside";
    const text = kind === "string" ? stringOf(body, value) : kind === "array" ? "" : textOf(body, value);
    if (kind === "number" || (kind === "string" && /^\d+$/.test(text))) addCount(said, name, Number(text));
    if (kind === "boolean" && (text === "true" ? NAMES.downFlag : NAMES.takenFlag).test(name))
      said.down ??= `${key}: ${text}`;
    if (NAMES.yes.test(name) && VALUES.yes.test(text.trim().toLowerCase())) said.isWell = true;
    if (kind === "string" && NAMES.text.test(name)) said.messages.push(text);
    return false;
  });
  return said;
}

function addCount(said: Collected, name: string, count: number): void {
  // Received records need not have been accepted.
  if (count > 0 && NAMES.received.test(name)) said.isReceived = true;
  else if (NAMES.taken.test(name)) said.taken.push(count);
  if (NAMES.takenAtAll.test(name)) said.takenAtAll.push(count);
  if (NAMES.same.test(name)) said.same += count;
  if (NAMES.leftOut.test(name)) said.leftOut += count;
}

/**
 * A verdict that some services mean as a failure, and others as a success: `{"status": 0}`, `{"code": 10010}`, `{"resultCode": "F"}`. It
 * is for requests of which something else shows whether they had an effect.
 */
export function readFailureCode(body: Buffer, root: Span, level = 1): WhyUnknown | undefined {
  if (kindOf(body, root) !== "object") return undefined;
  let [words, isWell]: [string | undefined, boolean] = [undefined, false];
  someMember(body, root, ({ key, value }) => {
    const name = plainName(key.slice(0, NAME_MAX));
    const kind = kindOf(body, value);
    if (kind === "object" && level < LEVELS && NAMES.envelopeOfCode.test(name))
      words ??= readFailureCode(body, value, level + 1)?.words;
    const said = kind === "string" ? stringOf(body, value).trim() : kind === "number" ? textOf(body, value) : "";
    const isNo = NAMES.state.test(name) && /^(?:0|[fnex])$/i.test(said);
    const isCode = NAMES.code.test(name) && /^(?:[fnex]|-?\d+)$/i.test(said) && !VALUES.successCode.test(said);
    if (isNo || isCode) words ??= `${key}: ${said}`;
    if (NAMES.yes.test(name) && VALUES.yes.test((kind === "boolean" ? textOf(body, value) : said).toLowerCase()))
      isWell = true;
    return false;
  });
  return words === undefined || isWell ? undefined : { why: "code", words };
}
