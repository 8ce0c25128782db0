/* What is usual in the answers of an endpoint, as it is stored, and how an answer is compared with it. Pure. */
import { ANY_WORDS, type AnswerForm, isSilent, isWord, isYes, nameOf } from "./answer-form.ts";
import { hasSettled, isUnusuallySaid, NOTHING_SAID, type UsuallySaid } from "./usual-reports.ts";
import { areTextsKnown, findUnusualText, NO_TEXTS, type UsualTexts } from "./usual-texts.ts";

export interface KnownForm extends AnswerForm {
  /** How often it was received, up to three. */
  times: number;
  /** It replaced all other forms for a while, and is dropped when one of those is received again. */
  isReplacement?: true;
  /** Since when it is usual only because of its age, by this machine's clock. */
  adoptedAt?: string;
  /** A person has acknowledged that. */
  isSeen?: true;
}

export interface NewForm extends AnswerForm {
  /** When it was last received, by the clock of `since`. */
  lastMs: number;
  /** For how long, in milliseconds, it was the only answer to its requests. */
  forMs: number;
  /** How often it was received. */
  times: number;
  /** How often a read has shown that a request answered with it took effect. */
  proved: number;
  /** No usual answer was received since it first was. */
  isAlone: boolean;
}

/** What was learned about the answers of one endpoint. */
export interface LearnedForms {
  known: KnownForm[];
  fresh: NewForm[];
  /** Since when there is a usual form; by the service's own clock where it sends one. */
  since: string | null;
  /** When it was last seen, by the same clock, until that is long enough. Absent where an earlier version learned it. */
  seenAt?: string;
  /** What is usually reported of a record. */
  records: UsuallySaid;
  /** What its texts usually are. */
  texts: UsualTexts;
}

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
