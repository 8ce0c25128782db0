/* Finds what leaves the outcome of an accepted request unknown without being a refusal: counts of 0, and words of errors. */

import { shortWords } from "../../messages/inert-text.ts";
import type { WhyUnknown } from "./acceptance.ts";
import { type Answer, TEXT_BYTES } from "./answer.ts";
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

/** Whether a word for one record of an import means that the service has it now: `updated`, `unchanged`. */
export function saysTaken(text: string): boolean {
  return VALUES.taken.test(text) || TEXTS.allSame.test(text);
}

/** Whether a member at the top, which is no number, is a yes. */
export function saysYes({ members }: Answer): boolean {
  return members.some(({ level, kind, name, text }) => {
    const isWord = level === 1 && (kind === "string" || kind === "boolean") && /^\p{L}/u.test(text);
    return isWord && saysWell(`${name}=${text.toLowerCase()}`);
  });
}

function isYes({ name, text }: Answer): boolean {
  return NAMES.yes.test(name) && VALUES.yes.test(text.trim().toLowerCase());
}

export function readUnknown(answer: Answer): WhyUnknown | undefined {
  const { kind, text, start } = answer;
  if (kind === "string" || kind === "number") return ofWords(readFailureWords(text));
  const read = answer.without((member) => member.kind === "object" && !NAMES.envelopeOfCounts.test(member.name));
  // Of a service that takes nothing now.
  const down = read.find(
    (flag) => flag.kind === "boolean" && (flag.text === "true" ? NAMES.downFlag : NAMES.takenFlag).test(flag.name),
  );
  if (down !== undefined) return ofWords(`${down.key}: ${down.text}`);
  const numbers = read.filter(({ kind, text }) => kind === "number" || (kind === "string" && /^\d+$/.test(text)));
  const counts = numbers.map(({ name, text }) => ({ name, count: Number(text) }));
  const of = (names: RegExp) => counts.filter(({ name }) => names.test(name));
  const sum = (names: RegExp) => of(names).reduce((total, { count }) => total + count, 0);
  // Received records need not have been accepted.
  const taken = of(NAMES.taken).filter(({ name, count }) => count <= 0 || !NAMES.received.test(name));
  const isNone = taken.length > 0 && taken.every(({ count }) => count === 0) && sum(NAMES.same) === 0;
  if (isNone && (sum(NAMES.leftOut) > 0 || of(NAMES.takenAtAll).length === taken.length))
    return { why: "counts", words: shortWords(start) };
  if (read.some(isYes) || of(NAMES.taken).some(({ count }) => count > 0)) return undefined;
  const messages = read.filter(({ kind, name }) => kind === "string" && NAMES.text.test(name));
  return ofWords(messages.map(({ text }) => readFailureWords(text)).find((words) => words !== undefined));
}

export function ofWords(words: string | undefined): WhyUnknown | undefined {
  return words === undefined ? undefined : { why: "words", words };
}

/**
 * A verdict that some services mean as a failure, and others as a success: `{"status": 0}`, `{"code": 10010}`, `{"resultCode": "F"}`,
 * without a yes beside or above it. It is for requests of which something else shows whether they had an effect.
 */
export function readFailureCode(answer: Answer): WhyUnknown | undefined {
  const read = answer.without(({ kind, name }) => kind === "object" && !NAMES.envelopeOfCode.test(name));
  const well = new Set(read.filter(isYes).map(({ above }) => above));
  const isWithin = ({ above }: Answer): boolean => well.has(above) || (above !== undefined && isWithin(above));
  const isFailure = ({ name, text }: Answer) => {
    const said = text.trim();
    if (NAMES.state.test(name) && /^(?:0|[fnex])$/i.test(said)) return true;
    return NAMES.code.test(name) && /^(?:[fnex]|-?\d+)$/i.test(said) && !VALUES.successCode.test(said);
  };
  const found = read.find((member) => isFailure(member) && !isWithin(member));
  return found && { why: "code", words: `${found.key}: ${found.text.trim()}` };
}
