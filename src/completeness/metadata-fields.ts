/*
 * The fields beside the list of records in an answer, and what their names mean. Pure.
 */

import type { BesideEmpty } from "./empty-form.ts";

/** `number`: its name has no known meaning; `ids`: a list of ids only. */
type FieldKind = "records" | "count" | "pages" | "more" | "part" | "omitted" | "number" | "ids";

/** One field beside the list. */
export interface MetadataField {
  kind: FieldKind;
  /** The names that lead to it, such as `meta.total`. */
  place: string;
  /** Whether it states that there is something; false where it states that there is nothing. */
  says: boolean;
  /** The value of a count or of a number of pages. */
  count?: number;
  /** Its name and value are unambiguous for any service. */
  isClear: boolean;
  /** The ids in records, a list of ids, or records that were left out. */
  ids?: readonly string[];
  /** What a text says of records that were left out. */
  words?: string;
  /** The number of elements of the list itself that have no content. */
  empty?: number;
  /** The link to the next page, where that is a text. */
  link?: string;
  /** The parameter that requests the next page where there is no link, and the number of the last page, if it is known. */
  turn?: readonly [name: string, value: string, last?: number];
  /** The page that it refers to exists, and could not be read. */
  isMissing?: true;
  /** For a number or a count: it equals a sum over the lines of the records, such as their number or that of all pieces. */
  isExplained?: true;
}

export interface ListMetadata {
  fields: readonly MetadataField[];
  /** The number of records in the list. */
  size: number;
  /** The ids in the list, where a field beside it contains records too. */
  ids: ReadonlySet<string>;
  /** The form of the answer where it is empty. */
  besideEmpty?: readonly BesideEmpty[];
}

export const NO_METADATA: ListMetadata = { fields: [], size: 0, ids: new Set() };

/** The most places that a message names. */
const TOLD_MAX = 3;

/** Counts of what is in the answer. */
export const COUNT_NAME =
  /^(?:odata)?(?:num|number|n)?(?:of)?(?:orders?|updates?|changes?|records?|items?|rows?|results?)?(?:count|size|length|returned|found|waiting|pending|remaining|left|количество|найдено|осталось)(?:of)?(?:orders|updates|changes|records|items|rows|results)?$/;
/** They may also count everything that exists. */
export const TOTAL_NAME =
  /^(?:(?:grand|overall)?total|totals?(?:count|size|records|items|rows|results|orders|updates|elements|pages)|(?:record|row|item|order|element)s?total|всего|итого)$/;
/** They count the list beside them, not the waiting records. */
const SIZE_NAME =
  /^(?:odata)?(?:num|number|n)?(?:of)?(?:orders?|records?|items?|rows?)?(?:count|size|length|returned|количество)$/;
/** They count records that are not in the list. */
const REST_NAME = /waiting|pending|remaining|left|осталось/;
/** They may also count the lines of the records. */
const LINES_NAME = /items?|rows?/;
/** They name what they count. */
const RECORDS_NAME = /order|update|change|record/;
/** They count all pages, or name the last one. */
export const PAGES_NAME =
  /^(?:(?:num|number(?:of)?|count|total(?:of)?)?(?:pages|parts)(?:count|total)?|(?:pages?|parts?)count|lastpage|of|(?:всего)?(?:страниц|частей))$/;
/** They state that the list is incomplete. */
export const PART_FLAG = /^(?:is)?(?:partial|incomplete|truncated|complete|whole|неполный|полный)$/;
const CUT_FLAG = /^(?:is)?(?:incomplete|truncated)$/;
/** The link to the rest of the same list, in OData, HAL and Google's APIs. */
export const REST_PLACE = /(?:^|\.)(?:@?odata\.nextLink|_links\.next|nextPageToken)$/;

/** Identifies the field in all answers of an endpoint. */
export function keyOf({ kind, place }: MetadataField): string {
  return `${kind} ${place}`;
}

/** For a message, independent of language: `data (records), meta.count = 2, has_more`. */
export function describeFields(fields: readonly MetadataField[]): string {
  return fields
    .slice(0, TOLD_MAX)
    .map(({ kind, place, count, ids, words }) => {
      if (words !== undefined) return `${place}: "${words}"`;
      if (kind === "records") return `${place} [{…}]`;
      if (kind === "ids") return `${place} [${ids?.length ?? 0}]`;
      return count === undefined || kind === "pages" ? place : `${place} = ${count}`;
    })
    .join(", ");
}

/** Where the link to the next page is followed, it contradicts nothing. */
export function withoutMore(answer: ListMetadata): ListMetadata {
  return { ...answer, fields: answer.fields.filter(({ kind }) => kind !== "more") };
}

/** Whether a field names orders that may not be in the list. */
export function namesOrders({ ids, kind }: MetadataField): boolean {
  return ids !== undefined && kind !== "records";
}

export function isPages({ place }: MetadataField): boolean {
  return PAGES_NAME.test(lastName(place));
}

export function isPartFlag({ place }: MetadataField): boolean {
  return PART_FLAG.test(lastName(place));
}

/** The list ends with this page, and may go on with the next one: false on the last of them. */
export function isCutFlag({ place }: MetadataField): boolean {
  return CUT_FLAG.test(lastName(place));
}

export function isSize({ kind, place }: MetadataField): boolean {
  return kind === "count" && SIZE_NAME.test(lastName(place));
}

/** The number of this page and of all pages. */
export function isPageNumber(field: MetadataField): boolean {
  return field.kind === "omitted" && isPages(field);
}

/** The link to the rest of the list, by an unambiguous name. */
export function isRestLink({ kind, place }: MetadataField): boolean {
  return kind === "omitted" && REST_PLACE.test(place);
}

export function isRest({ place }: MetadataField): boolean {
  return REST_NAME.test(lastName(place));
}

export function mayCountLines({ kind, place }: MetadataField): boolean {
  return kind === "number" || (kind === "count" && LINES_NAME.test(lastName(place)));
}

/** A count of unnamed things: it may be a sum over the lines of the records. */
export function mayCountSums({ kind, place }: MetadataField): boolean {
  const name = lastName(place);
  return kind === "count" && !PAGES_NAME.test(name) && !REST_NAME.test(name) && !RECORDS_NAME.test(name);
}

/** Such a name may also be that of a sum of money. */
export function mayBeTotal({ place }: MetadataField): boolean {
  return TOTAL_NAME.test(lastName(place));
}

export function lastName(place: string): string {
  return plainOf(place.split(".").at(-1) ?? "");
}

export function plainOf(key: string): string {
  return key.replace(/[_\- .$@]/g, "").toLowerCase();
}
