/*
 * The next page of a batch, where an answer names one by a link: what a batch holds may go on there, and a confirm of it would cover that
 * unseen. Pure.
 */
import {
  isPageNumber,
  isPages,
  isPartFlag,
  isRestLink,
  type ListMetadata,
  type MetadataField,
  namesOrders,
} from "./list-metadata.ts";

export type Query = readonly (readonly [string, string])[];

export interface NextPage {
  /** Undefined where its link leads elsewhere, and is not followed. */
  query: Query | undefined;
  /** Asks for the first page once more, where the link counts pages or records: whatever leaves one page moves up the next ones. */
  first: Query | undefined;
  /** What names it. */
  fields: readonly MetadataField[];
  /** No link leads there, and the last page has this number, where the first one has 1. */
  last?: number | undefined;
}

/** All pages of a batch, once they are stored. */
export interface BatchPages {
  /** Records of them. */
  size: number;
  /** How many pages they are. */
  count: number;
  /** Literals of the ids of their records. */
  ids: ReadonlySet<string>;
  /** What stands beside the lists of those that follow the first one, and how many of their records hold nothing. */
  beside: readonly MetadataField[];
  empty: number;
  /** The page that follows is a batch of its own: numbers count more than this one. */
  isFollowed: boolean;
}

/** The next page of a batch could not be read. */
export interface UnreadPage {
  /** It is known to be there: a page was read before it, a link names it, or the service could not answer. */
  isMissing: boolean;
}

/** @param queryOf what a link asks of the same address of the same service; undefined of what is no link */
export function findNextPage(
  { fields, size }: ListMetadata,
  { asked, queryOf }: { asked: Query; queryOf: (link: string) => Query | "elsewhere" | undefined },
): NextPage | undefined {
  const pages = fields.flatMap(({ link, says }): NextPage[] => {
    const query = link === undefined || !says ? undefined : queryOf(link);
    // The same request again brings the next batch, if anything.
    if (query === undefined || (query !== "elsewhere" && isSame(query, asked))) return [];
    const named = fields.filter((field) => field.link === link || field.place === "link.next");
    if (query === "elsewhere") return [{ query: undefined, first: undefined, fields: named }];
    return [{ query, first: queryOfFirst(query, { asked, size }), fields: named }];
  });
  return pages.find(({ query }) => query !== undefined) ?? turnPage({ fields, size }, asked) ?? pages[0];
}

/** Many services that number their pages name no link, and take the number of a page. */
function turnPage({ fields, size }: Pick<ListMetadata, "fields" | "size">, asked: Query): NextPage | undefined {
  const field = fields.find(({ says, turn }) => says && turn !== undefined);
  if (field?.turn === undefined) return undefined;
  const [name] = field.turn;
  const query = [...asked.filter(([own]) => own !== name), field.turn];
  return { query, first: queryOfFirst(query, { asked, size }), fields: [field], last: field.count };
}

const PAGE = /page|^pg?$/i;
const OFFSET = /offset|skip|start|from/i;
/** Names of how many there are on a page, and of the batch. */
const OTHER = /size|limit|count|per_?page|top|take|batch/i;

/** Where a number leads to the next page by an unknown name, the first one is what was asked at first. A cursor that is none leads to records. */
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

/** The answer as one of a batch that is not whole. */
export function withNextPage(answer: ListMetadata, { fields }: NextPage, unread?: UnreadPage): ListMetadata {
  const own = fields.find(({ kind }) => kind === "omitted") ?? fields[0];
  const others = answer.fields.filter((field) => field !== own);
  const isMissing = unread?.isMissing === true ? { isMissing: true as const } : {};
  const named = own === undefined ? [] : [{ ...own, kind: "omitted" as const, isClear: true, ...isMissing }];
  return { ...answer, fields: [...others, ...named] };
}

/** The answer as the first one of a batch whose pages were all read: what stands beside their lists counts against all of them. */
export function withPages(answer: ListMetadata, { fields }: NextPage, pages: BatchPages): ListMetadata {
  const { size, count, isFollowed } = pages;
  const beside = pages.beside.filter((field) => isPartFlag(field) || namesOrders(field) || isLeftOut(field));
  const all = [...answer.fields, ...beside];
  const isTotal = all.some((field) => field.kind === "count" && field.count === size);
  const isRead = (field: MetadataField) =>
    fields.includes(field) ||
    (isPageNumber(field) && (field.count ?? 0) <= count) ||
    // The head of each page says that it is one of several.
    (isTotal && /^20\d\.partial$/.test(field.place));
  const judged = all.map((field) => (isRead(field) ? { ...field, says: false } : field));
  return { ...answer, size, fields: isFollowed ? judged.filter(({ count: number }) => number === undefined) : judged };
}

function isLeftOut(field: MetadataField): boolean {
  return field.kind === "omitted" && !isPages(field) && !isRestLink(field) && field.place !== "link.rest";
}
