/* Decides whether a page of changes lacks changes that are due, by the fields beside it. Pure. */
import { ignoreFields, isOfLines, KNOWN_MAX, type LearnedMetadata, withApart, withKnown } from "./learned-metadata.ts";
import { isPageNumber, isPages, isPartFlag, isRestLink, keyOf, type ListMetadata } from "./metadata-fields.ts";

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
