/*
 * Decides whether a batch contains fewer records than its service says, so that a confirm would cover records that were not
 * served. A larger number may count the whole shop or all that waits, so what numbers mean is learned. Pure.
 */
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import {
  EQUAL_TIMES,
  isLearned,
  isOfLines,
  KNOWN_MAX,
  type KnownField,
  type LearnedMetadata,
  type ShortCount,
  withApart,
  withKnown,
  withState,
} from "./learned-metadata.ts";
import {
  isPageNumber,
  isPages,
  isPartFlag,
  isRest,
  isSize,
  keyOf,
  type ListMetadata,
  type MetadataField,
} from "./metadata-fields.ts";

/** The key of {@link LearnedMetadata.emptySince} for all batches. */
export const ANY_BATCH = "any";

const EMPTY_SINCE_MAX = 20;

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
