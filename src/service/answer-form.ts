/*
 * The form of an answer to a POST, and whether it is one that the endpoint usually answers with. No list of words
 * covers every form of a refusal; an answer that looks as none before it is neither an acceptance nor a refusal.
 */

import { elementsOf, kindOf, type Span, someMember, stringOf, textOf } from "../answers/json-text.ts";
import type { Doubt } from "./acceptance.ts";
import { readTextDoubt, saysWell } from "./doubt-words.ts";
import {
  ANY_WORDS,
  type AnswerForm,
  isWord,
  type KnownForm,
  type LearnedForms,
  type NewForm,
  nameOf,
} from "./known-forms.ts";
import { adoptSaid, hasSettled, isUnusuallySaid, learnSaid, NOTHING_SAID } from "./said-of-records.ts";

/** A form that came so often is the usual one; a single answer at the beginning says little. */
const USUAL_TIMES = 3;
/** What came so often by then is as good: some services have two. */
const SECOND_TIMES = 2;
/** So many answers of different words: the words say nothing, and only the names count. */
const KNOWN_MAX = 12;
const FRESH_MAX = 4;
const PROOFS = 3;
const HOUR_MS = 3_600_000;
/**
 * How long a new form must be all that its requests get before it counts as usual, where it has what an acceptance has. A
 * day: most outages end within it, and a service that was changed is waited for no longer. Where the usual form itself is
 * younger, as long as that was seen: the first answers of all may have been the outage.
 */
const PATIENCE_MS = 24 * HOUR_MS;
/** And so often: two answers hours apart are no hours of answers. */
const PATIENCE_TIMES = 6;
/** How seldom it is written that the usual form was seen. */
const SEEN_STEP_MS = 10 * 60_000;
/** What one wait between two answers counts at most, so that two answers a week apart are no day of answers. */
const STEP_MS = 6 * HOUR_MS;

const NAME_MAX = 40;
const NAMES_MAX = 40;
/** Values of a request that are looked for in a text. */
const OWN_MAX = 10;
/** Shorter ones stand in other words. */
const OWN_LENGTH_MIN = 3;
const WORD_MAX = 40;
const TEXT_MAX = 60;
/** So much of a body is looked at for words. */
const HEAD_BYTES = 1_200;

/** Fields that say how it went. */
const VERDICT_NAME =
  /^(?:is|was|has|http)?(?:status|state|code|result|outcome|response|errno|error|errorcode|statuscode|resultcode|success|successful|succeeded|ok|accepted|acknowledged|ack|received|queued|saved|stored|applied|done|valid|available|ready|online|maintenance)$/;
/** Where a number above 0 says that something was taken. */
const COUNT_NAME =
  /^(?:num|number|total|count)?(?:of)?(?:accepted|imported|processed|saved|updated|created|inserted|upserted|received|stored|queued|applied|written|succeeded|added|changed|unchanged|ok)(?:count|total|records|items|rows)?$/;

/**
 * @param root of the answer's JSON, where it is JSON
 * @param size how many records the request has, where it is one of records
 * @param own what the request says: an answer may list its records under their keys, and repeat the status that was set
 */
export function formOf(
  body: Buffer,
  { root, doubt, size }: { root?: Span; doubt?: Doubt; size?: number | undefined },
  own: ReadonlySet<string> = new Set(),
): AnswerForm {
  const form: AnswerForm = { kind: "empty", names: [], verdicts: [], doubt: doubt?.why ?? null };
  const shape = root === undefined ? shapeOfText(body, form, own) : shapeOfJson(body, root, form, own);
  return isAcceptance(body, shape, { own, size }) ? { ...shape, isWell: true } : shape;
}

/** With the status that an order in the answer has, where that may be none of an order: it counts as usual once it is known. */
export function withShown(form: AnswerForm, status: string): AnswerForm {
  const word = status.trim().toLowerCase().slice(0, WORD_MAX);
  if (SAYS_YES.test(word)) return form;
  const shown = form.verdicts.find((verdict) => verdict.endsWith(`=${word}`)) ?? `status=${word}`;
  const verdicts = form.verdicts.includes(shown) ? form.verdicts : [...form.verdicts, shown];
  return { ...form, verdicts, shown };
}

/** Says how a request went, and is the status of no order. */
const SAYS_YES = /^(?:ok|okay|success|successful|succeeded|true|yes|1|2\d\d|успех|успешно|да)$/;

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
  if (kind === "object" && !addMembers(body, root, { form: whole, above: "", own })) whole.names.push(NO_MEMBER);
  return whole;
}

/** What stands in words that put it off. Beside a yes they say that it is none yet. */
const PUT_OFF =
  /(?<![\p{L}\d_])(?:until|later|soon|works|postponed|paused|suspended|migrat\p{L}*|upgrad\p{L}*|регламент\p{L}*|работы|работ|позже|позднее|приостановлен\p{L}*|временно)(?![\p{L}\d_])/iu;

/** A text that begins with how many were taken: `updated 2 of 2`, `Обновлено: 2`. Where that is not all of the request it tells of a part. */
const TAKEN_FIRST =
  /^[\s\ufeff"]*(?:updated|accepted|imported|processed|saved|stored|обновлено|принято|загружено|обработано|сохранено|записано)\s*[:=]?\s*([1-9]\d{0,8})(?![\p{L}\d_%]|[.,:/-]\d)/iu;

/** Whether it has what an acceptance has, and no word of a failure or a delay. */
function isAcceptance(
  body: Buffer,
  { kind, names, verdicts, doubt }: AnswerForm,
  { own, size }: { own: ReadonlySet<string>; size: number | undefined },
): boolean {
  if (doubt !== null) return false;
  const text = body.toString("utf8", 0, HEAD_BYTES);
  if (PUT_OFF.test(text) || readTextDoubt(text) !== undefined) return false;
  const isText = kind === "text" || kind === "string";
  const said = isText ? [names[0]?.split(/[^\p{L}]+/u)[0] ?? ""] : verdicts;
  if (said.some(isYes)) return true;
  if (isText && Number(TAKEN_FIRST.exec(text)?.[1]) === size) return true;
  const isNamed = (value: string) => text.includes(isText ? value : JSON.stringify(value));
  return [...own].some((value) => value.length >= OWN_LENGTH_MIN && isNamed(value));
}

/** Returns whether there is any. */
function addMembers(
  body: Buffer,
  object: Span,
  { form, above, own }: { form: AnswerForm; above: string; own: ReadonlySet<string> },
): boolean {
  let isAny = false;
  someMember(body, object, ({ key, value }) => {
    isAny = true;
    if (form.names.length >= NAMES_MAX) return true;
    // A key of a record, a number or an id is another one in each answer.
    if (key.length > NAME_MAX || /\d{3}/.test(key) || own.has(key)) return false;
    const kind = kindOf(body, value);
    form.names.push(`${above}${key} ${kind}`);
    const name = key.replace(/[_\- .]/g, "").toLowerCase();
    const verdict = verdictOf(body, value, { name, own });
    if (verdict !== undefined) form.verdicts.push(`${above}${name}=${verdict}`);
    if (kind === "object" && above === "") addMembers(body, value, { form, above: `${key}.`, own });
    return false;
  });
  return isAny;
}

/** A word, a small number or a truth value. What differs from answer to answer says nothing. */
export function verdictOf(
  body: Buffer,
  value: Span,
  { name, own }: { name: string; own: ReadonlySet<string> },
): string | undefined {
  const kind = kindOf(body, value);
  if (kind === "number" && COUNT_NAME.test(name)) return Number(textOf(body, value)) > 0 ? "+" : undefined;
  if (!VERDICT_NAME.test(name)) return undefined;
  if (kind === "boolean") return textOf(body, value);
  const said = kind === "string" ? stringOf(body, value) : textOf(body, value);
  if (own.has(said)) return "…";
  const text = said.trim().toLowerCase();
  if (kind === "number") return /^-?\d{1,3}$/.test(text) ? text : "#";
  if (kind !== "string" || text === "") return undefined;
  if (/^\d{1,3}$/.test(text)) return text;
  return text.length <= WORD_MAX && /^\p{L}[\p{L} _-]*$/u.test(text) ? text : "…";
}

/** Lower case, with 0 for each number and one blank between words. */
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

/** Whether an endpoint that answers in one form may well answer in the other, and mean the same. */
export function isAlike(usual: AnswerForm, form: AnswerForm): boolean {
  if (isSilent(usual) || isSilent(form)) return isSilent(usual) && isSilent(form);
  if (usual.kind !== form.kind) return false;
  // Where numbers are usual they count something, and 500 is one of them.
  if (form.doubt !== null && usual.doubt !== form.doubt && (form.kind !== "number" || form.doubt !== "words"))
    return false;
  if (usual.kind === "text" || usual.kind === "string")
    return usual.names[0] === form.names[0] || usual.names[0] === ANY_WORDS;
  if (usual.kind === "array") return usual.names[0] === "[]" || usual.names[0] === form.names[0];
  const said = new Set(form.verdicts.filter(isWord));
  const words = usual.verdicts.filter(isWord);
  // What stands deeper may be the record's own where the answer itself says how it went.
  const own = words.filter((verdict) => !verdict.includes("."));
  const meant = own.length > 0 ? own : words;
  // Each word that says how it went must be there, and the same.
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

/** It, or what it stands in. */
function isNull(types: ReadonlySet<string>, name: string): boolean {
  const [above] = name.split(".");
  return [name, above].some((each) => types.has([each, "null"].join(" ")));
}

/** `{}` */
const NO_MEMBER = "{}";

/** It says nothing: that it was answered at all is what it means, in whatever way nothing is written. */
function isSilent({ kind, names: [first = ""] }: AnswerForm): boolean {
  if (kind === "string") return first === "";
  return kind === "empty" || kind === "null" || (kind === "object" && first === NO_MEMBER);
}

/** Of new forms it matters what they say of records. */
function isSameNew(one: AnswerForm, other: AnswerForm): boolean {
  return isSame(one, other) && (one.said ?? []).join("\n") === (other.said ?? []).join("\n");
}

function isSame(one: AnswerForm, other: AnswerForm): boolean {
  if (isSilent(one) && isSilent(other)) return true;
  const text = ({ kind, names, verdicts, doubt }: AnswerForm) =>
    JSON.stringify([kind, names, verdicts.filter(isWord), doubt]);
  return text(one) === text(other);
}

/** Whether an endpoint has a usual form, and this is another. */
export function isUnusual({ known, since, records }: LearnedForms, form: AnswerForm): boolean {
  if (records !== undefined && form.said !== undefined && isUnusuallySaid(records, form.said)) return true;
  const { shown } = form;
  if (shown !== undefined && !known.some(({ verdicts }) => verdicts.includes(shown))) return true;
  return (since !== null || form.doubt !== null) && !known.some((usual) => isAlike(usual, form));
}

/**
 * An acceptance in a form that is usual, or came before there was one. The same object where nothing is new.
 * @param now.isRepeat nothing was settled by it: what is repeated for ever counts once
 */
export function learnUsual(learned: LearnedForms, form: AnswerForm, now: UsualNow): LearnedForms {
  const next = learnForm(learned, form, now);
  const { records = NOTHING_SAID } = learned;
  return form.said === undefined || hasSettled(records) ? next : { ...next, records: learnSaid(records, form.said) };
}

interface UsualNow {
  at: string;
  endsDoubt: boolean;
  isRepeat?: boolean;
}

function learnForm(learned: LearnedForms, form: AnswerForm, now: UsualNow): LearnedForms {
  const at = learned.known.findIndex((usual) => (learned.since === null ? isSame(usual, form) : isAlike(usual, form)));
  const met = learned.known[at];
  const fresh = now.endsDoubt ? [] : learned.fresh.map((each) => (each.isAlone ? { ...each, isAlone: false } : each));
  const isFreshSame = fresh.length === learned.fresh.length && learned.fresh.every(({ isAlone }) => !isAlone);
  // What had taken the place of this one was an outage; the newest stand first.
  const kept = learned.known.filter(({ isReplacement }, index) => index >= at || isReplacement === undefined);
  if (learned.since !== null) {
    const isKept = kept.length === learned.known.length && isFreshSame;
    const next = isKept ? learned : { ...learned, known: kept, fresh };
    return met === undefined || met.isReplacement ? next : noteSeen(next, now.at);
  }
  if (now.isRepeat === true) return learned;
  const times = (met?.times ?? 0) + 1;
  const others = kept.filter((each) => each !== met);
  const known = [{ ...form, times }, ...others].slice(0, KNOWN_MAX);
  if (times >= USUAL_TIMES) {
    // What says nothing, or has no sign of an acceptance, does not speak against one that said yes before it.
    const isKept = (each: KnownForm) =>
      each.times >= SECOND_TIMES ||
      (isSilent(form) && each.verdicts.some(isWord)) ||
      (!hasSign({ ...form, times }) && hasSign(each));
    return { ...learned, known: known.filter(isKept), fresh: [], since: now.at, seenAt: now.at };
  }
  if (known.length < KNOWN_MAX) return { ...learned, known };
  // No two answers are alike in words: that there are words is their form.
  const isText = known.every(({ kind }) => kind === form.kind && (kind === "text" || kind === "string"));
  return isText
    ? {
        ...learned,
        known: [{ kind: form.kind, names: [ANY_WORDS], verdicts: [], doubt: null, times: USUAL_TIMES }],
        fresh: [],
        since: now.at,
        seenAt: now.at,
      }
    : { ...learned, known };
}

/** For how long the usual form was seen; undefined where an earlier version has learned it. */
function seenMsOf({ since, seenAt }: LearnedForms): number | undefined {
  return since === null || seenAt === undefined ? undefined : Date.parse(seenAt) - Date.parse(since);
}

/** The same object where nothing is new: not for every answer, nor once it was seen for so long that its age no longer matters. */
function noteSeen(learned: LearnedForms, at: string): LearnedForms {
  const seenMs = seenMsOf(learned) ?? PATIENCE_MS;
  if (seenMs >= PATIENCE_MS || Date.parse(at) - Date.parse(learned.seenAt ?? "") < SEEN_STEP_MS) return learned;
  return { ...learned, seenAt: at };
}

/**
 * An answer in another form than the usual one. The same object where nothing is new.
 * @param now.stepMs since the answer before it in this form, where this process has seen that; null where time proves
 * nothing, and its first time is all there is to know
 * @param now.localAt by the clock that acknowledgements bear
 * @param now.needsSign whether what counts for nothing but its time is lost where it was no acceptance
 * @returns what is known then: the form is unusual no more where it has been waited for long enough.
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
  const isYoung = form.doubt === null && ageMs < PATIENCE_MS;
  const times = met.times + 1;
  // An answer of the usual shape that says something else of its records says it of them, however long.
  const isOfRecords = learned.known.some((usual) => isAlike(usual, form));
  const isLong = forMs >= (isYoung ? Math.max(ageMs, HOUR_MS) : PATIENCE_MS);
  const isEnough = times >= PATIENCE_TIMES && isLong && !isOfRecords;
  if (!isEnough || (now.needsSign && !mayReplace(learned, { ...form, isAlone: met.isAlone, isYoung })))
    return withFresh(learned, [{ ...met, times, forMs, lastMs: now.ms }, ...others]);
  const adopted: KnownForm = { ...knownOf(form), adoptedAt: now.localAt };
  if (!met.isAlone) return withKnown({ ...learned, fresh: others }, adopted);
  // What was usual for a shorter time than this one, and without a sign of an acceptance, may have been an outage.
  const former = isYoung ? learned.known.filter(hasSign) : learned.known;
  const { since, seenAt } = learned;
  const seen = former.length === 0 ? { since: now.at, seenAt: now.at } : { since, ...(seenAt && { seenAt }) };
  const known = former.length === 0 ? adopted : { ...adopted, isReplacement: true as const };
  return withKnown({ known: former, fresh: isYoung ? [] : others, ...seen }, known);
}

/**
 * Whether a form may count as usual for nothing but its time. A service that is being converted says the same to
 * everything for as long as that lasts: it needs a sign of an acceptance, unless the usual form has none either and is as
 * young, or the service says nothing any more. A count of nothing may be one of what has changed, where others came in between.
 */
function mayReplace(
  { known }: LearnedForms,
  { isAlone, isYoung, ...form }: AnswerForm & { isAlone: boolean; isYoung: boolean },
): boolean {
  if (form.isWell === true || (form.doubt === "counts" && !isAlone)) return true;
  return form.doubt === null && (isYoung || isSilent(form)) && !known.some(hasSign);
}

/** Of forms that an earlier version has learned it is not written down. */
function hasSign({ isWell, doubt, verdicts }: KnownForm): boolean {
  return isWell === true || (doubt === null && verdicts.some(isYes));
}

function isYes(verdict: string): boolean {
  return verdict.endsWith("=+") || saysWell(verdict);
}

/**
 * Since when acceptances are in doubt because of what was learned of the endpoint: a form that counted for nothing but its
 * time, or that was usual at the beginning alone, has been found to be an outage. By this machine's clock; `""` where all
 * of them are.
 *
 * @example
 * findDoubtedSince({ known: [adopted, usual], … }, { known: [usual], … }); // adopted.adoptedAt
 */
export function findDoubtedSince(before: LearnedForms, after: LearnedForms): string | undefined {
  if (before.since === null) return undefined;
  const dropped = before.known.filter((form) => !after.known.some((kept) => isSame(kept, form)));
  if (dropped.length === 0 || after.known.length >= KNOWN_MAX) return undefined;
  return dropped.map(({ adoptedAt = "" }) => adoptedAt).sort()[0];
}

/** What was answered in this form took effect. */
export function learnProved(learned: LearnedForms, form: AnswerForm, ms: number): LearnedForms {
  if (!isUnusual(learned, form)) return learned;
  const { met, others } = freshOf(learned, form, ms);
  const proved = met.proved + 1;
  if (proved >= PROOFS) return withKnown({ ...learned, fresh: others }, knownOf(form));
  return withFresh(learned, [{ ...met, proved }, ...others]);
}

/** What was answered in this form took no effect. */
export function learnDisproved(learned: LearnedForms, form: AnswerForm): LearnedForms {
  const fresh = learned.fresh.filter((each) => !isSameNew(each, form));
  return fresh.length === learned.fresh.length ? learned : { ...learned, fresh };
}

/** A person says that the new forms are right. */
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

function withKnown(learned: LearnedForms, form: KnownForm): LearnedForms {
  const { records } = learned;
  const known = [form, ...learned.known].slice(0, KNOWN_MAX);
  return { ...learned, known, ...(records && form.said ? { records: adoptSaid(records, form.said) } : {}) };
}

function knownOf({ kind, names, verdicts, doubt, isWell, said }: AnswerForm): KnownForm {
  const form = { kind, names, verdicts, doubt, ...(isWell ? { isWell } : {}), times: USUAL_TIMES };
  return said === undefined ? form : { ...form, said };
}

/** What the forms of answers are known by. */
export const ENDPOINT = {
  confirm: "confirm",
  import: (path: string) => path,
  status: ({ method, path }: { method: string; path: string }) => [method, path].join(" "),
} as const;
