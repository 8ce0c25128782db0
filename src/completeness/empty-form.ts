/*
 * The kind of an empty answer and the fields beside its list, and whether they are usual for empty answers. No list of words covers every way to
 * say "not now": an answer with content that no empty answer had before is reported, and moves no position. Content
 * that differs in each answer, such as times, ids and counters, is not part of the form. Pure.
 */

import { kindOf, type Span, skipBlanks, someMember, stringOf, textOf } from "../answers/json-text.ts";
import { isVaryingKey, NAME_MAX, TEXT_BYTES } from "../service/outcome/answer.ts";
import { plainWords, verdictOf } from "../service/outcome/answer-form.ts";
import { isNothing } from "../service/outcome/reported-errors.ts";
import { saysWell } from "../service/outcome/unknown-outcome.ts";
import { PATIENCE_MS, PATIENCE_TIMES, PROOFS, USUAL_TIMES } from "../service/outcome/usual.ts";
import { placeIn } from "./list-totals.ts";

/** One field beside an empty list. */
export interface BesideEmpty {
  place: string;
  /** Its content in general form. Empty: none, or content that differs in each answer. */
  says: string;
  /** Where it counts as unusual: at a place known from former empty answers, at a new place, at both, or nowhere. */
  counts: "before" | "new" | "always" | "never";
}

/** The fields of an endpoint's empty answers. */
export interface UsualEmpty {
  /** The number of empty answers read, up to {@link USUAL_TIMES}. */
  times: number;
  /** By place, the contents found there; `*` for any. */
  known: Readonly<Record<string, readonly string[]>>;
  /** The current unusual form. */
  unusual?: UnusualForm;
}

interface UnusualForm {
  /** Since when no other answer was received, by this machine's clock. */
  since: string;
  /** How often it was received. */
  times: number;
  /** How often records were received, followed by another empty answer in an unusual form: the service works. */
  proved: number;
  /** Records were received since. */
  hasRecords: boolean;
  last: readonly BesideEmpty[];
}

export const NO_EMPTY: UsualEmpty = { times: 0, known: {} };

const PLACES_MAX = 60;
const DEPTH_MAX = 6;
/** Contents of one place; with more, any content is usual. */
const VALUES_MAX = 2;
const ANY = "*";
const WORDS_MAX = 60;
const TOLD_MAX = 3;

/** Numbers and words under such names differ in each answer. */
const VARYING_NAME =
  /(?:ids?|uuid|guid|no|number|seq|sequence|ms|sec|seconds|time|date|ts|at|on|took|elapsed|duration|version|build|node|host|server|page|limit|offset|size|cursor|since|until|token|ip)$/;
const MESSAGE_NAME = /^(?:message|msg|detail|details|reason|description|warning|notice|сообщение|причина|описание)$/;

/** The place of the answer itself. */
const ROOT = "$";
/** 204: a gateway may answer so in the place of the service, and a service may do so from some day on. */
const NO_CONTENT = "204";

/**
 * @param list the path of the list, and whether it is `null`
 * @param skipped offsets of the list and of other values that the configuration reads
 * @param hideSecrets applied here, because shortened texts could no longer be recognised as secrets
 */
export function readBesideEmpty(
  bytes: Buffer,
  root: Span,
  {
    list,
    skipped,
    hideSecrets,
  }: {
    list: { place: string; isNull: boolean };
    skipped: ReadonlySet<number>;
    hideSecrets: (text: string) => string;
  },
): BesideEmpty[] {
  const ofRoot = readRoot(bytes, root, skipped.has(root.start));
  // An empty list states that there is nothing, whatever was said before.
  const ofList = list.isNull
    ? ({ place: list.place, says: "null", counts: "before" } as const)
    : ({ place: list.place, says: "list", counts: "never" } as const);
  const found: BesideEmpty[] = ofRoot.says === "object" ? [ofRoot, ofList] : [ofRoot];
  const waiting: { span: Span; place: string; depth: number }[] = [{ span: root, place: "", depth: 0 }];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { span, place, depth } = next;
    someMember(bytes, span, ({ key, value }) => {
      if (found.length >= PLACES_MAX) return true;
      if (skipped.has(value.start) || key.length > NAME_MAX || isVaryingKey({ key })) return false;
      const at = placeIn(place, key);
      const name = key.replace(/[_\- .$@]/g, "").toLowerCase();
      if (kindOf(bytes, value) !== "object")
        found.push({ place: hideSecrets(at), ...readValue(bytes, value, { name, hideSecrets }) });
      else if (depth < DEPTH_MAX) waiting.push({ span: value, place: at, depth: depth + 1 });
      return false;
    });
  }
  return found;
}

/**
 * The kind of the whole answer. `null`, `[]` and 204 without a body are unusual where empty answers were of another kind. An object
 * holds the list at its configured place, and an array may be that list: these are always usual.
 */
function readRoot(bytes: Buffer, root: Span, isList: boolean): BesideEmpty {
  if (root.end === root.start) return { place: ROOT, says: NO_CONTENT, counts: "before" };
  const says = kindOf(bytes, root);
  return { place: ROOT, says, counts: says === "null" || (says === "array" && !isList) ? "before" : "never" };
}

const QUIET = { says: "", counts: "new" } as const;

function readValue(
  bytes: Buffer,
  value: Span,
  { name, hideSecrets }: { name: string; hideSecrets: (text: string) => string },
): Omit<BesideEmpty, "place"> {
  const kind = kindOf(bytes, value);
  if (kind === "array")
    return skipBlanks(bytes, value.start + 1) === value.end - 1 ? QUIET : { says: "[…]", counts: "always" };
  // A new member that is `false` is no evidence.
  if (kind === "boolean") return textOf(bytes, value) === "true" ? TRUE : { says: "false", counts: "before" };
  if (isNothing(bytes, value) || value.end - value.start > TEXT_BYTES) return QUIET;
  if (hideSecrets(textOf(bytes, value)) !== textOf(bytes, value)) return { says: "***", counts: "always" };
  const verdict = verdictOf(bytes, value, { name, own: NONE });
  if (verdict !== undefined && verdict !== "+")
    return saysWell(`${name}=${verdict}`) ? QUIET : { says: verdict, counts: "always" };
  if (kind === "number") return VARYING_NAME.test(name) ? QUIET : { says: "#", counts: "new" };
  const text = stringOf(bytes, value).trim();
  if (MESSAGE_NAME.test(name)) return { says: plainWords(text, NONE).slice(0, WORDS_MAX), counts: "always" };
  if (!/\p{L}/u.test(text) || Number.isFinite(Date.parse(text))) return QUIET;
  if (/\s/.test(text)) return { says: "…", counts: "always" };
  return /\d|[/:]/.test(text) || VARYING_NAME.test(name) ? QUIET : { says: "…", counts: "new" };
}

const TRUE = { says: "true", counts: "always" } as const;
const NONE: ReadonlySet<string> = new Set();

/**
 * The fields of an empty answer with content that no empty answer had before.
 *
 * @param options.mustList the answer should hold records, so that its kind is unusual even if it is that of the first empty
 * answer
 * @param options.areBatches the empty answers so far may not have been answers for nothing, so that their kind says nothing
 */
export function findUnusual(
  { times, known }: UsualEmpty,
  beside: readonly BesideEmpty[],
  { mustList = false, areBatches = false }: { mustList?: boolean; areBatches?: boolean } = {},
): readonly BesideEmpty[] {
  const isKnown = times >= USUAL_TIMES;
  return beside.filter(({ place, says, counts }) => {
    const isOwed = mustList && place === ROOT;
    if (says === "" || counts === "never" || !(isKnown || isOwed)) return false;
    if (areBatches && place === ROOT && !isOwed) return false;
    const values = known[place];
    if (values === undefined) return counts === "always" || counts === "new" || isOwed;
    return counts !== "new" && !values.includes(says) && !values.includes(ANY);
  });
}

/** Whether nothing else has come since an unusual empty answer. */
export function isStanding({ unusual }: UsualEmpty): boolean {
  return unusual?.hasRecords === false;
}

/** Learns from an empty answer in a usual form. Returns the same object where nothing is new. */
export function learnEmpty(usual: UsualEmpty, beside: readonly BesideEmpty[]): UsualEmpty {
  const { unusual, ...next } = withKnown(usual, beside);
  const times = Math.min(next.times + 1, USUAL_TIMES);
  const isNews = unusual !== undefined || times !== usual.times || next.known !== usual.known;
  return isNews ? { ...next, times } : usual;
}

/** Records an empty answer in an unusual form. */
export function noteUnusual(usual: UsualEmpty, beside: readonly BesideEmpty[], at: string): UsualEmpty {
  const { since, times, proved, hasRecords } = usual.unusual ?? { since: at, times: 0, proved: 0, hasRecords: false };
  const unusual = {
    since: hasRecords ? at : since,
    times: hasRecords ? 1 : times + 1,
    proved: proved + Number(hasRecords),
    hasRecords: false,
    last: beside,
  };
  return { ...usual, unusual };
}

/** Records that an answer with records was received. Returns the same object where nothing is new. */
export function noteRecords(usual: UsualEmpty): UsualEmpty {
  const { unusual } = usual;
  return unusual === undefined || unusual.hasRecords ? usual : { ...usual, unusual: { ...unusual, hasRecords: true } };
}

/** Whether the unusual form becomes usual, whatever it means. */
export function isAdopted({ unusual }: UsualEmpty, forMs: number): boolean {
  if (unusual === undefined) return false;
  if (unusual.proved >= PROOFS) return true;
  // Of another kind as a whole, it may be what is left of a failure: time is no evidence.
  const isOtherKind = unusual.last.some(
    ({ place, says, counts }) => place === ROOT && counts === "before" && says !== NO_CONTENT,
  );
  return !isOtherKind && unusual.times >= PATIENCE_TIMES && forMs >= PATIENCE_MS;
}

/** Makes the unusual form usual. Returns the same object where there is none. */
export function adoptUnusual(usual: UsualEmpty): UsualEmpty {
  const { unusual } = usual;
  return unusual === undefined ? usual : learnEmpty(usual, unusual.last);
}

function withKnown(usual: UsualEmpty, beside: readonly BesideEmpty[]): UsualEmpty {
  let { known } = usual;
  for (const { place, says } of beside) {
    const values = known[place];
    if (values === undefined && Object.keys(known).length >= PLACES_MAX) continue;
    const isKnown = values !== undefined && (says === "" || values.includes(says) || values.includes(ANY));
    if (isKnown) continue;
    const all = says === "" ? [] : [...(values ?? []), says];
    known = { ...known, [place]: all.length > VALUES_MAX ? [ANY] : all };
  }
  return known === usual.known ? usual : { ...usual, known };
}

/** For a message, independent of language: `warnings, code = er_lock_wait` */
export function describeBeside(beside: readonly BesideEmpty[]): string {
  return beside
    .slice(0, TOLD_MAX)
    .map(({ place, says }) => (/^[…#[]/.test(says) ? place : `${place} = ${says}`))
    .join(", ");
}
