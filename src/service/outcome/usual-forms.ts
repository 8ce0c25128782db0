/* How a form of answers becomes usual: received first, or by its age, by proofs, or because a person says so. Pure. */

import { HOUR_MS } from "../../platform/durations.ts";
import { isSilent, isYes } from "./answer-form.ts";
import { hasSign, isAlike, isSame, isSameNew, isUnusual, isUnusualForm, NOTHING_LEARNED } from "./compare-forms.ts";
import { ANY_WORDS, type AnswerForm, isWord, type KnownForm, type LearnedForms, type NewForm } from "./known-forms.ts";
import { PATIENCE_MS, PATIENCE_TIMES, PROOFS, USUAL_TIMES } from "./usual.ts";
import { adoptSaid, learnSaid } from "./usual-reports.ts";
import { adoptTexts, joinTexts, learnTexts, NO_TEXTS } from "./usual-texts.ts";

/** A second form received so often by then is usual too: some services have two. */
const SECOND_TIMES = 2;
/** After so many different texts the words are ignored. */
const KNOWN_MAX = 12;
const FRESH_MAX = 4;
/** Minimum interval at which it is stored that the usual form was seen. */
const SEEN_STEP_MS = 10 * 60_000;
/** Maximum that one interval between two answers counts, so that two answers a week apart do not count as a day. */
const STEP_MS = 6 * HOUR_MS;

/**
 * Learns from an acceptance in a usual form, or from one received before there was a usual form. Returns the same object
 * where nothing is new.
 * @param now.isRepeat the answer repeats a former one and settled nothing: it is not counted
 */
export function learnUsual(learned: LearnedForms, form: AnswerForm, now: UsualNow): LearnedForms {
  const next = learnForm(learned, form, now);
  const areTextsRead = form.kind === "object" && learned.since !== null && now.isRepeat !== true;
  const texts = areTextsRead ? learnTexts(learned.texts, form.texts) : next.texts;
  const records = form.said === undefined ? learned.records : learnSaid(learned.records, form.said, now.ordinary);
  return texts === next.texts && records === learned.records ? next : { ...next, texts, records };
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
  const isKept = <T>(after: readonly T[], before: readonly T[]) =>
    after.length === before.length && after.every((each, index) => each === before[index]);
  const isNothingNew = isKept(known, learned.known) && isKept(fresh, learned.fresh);
  const next = isNothingNew ? learned : { ...learned, known, fresh };
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
  const settle = (usual: KnownForm[]) => {
    // Of forms that do not become usual, texts mean nothing.
    const texts = usual.map(({ own = NO_TEXTS }) => own).reduce(joinTexts, NO_TEXTS);
    return { ...learned, known: usual.map(({ own, ...each }) => each), fresh: [], since: at, seenAt: at, texts };
  };
  const times = (met?.times ?? 0) + 1;
  const own = form.kind === "object" ? { own: learnTexts(met?.own ?? NO_TEXTS, form.texts) } : {};
  const known = [{ ...form, times, ...own }, ...learned.known.filter((each) => each !== met)].slice(0, KNOWN_MAX);
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
  // The first answers may have been an outage: a new form waits no longer than they were seen. Another text in the usual form
  // may be said of single records alone.
  const isYoung = isOther && form.doubt === null && ageMs < PATIENCE_MS;
  const times = met.times + 1;
  // A usual form that reports something else of its records reports it of these records, for however long; so do words of a refusal
  // while other records are accepted as usual.
  const isOfRecords =
    isOther && (learned.known.some((usual) => isAlike(usual, form)) || (isRefusal(form) && !met.isAlone));
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
  return withKnown({ ...NOTHING_LEARNED, known: former, fresh: isYoung ? [] : others, ...seen }, known);
}

/** Whether the answer refuses in words, or a part of the records. */
function isRefusal({ doubt }: AnswerForm): boolean {
  return doubt === "words" || doubt === "part";
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
  return learned.fresh.reduce((all, form) => withKnown(all, knownOf(form)), dropFresh(learned));
}

export function dropFresh(learned: LearnedForms): LearnedForms {
  return learned.fresh.length === 0 ? learned : { ...learned, fresh: [] };
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
  return {
    ...learned,
    known: [form, ...learned.known].slice(0, KNOWN_MAX),
    records: adoptSaid(learned.records, form.said ?? []),
    texts: adoptTexts(learned.texts, texts),
  };
}

function knownOf({ kind, names, verdicts, doubt, isWell, said, texts }: AnswerForm): KnownForm {
  const kept = { kind, names, verdicts, doubt, ...(isWell ? { isWell } : {}), times: USUAL_TIMES };
  return { ...kept, ...(said && { said }), ...(texts && { texts }) };
}
