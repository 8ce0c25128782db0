/*
 * What the status and headers of an answer state about its list: that it is a part, that it continues elsewhere, or how
 * many records there are. Treated like fields beside the list (`list-metadata.ts`). Pure.
 */

import type { ServiceAnswer } from "../service/client.ts";
import type { MetadataField } from "./metadata-fields.ts";

export type AnswerHead = Pick<ServiceAnswer, "status" | "listHeaders">;

/** The head of an answer, as stored beside its body; null where it states nothing about a list. */
export function headText({ status, listHeaders = {} }: AnswerHead): string | null {
  return status === 200 && Object.keys(listHeaders).length === 0 ? null : JSON.stringify({ status, listHeaders });
}

/** The stored head of an answer. Earlier versions did not store it. */
export function headOfText(text: string | null): AnswerHead {
  return text === null ? { status: 200 } : (JSON.parse(text) as AnswerHead);
}

/** The target of the first link to a next page. */
function linkIn(header: string): Pick<MetadataField, "link"> {
  const [, link] = /<([^>]*)>\s*(?:;[^,<]*)?;\s*rel="?[^";,]*\bnext\b/i.exec(header) ?? [];
  return link === undefined ? {} : { link };
}

/** The number of pages, and of this page, as GitLab and Yii name them. */
const PAGES_HEADERS = [
  ["x-total-pages", "x-page"],
  ["x-pagination-page-count", "x-pagination-current-page"],
] as const;

/** The first page may have no number. */
function readPageHeaders(listHeaders: Readonly<Record<string, string>>): MetadataField[] {
  return PAGES_HEADERS.flatMap(([all, own]) => {
    const [count, page] = [listHeaders[all] ?? "0", listHeaders[own] ?? "1"].map(Number) as [number, number];
    if (!(count > 0 && page > 0)) return [];
    const says = page < count;
    const asks = says ? { turn: ["page", String(page + 1), count] as const } : {};
    return [{ kind: "omitted" as const, place: `${all}.pages`, says, count, isClear: true, ...asks }];
  });
}

const FALSE = /^\s*(?:0|false|no|none|null)?\s*$/i;

/** The last name of each place states the meaning, as for a member of the body. */
export function readHeadMetadata({ status, listHeaders = {} }: AnswerHead): MetadataField[] {
  const fields = readPageHeaders(listHeaders);
  const add = (kind: MetadataField["kind"], place: string, says: boolean) =>
    fields.push({ kind, place, says, isClear: true });
  // Accepted, a part, or not authoritative: of an empty list none says that there is nothing.
  if (status !== 200 && status !== 204) add("records", `HTTP.${status}`, true);
  if (status === 206 || listHeaders["content-range"] !== undefined) add("part", `${status}.partial`, true);
  for (const [name, value] of Object.entries(listHeaders)) {
    const isSaid = !FALSE.test(value);
    if (/^x-(?:truncated|partial)$/.test(name)) add("part", `${name}.partial`, isSaid);
    if (name === "x-has-more") add("more", `${name}.more`, isSaid);
    if (name === "x-next-page" || name === "x-next-cursor") {
      const isNumber = name === "x-next-page" && /^\s*\d{1,7}\s*$/.test(value);
      const asks = isNumber ? { turn: ["page", value.trim()] as const } : {};
      fields.push({ kind: "more", place: `${name}.next`, says: isSaid, isClear: false, ...asks });
    }
    if (name === "link") {
      const isNext = /;\s*rel="?[^";,]*\bnext\b/i.test(value);
      add("more", "link.next", isNext);
      fields.push({ kind: "omitted", place: "link.rest", says: isNext, isClear: true, ...linkIn(value) });
    }
    const digits = name === "content-range" ? /(?<=\/)\d{1,15}\s*$/ : /^\s*\d{1,15}\s*$/;
    const [total] = digits.exec(value) ?? [];
    const count = /total(?!-pages)|content-range/.test(name) && total !== undefined ? Number(total) : undefined;
    if (count !== undefined)
      fields.push({ kind: "count", place: `${name}.total`, says: count > 0, count, isClear: false });
  }
  return fields;
}
