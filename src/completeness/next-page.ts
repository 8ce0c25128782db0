/*
 * The next page of a batch, where an answer names one by a link: what a batch holds may go on there, and a confirm of it would cover that
 * unseen. Pure.
 */
import type { ListMetadata, MetadataField } from "./list-metadata.ts";

export type Query = readonly (readonly [string, string])[];

export interface NextPage {
  /** Undefined where its link leads elsewhere, and is not followed. */
  query: Query | undefined;
  /** What names it. */
  fields: readonly MetadataField[];
}

/** @param queryOf what a link asks of the same address of the same service; undefined of what is no link */
export function findNextPage(
  { fields }: ListMetadata,
  { asked, queryOf }: { asked: Query; queryOf: (link: string) => Query | "elsewhere" | undefined },
): NextPage | undefined {
  const pages = fields.flatMap(({ link, says }): NextPage[] => {
    const query = link === undefined || !says ? undefined : queryOf(link);
    // The same request again brings the next batch, if anything.
    if (query === undefined || (query !== "elsewhere" && isSame(query, asked))) return [];
    const named = fields.filter((field) => field.link === link || field.place === "link.next");
    return [{ query: query === "elsewhere" ? undefined : query, fields: named }];
  });
  return pages.find(({ query }) => query !== undefined) ?? pages[0];
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
