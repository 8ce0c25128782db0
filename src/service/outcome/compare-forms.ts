/* How the form of an answer is compared with what is usual for its endpoint. Pure. */

import { isSilent, isYes } from "./answer-form.ts";
import { ANY_WORDS, type AnswerForm, isWord, type KnownForm, type LearnedForms, nameOf } from "./known-forms.ts";
import { hasSettled, isUnusuallySaid, NOTHING_SAID } from "./usual-reports.ts";
import { areTextsKnown, findUnusualText, NO_TEXTS } from "./usual-texts.ts";

export const NOTHING_LEARNED: LearnedForms = {
  known: [],
  fresh: [],
  since: null,
  records: NOTHING_SAID,
  texts: NO_TEXTS,
};

/** Whether the usual form is settled: another such answer changes nothing that is stored. */
export function isSettled({ known, since, fresh, records, texts }: LearnedForms): boolean {
  return (
    hasSettled(records) &&
    (areTextsKnown(texts) || known.every(({ kind }) => kind !== "object")) &&
    since !== null &&
    fresh.length === 0 &&
    known.every(({ isReplacement, doubt }) => isReplacement === undefined && doubt !== "list")
  );
}

/** Whether the endpoint has a usual form, and this is not one. */
export function isUnusual(learned: LearnedForms, form: AnswerForm): boolean {
  return findUnusualText(learned.texts, form.texts) !== undefined || isUnusualForm(learned, form);
}

/** The same, whatever its texts are. */
export function isUnusualForm({ known, since, records }: LearnedForms, form: AnswerForm): boolean {
  if (isUnusuallySaid(records, form.said ?? [])) return true;
  const { shown } = form;
  if (shown !== undefined && !known.some(({ verdicts }) => verdicts.includes(shown))) return true;
  // An answer that is empty does not say what others have said in words.
  if (isSilent(form) && known.some(hasSign) && !known.some(isSilent)) return true;
  return (since !== null || form.doubt !== null) && !known.some((usual) => isAlike(usual, form));
}

/** Whether `form` is a variant of the usual form, with the same meaning. */
export function isAlike(usual: AnswerForm, form: AnswerForm): boolean {
  if (isSilent(usual) || isSilent(form)) return isSilent(usual) && isSilent(form);
  if (usual.kind !== form.kind) return false;
  // An endpoint that usually answers with numbers counts something, and 500 is a possible count.
  if (form.doubt !== null && usual.doubt !== form.doubt && (form.kind !== "number" || form.doubt !== "words"))
    return false;
  if (usual.kind === "text" || usual.kind === "string")
    return usual.names[0] === form.names[0] || usual.names[0] === ANY_WORDS;
  if (usual.kind === "array") return usual.names[0] === "[]" || usual.names[0] === form.names[0];
  const said = new Set(form.verdicts.filter(isWord));
  const words = usual.verdicts.filter(isWord);
  // Nested fields may belong to a record where the top level reports the outcome.
  const own = words.filter((verdict) => !verdict.includes("."));
  const meant = own.length > 0 ? own : words;
  // All words that report the outcome must be present and equal.
  if (!meant.every((verdict) => said.has(verdict))) return false;
  if (meant.length > 0) return true;
  const names = new Set(form.names.map(nameOf));
  const types = new Set(form.names);
  const isThere = (name: string) =>
    types.has(name) || (name.endsWith(" null") && names.has(nameOf(name))) || isNull(types, nameOf(name));
  if (usual.names.every(isThere)) return true;
  const counts = new Set(usual.verdicts);
  return form.verdicts.some((verdict) => !isWord(verdict) && counts.has(verdict));
}

/** Whether the member or its parent is null. */
function isNull(types: ReadonlySet<string>, name: string): boolean {
  const [above] = name.split(".");
  return [name, above].some((each) => types.has([each, "null"].join(" ")));
}

/** New forms are equal only where they also report the same of records, in the same words. */
export function isSameNew(one: AnswerForm, other: AnswerForm): boolean {
  const reports = ({ said = [], texts = {} }: AnswerForm) => JSON.stringify([said, texts]);
  return isSame(one, other) && reports(one) === reports(other);
}

export function isSame(one: AnswerForm, other: AnswerForm): boolean {
  if (isSilent(one) && isSilent(other)) return true;
  const text = ({ kind, names, verdicts, doubt }: AnswerForm) =>
    JSON.stringify([kind, names, verdicts.filter(isWord), doubt]);
  return text(one) === text(other);
}

/** Earlier versions did not store `isWell`, so the verdicts are used as well. */
export function hasSign({ isWell, doubt, verdicts }: KnownForm): boolean {
  return isWell === true || (doubt === null && verdicts.some(isYes));
}
