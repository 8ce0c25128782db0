/*
 * The next page of a batch, where an answer names one by a link: what a batch holds may go on there, and a confirm of it would cover that
 * unseen. Pure.
 */
import type { ListMetadata, MetadataField } from "./list-metadata.ts";

export type Query = readonly (readonly [string, string])[];

export interface NextPage {
  /** Undefined where its link leads elsewhere, and is not followed. */
  query: Query | undefined;
  /** Asks for the first page once more, where the link counts pages or records: whatever leaves one page moves up the next ones. */
  first: Query | undefined;
  /** What names it. */
  fields: readonly MetadataField[];
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
  return pages.find(({ query }) => query !== undefined) ?? pages[0];
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

/**
 * The answer as one of a batch that is not whole, or of one whose pages were all read.
 * @param size records of all its pages
 */
export function withNextPage(answer: ListMetadata, { fields }: NextPage, size: number | undefined): ListMetadata {
  if (size !== undefined) {
    const read = answer.fields.map((field) => (fields.includes(field) ? { ...field, says: false } : field));
    return { ...answer, size, fields: read };
  }
  const own = fields.find(({ kind }) => kind === "omitted") ?? fields[0];
  const others = answer.fields.filter((field) => field !== own);
  return { ...answer, fields: own === undefined ? others : [...others, { ...own, kind: "omitted", isClear: true }] };
}
