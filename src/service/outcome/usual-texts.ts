/*
 * The usual texts in the JSON of an endpoint's answers: `{"success":true,"message":"…"}` may refuse a request in a sentence
 * that no list of words covers. Where all first answers had the same text at a place, another one there is unusual, unless it
 * says the same in other words. Where the texts differ from the beginning, nothing follows from them. Pure.
 */

import { PLACES_MAX } from "./answer-form.ts";
import type { Texts } from "./known-forms.ts";
import { readFailureWords } from "./unknown-outcome.ts";
import { USUAL_TIMES } from "./usual.ts";
import { TEXTS, VALUES } from "./vocabulary.ts";

/** The usual texts of one endpoint. */
export interface UsualTexts {
  /** Number of answers, up to {@link USUAL_TIMES}. */
  times: number;
  /** By place; null where the texts differ, or only some answers have one. Absent where none has. */
  at: Readonly<Record<string, readonly string[] | null>>;
}

export const NO_TEXTS: UsualTexts = { times: 0, at: {} };

/** Texts that a person or time has made usual, per place. */
const TEXTS_MAX = 8;
/** Words are compared by their beginnings, because endings vary: `1 row`, `2 rows`. */
const STEM_LENGTH = 4;

/** The first text that is not usual, with its place; undefined where there is none. */
export function findUnusualText(usual: UsualTexts, texts: Texts = {}): string | undefined {
  if (!areTextsKnown(usual)) return undefined;
  const found = Object.entries(texts).find(([place, text]) => {
    const known = usual.at[place];
    return known !== null && !isAlike(known ?? [], text);
  });
  return found?.join(": ");
}

/** @param known the usual texts at its place; empty where there usually is none */
function isAlike(known: readonly string[], text: string): boolean {
  if (known.includes(text) || TEXTS.allSame.test(text)) return true;
  if (deniesAnything(text) && !known.some(deniesAnything)) return false;
  if (known.length === 0 || VALUES.yes.test(text) || TEXTS.accepted.test(text)) return true;
  const usual = new Set(known.flatMap(stemsOf));
  const stems = stemsOf(text);
  return stems.filter((stem) => usual.has(stem)).length * 2 >= stems.length;
}

function deniesAnything(text: string): boolean {
  const words = [TEXTS.negation, TEXTS.putOff];
  return (
    words.some((each) => each.test(text)) || text.search(TEXTS.failed) >= 0 || readFailureWords(text) !== undefined
  );
}

function stemsOf(text: string): string[] {
  return (text.match(/\p{L}+/gu) ?? []).map((word) => word.slice(0, STEM_LENGTH));
}

/** Whether nothing more is learned from further answers. */
export function areTextsKnown({ times }: UsualTexts): boolean {
  return times >= USUAL_TIMES;
}

/** Learns from an acceptance. Returns the same object where nothing is new. */
export function learnTexts(usual: UsualTexts, texts: Texts = {}): UsualTexts {
  if (areTextsKnown(usual)) return usual;
  const places = [...new Set([...Object.keys(usual.at), ...Object.keys(texts)])].slice(0, PLACES_MAX);
  const at = places.map((place) => {
    const [known = usual.times === 0 ? [] : null, text] = [usual.at[place], texts[place]];
    const isUsual = text !== undefined && known !== null && (known.length === 0 || isAlike(known, text));
    return [place, isUsual ? [...new Set([...known, text])] : null] as const;
  });
  return { times: usual.times + 1, at: Object.fromEntries(at) };
}

/** The usual texts of two forms. */
export function joinTexts(one: UsualTexts, other: UsualTexts): UsualTexts {
  const at: Record<string, readonly string[] | null> = { ...one.at, ...other.at };
  for (const [place, texts] of Object.entries(one.at)) {
    const others = other.at[place];
    if (others !== undefined) at[place] = texts && others && [...new Set([...texts, ...others])];
  }
  return { times: Math.max(one.times, other.times), at };
}

/** Makes these texts usual. */
export function adoptTexts(usual: UsualTexts, texts: Texts): UsualTexts {
  if (findUnusualText(usual, texts) === undefined) return usual;
  const added = Object.entries(texts).flatMap(([place, text]) => {
    const known = usual.at[place];
    if (known === null) return [];
    return [[place, [text, ...(known ?? [])].slice(0, TEXTS_MAX)] as const];
  });
  return { ...usual, at: { ...usual.at, ...Object.fromEntries(added) } };
}
