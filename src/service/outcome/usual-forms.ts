/*
 * Which forms of answers are usual for an endpoint, and when a new one becomes usual: by its age, by proofs, or because a
 * person says so. An answer in a form that is not usual is neither an acceptance nor a refusal. Pure.
 */

import { HOUR_MS } from "../../platform/durations.ts";
import { isSilent, isYes } from "./answer-form.ts";
import {
  ANY_WORDS,
  type AnswerForm,
  isWord,
  type KnownForm,
  type LearnedForms,
  type NewForm,
  nameOf,
} from "./known-forms.ts";
import { adoptSaid, hasSettled, isUnusuallySaid, learnSaid, NOTHING_SAID } from "./usual-reports.ts";
import { adoptTexts, areTextsKnown, findUnusualText, learnTexts, NO_TEXTS } from "./usual-texts.ts";

/** A form received so often becomes usual; a single first answer is not enough. */
const USUAL_TIMES = 3;
/** A second form received so often by then is usual too: some services have two. */
const SECOND_TIMES = 2;
/** After so many different texts the words are ignored. */
const KNOWN_MAX = 12;
const FRESH_MAX = 4;
const PROOFS = 3;
/**
 * How long a new form with signs of an acceptance must be the only answer before it becomes usual. A day, because most
 * outages are shorter, and a service that has changed should not wait longer. Where the usual form was seen for a shorter
 * time, that time: the first answers may have been an outage.
 */
const PATIENCE_MS = 24 * HOUR_MS;
/** The minimum number of such answers: two answers hours apart are not enough. */
const PATIENCE_TIMES = 6;
/** Minimum interval at which it is stored that the usual form was seen. */
const SEEN_STEP_MS = 10 * 60_000;
/** Maximum that one interval between two answers counts, so that two answers a week apart do not count as a day. */
const STEP_MS = 6 * HOUR_MS;

/** Whether `form` is a variant of the usual form, with the same meaning. */
function isAlike(usual: AnswerForm, form: AnswerForm): boolean {
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
function isSameNew(one: AnswerForm, other: AnswerForm): boolean {
  const reports = ({ said = [], texts = {} }: AnswerForm) => JSON.stringify([said, texts]);
  return isSame(one, other) && reports(one) === reports(other);
}

function isSame(one: AnswerForm, other: AnswerForm): boolean {
  if (isSilent(one) && isSilent(other)) return true;
  const text = ({ kind, names, verdicts, doubt }: AnswerForm) =>
    JSON.stringify([kind, names, verdicts.filter(isWord), doubt]);
  return text(one) === text(other);
}

/** Whether the endpoint has a usual form, and this is not one. */
export function isUnusual(learned: LearnedForms, form: AnswerForm): boolean {
  return findUnusualText(learned.texts ?? NO_TEXTS, form.texts ?? {}) !== undefined || isUnusualForm(learned, form);
}

/** The same, whatever its texts are. */
function isUnusualForm({ known, since, records }: LearnedForms, form: AnswerForm): boolean {
  if (records !== undefined && form.said !== undefined && isUnusuallySaid(records, form.said)) return true;
  const { shown } = form;
  if (shown !== undefined && !known.some(({ verdicts }) => verdicts.includes(shown))) return true;
  // An answer that is empty does not say what others have said in words.
  if (isSilent(form) && known.some(hasSign) && !known.some(isSilent)) return true;
  return (since !== null || form.doubt !== null) && !known.some((usual) => isAlike(usual, form));
}

/**
 * Learns from an acceptance in a usual form, or from one received before there was a usual form. Returns the same object
 * where nothing is new.
 * @param now.isRepeat the answer repeats a former one and settled nothing: it is not counted
 */
export function learnUsual(learned: LearnedForms, form: AnswerForm, now: UsualNow): LearnedForms {
  const next = learnForm(learned, form, now);
  const { records = NOTHING_SAID, texts = NO_TEXTS } = learned;
  const areTextsNew = form.kind === "object" && now.isRepeat !== true && !areTextsKnown(texts);
  const areRecordsNew = form.said !== undefined && !hasSettled(records);
  if (!areTextsNew && !areRecordsNew) return next;
  return {
    ...next,
    ...(areTextsNew && { texts: learnTexts(texts, form.texts ?? {}) }),
    ...(areRecordsNew && { records: learnSaid(records, form.said ?? [], now.ordinary) }),
  };
}

interface UsualNow {
  at: string;
  endsDoubt: boolean;
  isRepeat?: boolean;
  /** See `SaidOfRecords.ordinary`. */
  ordinary?: readonly string[] | undefined;
}

function learnForm(learned: LearnedForms, form: AnswerForm, now: UsualNow): LearnedForms {
  const at = learned.known.findIndex((usual) => (learned.since === null ? isSame(usual, form) : isAlike(usual, form)));
  const met = learned.known[at];
  // Forms that had replaced this one were an outage; the newest are first.
  const left = learned.known.filter(
    (each, index) => (index >= at || each.isReplacement === undefined) && !isDisprovedBy(each, form),
  );
  if (learned.since === null)
    return now.isRepeat === true ? learned : learnFirst({ ...learned, known: left }, form, { met, at: now.at });
  const known = left.length === 0 ? [knownOf(form)] : left;
  const fresh = now.endsDoubt ? [] : learned.fresh.map((each) => besideUsual(learned, each));
  const isFreshSame =
    fresh.length === learned.fresh.length && fresh.every((each, index) => each === learned.fresh[index]);
  const isKnownSame = known.length === learned.known.length && known[0] === learned.known[0];
  const next = isKnownSame && isFreshSame ? learned : { ...learned, known, fresh };
  return met === undefined || met.isReplacement ? next : noteSeen(next, now.at);
}

/** The usual form was received: another one is not the only one, and what was only another text has to begin anew. */
function besideUsual(learned: LearnedForms, form: NewForm): NewForm {
  if (!isUnusualForm(learned, form)) return form.times === 0 ? form : { ...form, forMs: 0, times: 0 };
  return form.isAlone ? { ...form, isAlone: false } : form;
}

/** Before there is a usual form: one that was received often enough becomes it. */
function learnFirst(
  learned: LearnedForms,
  form: AnswerForm,
  { met, at }: { met: KnownForm | undefined; at: string },
): LearnedForms {
  const settle = (usual: KnownForm[]) => ({ ...learned, known: usual, fresh: [], since: at, seenAt: at });
  const times = (met?.times ?? 0) + 1;
  const known = [{ ...form, times }, ...learned.known.filter((each) => each !== met)].slice(0, KNOWN_MAX);
  // An empty form, or one without a sign of acceptance, does not replace one with a yes.
  const isKept = (each: KnownForm) =>
    each.times >= SECOND_TIMES ||
    (isSilent(form) && each.verdicts.some(isWord)) ||
    (!hasSign({ ...form, times }) && hasSign(each));
  if (times >= USUAL_TIMES) return settle(known.filter(isKept));
  // Where so many texts all differ, the form is any text.
  const isText = known.every(({ kind }) => kind === form.kind && (kind === "text" || kind === "string"));
  if (known.length < KNOWN_MAX || !isText) return { ...learned, known };
  return settle([{ kind: form.kind, names: [ANY_WORDS], verdicts: [], doubt: null, times: USUAL_TIMES }]);
}

/** A list that became usual because every answer had it, and now an answer has none. */
function isDisprovedBy({ doubt, adoptedAt }: KnownForm, form: AnswerForm): boolean {
  return doubt === "list" && adoptedAt !== undefined && form.doubt !== "list";
}

/** For how long the usual form was seen, in milliseconds; undefined where an earlier version learned it. */
function seenMsOf({ since, seenAt }: LearnedForms): number | undefined {
  return since === null || seenAt === undefined ? undefined : Date.parse(seenAt) - Date.parse(since);
}

/** Records that the usual form was seen: at most every `SEEN_STEP_MS`, and only until its age no longer matters. */
function noteSeen(learned: LearnedForms, at: string): LearnedForms {
  const seenMs = seenMsOf(learned) ?? PATIENCE_MS;
  if (seenMs >= PATIENCE_MS || Date.parse(at) - Date.parse(learned.seenAt ?? "") < SEEN_STEP_MS) return learned;
  return { ...learned, seenAt: at };
}

/**
 * Learns from an answer in an unusual form. Returns the same object where nothing is new; the form becomes usual once it
 * was received for long enough.
 * @param now.stepMs time since the previous answer in this form, where this process received it; null where time is no
 * evidence, and only the first answer is recorded
 * @param now.localAt by the clock of acknowledgements
 * @param now.needsSign whether records would be lost if a form adopted only because of its age were no acceptance
 */
export function learnUnusual(
  learned: LearnedForms,
  form: AnswerForm,
  now: { ms: number; at: string; localAt: string; stepMs: number | undefined | null; needsSign: boolean },
): LearnedForms {
  const { met, others } = freshOf(learned, form, now.ms);
  if (now.stepMs === null) return learned.fresh.includes(met) ? learned : withFresh(learned, [met, ...others]);
  const stepMs = now.stepMs ?? now.ms - met.lastMs;
  const forMs = met.forMs + Math.min(Math.max(stepMs, 0), STEP_MS);
  const ageMs = seenMsOf(learned) ?? now.ms - Date.parse(learned.since ?? "") - forMs;
  const isOther = isUnusualForm(learned, form);
  // Another text in the usual form may be said of single records alone.
  const isYoung = isOther && form.doubt === null && ageMs < PATIENCE_MS;
  const times = met.times + 1;
  // A usual form that reports something else of its records reports it of these records, for however long.
  const isOfRecords = isOther && learned.known.some((usual) => isAlike(usual, form));
  const isLong = forMs >= (isYoung ? Math.max(ageMs, HOUR_MS) : PATIENCE_MS);
  const isEnough = times >= PATIENCE_TIMES && isLong && !isOfRecords;
  if (!isEnough || (now.needsSign && !mayReplace(learned, { ...form, isAlone: met.isAlone, isYoung })))
    return withFresh(learned, [{ ...met, times, forMs, lastMs: now.ms }, ...others]);
  const adopted: KnownForm = { ...knownOf(form), adoptedAt: now.localAt };
  if (!met.isAlone) return withKnown({ ...learned, fresh: others }, adopted);
  // A form that was usual for a shorter time, without a sign of acceptance, may have been an outage.
  const former = isYoung ? learned.known.filter(hasSign) : learned.known;
  const { since, seenAt } = learned;
  const seen = former.length === 0 ? { since: now.at, seenAt: now.at } : { since, ...(seenAt && { seenAt }) };
  const known = former.length === 0 ? adopted : { ...adopted, isReplacement: true as const };
  return withKnown({ known: former, fresh: isYoung ? [] : others, ...seen }, known);
}

/**
 * Whether a form may become usual only because of its age. A service under maintenance answers everything in the same
 * form, so the form needs a sign of acceptance, unless the usual form has none either and is as young, or the answer is
 * empty. A count of 0 may be one of changes where other answers were received in between. A list of what was left out, or
 * of warnings, that has a yes beside it is usual if every answer of the endpoint had it.
 */
function mayReplace(
  { known }: LearnedForms,
  { isAlone, isYoung, ...form }: AnswerForm & { isAlone: boolean; isYoung: boolean },
): boolean {
  if (form.doubt === "list" && known.length === 0 && form.verdicts.some(isYes)) return true;
  if (form.isWell === true || (form.doubt === "counts" && !isAlone)) return true;
  return form.doubt === null && (isYoung || isSilent(form)) && !known.some(hasSign);
}

/** Earlier versions did not store `isWell`, so the verdicts are used as well. */
function hasSign({ isWell, doubt, verdicts }: KnownForm): boolean {
  return isWell === true || (doubt === null && verdicts.some(isYes));
}

/**
 * Since when the outcome of acceptances is unknown because a usual form was dropped: a form adopted because of its age, or usual only at
 * first, turned out to be an outage. By this machine's clock; `""` where that of all is.
 *
 * @example
 * findUnknownSince({ known: [adopted, usual], … }, { known: [usual], … }); // adopted.adoptedAt
 */
export function findUnknownSince(before: LearnedForms, after: LearnedForms): string | undefined {
  if (before.since === null) return undefined;
  const dropped = before.known.filter((form) => !after.known.some((kept) => isSame(kept, form)));
  if (dropped.length === 0 || after.known.length >= KNOWN_MAX) return undefined;
  return dropped.map(({ adoptedAt = "" }) => adoptedAt).sort()[0];
}

/** Records that a request answered in this form took effect. */
export function learnProved(learned: LearnedForms, form: AnswerForm, ms: number): LearnedForms {
  if (!isUnusual(learned, form)) return learned;
  const { met, others } = freshOf(learned, form, ms);
  const proved = met.proved + 1;
  if (proved >= PROOFS) return withKnown({ ...learned, fresh: others }, knownOf(form));
  return withFresh(learned, [{ ...met, proved }, ...others]);
}

/** Records that a request answered in this form took no effect. */
export function learnDisproved(learned: LearnedForms, form: AnswerForm): LearnedForms {
  const fresh = learned.fresh.filter((each) => !isSameNew(each, form));
  return fresh.length === learned.fresh.length ? learned : { ...learned, fresh };
}

/** Makes the new forms usual, as confirmed by a person. */
export function acceptFresh(learned: LearnedForms): LearnedForms {
  let all: LearnedForms = { ...learned, fresh: [] };
  for (const form of learned.fresh) all = withKnown(all, knownOf(form));
  return all;
}

function freshOf(learned: LearnedForms, form: AnswerForm, ms: number): { met: NewForm; others: NewForm[] } {
  const begun = { ...form, lastMs: ms, forMs: 0, times: 0, proved: 0, isAlone: true };
  return {
    met: learned.fresh.find((each) => isSameNew(each, form)) ?? begun,
    others: learned.fresh.filter((each) => !isSameNew(each, form)),
  };
}

function withFresh(learned: LearnedForms, fresh: readonly NewForm[]): LearnedForms {
  return { ...learned, fresh: fresh.slice(0, FRESH_MAX) };
}

function withKnown(learned: LearnedForms, { texts = {}, ...form }: KnownForm): LearnedForms {
  const { records, texts: usual } = learned;
  return {
    ...learned,
    known: [form, ...learned.known].slice(0, KNOWN_MAX),
    ...(records && form.said && { records: adoptSaid(records, form.said) }),
    ...(usual && { texts: adoptTexts(usual, texts) }),
  };
}

function knownOf({ kind, names, verdicts, doubt, isWell, said, texts }: AnswerForm): KnownForm {
  const kept = { kind, names, verdicts, doubt, ...(isWell ? { isWell } : {}), times: USUAL_TIMES };
  return { ...kept, ...(said && { said }), ...(texts && { texts }) };
}
