/*
 * What the head of an answer says of its list: that it is a part, goes on elsewhere, or how many records there are. It is read
 * like what stands beside the list (`list-metadata.ts`). Pure.
 */

import type { ServiceAnswer } from "../service/client.ts";
import type { MetadataField } from "./list-metadata.ts";

export type AnswerHead = Pick<ServiceAnswer, "status" | "listHeaders">;

/** What is kept of the head of an answer whose body is kept; null where it says nothing of a list. */
export function headText({ status, listHeaders = {} }: AnswerHead): string | null {
  return status === 200 && Object.keys(listHeaders).length === 0 ? null : JSON.stringify({ status, listHeaders });
}

/** The head of a kept body; one of an earlier version was not kept. */
export function headOfText(text: string | null): AnswerHead {
  return text === null ? { status: 200 } : (JSON.parse(text) as AnswerHead);
}

/** The target of the first link that is one to the next page. */
function linkIn(header: string): Pick<MetadataField, "link"> {
  const [, link] = /<([^>]*)>\s*(?:;[^,<]*)?;\s*rel="?[^";,]*\bnext\b/i.exec(header) ?? [];
  return link === undefined ? {} : { link };
}

const FALSE = /^\s*(?:0|false|no|none|null)?\s*$/i;

/** The last name of each place says what it is, as for a member of the body. */
export function readHeadMetadata({ status, listHeaders = {} }: AnswerHead): MetadataField[] {
  const fields: MetadataField[] = [];
  const add = (kind: MetadataField["kind"], place: string, says: boolean, isClear = true) =>
    fields.push({ kind, place, says, isClear });
  // Accepted, a part, or not authoritative: of an empty list none says that there is nothing.
  if (status !== 200 && status !== 204) add("records", `HTTP.${status}`, true);
  if (status === 206 || listHeaders["content-range"] !== undefined) add("part", `${status}.partial`, true);
  for (const [name, value] of Object.entries(listHeaders)) {
    const isSaid = !FALSE.test(value);
    if (/^x-(?:truncated|partial)$/.test(name)) add("part", `${name}.partial`, isSaid);
    if (name === "x-has-more") add("more", `${name}.more`, isSaid);
    if (name === "x-next-page" || name === "x-next-cursor") add("more", `${name}.next`, isSaid, false);
    if (name === "link") {
      const isNext = /;\s*rel="?[^";,]*\bnext\b/i.test(value);
      add("more", "link.next", isNext);
      fields.push({ kind: "omitted", place: "link.rest", says: isNext, isClear: true, ...linkIn(value) });
    }
    const digits = name === "content-range" ? /(?<=\/)\d{1,15}\s*$/ : /^\s*\d{1,15}\s*$/;
    const [total] = digits.exec(value) ?? [];
    const count = /total|content-range/.test(name) && total !== undefined ? Number(total) : undefined;
    if (count !== undefined)
      fields.push({ kind: "count", place: `${name}.total`, says: count > 0, count, isClear: false });
  }
  return fields;
}
