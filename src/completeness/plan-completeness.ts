/*
 * Whether an answer's list is complete, from what stands beside it ({@link ListMetadata}). Where the list is empty, or no page follows,
 * that may contradict it, and "nothing new" is then not what the service says. Some services always count the whole shop or always
 * name a next page: what is usual is learned. Pure.
 */
import { adoptUnusual, type UsualEmpty } from "./empty-form.ts";
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
} from "./list-metadata.ts";

interface KnownField {
  /** `seen`: beside records. `falls`: it says "nothing" where there is nothing. `free`: it says something whatever the list holds. */
  state: "new" | "seen" | "falls" | "free";
  /** It contradicts an answer: a person may say that it means nothing. */
  isDoubted?: true;
  /** Of a count: in how many batches it was the number of the records, three at most; 0: in one it was another number. */
  equal?: number;
  /** It says that a batch is not whole: likewise. */
  isShort?: true;
  /** Of a number without a known name: two different ones that it was, each that of the records. */
  sizes?: readonly number[];
  /** Of a count that was larger than the batch that came last. */
  short?: ShortCount;
}

/** A count of records, or of all that waits: what becomes of it decides which. */
interface ShortCount {
  batch: string;
  count: number;
  size: number;
  /** The batch was as large as any: the service may deliver no more at once. */
  isFull: boolean;
  /** How often the number was another one while the batch was the same. */
  changes: number;
}

/** What is known of the answers of one endpoint. */
export interface LearnedMetadata {
  /** An empty list has been read. */
  hasEmpty: boolean;
  known: Record<string, KnownField>;
  /** Since when batches with empty records are served, by this machine's clock: by batch, and all of them without a whole one in between. */
  emptySince?: Readonly<Record<string, string>>;
  /** Records of the largest batch. */
  sizeMax?: number;
  /** How empty answers usually look, and whether they name a batch. */
  empty?: UsualEmpty;
  names?: EmptyNames;
  /** Batches that were confirmed beside what may say that they held more, since a person was told: how many, and the last of them. */
  short?: { batches: number; at: string; what: string };
}

/** The key of {@link LearnedMetadata.emptySince} for whatever batch it is. */
export const ANY_BATCH = "any";
const EMPTY_SINCE_MAX = 20;
const KNOWN_MAX = 60;
/** After so many batches a count is known to be that of the records. */
const EQUAL_TIMES = 3;
/** Before the first of them, one that is so much larger than the list counts something else: all orders, or the pages of a backlog. */
const FAR_LARGER_TIMES = 10;
const FAR_LARGER_MIN = 100;
/** One whose name says nothing, after so many, and two sizes of them. */
const UNNAMED_EQUAL_TIMES = 5;
/** No service is known that delivers no more than so many orders at once. */
const LIMIT_MIN = 10;
/** A number that was another one so often beside the same batch is not that of its records, however small the batch. */
const CHANGES_MAX = 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A batch was served. One without empty records ends the time of those that had some. The same object where nothing is new. */
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

/** What contradicts an empty list: the service has something, and it is not there. Empty where nothing does. */
export function findContradictions(learned: LearnedMetadata, { fields }: ListMetadata): readonly MetadataField[] {
  return fields.filter((field) => {
    if (!field.says) return false;
    const { state } = learned.known[keyOf(field)] ?? { state: "new" };
    // Of an empty list no part is missing.
    if (state === "free" || field.kind === "part" || field.kind === "omitted" || field.kind === "ids") return false;
    // A name that no empty answer had before is another shape; at first sight only what is clear is one.
    return state === "falls" || field.isClear || (learned.hasEmpty && state === "new");
  });
}

/**
 * What says that a batch holds more records than its list shows, which a confirm of the whole batch would cover unseen: a flag, or a
 * count. Of a number without a known name that needs batches of which it was the size; of a count only that there was none of which it
 * was not.
 */
export function findShortfall(learned: LearnedMetadata, { fields, size }: ListMetadata): readonly MetadataField[] {
  if (size === 0) return [];
  return fields.filter((field) => {
    const known = learned.known[keyOf(field)];
    if (known?.state === "free") return false;
    if (isPartFlag(field)) return field.says;
    if (field.kind === "omitted")
      return field.says && (field.isClear || known?.state === "falls" || known?.isShort === true);
    return (field.count ?? 0) > size && countsRecords(field, known, size);
  });
}

/** Whether a number that is larger than a list may be that of the records which the list should have. */
function countsRecords(field: MetadataField, known: KnownField | undefined, size: number): boolean {
  const { equal } = known ?? {};
  if (field.kind === "number")
    return field.isExplained !== true && equal === UNNAMED_EQUAL_TIMES && known?.sizes?.length === 2;
  if (field.kind !== "count" || isPages(field)) return false;
  if (isLearned(known)) return true;
  if (equal === 0 || isRest(field) || field.isExplained === true) return false;
  const { count = 0 } = field;
  return equal !== undefined || count < FAR_LARGER_MIN || count < FAR_LARGER_TIMES * size;
}

/** Whether a count was the number of the records in so many batches, and in all of them. */
function isLearned(known: KnownField | undefined): boolean {
  return (known?.equal ?? 0) >= EQUAL_TIMES;
}

/** Whether a field of {@link findShortfall} may as well count all that waits, of which the service delivers a part at a time. */
export function mayCountWaiting({ known }: LearnedMetadata, field: MetadataField): boolean {
  if (isPageNumber(field)) return field.isMissing !== true;
  return field.kind === "number" || (field.kind === "count" && !(isSize(field) && isLearned(known[keyOf(field)])));
}

/**
 * For how long, in milliseconds, a batch beside such a field, or only such batches, must have been served before they count as whole all the
 * same. The service may be one that counts all that waits and delivers no more at once, or one that cannot write all its records.
 * `Infinity` where the batch is known to hold more: a confirm would lose what did not come, so only a person may say that it does not.
 */
export function waitForRest(learned: LearnedMetadata, answer: ListMetadata, field: MetadataField): number {
  if (field.empty !== undefined || field.kind === "number") return HOUR_MS;
  if (field.kind === "ids" && learned.known[keyOf(field)] === undefined) return HOUR_MS;
  if (!mayCountWaiting(learned, field)) return Number.POSITIVE_INFINITY;
  return mayBeLimit(learned, answer) ? HOUR_MS : DAY_MS;
}

/** Whether the batch of such fields may be all that the service delivers at once. */
function mayBeLimit({ sizeMax = 0 }: LearnedMetadata, { size }: Pick<ListMetadata, "size">): boolean {
  return size >= Math.max(sizeMax, LIMIT_MIN);
}

/** Compares counts that were larger than their batch with what came of them: one that moves meanwhile, or goes on, counts what waits. */
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

/** What says that more records are due than an answer holds. */
export interface Lack {
  key: string;
  /** So many there are at least. */
  atLeast: number;
  /** It was the number of the records of a page that held all of them. */
  isTrusted: boolean;
}

/** Counts, flags of a part, and links to a next page that say that a page of changes does not hold all that are due. Without those known to mean else. */
export function findLacks(learned: LearnedMetadata, { fields, size }: ListMetadata): readonly Lack[] {
  return fields.flatMap((field) => {
    const key = keyOf(field);
    const { state, equal } = learned.known[key] ?? {};
    const count = field.count ?? 0;
    const saysMore = field.says && (isPartFlag(field) || field.kind === "more" || isRestLink(field));
    const atLeast = saysMore ? size + 1 : isPages(field) ? (count - 1) * size + 1 : count;
    const isCountOnly = field.kind === "number" || isPageNumber(field);
    if (size === 0 || isCountOnly || state === "free" || equal === 0 || atLeast <= size) return [];
    const isKnown = (equal ?? 0) > 0 || (field.kind === "more" && state === "falls");
    return [{ key, atLeast, isTrusted: isKnown || isPartFlag(field) }];
  });
}

/** A page that held all that was due: counts of something else show themselves. */
export function learnWhole(learned: LearnedMetadata, { fields, size }: ListMetadata): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    // One that names a next page behind the last one always does.
    const isLink = field.kind === "more" && field.says;
    if (size === 0 || !(isLink || (field.count !== undefined && (field.kind === "count" || field.kind === "pages"))))
      continue;
    const known = next.known[keyOf(field)] ?? { state: "new" };
    const equal = !isLink && field.count === (isPages(field) ? 1 : size) ? 1 : 0;
    const isNews = known.equal === undefined || (equal === 0 && known.equal > 0);
    const isRoom = next.known[keyOf(field)] !== undefined || Object.keys(next.known).length < KNOWN_MAX;
    if (isNews && isRoom) next = withKnown(next, field, { ...known, equal });
  }
  return next;
}

/** These say something whatever there is. */
export function ignoreFields(learned: LearnedMetadata, keys: readonly string[]): LearnedMetadata {
  const ignored = keys.map((key) => [key, { ...learned.known[key], state: "free" as const, equal: 0 }] as const);
  return { ...learned, known: { ...learned.known, ...Object.fromEntries(ignored) } };
}

/**
 * Nothing was missing although they said so, and they mean nothing from now on. What was left out may have been known by other ways: a count that was
 * that of a whole page goes on counting.
 */
export function ignoreLacks(learned: LearnedMetadata, keys: readonly string[]): LearnedMetadata {
  return ignoreFields(
    learned,
    keys.filter((key) => (learned.known[key]?.equal ?? 0) === 0),
  );
}

/** What is known of a place whose ids are, or are not, those of orders. */
export function learnNaming(learned: LearnedMetadata, field: MetadataField, state: "seen" | "free"): LearnedMetadata {
  return field.kind === "ids" ? withState(learned, field, state) : learned;
}

/** A batch was read. What contradicts it is kept for a person's word, and teaches nothing. */
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
      // What warns from the first answer on says nothing of a batch. What was found to mean nothing stays so.
      if (next.known[keyOf(field)]?.equal !== 0) next = withState(next, field, field.says ? "free" : "falls");
      continue;
    }
    const known = next.known[keyOf(field)] ?? (field.kind === "omitted" ? { state: "new" as const } : undefined);
    if (known === undefined) continue;
    if (short.includes(field)) {
      if (known.isShort !== true) next = withKnown(next, field, { ...known, isShort: true });
    } else if (isCount(field) && known.equal !== 0 && (known.equal ?? 0) < EQUAL_TIMES) {
      next = withKnown(next, field, { ...known, equal: field.count === answer.size ? (known.equal ?? 0) + 1 : 0 });
    }
  }
  return next;
}

function isCount(field: MetadataField): boolean {
  return field.kind === "count" && !isPages(field);
}

/** Of most numbers nothing is kept: they never were that of the records. */
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

/** Whether a page says clearly that another one follows, and not whatever there is. */
export function saysMore({ known }: LearnedMetadata, { fields }: ListMetadata): boolean {
  return fields.some(
    (field) => field.kind === "more" && field.says && field.isClear && known[keyOf(field)]?.state !== "free",
  );
}

/** What says on the last page that there is more, and said that there is none on former last pages. */
export function findMoreAfterEnd(learned: LearnedMetadata, { fields }: ListMetadata): readonly MetadataField[] {
  return fields.filter(
    (field) => field.kind === "more" && field.says && learned.known[keyOf(field)]?.state === "falls",
  );
}

/** An answer was read. The same object where nothing is new. */
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
    // The same records in two lists are one list that moves to another name; others are something else.
    const isElse =
      field.kind === "records"
        ? !field.ids?.some((id) => ids.has(id))
        : field.kind === "count" && isDoubted && state !== "falls" && field.count !== size;
    if (isElse) next = withState(next, field, "free");
    else if (state === "new") next = withState(next, field, "seen");
  }
  return next;
}

/** After this answer nothing follows. */
function learnEnd(learned: LearnedMetadata, { fields, size }: ListMetadata): LearnedMetadata {
  let next = learned;
  // A flag that says "no" means what it says. A count of 0 does so only after it was more: a new shop has no orders at all.
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

/** These contradict an answer. */
export function doubtFields(learned: LearnedMetadata, fields: readonly MetadataField[]): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    const key = keyOf(field);
    const before = next.known[key] ?? { state: "new" };
    if (before.isDoubted !== true) next = { ...next, known: { ...next.known, [key]: { ...before, isDoubted: true } } };
  }
  return next;
}

/** A person says that what contradicted the answers means nothing. */
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
