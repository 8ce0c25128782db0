/*
 * The next page of a batch, where an answer links to one. The batch may continue there, and a confirm would cover
 * records that were not read. Pure.
 */
import {
  isCutFlag,
  isPageNumber,
  isPages,
  isPartFlag,
  isRestLink,
  keyOf,
  type ListMetadata,
  type MetadataField,
  namesOrders,
} from "./metadata-fields.ts";

export type Query = readonly (readonly [string, string])[];

export interface NextPage {
  /** Undefined where its link leads to another address, and is not followed. */
  query: Query | undefined;
  /**
   * Requests the first page again, where the link counts pages or records: when a record leaves a page, those of the
   * next pages move forward.
   */
  first: Query | undefined;
  /** The fields that name it. */
  fields: readonly MetadataField[];
  /** Without a link: the number of the last page, counted from 1; `Infinity` where it is not known. */
  last?: number | undefined;
  /** A link names the page at another address, so that only a page of this batch stands for it. */
  isElsewhere?: true;
}

/** All pages of a batch, once they are stored. */
export interface BatchPages {
  /** The number of their records. */
  size: number;
  /** The number of pages. */
  count: number;
  /** The literals of their records' ids. */
  ids: ReadonlySet<string>;
  /** The fields beside the list of the first page when it was read again: counts change with the orders that leave the batch. */
  besideFirst?: readonly MetadataField[];
  /** The fields beside the lists of all pages after the first, and the number of their records without content. */
  beside: readonly MetadataField[];
  empty: number;
  /** The page that follows is a batch of its own: numbers count more than this one. */
  isFollowed: boolean;
}

export interface UnreadPage {
  /** It is known to exist: a page was read before it, a link names it, or the service could not answer. */
  isMissing: boolean;
}

/** @param queryOf the query of a link to the same endpoint; undefined where it is no link */
export function findNextPage(
  { fields, size }: ListMetadata,
  { asked, queryOf }: { asked: Query; queryOf: (link: string) => Query | "elsewhere" | undefined },
): NextPage | undefined {
  const pages = fields.flatMap(({ link, says }): NextPage[] => {
    const query = link === undefined || !says ? undefined : queryOf(link);
    // The same request again delivers the next batch, if any.
    if (query === undefined || (query !== "elsewhere" && isSame(query, asked))) return [];
    const named = fields.filter((field) => field.link === link || field.place === "link.next");
    if (query === "elsewhere") return [{ query: undefined, first: undefined, fields: named }];
    return [{ query, first: queryOfFirst(query, { asked, size }), fields: named }];
  });
  const linked = pages.find(({ query }) => query !== undefined);
  if (linked !== undefined) return linked;
  const turned = turnPage({ fields, size }, asked);
  return turned !== undefined && pages.length > 0 ? { ...turned, isElsewhere: true } : (turned ?? pages[0]);
}

/** Many services that number their pages have no links, and accept the number of a page, or of its first record, as a parameter. */
function turnPage({ fields, size }: Pick<ListMetadata, "fields" | "size">, asked: Query): NextPage | undefined {
  const field = fields.find(({ says, turn }) => says && turn !== undefined);
  if (field?.turn === undefined) return undefined;
  const [name, value, last = Number.POSITIVE_INFINITY] = field.turn;
  const query = [...asked.filter(([own]) => own !== name), [name, value] as const];
  const named = fields.filter((other) => other === field || other.place === field.place);
  return { query, first: queryOfFirst(query, { asked, size }), fields: named, last };
}

const PAGE = /page|^pg?$/i;
const OFFSET = /offset|skip|start|from/i;
/** Parameters for the number of records on a page, and for the batch. */
const OTHER = /size|limit|count|per_?page|top|take|batch/i;

/**
 * Where a number under an unknown name leads to the next page, the first page is the original request. If it is in fact
 * a cursor, that request still returns records.
 */
function queryOfFirst(next: Query, { asked, size }: { asked: Query; size: number }): Query | undefined {
  const numbers = next.filter(
    ([name, value]) =>
      /^\d{1,9}$/.test(value) && !OTHER.test(name) && !asked.some(([own, same]) => own === name && same === value),
  );
  const firsts = numbers.flatMap(([name, value]): Query => {
    const before = Number(value) - (PAGE.test(name) ? 1 : size);
    const isFirst = (PAGE.test(name) || OFFSET.test(name)) && (before === 0 || before === 1);
    return isFirst ? [[name, String(before)]] : [];
  });
  if (firsts.length === 1)
    return next.map(([name, value]) => [name, firsts.find(([own]) => own === name)?.[1] ?? value]);
  return numbers.some(([, value]) => [1, 2, size, size + 1].includes(Number(value))) ? asked : undefined;
}

function isSame(one: Query, other: Query): boolean {
  const text = (query: Query) => JSON.stringify([...query].sort());
  return text(one) === text(other);
}

/** Marks the answer as one of an incomplete batch. */
export function withNextPage(answer: ListMetadata, { fields }: NextPage, unread?: UnreadPage): ListMetadata {
  const own = fields.find(({ kind }) => kind === "omitted") ?? fields[0];
  // The service does not turn pages: what stands beside the list counts what waits.
  if (unread?.isMissing === false && own?.turn !== undefined && own.kind !== "omitted") return answer;
  const others = answer.fields.filter((field) => field !== own);
  const isMissing = unread?.isMissing === true ? { isMissing: true as const } : {};
  const named = own === undefined ? [] : [{ ...own, kind: "omitted" as const, isClear: true, ...isMissing }];
  return { ...answer, fields: [...others, ...named] };
}

/**
 * The answer as the first page of a batch whose pages were all read: the fields beside their lists apply to all of
 * them.
 */
export function withPages(answer: ListMetadata, { fields }: NextPage, pages: BatchPages): ListMetadata {
  const { size, count, isFollowed, besideFirst = answer.fields } = pages;
  const beside = pages.beside.filter((field) => isPartFlag(field) || namesOrders(field) || isLeftOut(field));
  const all = [...besideFirst, ...beside];
  const named = new Set(fields.map(keyOf));
  const isTotal = all.some((field) => field.kind === "count" && field.count === size);
  const isRead = (field: MetadataField) =>
    named.has(keyOf(field)) ||
    (isPageNumber(field) && (field.count ?? 0) <= count) ||
    (isCutFlag(field) && beside.some((other) => !other.says && keyOf(other) === keyOf(field))) ||
    // The status of each page states that it is one of several.
    (isTotal && /^20\d\.partial$/.test(field.place));
  const judged = all.map((field) => (isRead(field) ? { ...field, says: false } : field));
  return { ...answer, size, fields: isFollowed ? judged.filter(({ count: number }) => number === undefined) : judged };
}

function isLeftOut(field: MetadataField): boolean {
  return field.kind === "omitted" && !isPages(field) && !isRestLink(field) && field.place !== "link.rest";
}
