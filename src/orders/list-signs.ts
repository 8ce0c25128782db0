/*
 * What an answer says beside its list of records: other records, counts, and that there is more. Where the list is empty, or no
 * page follows, those may contradict it, and "nothing new" is then not what the service says. Some services always count the
 * whole shop or always name a next page: what is usual is learned. Pure.
 */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import { elementsInSlices, kindOf, type Span, skipBlanks, someMember, stringOf, textOf } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { type OrderMapping, readRecordId, VALUE_FIELDS } from "./order-mapping.ts";

type SignKind = "records" | "count" | "pages" | "more" | "part" | "omitted";

/** One thing beside the list. */
export interface Sign {
  kind: SignKind;
  /** The names that lead to it: `meta.total`. */
  place: string;
  /** Whether it says that there is something; false where it says that there is nothing. */
  says: boolean;
  /** Of a count, or of pages. */
  count?: number;
  /** Its name and value mean nothing else, whatever the service. */
  isClear: boolean;
  /** Of records: some of their ids, in lower case. */
  ids?: readonly string[];
  /** So many elements of the list itself hold nothing. */
  empty?: number;
}

export interface ListSigns {
  signs: readonly Sign[];
  /** How many records the list holds. */
  size: number;
  /** Ids in the list, where something beside it holds records too. */
  ids: ReadonlySet<string>;
}

export const NO_SIGNS: ListSigns = { signs: [], size: 0, ids: new Set() };

interface KnownSign {
  /**
   * `seen`: beside records. `falls`: it says "nothing" where there is nothing. `free`: it says something whatever the list holds.
   */
  state: "new" | "seen" | "falls" | "free";
  /** It contradicts an answer: a person may say that it means nothing. */
  isDoubted?: true;
  /** Of a count: in how many batches it was the number of the records, three at most; 0: in one it was another number. */
  equal?: number;
  /** It says that a batch is not whole: likewise. */
  isShort?: true;
}

/** What is known of the answers of one endpoint. */
export interface LearnedSigns {
  /** An empty list has been read. */
  hasEmpty: boolean;
  known: Record<string, KnownSign>;
  /** Since when batches with empty records are served, by this machine's clock: by batch, and all of them without a whole one in between. */
  emptySince?: Readonly<Record<string, string>>;
}

export const NO_SIGNS_LEARNED: LearnedSigns = { hasEmpty: false, known: {} };

/** The key of {@link LearnedSigns.emptySince} for whatever batch it is. */
export const ANY_BATCH = "any";
const EMPTY_SINCE_MAX = 20;
const KNOWN_MAX = 60;
const DEPTH_MAX = 8;
const PLACES_MAX = 5_000;
/** The elements of a list that are looked at: records are alike. */
const ELEMENTS_MAX = 5;
const IDS_MAX = 50;
const NAME_MAX = 60;
const PLACE_MAX = 120;
/** Places that are told of. */
const TOLD_MAX = 3;

/** Counts of what is in the answer. */
const COUNT_NAME =
  /^(?:num|number|n)?(?:of)?(?:orders?|updates?|changes?|records?|items?|rows?|results?)?(?:count|size|length|returned|found|waiting|pending|remaining|left|количество|найдено|осталось)(?:of)?(?:orders|updates|changes|records|items|rows|results)?$/;
/** They may as well count everything that there is. */
const TOTAL_NAME =
  /^(?:(?:grand|overall)?total|totals?(?:count|size|records|items|rows|results|orders|updates|elements|pages)|(?:record|row|item|order|element)s?total|всего|итого)$/;
/** They count the list that they stand beside, and not what waits. */
const SIZE_NAME =
  /^(?:num|number|n)?(?:of)?(?:orders?|records?|items?|rows?)?(?:count|size|length|returned|количество)$/;
/** They count the pages that all records would make. */
const PAGES_NAME =
  /^(?:(?:num|number(?:of)?|count|total)?pages(?:count|total)?|(?:page|pages)count|lastpage|(?:всего)?страниц)$/;
/** They say of themselves that the list is not whole. */
const PART_FLAG = /^(?:is)?(?:partial|incomplete|truncated|неполный)$/;
/** They count pages, or name the one that this is. */
const ALL_PAGES_NAME = /^(?:pages|total(?:of)?pages|pages(?:count|total)|pagecount|lastpage|страниц)$/;
const THIS_PAGE_NAME = /^(?:page|currentpage|page(?:number|no|num|index)|страница)$/;
/** They say what became of records that are not in the list. */
const LEFT_OUT_NAME =
  /^(?:(?:orders?|records?|items?)?(?:skipped|omitted|failed|unavailable|leftout|notloaded)(?:orders?|records?|items?)?|errors?|пропущено)$/;
/** They may as well speak of anything. */
const WARNING_NAME = /^(?:warnings?|notices?|предупреждения)$/;
/** After so many batches a count is known to be that of the records. */
const EQUAL_TIMES = 3;
/** They say of themselves that something follows. */
const MORE_FLAG =
  /^(?:(?:has|is|there(?:is|are)?)?(?:more|next)(?:page|pages|data|items|results|records|orders)?|truncated|istruncated|incomplete|естьеще|ещё|еще)$/;
/** The way on, which some services always name. */
const NEXT_NAME =
  /^(?:next(?:page|url|uri|link|href|cursor|token|offset|pagetoken|pageurl)?|(?:continuation|page)token|следующая(?:страница)?)$/;

/** @param ignored paths that the configuration reads: a position that is followed says nothing */
export function* readSignsInSlices(
  bytes: Buffer,
  { root, size }: { root: Span; size: number },
  { list, mapping, ignored }: { list: JsonPath; mapping: OrderMapping; ignored: readonly JsonPath[] },
): Slices<ListSigns> {
  if (kindOf(bytes, root) !== "object") return { ...NO_SIGNS, size };
  const skipped = new Set(
    [list, ...ignored].flatMap((path) => {
      const found = resolvePath(bytes, root, path);
      return found.state === "value" ? [found.span.start] : [];
    }),
  );
  const signs: Sign[] = [];
  const waiting: { span: Span; place: string; depth: number }[] = [{ span: root, place: "", depth: 0 }];
  for (let places = 0; waiting.length > 0 && places < PLACES_MAX; places++) {
    if (places % 100 === 99) yield;
    const { span, place, depth } = waiting.shift() as (typeof waiting)[number];
    if (depth > 0 && skipped.has(span.start)) continue;
    if (kindOf(bytes, span) === "array") {
      const elements = yield* elementsInSlices(bytes, span);
      for (const element of elements.slice(0, ELEMENTS_MAX))
        if (depth < DEPTH_MAX && isContainer(bytes, element)) waiting.push({ span: element, place, depth: depth + 1 });
      continue;
    }
    const id = depth === 0 ? undefined : readAsRecord(bytes, span, mapping);
    if (id !== undefined) {
      addRecord(signs, place, id);
      continue;
    }
    const pages = readPages(bytes, span, place);
    if (pages !== undefined && signs.length < KNOWN_MAX) signs.push(pages);
    someMember(bytes, span, ({ key, value }) => {
      if (skipped.has(value.start) || key.length > NAME_MAX) return false;
      const at = joined(place, key);
      const leftOut = readLeftOut(bytes, value, { name: plainOf(key), place: at });
      if (leftOut !== undefined && signs.length < KNOWN_MAX) signs.push(leftOut);
      if (isContainer(bytes, value)) {
        if (depth < DEPTH_MAX && waiting.length < PLACES_MAX)
          waiting.push({ span: value, place: at, depth: depth + 1 });
        if (kindOf(bytes, value) === "array") return false;
      }
      const sign = readSign(bytes, value, { name: plainOf(key), place: at });
      if (sign !== undefined && signs.length < KNOWN_MAX) signs.push(sign);
      return false;
    });
  }
  const hasOthers = size > 0 && signs.some(({ kind }) => kind === "records");
  return { signs, size, ids: hasOthers ? yield* idsInList(bytes, root, { list, mapping }) : new Set() };
}

/** An element that holds nothing, `null`, `{}`, `[]` or `""`: perhaps an order that the service could not write. */
export function isEmptyRecord(bytes: Buffer, element: Span): boolean {
  const { start, end } = element;
  const kind = kindOf(bytes, element);
  if (kind === "null") return true;
  if (kind === "object" || kind === "array") return skipBlanks(bytes, start + 1) === end - 1;
  return kind === "string" && end - start === 2;
}

export function countEmptyRecords(bytes: Buffer, elements: readonly Span[]): number {
  return elements.filter((element) => isEmptyRecord(bytes, element)).length;
}

/** @param path of the list */
export function withEmptyRecords(answer: ListSigns, path: string, empty: number): ListSigns {
  if (empty === 0) return answer;
  const sign: Sign = { kind: "omitted", place: `${path}[]`, says: true, isClear: true, empty };
  return { ...answer, signs: [...answer.signs, sign] };
}

/** A batch was served. One without empty records ends the time of those that had some. The same object where nothing is new. */
export function noteEmptyRecords(
  learned: LearnedSigns,
  { batch, hasEmpty, at }: { batch: string; hasEmpty: boolean; at: string },
): LearnedSigns {
  const { [ANY_BATCH]: any, [batch]: own, ...others } = learned.emptySince ?? {};
  if (hasEmpty ? any !== undefined && own !== undefined : any === undefined && own === undefined) return learned;
  if (!hasEmpty) return { ...learned, emptySince: others };
  const kept = Object.entries(others).slice(1 - EMPTY_SINCE_MAX);
  return { ...learned, emptySince: { ...Object.fromEntries(kept), [batch]: own ?? at, [ANY_BATCH]: any ?? at } };
}

function isContainer(bytes: Buffer, span: Span): boolean {
  const kind = kindOf(bytes, span);
  return kind === "object" || kind === "array";
}

/** A key that is an id is another one in each answer. */
function joined(place: string, key: string): string {
  const name = readOrderId(key) === undefined ? key : "*";
  return (place === "" ? name : `${place}.${name}`).slice(0, PLACE_MAX);
}

function plainOf(key: string): string {
  return key.replace(/[_\- .$@]/g, "").toLowerCase();
}

/** The id of what looks like a record of the list, `""` where it has most of its fields and no id. */
function readAsRecord(bytes: Buffer, span: Span, mapping: OrderMapping): { id: string; isClear: boolean } | undefined {
  const id = readRecordId(bytes, span, mapping);
  const fields = VALUE_FIELDS.filter((field) => resolvePath(bytes, span, mapping.paths[field]).state !== "absent");
  if ("reason" in id) return fields.length * 2 > VALUE_FIELDS.length ? { id: "", isClear: true } : undefined;
  return { id: id.orderId, isClear: fields.length > 0 };
}

function addRecord(signs: Sign[], place: string, { id, isClear }: { id: string; isClear: boolean }): void {
  const at = signs.findIndex((sign) => sign.kind === "records" && sign.place === place);
  const met = signs[at];
  if (met === undefined) signs.push({ kind: "records", place, says: true, isClear, ids: id === "" ? [] : [id] });
  else if ((met.ids?.length ?? 0) < ELEMENTS_MAX)
    signs[at] = { ...met, isClear: met.isClear || isClear, ids: [...(met.ids ?? []), ...(id === "" ? [] : [id])] };
}

function* idsInList(
  bytes: Buffer,
  root: Span,
  { list, mapping }: { list: JsonPath; mapping: OrderMapping },
): Slices<ReadonlySet<string>> {
  const found = resolvePath(bytes, root, list);
  const ids = new Set<string>();
  if (found.state !== "value" || kindOf(bytes, found.span) !== "array") return ids;
  for (const element of (yield* elementsInSlices(bytes, found.span)).slice(0, IDS_MAX)) {
    const id = kindOf(bytes, element) === "object" ? readRecordId(bytes, element, mapping) : undefined;
    if (id !== undefined && !("reason" in id)) ids.add(id.orderId);
  }
  return ids;
}

function readSign(bytes: Buffer, value: Span, { name, place }: { name: string; place: string }): Sign | undefined {
  const kind = kindOf(bytes, value);
  const text = kind === "string" ? stringOf(bytes, value).trim() : kind === "object" ? "" : textOf(bytes, value);
  const isNumber = kind === "number" || (kind === "string" && /^\d{1,15}$/.test(text));
  if (isNumber && (COUNT_NAME.test(name) || TOTAL_NAME.test(name))) {
    const count = Number(text);
    return { kind: "count", place, says: count > 0, count, isClear: COUNT_NAME.test(name) };
  }
  if (isNumber && PAGES_NAME.test(name))
    return { kind: "pages", place, says: false, count: Number(text), isClear: false };
  if (kind === "boolean" && PART_FLAG.test(name) && !MORE_FLAG.test(name))
    return { kind: "part", place, says: text === "true", isClear: false };
  if (kind === "boolean" && MORE_FLAG.test(name))
    return { kind: "more", place, says: text === "true", isClear: text === "true" };
  if (!NEXT_NAME.test(name) && !MORE_FLAG.test(name)) return undefined;
  const isNothing = ["", "0", "null", "false", "none"].includes(text.toLowerCase());
  // An object or a number may be anything; that it says nothing is worth knowing.
  return { kind: "more", place, says: kind === "object" ? true : !isNothing, isClear: false };
}

/** `page` 1 of `pages` 3. Where pages are counted from 0, the first of one is the last. */
function readPages(bytes: Buffer, object: Span, place: string): Sign | undefined {
  let [page, pages]: [number | undefined, number | undefined] = [undefined, undefined];
  let at = "";
  someMember(bytes, object, ({ key, value }) => {
    if (key.length > NAME_MAX || kindOf(bytes, value) !== "number") return false;
    const name = plainOf(key);
    if (THIS_PAGE_NAME.test(name)) page = Number(textOf(bytes, value));
    if (ALL_PAGES_NAME.test(name)) [pages, at] = [Number(textOf(bytes, value)), joined(place, key)];
    return page !== undefined && pages !== undefined;
  });
  if (page === undefined || pages === undefined) return undefined;
  return { kind: "omitted", place: at, says: page === 0 ? pages > 1 : page < pages, isClear: true };
}

/** What says that records were left out of a batch: a list or an object that holds something, a number, a text. */
function readLeftOut(bytes: Buffer, value: Span, { name, place }: { name: string; place: string }): Sign | undefined {
  const isClear = LEFT_OUT_NAME.test(name);
  if (!isClear && !WARNING_NAME.test(name)) return undefined;
  const text = value.end - value.start > NAME_MAX ? "…" : textOf(bytes, value).replace(/\s/g, "");
  const says = !["[]", "{}", "0", "null", "false", '""', "[null]"].includes(text);
  return { kind: "omitted", place, says, isClear };
}

function keyOf({ kind, place }: Sign): string {
  return `${kind} ${place}`;
}

/** What contradicts an empty list: the service has something, and it is not there. Empty where nothing does. */
export function findContradictions(learned: LearnedSigns, { signs }: ListSigns): readonly Sign[] {
  return signs.filter((sign) => {
    if (!sign.says) return false;
    const { state } = learned.known[keyOf(sign)] ?? { state: "new" };
    // Of an empty list no part is missing.
    if (state === "free" || sign.kind === "part" || sign.kind === "omitted") return false;
    // A name that no empty answer had before is another shape; at first sight only what is clear is one.
    return state === "falls" || sign.isClear || (learned.hasEmpty && state === "new");
  });
}

/**
 * What says that a batch holds more records than its list shows, which a confirm of the whole batch would cover unseen: a flag, or a
 * count that was the number of the records in every batch before.
 */
export function findShortfall(learned: LearnedSigns, { signs, size }: ListSigns): readonly Sign[] {
  if (size === 0) return [];
  return signs.filter((sign) => {
    const known = learned.known[keyOf(sign)];
    if (known?.state === "free") return false;
    if (isPartFlag(sign)) return sign.says;
    if (sign.kind === "omitted")
      return sign.says && (sign.isClear || known?.state === "falls" || known?.isShort === true);
    return isSize(sign) && (sign.count ?? 0) > size && (known?.equal ?? 0) >= EQUAL_TIMES;
  });
}

/** What says that more records are due than an answer holds. */
export interface Lack {
  key: string;
  /** So many there are at least. */
  atLeast: number;
  /** It was the number of the records of a page that held all of them. */
  isTrusted: boolean;
}

/** Counts, and flags of a part, that say that a page of changes does not hold all that are due. Without those known to mean else. */
export function findLacks(learned: LearnedSigns, { signs, size }: ListSigns): readonly Lack[] {
  return signs.flatMap((sign) => {
    const key = keyOf(sign);
    const { state, equal } = learned.known[key] ?? {};
    const count = sign.count ?? 0;
    const atLeast = isPartFlag(sign) && sign.says ? size + 1 : isPages(sign) ? (count - 1) * size + 1 : count;
    if (size === 0 || state === "free" || equal === 0 || atLeast <= size) return [];
    return [{ key, atLeast, isTrusted: (equal ?? 0) > 0 || isPartFlag(sign) }];
  });
}

/** A page that held all that was due: counts of something else show themselves. */
export function learnWhole(learned: LearnedSigns, { signs, size }: ListSigns): LearnedSigns {
  let next = learned;
  for (const sign of signs) {
    if (size === 0 || sign.count === undefined || (sign.kind !== "count" && sign.kind !== "pages")) continue;
    const known = next.known[keyOf(sign)] ?? { state: "new" };
    const equal = sign.count === (isPages(sign) ? 1 : size) ? 1 : 0;
    const isNews = known.equal === undefined || (equal === 0 && known.equal > 0);
    const isRoom = next.known[keyOf(sign)] !== undefined || Object.keys(next.known).length < KNOWN_MAX;
    if (isNews && isRoom) next = withKnown(next, sign, { ...known, equal });
  }
  return next;
}

/** These say that there is more whatever there is. */
export function ignoreSigns(learned: LearnedSigns, keys: readonly string[]): LearnedSigns {
  const ignored = keys.map((key) => [key, { ...learned.known[key], state: "free" as const, equal: 0 }] as const);
  return { ...learned, known: { ...learned.known, ...Object.fromEntries(ignored) } };
}

function isPages({ place }: Sign): boolean {
  return PAGES_NAME.test(lastName(place));
}

function isPartFlag({ place }: Sign): boolean {
  return PART_FLAG.test(lastName(place));
}

function isSize({ kind, place }: Sign): boolean {
  return kind === "count" && SIZE_NAME.test(lastName(place));
}

function lastName(place: string): string {
  return plainOf(place.split(".").at(-1) ?? "");
}

/** A batch was read. What contradicts it is kept for a person's word, and teaches nothing. */
export function learnSizes(learned: LearnedSigns, answer: ListSigns): LearnedSigns {
  if (answer.size === 0) return learned;
  const short = findShortfall(learned, answer);
  let next = learned;
  for (const sign of answer.signs) {
    if (sign.kind === "omitted" && !short.includes(sign)) {
      // What warns from the first answer on says nothing of a batch.
      next = withSign(next, sign, sign.says ? "free" : "falls");
      continue;
    }
    const known = next.known[keyOf(sign)] ?? (sign.kind === "omitted" ? { state: "new" as const } : undefined);
    if (known === undefined) continue;
    if (short.includes(sign)) {
      if (known.isShort !== true) next = withKnown(next, sign, { ...known, isShort: true });
    } else if (isSize(sign) && known.equal !== 0 && (known.equal ?? 0) < EQUAL_TIMES) {
      next = withKnown(next, sign, { ...known, equal: sign.count === answer.size ? (known.equal ?? 0) + 1 : 0 });
    }
  }
  return next;
}

function withKnown(learned: LearnedSigns, sign: Sign, known: KnownSign): LearnedSigns {
  return { ...learned, known: { ...learned.known, [keyOf(sign)]: known } };
}

/** Where the way on is followed, that there is one contradicts nothing. */
export function withoutMore(answer: ListSigns): ListSigns {
  return { ...answer, signs: answer.signs.filter(({ kind }) => kind !== "more") };
}

/** Whether a page says clearly that another one follows, and not whatever there is. */
export function saysMore({ known }: LearnedSigns, { signs }: ListSigns): boolean {
  return signs.some(
    (sign) => sign.kind === "more" && sign.says && sign.isClear && known[keyOf(sign)]?.state !== "free",
  );
}

/** What says on the last page that there is more, and said that there is none on former last pages. */
export function findMoreAfterEnd(learned: LearnedSigns, { signs }: ListSigns): readonly Sign[] {
  return signs.filter((sign) => sign.kind === "more" && sign.says && learned.known[keyOf(sign)]?.state === "falls");
}

/** An answer was read. The same object where nothing is new. */
export function learnSigns(learned: LearnedSigns, answer: ListSigns, isEnd = answer.size === 0): LearnedSigns {
  const next = answer.size === 0 ? learnEmpty(learned, answer) : learnBesideRecords(learned, answer);
  return isEnd ? learnEnd(next, answer) : next;
}

function learnEmpty(learned: LearnedSigns, answer: ListSigns): LearnedSigns {
  const contradictions = findContradictions(learned, answer);
  let next = contradictions.length === 0 && !learned.hasEmpty ? { ...learned, hasEmpty: true } : learned;
  for (const sign of answer.signs)
    if (sign.says && !contradictions.includes(sign) && sign.kind !== "omitted") next = withSign(next, sign, "free");
  return doubtSigns(next, contradictions);
}

function learnBesideRecords(learned: LearnedSigns, { signs, size, ids }: ListSigns): LearnedSigns {
  let next = learned;
  for (const sign of signs) {
    const { state, isDoubted } = learned.known[keyOf(sign)] ?? { state: "new" };
    if (!sign.says || state === "free" || sign.kind === "omitted") continue;
    // The same records in two lists are one list that moves to another name; others are something else.
    const isElse =
      sign.kind === "records"
        ? !sign.ids?.some((id) => ids.has(id))
        : sign.kind === "count" && isDoubted && state !== "falls" && sign.count !== size;
    if (isElse) next = withSign(next, sign, "free");
    else if (state === "new") next = withSign(next, sign, "seen");
  }
  return next;
}

/** After this answer nothing follows. */
function learnEnd(learned: LearnedSigns, { signs, size }: ListSigns): LearnedSigns {
  let next = learned;
  // A flag that says "no" means what it says. A count of 0 does so only after it was more: a new shop has no orders at all.
  for (const sign of signs) {
    if (sign.kind === "omitted") continue;
    if (sign.says || (size > 0 && sign.kind !== "more")) continue;
    const state = next.known[keyOf(sign)]?.state ?? "new";
    if (state === "seen" || (state === "new" && (sign.kind === "more" || sign.isClear)))
      next = withSign(next, sign, "falls");
  }
  const said = new Set(signs.map(keyOf));
  const fallen = Object.entries(next.known).filter(
    ([key, { state }]) => state === "seen" && !said.has(key) && (size === 0 || key.startsWith("more ")),
  );
  if (fallen.length === 0) return next;
  return {
    ...next,
    known: { ...next.known, ...Object.fromEntries(fallen.map(([key, sign]) => [key, { ...sign, ...FALLS }])) },
  };
}

const FALLS: KnownSign = { state: "falls" };

function withSign(learned: LearnedSigns, sign: Sign, state: KnownSign["state"]): LearnedSigns {
  const key = keyOf(sign);
  const before = learned.known[key];
  if (before?.state === state) return learned;
  if (before === undefined && Object.keys(learned.known).length >= KNOWN_MAX) return learned;
  const isDoubted = before?.isDoubted === true && state !== "free";
  const { equal, isShort } = before ?? {};
  const kept = { ...(equal === undefined ? {} : { equal }), ...(isShort && state !== "free" ? { isShort } : {}) };
  return { ...learned, known: { ...learned.known, [key]: { state, ...(isDoubted ? { isDoubted } : {}), ...kept } } };
}

/** These contradict an answer. */
export function doubtSigns(learned: LearnedSigns, signs: readonly Sign[]): LearnedSigns {
  let next = learned;
  for (const sign of signs) {
    const key = keyOf(sign);
    const before = next.known[key] ?? { state: "new" };
    if (before.isDoubted !== true) next = { ...next, known: { ...next.known, [key]: { ...before, isDoubted: true } } };
  }
  return next;
}

/** A person says that what contradicted the answers means nothing. */
export function acceptDoubted(learned: LearnedSigns): LearnedSigns {
  const entries = Object.entries(learned.known);
  if (!entries.some(([, { isDoubted, isShort }]) => isDoubted || isShort)) return learned;
  const known = entries.map(
    ([key, sign]) => [key, sign.isDoubted || sign.isShort ? { state: "free" as const } : sign] as const,
  );
  return { ...learned, known: Object.fromEntries(known) };
}

/** For a message, in no language: `data (records), meta.count = 2, has_more`. */
export function describeSigns(signs: readonly Sign[]): string {
  return signs
    .slice(0, TOLD_MAX)
    .map(({ kind, place, count }) => {
      if (kind === "records") return `${place} [{…}]`;
      return kind === "count" ? `${place} = ${count}` : place;
    })
    .join(", ");
}
