/*
 * The fields by which an answer shows that its list has more pages, and how the next one is asked for. Pure.
 */

import { headOf, kindOf, type Span, someMember, stringOf, textOf } from "../answers/json-text.ts";
import { placeIn } from "./list-totals.ts";
import { lastName, type MetadataField, PAGES_NAME, plainOf, TOTAL_NAME } from "./metadata-fields.ts";

export const NAME_MAX = 60;
/** The most characters of a number, with its quotes. */
const NUMBER_MAX = 9;
const LINK_MAX = 4_000;

/** Beside the number of pages: the number of this page. */
const THIS_PAGE_NAME = /^(?:page|currentpage|page(?:number|no|num|index)|part|part(?:number|no|num)|страница|часть)$/;
/** Those of them that are not parameters of a request. */
const SHOWN_PAGE_NAME = /^(?:currentpage|pageindex)$/;
/** Beside a flag that more follows: where it goes on, and the parameter that asks for it. */
const CURSOR_PARAMETERS: Readonly<Record<string, string>> = { endcursor: "after", cursor: "cursor" };
/** Beside a total: how many records come before these. */
const OFFSET_NAME = /^(?:offset|skip)$/;
/** Where the next page is described in an object. */
const NEXT_PARAMETER = /^(?:offset|skip|start|cursor|after|marker|token|pagetoken)$/;
/** The link to the next page, which some services always include. */
export const NEXT_NAME =
  /^(?:next(?:page|url|uri|link|href|cursor|token|offset|start|skip|marker|pagetoken|pageurl)?|(?:continuation|page)token|следующая(?:страница)?)$/;

/** False on a page that others follow, true on the last one: Spring. */
const LAST_FLAG = /^(?:is)?last(?:page)?$/;
/** `"1 of 3"` */
const OF_PAGES = /^"\s*(\d{1,6})\s*(?:of|\/|из)\s*(\d{1,6})\s*"$/i;

/** Which page of the list this is. */
interface ShownPage {
  /** `page` 1 of `pages` 3. Where pages are counted from 0, the first of one is the last. */
  pages?: MetadataField | undefined;
  page?: readonly [name: string, number: number];
  offset?: readonly [name: string, number: number];
  cursor?: readonly [name: string, value: string];
  /** Its `size` is that of a full page. */
  hasPageSize?: true;
}

export const NOT_SHOWN: ShownPage = {};

export function readPages(bytes: Buffer, object: Span, place: string): ShownPage {
  const found: Omit<ShownPage, "pages"> & Partial<{ number: number; pages: number; at: string; last: Flag }> = {};
  someMember(bytes, object, ({ key, value }) => {
    const [name, kind] = [plainOf(key), kindOf(bytes, value)];
    const asks = CURSOR_PARAMETERS[name];
    if (asks !== undefined && kind === "string") found.cursor = [asks, headOf(bytes, value, LINK_MAX)];
    if (key.length > NAME_MAX) return false;
    const at = placeIn(place, key);
    if (LAST_FLAG.test(name) && kind === "boolean") found.last = { at, isSet: textOf(bytes, value) === "true" };
    const [, part, whole] = (THIS_PAGE_NAME.test(name) && OF_PAGES.exec(textOf(bytes, value))) || [];
    if (part !== undefined) Object.assign(found, { page: [key, Number(part)], pages: Number(whole), at });
    const { count } = readNumber(bytes, value, at) ?? {};
    if (count === undefined) return false;
    if (THIS_PAGE_NAME.test(name)) found.page = [SHOWN_PAGE_NAME.test(name) ? "page" : key, count];
    if (OFFSET_NAME.test(name)) found.offset = [key, count];
    if (name === "number") found.number = count;
    if (PAGES_NAME.test(name)) Object.assign(found, { pages: count, at });
    return found.page !== undefined && found.pages !== undefined;
  });
  const { number, pages, at, last, ...shown } = found;
  // `number` has other meanings elsewhere.
  const isSpring = number !== undefined && (last !== undefined || at?.endsWith("totalPages") === true);
  const [name, page] = shown.page ?? ["page", isSpring ? number : undefined];
  const size = isSpring ? { hasPageSize: true as const } : {};
  if (page !== undefined && pages === undefined && last !== undefined) {
    const asks = last.isSet ? {} : { turn: [name, String(page + 1)] as const };
    return {
      ...shown,
      ...size,
      pages: { kind: "more", place: last.at, says: !last.isSet, isClear: !last.isSet, ...asks },
    };
  }
  if (page === undefined || pages === undefined || at === undefined) return shown;
  // Where pages are counted from 0, the number of the last one is less than their count.
  const isLast = lastName(at) === "lastpage";
  const says = page === 0 && !isLast ? pages > 1 : page < pages;
  const asks = says ? { turn: [name, String(page + 1), isLast ? Number.POSITIVE_INFINITY : pages] as const } : {};
  return { ...size, pages: { kind: "omitted", place: at, says, count: pages, isClear: true, ...asks } };
}

interface Flag {
  at: string;
  isSet: boolean;
}

/**
 * The parameter that asks for what a field names as the next page without a link: `next_page: 2` for `page=2`, `nextPageToken: "c"` for
 * `pageToken=c`. A service that does not know it serves the same page again, or refuses.
 */
export function nextOf(bytes: Buffer, value: Span, key: string): MetadataField["turn"] {
  const kind = kindOf(bytes, value);
  if (kind === "object") return nextIn(bytes, value);
  if (kind !== "number" && kind !== "string") return undefined;
  const text = kind === "number" ? textOf(bytes, value) : headOf(bytes, value, LINK_MAX);
  if (/^[/?]|:\/\//.test(text)) return undefined; // a link
  const isNumber = /^\d{1,9}$/.test(text);
  // The parameter has the whole name at AWS and others, unlike `nextPageToken`.
  if (/^next_?token$/i.test(key)) return [key, text];
  const name = key.replace(/^[@$._-]*next[_\-. ]*/i, "").replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
  if (isNumber) return [name === "" ? "page" : name, text];
  return [name === "" ? "cursor" : name, text];
}

/** `{"page": 2, "size": 50}` */
function nextIn(bytes: Buffer, object: Span): MetadataField["turn"] {
  let asks: MetadataField["turn"];
  someMember(bytes, object, ({ key, value }) => {
    const kind = kindOf(bytes, value);
    const isScalar = kind === "number" || (kind === "string" && value.end - value.start <= LINK_MAX);
    if (!isScalar || !(THIS_PAGE_NAME.test(plainOf(key)) || NEXT_PARAMETER.test(plainOf(key)))) return false;
    asks = [key, kind === "number" ? textOf(bytes, value) : stringOf(bytes, value)];
    return true;
  });
  return asks;
}

/** A link in a list of links: `{"rel": "next", "href": "…"}`. */
export function readRelated(bytes: Buffer, object: Span, place: string): MetadataField | undefined {
  let isNext = false;
  someMember(bytes, object, ({ key, value }) => {
    isNext = /^rel$/i.test(key) && kindOf(bytes, value) === "string" && stringOf(bytes, value).toLowerCase() === "next";
    return isNext;
  });
  const { link } = isNext ? linkOf(bytes, object) : {};
  if (link === undefined) return undefined;
  return { kind: "omitted", place: placeIn(place, "next"), says: link !== "", isClear: true, link };
}

/**
 * How to ask for the next page where there is no link to it: by what its field says, by the number of this page or a cursor beside a flag, or
 * by an offset where a total is beyond the records of the list.
 */
export function turnOf(
  { kind, place, says, isClear, count = 0 }: MetadataField,
  { shown, size, next: named }: { shown: ShownPage; size: number; next: MetadataField["turn"] },
): Pick<MetadataField, "turn"> {
  const { page, offset, cursor } = shown;
  const isNamed = kind === "more" && says && !isClear && NEXT_NAME.test(lastName(place));
  if (isNamed && named !== undefined) return { turn: named };
  if (kind === "more" && says && isClear && page !== undefined) return { turn: [page[0], String(page[1] + 1)] };
  if (kind === "more" && says && isClear && cursor !== undefined) return { turn: cursor };
  const next = (offset?.[1] ?? 0) + size;
  const isBeyond = kind === "count" && TOTAL_NAME.test(lastName(place)) && count > next && size > 0;
  return isBeyond && offset !== undefined ? { turn: [offset[0], String(next), Math.ceil(count / size)] } : {};
}

/** The link, or that in an object with `href` or `url`. */
export function linkOf(bytes: Buffer, value: Span): Pick<MetadataField, "link"> {
  if (kindOf(bytes, value) === "string") return { link: headOf(bytes, value, LINK_MAX) };
  let link: string | undefined;
  if (kindOf(bytes, value) === "object")
    someMember(bytes, value, (member) => {
      const isLink = /^(?:href|url)$/i.test(member.key) && kindOf(bytes, member.value) === "string";
      if (isLink) link = headOf(bytes, member.value, LINK_MAX);
      return isLink;
    });
  return link === undefined ? {} : { link };
}

/** A number that may be that of the records, whatever its name. */
export function readNumber(bytes: Buffer, value: Span, place: string): MetadataField | undefined {
  if (kindOf(bytes, value) !== "number" && kindOf(bytes, value) !== "string") return undefined;
  if (value.end - value.start > NUMBER_MAX) return undefined;
  const text = kindOf(bytes, value) === "string" ? stringOf(bytes, value) : textOf(bytes, value);
  if (!/^\d{1,7}$/.test(text)) return undefined;
  return { kind: "number", place, says: false, count: Number(text), isClear: false };
}
