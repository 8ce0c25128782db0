/*
 * Decides whether an answer's list is complete, from the fields beside it ({@link ListMetadata}). Where the list is
 * empty, or no page follows, a field may contradict that. Some services always count the whole shop or always link to a
 * next page, so usual values are learned. Pure.
 */
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import { adoptUnusual, describeBeside, type UsualEmpty } from "./empty-form.ts";
import type { EmptyNames } from "./empty-names.ts";
import {
  isPageNumber,
  isPages,
  isPartFlag,
  isRest,
  isRestLink,
  isSize,
  keyOf,
  type ListMetadata,
  type MetadataField,
} from "./metadata-fields.ts";

interface KnownField {
  /**
   * `seen`: beside records. `falls`: it states "nothing" where there is nothing. `free`: its value does not depend on
   * the list.
   */
  state: "new" | "seen" | "falls" | "free";
  /** It contradicts an answer: a person may confirm that it has no meaning. */
  isDoubted?: true;
  /**
   * For a count: the number of batches in which it was equal to the number of records, up to three; 0: in one batch it
   * was not.
   */
  equal?: number;
  /** For a count: in how many of these it was no sum over the lines of the records, up to three. */
  apart?: number;
  /** It states that a batch is incomplete: a person may confirm that it has no meaning. */
  isShort?: true;
  /** For a number without a known name: up to two different values at which it was equal to the number of records. */
  sizes?: readonly number[];
  /** For a count that was larger than the last batch. */
  short?: ShortCount;
}

/** A count of the batch's records or of all waiting records: how it changes shows which. */
interface ShortCount {
  batch: string;
  count: number;
  size: number;
  /** The batch was as large as any before: the service may have a limit. */
  isFull: boolean;
  /** How often the number changed while the batch was the same. */
  changes: number;
}

/** What was learned about the answers of one endpoint. */
export interface LearnedMetadata {
  /** An empty list was received. */
  hasEmpty: boolean;
  known: Record<string, KnownField>;
  /**
   * Since when incomplete batches are served, by this machine's clock: by batch, and for all of them without a complete
   * one in between.
   */
  emptySince?: Readonly<Record<string, string>>;
  /** The number of records of the largest batch. */
  sizeMax?: number;
  /** The usual form of empty answers, and whether they name a batch. */
  empty?: UsualEmpty;
  names?: EmptyNames;
  /** Pages of a batch have borne its name. */
  pagesNamed?: true;
  /**
   * Batches that were confirmed although they may contain more, since a person was last notified: their number, and the
   * last one.
   */
  short?: { batches: number; at: string; what: string };
}

/** The key of {@link LearnedMetadata.emptySince} for all batches. */
export const ANY_BATCH = "any";
const EMPTY_SINCE_MAX = 20;
const KNOWN_MAX = 60;
/** After so many batches a count is known to be that of the records. */
const EQUAL_TIMES = 3;
/**
 * Before the first such batch, a count larger than the list by this factor has another meaning: all orders, or the
 * pages of a backlog.
 */
const FAR_LARGER_TIMES = 10;
const FAR_LARGER_MIN = 100;
/** The same for a number without a known name, which must also have had two different values. */
const UNNAMED_EQUAL_TIMES = 5;
/** No service is known with a smaller limit of orders per answer. */
const LIMIT_MIN = 10;
/** Where a batch has exactly a usual size, a count above it is that of a backlog, unless records are missing by chance. */
const BACKLOG_WAIT_MS = 10 * 60_000;
/** A number that changed so often beside the same batch is not that of its records, however small the batch. */
const CHANGES_MAX = 3;

/**
 * Call for each batch; `hasEmpty`: it is incomplete. A complete batch ends the time of incomplete ones. Returns the
 * same object where nothing is new.
 */
export function noteEmptyRecords(
  learned: LearnedMetadata,
  { batch, hasEmpty, at }: { batch: string; hasEmpty: boolean; at: string },
): LearnedMetadata {
  const { [ANY_BATCH]: any, [batch]: own, ...others } = learned.emptySince ?? {};
  if (hasEmpty ? any !== undefined && own !== undefined : any === undefined && own === undefined) return learned;
  if (!hasEmpty) return { ...learned, emptySince: others };
  const kept = Object.entries(others).slice(1 - EMPTY_SINCE_MAX);
  return { ...learned, emptySince: { ...Object.fromEntries(kept), [batch]: own ?? at, [ANY_BATCH]: any ?? at } };
}

/** The fields that contradict an empty list. */
export function findContradictions(learned: LearnedMetadata, { fields }: ListMetadata): readonly MetadataField[] {
  return fields.filter((field) => {
    if (!field.says) return false;
    const { state } = learned.known[keyOf(field)] ?? { state: "new" };
    // These refer to a part of a list; an empty list has none.
    if (state === "free" || field.kind === "part" || field.kind === "omitted" || field.kind === "ids") return false;
    // A name that no empty answer had before contradicts the list; before any empty answer was received, only an
    // unambiguous field does.
    return state === "falls" || field.isClear || (learned.hasEmpty && state === "new");
  });
}

/**
 * The fields which state that a batch contains more records than its list, so that a confirm of the batch would cover
 * records that were not served: flags and counts. A number without a known name must have been equal to the size of
 * batches before; a count must never have differed from it.
 */
export function findShortfall(learned: LearnedMetadata, { fields, size }: ListMetadata): readonly MetadataField[] {
  if (size === 0) return [];
  return fields.filter((field) => {
    const known = learned.known[keyOf(field)];
    // Other texts under the same name may have no meaning.
    if (known?.state === "free" && (field.words === undefined || known.equal === 0)) return false;
    if (isPartFlag(field)) return field.says;
    if (field.kind === "omitted")
      return field.says && (field.isClear || known?.state === "falls" || known?.isShort === true);
    return (field.count ?? 0) > size && countsRecords(field, known, size);
  });
}

/** Whether a number larger than the list may be the number of records that the list should have. */
function countsRecords(field: MetadataField, known: KnownField | undefined, size: number): boolean {
  const { equal } = known ?? {};
  if (field.kind === "number")
    return field.isExplained !== true && equal === UNNAMED_EQUAL_TIMES && known?.sizes?.length === 2;
  if (field.kind !== "count" || isPages(field)) return false;
  if (isOfLines(field, known)) return false;
  if (isLearned(known)) return true;
  if (equal === 0 || isRest(field)) return false;
  const { count = 0 } = field;
  return equal !== undefined || count < FAR_LARGER_MIN || count < FAR_LARGER_TIMES * size;
}

/** Whether a number may count lines or pieces: it is a sum over those that are there, as it was before. */
function isOfLines(field: MetadataField, known: KnownField | undefined): boolean {
  return field.isExplained === true && (known?.apart ?? 0) < EQUAL_TIMES;
}

/** The same with a number that was equal to that of the records, and no such sum. */
function withApart(known: KnownField, { count, isExplained }: MetadataField, size: number): KnownField {
  const { apart = 0 } = known;
  return count === size && isExplained !== true && apart < EQUAL_TIMES ? { ...known, apart: apart + 1 } : known;
}

/** Whether a count was equal to the number of records in enough batches, and in all of them, and can count nothing else. */
function isLearned(known: KnownField | undefined): boolean {
  return (known?.equal ?? 0) >= EQUAL_TIMES && (known?.apart ?? 0) >= EQUAL_TIMES;
}

/**
 * Whether a field of {@link findShortfall} may also count all waiting records, of which the service delivers a part at
 * a time.
 */
export function mayCountWaiting({ known }: LearnedMetadata, field: MetadataField): boolean {
  if (isPageNumber(field)) return field.isMissing !== true;
  return field.kind === "number" || (field.kind === "count" && !(isSize(field) && isLearned(known[keyOf(field)])));
}

/**
 * How long, in milliseconds, a batch beside such a field, or only such batches, must have been served before they are
 * treated as complete. The service may count all waiting records and have a limit, or may be unable to write some of
 * its records. `Infinity` where the batch is known to contain more: a confirm would lose the rest, so only a person may
 * accept it.
 */
export function waitForRest(learned: LearnedMetadata, answer: ListMetadata, field: MetadataField): number {
  if (field.empty !== undefined || field.kind === "number") return HOUR_MS;
  if (field.kind === "ids" && learned.known[keyOf(field)] === undefined) return HOUR_MS;
  if (!mayCountWaiting(learned, field)) return Number.POSITIVE_INFINITY;
  if (!mayBeLimit(learned, answer)) return DAY_MS;
  return isUsualLimit(answer.size) ? BACKLOG_WAIT_MS : HOUR_MS;
}

/** Whether it is a size that services choose for their answers: 10, 20, 25, 30 or 50, or one of these times 10, 100, 1000. */
function isUsualLimit(size: number): boolean {
  return /^(?:10|20|25|30|50)0*$/.test(String(size));
}

/** Whether a batch of this size may be the most that the service delivers at once. */
function mayBeLimit({ sizeMax = 0 }: LearnedMetadata, { size }: Pick<ListMetadata, "size">): boolean {
  return size >= Math.max(sizeMax, LIMIT_MIN);
}

/**
 * Follows counts that were larger than their batch: one that changes while the batch stays, or continues with the next
 * batch, counts waiting records.
 */
export function learnShort(learned: LearnedMetadata, answer: ListMetadata, batch: string): LearnedMetadata {
  let next = learned;
  const shortfall = findShortfall(learned, answer);
  for (const field of answer.fields) {
    const { count } = field;
    const known = learned.known[keyOf(field)];
    if (count === undefined || known === undefined || known.state === "free" || !mayCountWaiting(learned, field))
      continue;
    const isShort = shortfall.includes(field);
    const { short: before, ...others } = known;
    const short = isShort ? continueShort(before, { batch, count, size: answer.size, learned }) : undefined;
    const step = isPageNumber(field) ? 1 : before?.size;
    const isNext = before?.isFull === true && before.batch !== batch && before.count - count === step;
    const isWaiting =
      isNext || (short !== undefined && (short.isFull ? short.changes > 0 : short.changes >= CHANGES_MAX));
    if (isWaiting) next = withKnown(next, field, { state: "free", equal: 0 });
    else if (JSON.stringify(short) !== JSON.stringify(before))
      next = withKnown(next, field, short === undefined ? others : { ...others, short });
  }
  return next;
}

function continueShort(
  before: ShortCount | undefined,
  { batch, count, size, learned }: Pick<ShortCount, "batch" | "count" | "size"> & { learned: LearnedMetadata },
): ShortCount {
  if (before?.batch !== batch) return { batch, count, size, isFull: mayBeLimit(learned, { size }), changes: 0 };
  return { ...before, count, changes: before.changes + Number(count !== before.count) };
}

/** A field which states that more records are due than an answer contains. */
export interface Lack {
  key: string;
  /** The minimum number of records that are due. */
  atLeast: number;
  /** The field was equal to the number of records of a complete page, or is unambiguous. */
  isTrusted: boolean;
}

/**
 * Counts, flags and links to a next page which state that a page of changes lacks changes that are due. Fields known to
 * have another meaning are left out.
 */
export function findLacks(learned: LearnedMetadata, { fields, size }: ListMetadata): readonly Lack[] {
  return fields.flatMap((field) => {
    const key = keyOf(field);
    const known = learned.known[key];
    const { state, equal } = known ?? {};
    const count = field.count ?? 0;
    const saysMore = field.says && (isPartFlag(field) || field.kind === "more" || isRestLink(field));
    const atLeast = saysMore ? size + 1 : isPages(field) ? (count - 1) * size + 1 : count;
    const isCountOnly = field.kind === "number" || isPageNumber(field);
    if (size === 0 || isCountOnly || state === "free" || equal === 0 || atLeast <= size) return [];
    if (isOfLines(field, known)) return [];
    const isKnown = (equal ?? 0) > 0 || (field.kind === "more" && state === "falls");
    return [{ key, atLeast, isTrusted: isKnown || isPartFlag(field) }];
  });
}

/** Learns from a page with all changes that were due: a count that differs has another meaning. */
export function learnWhole(learned: LearnedMetadata, { fields, size }: ListMetadata): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    // A link to a next page on the last page has no meaning.
    const isLink = field.kind === "more" && field.says;
    if (size === 0 || !(isLink || (field.count !== undefined && (field.kind === "count" || field.kind === "pages"))))
      continue;
    const known = next.known[keyOf(field)] ?? { state: "new" };
    const equal = !isLink && field.count === (isPages(field) ? 1 : size) ? 1 : 0;
    if (equal === 0 && isOfLines(field, known)) continue;
    const counted = isLink || isPages(field) ? known : withApart(known, field, size);
    const isNews = known.equal === undefined || (equal === 0 && known.equal > 0) || counted !== known;
    const isRoom = next.known[keyOf(field)] !== undefined || Object.keys(next.known).length < KNOWN_MAX;
    if (isNews && isRoom) next = withKnown(next, field, { ...counted, equal: known.equal === 0 ? 0 : equal });
  }
  return next;
}

/** Marks these fields as independent of the list. */
export function ignoreFields(learned: LearnedMetadata, keys: readonly string[]): LearnedMetadata {
  const ignored = keys.map((key) => [key, { ...learned.known[key], state: "free" as const, equal: 0 }] as const);
  return { ...learned, known: { ...learned.known, ...Object.fromEntries(ignored) } };
}

/**
 * Marks these fields as independent of the list, because nothing was missing. A count that was equal to the number of
 * records of a complete page is kept: its missing records may have been received in other ways.
 */
export function ignoreLacks(learned: LearnedMetadata, keys: readonly string[]): LearnedMetadata {
  return ignoreFields(
    learned,
    keys.filter((key) => (learned.known[key]?.equal ?? 0) === 0),
  );
}

/** Records whether the ids at a place are those of orders. */
export function learnNaming(learned: LearnedMetadata, field: MetadataField, state: "seen" | "free"): LearnedMetadata {
  return field.kind === "ids" ? withState(learned, field, state) : learned;
}

/**
 * Learns from a batch. Fields that contradict it are kept until a person accepts them, and nothing is learned from
 * them.
 */
export function learnSizes(learned: LearnedMetadata, answer: ListMetadata): LearnedMetadata {
  if (answer.size === 0) return learned;
  const short = findShortfall(learned, answer);
  const isLarger = short.length === 0 && answer.size > (learned.sizeMax ?? 0);
  let next = isLarger ? { ...learned, sizeMax: answer.size } : learned;
  for (const field of answer.fields) {
    if (field.kind === "number") {
      next = learnNumber(next, field, { size: answer.size, isShort: short.includes(field) });
      continue;
    }
    if (field.kind === "omitted" && !short.includes(field)) {
      // A warning in the very first batch has no meaning for batches. A field found to have no meaning stays so.
      if (next.known[keyOf(field)]?.equal !== 0) next = withState(next, field, field.says ? "free" : "falls");
      continue;
    }
    const known = next.known[keyOf(field)] ?? (field.kind === "omitted" ? { state: "new" as const } : undefined);
    if (known === undefined) continue;
    if (short.includes(field)) {
      if (known.isShort !== true) next = withKnown(next, field, { ...known, isShort: true });
    } else if (isCount(field) && known.equal !== 0) {
      const counted = withApart(known, field, answer.size);
      const { equal = 0 } = known;
      if (equal < EQUAL_TIMES)
        next = withKnown(next, field, { ...counted, equal: field.count === answer.size ? equal + 1 : 0 });
      else if (counted !== known) next = withKnown(next, field, counted);
    }
  }
  return next;
}

function isCount(field: MetadataField): boolean {
  return field.kind === "count" && !isPages(field);
}

/** Nothing is stored for most numbers: they were never equal to the number of records. */
function learnNumber(
  learned: LearnedMetadata,
  field: MetadataField,
  { size, isShort }: { size: number; isShort: boolean },
): LearnedMetadata {
  const key = keyOf(field);
  const known = learned.known[key];
  if (known?.state === "free") return learned;
  if (isShort) return known?.isShort ? learned : withKnown(learned, field, { state: "new", ...known, isShort: true });
  if (field.count !== size) {
    if (known === undefined) return learned;
    const { [key]: _gone, ...others } = learned.known;
    return { ...learned, known: others };
  }
  const { equal = 0, sizes = [] } = known ?? {};
  const more = sizes.includes(size) || sizes.length === 2 ? sizes : [...sizes, size];
  const isNews = equal < UNNAMED_EQUAL_TIMES || more !== sizes;
  const isRoom = known !== undefined || Object.keys(learned.known).length < KNOWN_MAX;
  if (!isNews || !isRoom) return learned;
  const next: KnownField = { state: "new", ...known, equal: Math.min(equal + 1, UNNAMED_EQUAL_TIMES), sizes: more };
  return withKnown(learned, field, next);
}

function withKnown(learned: LearnedMetadata, field: MetadataField, known: KnownField): LearnedMetadata {
  return { ...learned, known: { ...learned.known, [keyOf(field)]: known } };
}

/** Whether a page states clearly that another one follows. */
export function saysMore({ known }: LearnedMetadata, { fields }: ListMetadata): boolean {
  return fields.some(
    (field) => field.kind === "more" && field.says && field.isClear && known[keyOf(field)]?.state !== "free",
  );
}

/** The fields which state on the last page that there is more, and did not on former last pages. */
export function findMoreAfterEnd(learned: LearnedMetadata, { fields }: ListMetadata): readonly MetadataField[] {
  return fields.filter(
    (field) => field.kind === "more" && field.says && learned.known[keyOf(field)]?.state === "falls",
  );
}

/** Learns from an answer. Returns the same object where nothing is new. */
export function learnMetadata(
  learned: LearnedMetadata,
  answer: ListMetadata,
  isEnd = answer.size === 0,
): LearnedMetadata {
  const next = answer.size === 0 ? learnEmpty(learned, answer) : learnBesideRecords(learned, answer);
  return isEnd ? learnEnd(next, answer) : next;
}

function learnEmpty(learned: LearnedMetadata, answer: ListMetadata): LearnedMetadata {
  const contradictions = findContradictions(learned, answer);
  let next = contradictions.length === 0 && !learned.hasEmpty ? { ...learned, hasEmpty: true } : learned;
  for (const field of answer.fields)
    if (field.says && !contradictions.includes(field) && field.kind !== "omitted" && field.kind !== "ids")
      next = withState(next, field, "free");
  return doubtFields(next, contradictions);
}

function learnBesideRecords(learned: LearnedMetadata, { fields, size, ids }: ListMetadata): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    const { state, isDoubted } = learned.known[keyOf(field)] ?? { state: "new" };
    if (!field.says || state === "free" || field.kind === "omitted" || field.kind === "ids") continue;
    // The same records in two lists are one list that is being renamed; other records have another meaning.
    const isElse =
      field.kind === "records"
        ? !field.ids?.some((id) => ids.has(id))
        : field.kind === "count" && isDoubted && state !== "falls" && field.count !== size;
    if (isElse) next = withState(next, field, "free");
    else if (state === "new") next = withState(next, field, "seen");
  }
  return next;
}

/** Learns from an answer after which nothing follows. */
function learnEnd(learned: LearnedMetadata, { fields, size }: ListMetadata): LearnedMetadata {
  let next = learned;
  // A flag that is false is reliable. A count of 0 is reliable only after it was larger: a new shop has no orders at
  // all.
  for (const field of fields) {
    if (field.kind === "omitted") continue;
    if (field.says || (size > 0 && field.kind !== "more")) continue;
    const state = next.known[keyOf(field)]?.state ?? "new";
    if (state === "seen" || (state === "new" && (field.kind === "more" || field.isClear)))
      next = withState(next, field, "falls");
  }
  const said = new Set(fields.map(keyOf));
  const fallen = Object.entries(next.known).filter(
    ([key, { state }]) => state === "seen" && !said.has(key) && (size === 0 || key.startsWith("more ")),
  );
  if (fallen.length === 0) return next;
  return {
    ...next,
    known: { ...next.known, ...Object.fromEntries(fallen.map(([key, field]) => [key, { ...field, ...FALLS }])) },
  };
}

const FALLS: KnownField = { state: "falls" };

function withState(learned: LearnedMetadata, field: MetadataField, state: KnownField["state"]): LearnedMetadata {
  const key = keyOf(field);
  const before = learned.known[key];
  if (before?.state === state) return learned;
  if (before === undefined && Object.keys(learned.known).length >= KNOWN_MAX) return learned;
  const isDoubted = before?.isDoubted === true && state !== "free";
  const { state: _state, isDoubted: _doubted, equal, ...others } = before ?? {};
  const kept = { ...(equal === undefined ? {} : { equal }), ...(state === "free" ? {} : others) };
  return { ...learned, known: { ...learned.known, [key]: { state, ...(isDoubted ? { isDoubted } : {}), ...kept } } };
}

/** Marks these fields as contradicting an answer. */
export function doubtFields(learned: LearnedMetadata, fields: readonly MetadataField[]): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    const key = keyOf(field);
    const before = next.known[key] ?? { state: "new" };
    if (before.isDoubted !== true) next = { ...next, known: { ...next.known, [key]: { ...before, isDoubted: true } } };
  }
  return next;
}

/** What contradicted the answers, for a person. */
export function listDoubted({ empty, known }: LearnedMetadata): string[] {
  const fields = Object.entries(known).flatMap(([key, { isDoubted, isShort }]) => (isDoubted || isShort ? [key] : []));
  return empty?.unusual === undefined ? fields : [...fields, describeBeside(empty.unusual.last)];
}

/** A person has confirmed that the fields which contradicted the answers have no meaning. */
export function acceptDoubted(learned: LearnedMetadata): LearnedMetadata {
  const { empty } = learned;
  const adopted = empty === undefined ? empty : adoptUnusual(empty);
  const next = adopted === empty || adopted === undefined ? learned : { ...learned, empty: adopted };
  const entries = Object.entries(learned.known);
  if (!entries.some(([, { isDoubted, isShort }]) => isDoubted || isShort)) return next;
  const known = entries.map(
    ([key, field]) => [key, field.isDoubted || field.isShort ? { state: "free" as const, equal: 0 } : field] as const,
  );
  return { ...next, known: Object.fromEntries(known) };
}
