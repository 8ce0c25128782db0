/*
 * Decides whether an answer's list is complete, from the fields beside it ({@link ListMetadata}). Where the list is
 * empty, or no page follows, a field may contradict that. Some services always count the whole shop or always link to a
 * next page, so usual values are learned. Pure.
 */
import { doubtFields, FALLS, type LearnedMetadata, withState } from "./learned-metadata.ts";
import { keyOf, type ListMetadata, type MetadataField } from "./metadata-fields.ts";

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

/** Records whether the ids at a place are those of orders. */
export function learnNaming(learned: LearnedMetadata, field: MetadataField, state: "seen" | "free"): LearnedMetadata {
  return field.kind === "ids" ? withState(learned, field, state) : learned;
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
