/*
 * The fields beside the list of records in an answer: other records, counts, pages, and flags that there is more. Pure.
 */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import {
  elementsInSlices,
  headOf,
  kindOf,
  type Span,
  skipBlanks,
  someMember,
  stringOf,
  textOf,
} from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { type OrderMapping, readRecordId, VALUE_FIELDS } from "../records/order-mapping.ts";
import { type BesideEmpty, readBesideEmpty } from "./empty-form.ts";
import { placeIn, totalsOf } from "./list-totals.ts";

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
  /** The number of elements of the list itself that have no content. */
  empty?: number;
  /** The link to the next page, where that is a text. */
  link?: string;
  /** The parameter that requests the next page where there is no link, and the number of the last page, if it is known. */
  turn?: readonly [name: string, value: string, last?: number];
  /** The page that it refers to exists, and could not be read. */
  isMissing?: true;
  /**
   * For a number or a count of items: it equals the number of all lines of the records, or the sum of their quantities.
   */
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

const FIELDS_MAX = 60;
const DEPTH_MAX = 8;
const PLACES_MAX = 5_000;
/** The elements of a list that are examined: records are alike. */
const ELEMENTS_MAX = 5;
const IDS_MAX = 50;
/** The most orders named beside the list; more than a batch has. */
const NAMED_MAX = 10_000;
/** The most numbers without a known name. */
const NUMBERS_MAX = 30;
const NAME_MAX = 60;
/** The largest batch that is examined for numbers of lines: such a number is known from smaller batches before. */
const EXPLAINED_MAX = 1_000;
/** The most characters of a number, with its quotes. */
const NUMBER_MAX = 9;
const LINK_MAX = 4_000;
/** The most places that a message names. */
const TOLD_MAX = 3;

/** Counts of what is in the answer. */
const COUNT_NAME =
  /^(?:odata)?(?:num|number|n)?(?:of)?(?:orders?|updates?|changes?|records?|items?|rows?|results?)?(?:count|size|length|returned|found|waiting|pending|remaining|left|количество|найдено|осталось)(?:of)?(?:orders|updates|changes|records|items|rows|results)?$/;
/** They may also count everything that exists. */
const TOTAL_NAME =
  /^(?:(?:grand|overall)?total|totals?(?:count|size|records|items|rows|results|orders|updates|elements|pages)|(?:record|row|item|order|element)s?total|всего|итого)$/;
/** They count the list beside them, not the waiting records. */
const SIZE_NAME =
  /^(?:odata)?(?:num|number|n)?(?:of)?(?:orders?|records?|items?|rows?)?(?:count|size|length|returned|количество)$/;
/** They count records that are not in the list. */
const REST_NAME = /waiting|pending|remaining|left|осталось/;
/** They may also count the lines of the records. */
const LINES_NAME = /items?|rows?/;
/** They count all pages, or name the last one. */
const PAGES_NAME =
  /^(?:(?:num|number(?:of)?|count|total(?:of)?)?(?:pages|parts)(?:count|total)?|(?:pages?|parts?)count|lastpage|of|(?:всего)?(?:страниц|частей))$/;
/** They state that the list is incomplete. */
const PART_FLAG = /^(?:is)?(?:partial|incomplete|truncated|complete|whole|неполный|полный)$/;
/** For these, `false` does. */
const WHOLE_FLAG = /^(?:is)?(?:complete|whole|полный)$/;
/** Beside the number of pages: the number of this page. */
const THIS_PAGE_NAME = /^(?:page|currentpage|page(?:number|no|num|index)|part|part(?:number|no|num)|страница|часть)$/;
/** Those of them that are not parameters of a request. */
const SHOWN_PAGE_NAME = /^(?:currentpage|pageindex)$/;
/** Beside a flag that more follows: where it goes on, and the parameter that asks for it. */
const CURSOR_PARAMETERS: Readonly<Record<string, string>> = { endcursor: "after", cursor: "cursor" };
/** Beside a total: how many records come before these. */
const OFFSET_NAME = /^(?:offset|skip)$/;
/** They describe records that are not in the list. */
const LEFT_OUT_NAME =
  /^(?:(?:orders?|records?|items?)?(?:skipped|omitted|deferred|postponed|failed|unavailable|leftout|notloaded)(?:orders?|records?|items?)?|errors?|пропущено|отложено)$/;
/** The link to the rest of the same list, in OData, HAL and Google's APIs. */
const REST_PLACE = /(?:^|\.)(?:@?odata\.nextLink|_links\.next|nextPageToken)$/;
/** They may refer to anything. */
const WARNING_NAME = /^(?:warnings?|notices?|предупреждения)$/;
/** They state that more follows. */
const MORE_FLAG =
  /^(?:(?:has|is|there(?:is|are)?)?(?:more|next)(?:page|pages|data|items|results|records|orders)?|truncated|istruncated|incomplete|естьеще|ещё|еще)$/;
/** The link to the next page, which some services always include. */
const NEXT_NAME =
  /^(?:next(?:page|url|uri|link|href|cursor|token|offset|pagetoken|pageurl)?|(?:continuation|page)token|следующая(?:страница)?)$/;

/**
 * @param ignored paths that the configuration reads, such as a position that is followed
 * @param head the fields of the answer's head
 */
export function* readMetadataInSlices(
  bytes: Buffer,
  { root, size }: { root: Span; size: number },
  {
    list,
    mapping,
    ignored,
    head,
    hideSecrets,
  }: {
    list: JsonPath;
    mapping: OrderMapping;
    ignored: readonly JsonPath[];
    head: readonly MetadataField[];
    hideSecrets: (text: string) => string;
  },
): Slices<ListMetadata> {
  const skipped = new Set(
    [list, ...ignored].flatMap((path) => {
      const found = resolvePath(bytes, root, path);
      return found.state === "value" ? [found.span.start] : [];
    }),
  );
  const ofList = { place: list.text, isNull: resolvePath(bytes, root, list).state === "null" };
  const besideEmpty =
    size === 0 ? { besideEmpty: readBesideEmpty(bytes, root, { list: ofList, skipped, hideSecrets }) } : {};
  if (kindOf(bytes, root) !== "object") return { ...NO_METADATA, fields: head, size, ...besideEmpty };
  const fields: MetadataField[] = [...head];
  const numbers: MetadataField[] = [];
  const waiting: Place[] = [{ span: root, place: "", depth: 0, isElement: false }];
  for (let places = 0; waiting.length > 0 && places < PLACES_MAX; places++) {
    if (places % 100 === 99) yield;
    const { span, place, depth, isElement } = waiting.shift() as Place;
    if (depth > 0 && skipped.has(span.start)) continue;
    if (kindOf(bytes, span) === "array") {
      const elements = yield* elementsInSlices(bytes, span);
      const ids = readIds(bytes, elements, mapping);
      if (ids !== undefined) addIds(fields, place, ids);
      for (const element of elements.slice(0, ELEMENTS_MAX))
        if (depth < DEPTH_MAX && isContainer(bytes, element))
          waiting.push({ span: element, place, depth: depth + 1, isElement: true });
      continue;
    }
    const id = depth === 0 ? undefined : readAsRecord(bytes, span, mapping);
    if (id !== undefined) {
      addRecord(fields, place, id);
      continue;
    }
    const related = readRelated(bytes, span, place);
    if (related !== undefined && fields.length < FIELDS_MAX) fields.push(related);
    const { pages, ...shown } = isElement ? NOT_SHOWN : readPages(bytes, span, place);
    if (pages !== undefined && fields.length < FIELDS_MAX) fields.push(pages);
    someMember(bytes, span, ({ key, value }) => {
      if (skipped.has(value.start) || key.length > NAME_MAX) return false;
      const at = placeIn(place, key);
      const leftOut = readLeftOut(bytes, value, { name: plainOf(key), place: at });
      if (leftOut !== undefined && fields.length < FIELDS_MAX) fields.push(leftOut);
      if (isContainer(bytes, value)) {
        if (depth < DEPTH_MAX && waiting.length < PLACES_MAX)
          waiting.push({ span: value, place: at, depth: depth + 1, isElement });
        if (kindOf(bytes, value) === "array") return false;
      }
      const field = readField(bytes, value, { name: plainOf(key), place: at });
      if (field !== undefined && fields.length < FIELDS_MAX)
        fields.push({ ...field, ...turnOf(field, { shown, size, next: nextOf(bytes, value, key) }) });
      const number = field === undefined && !isElement ? readNumber(bytes, value, at) : undefined;
      if (number !== undefined && numbers.length < NUMBERS_MAX) numbers.push(number);
      return false;
    });
  }
  const hasOthers = size > 0 && fields.some(({ kind }) => kind === "records");
  const ids = hasOthers ? yield* idsInList(bytes, root, { list, mapping }) : new Set<string>();
  const all = [...fields, ...numbers];
  const mayBeLines = (field: MetadataField) => size > 0 && (field.count ?? 0) > size && mayCountLines(field);
  const totals = size <= EXPLAINED_MAX && all.some(mayBeLines) ? yield* totalsOf(bytes, root, list) : new Set<number>();
  const explained = all.map((field) =>
    totals.has(field.count ?? 0) && mayCountLines(field) ? { ...field, isExplained: true as const } : field,
  );
  return { fields: explained, size, ids, ...besideEmpty };
}

interface Place {
  span: Span;
  place: string;
  depth: number;
  /** It is in a list, so that its numbers refer to one element. */
  isElement: boolean;
}

/** The ids of a list that contains only ids, or records; undefined for any other list. */
function readIds(bytes: Buffer, elements: readonly Span[], mapping: OrderMapping): string[] | undefined {
  const [first] = elements;
  if (first === undefined) return undefined;
  const named = elements.slice(0, NAMED_MAX);
  if (kindOf(bytes, first) === "string") {
    const ids = named.flatMap((element) => (kindOf(bytes, element) === "string" ? stringOf(bytes, element) : []));
    const areIds = ids.length === named.length && ids.every((id) => readOrderId(id) !== undefined);
    return areIds ? ids : undefined;
  }
  if (kindOf(bytes, first) !== "object" || "reason" in readRecordId(bytes, first, mapping)) return undefined;
  return named.flatMap((element) => {
    const id = kindOf(bytes, element) === "object" ? readRecordId(bytes, element, mapping) : undefined;
    return id === undefined || "reason" in id ? [] : id.serviceId;
  });
}

/** Adds the ids to the field whose name states what they are, or else as a field of their own. */
function addIds(fields: MetadataField[], place: string, ids: readonly string[]): void {
  const at = fields.findIndex((field) => field.place === place && (field.kind === "omitted" || field.kind === "ids"));
  const before = fields[at];
  if (before !== undefined) fields[at] = { ...before, ids: [...(before.ids ?? []), ...ids].slice(0, NAMED_MAX) };
  else if (fields.length < FIELDS_MAX) fields.push({ kind: "ids", place, says: true, isClear: false, ids });
}

/** An element without content, `null`, `{}`, `[]` or `""`: possibly an order that the service could not write. */
export function isEmptyRecord(bytes: Buffer, element: Span): boolean {
  const { start, end } = element;
  const kind = kindOf(bytes, element);
  if (kind === "null") return true;
  if (kind === "object" || kind === "array") return skipBlanks(bytes, start + 1) === end - 1;
  return kind === "string" && end - start === 2;
}

export function countEmptyRecords(bytes: Buffer, elements: readonly Span[]): number {
  return elements.filter((element) => isEmptyRecord(bytes, element)).length;
}

/** @param path of the list */
export function withEmptyRecords(answer: ListMetadata, path: string, empty: number): ListMetadata {
  if (empty === 0) return answer;
  const field: MetadataField = { kind: "omitted", place: `${path}[]`, says: true, isClear: true, empty };
  return { ...answer, fields: [...answer.fields, field] };
}

function isContainer(bytes: Buffer, span: Span): boolean {
  const kind = kindOf(bytes, span);
  return kind === "object" || kind === "array";
}

function plainOf(key: string): string {
  return key.replace(/[_\- .$@]/g, "").toLowerCase();
}

/** The id of a value that looks like a record of the list; `""` where it has most of the fields and no id. */
function readAsRecord(bytes: Buffer, span: Span, mapping: OrderMapping): { id: string; isClear: boolean } | undefined {
  const id = readRecordId(bytes, span, mapping);
  const fields = VALUE_FIELDS.filter((field) => resolvePath(bytes, span, mapping.paths[field]).state !== "absent");
  if ("reason" in id) return fields.length * 2 > VALUE_FIELDS.length ? { id: "", isClear: true } : undefined;
  return { id: id.orderId, isClear: fields.length > 0 };
}

function addRecord(fields: MetadataField[], place: string, { id, isClear }: { id: string; isClear: boolean }): void {
  const at = fields.findIndex((field) => field.kind === "records" && field.place === place);
  const before = fields[at];
  if (before === undefined) fields.push({ kind: "records", place, says: true, isClear, ids: id === "" ? [] : [id] });
  else if ((before.ids?.length ?? 0) < ELEMENTS_MAX)
    fields[at] = {
      ...before,
      isClear: before.isClear || isClear,
      ids: [...(before.ids ?? []), ...(id === "" ? [] : [id])],
    };
}

function* idsInList(
  bytes: Buffer,
  root: Span,
  { list, mapping }: { list: JsonPath; mapping: OrderMapping },
): Slices<ReadonlySet<string>> {
  const found = resolvePath(bytes, root, list);
  const ids = new Set<string>();
  if (found.state !== "value" || kindOf(bytes, found.span) !== "array") return ids;
  for (const element of (yield* elementsInSlices(bytes, found.span)).slice(0, IDS_MAX)) {
    const id = kindOf(bytes, element) === "object" ? readRecordId(bytes, element, mapping) : undefined;
    if (id !== undefined && !("reason" in id)) ids.add(id.orderId);
  }
  return ids;
}

function readField(
  bytes: Buffer,
  value: Span,
  { name, place }: { name: string; place: string },
): MetadataField | undefined {
  const kind = kindOf(bytes, value);
  const text = kind === "string" ? stringOf(bytes, value).trim() : kind === "object" ? "" : textOf(bytes, value);
  const isNumber = kind === "number" || (kind === "string" && /^\d{1,15}$/.test(text));
  if (isNumber && (COUNT_NAME.test(name) || TOTAL_NAME.test(name))) {
    const count = Number(text);
    return { kind: "count", place, says: count > 0, count, isClear: COUNT_NAME.test(name) };
  }
  if (isNumber && PAGES_NAME.test(name))
    return { kind: "pages", place, says: false, count: Number(text), isClear: false };
  if (kind === "boolean" && PART_FLAG.test(name) && !MORE_FLAG.test(name))
    return { kind: "part", place, says: text === (WHOLE_FLAG.test(name) ? "false" : "true"), isClear: false };
  if (kind === "boolean" && MORE_FLAG.test(name))
    return { kind: "more", place, says: text === "true", isClear: text === "true" };
  if (!NEXT_NAME.test(name) && !MORE_FLAG.test(name)) return undefined;
  const isNothing = ["", "0", "null", "false", "none"].includes(text.toLowerCase());
  // An object or a number may mean anything; that it states nothing is used.
  return { kind: "more", place, says: kind === "object" ? true : !isNothing, isClear: false, ...linkOf(bytes, value) };
}

/** The link, or that in an object with `href` or `url`. */
function linkOf(bytes: Buffer, value: Span): Pick<MetadataField, "link"> {
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
function readNumber(bytes: Buffer, value: Span, place: string): MetadataField | undefined {
  if (kindOf(bytes, value) !== "number" && kindOf(bytes, value) !== "string") return undefined;
  if (value.end - value.start > NUMBER_MAX) return undefined;
  const text = kindOf(bytes, value) === "string" ? stringOf(bytes, value) : textOf(bytes, value);
  if (!/^\d{1,7}$/.test(text)) return undefined;
  return { kind: "number", place, says: false, count: Number(text), isClear: false };
}

/** Which page of the list this is. */
interface ShownPage {
  /** `page` 1 of `pages` 3. Where pages are counted from 0, the first of one is the last. */
  pages?: MetadataField | undefined;
  page?: readonly [name: string, number: number];
  offset?: readonly [name: string, number: number];
  cursor?: readonly [name: string, value: string];
}

const NOT_SHOWN: ShownPage = {};

function readPages(bytes: Buffer, object: Span, place: string): ShownPage {
  const found: Omit<ShownPage, "pages"> & { number?: number; pages?: number; at?: string } = {};
  someMember(bytes, object, ({ key, value }) => {
    const asks = CURSOR_PARAMETERS[plainOf(key)];
    if (asks !== undefined && kindOf(bytes, value) === "string") found.cursor = [asks, headOf(bytes, value, LINK_MAX)];
    const { count, place: at } =
      (key.length > NAME_MAX ? undefined : readNumber(bytes, value, placeIn(place, key))) ?? {};
    if (count === undefined || at === undefined) return false;
    const name = plainOf(key);
    if (THIS_PAGE_NAME.test(name)) found.page = [SHOWN_PAGE_NAME.test(name) ? "page" : key, count];
    if (OFFSET_NAME.test(name)) found.offset = [key, count];
    if (name === "number") found.number = count;
    if (PAGES_NAME.test(name)) Object.assign(found, { pages: count, at });
    return found.page !== undefined && found.pages !== undefined;
  });
  const { number, pages, at, ...shown } = found;
  // `number` has other meanings elsewhere.
  const [name, page] = shown.page ?? ["page", at?.endsWith("totalPages") ? number : undefined];
  if (page === undefined || pages === undefined || at === undefined) return shown;
  // Where pages are counted from 0, the number of the last one is less than their count.
  const isLast = lastName(at) === "lastpage";
  const says = page === 0 && !isLast ? pages > 1 : page < pages;
  const asks = says ? { turn: [name, String(page + 1), isLast ? Number.POSITIVE_INFINITY : pages] as const } : {};
  return { pages: { kind: "omitted", place: at, says, count: pages, isClear: true, ...asks } };
}

/**
 * The parameter that asks for what a field names as the next page without a link: `next_page: 2` for `page=2`, `nextPageToken: "c"` for
 * `pageToken=c`. A service that does not know it serves the same page again, or refuses.
 */
function nextOf(bytes: Buffer, value: Span, key: string): MetadataField["turn"] {
  const kind = kindOf(bytes, value);
  if (kind !== "number" && kind !== "string") return undefined;
  const text = kind === "number" ? textOf(bytes, value) : headOf(bytes, value, LINK_MAX);
  if (/^[/?]|:\/\//.test(text)) return undefined; // a link
  const isNumber = /^\d{1,9}$/.test(text);
  const name = key.replace(/^[@$._-]*next[_\-. ]*/i, "").replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
  if (isNumber) return [name === "" ? "page" : name, text];
  return [name === "" ? "cursor" : name, text];
}

/** A link in a list of links: `{"rel": "next", "href": "…"}`. */
function readRelated(bytes: Buffer, object: Span, place: string): MetadataField | undefined {
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
function turnOf(
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

/** Fields which state that records were left out of a batch: a list or an object with content, a number, a text. */
function readLeftOut(
  bytes: Buffer,
  value: Span,
  { name, place }: { name: string; place: string },
): MetadataField | undefined {
  const isClear = LEFT_OUT_NAME.test(name) || REST_PLACE.test(place);
  if (!isClear && !WARNING_NAME.test(name)) return undefined;
  const text = value.end - value.start > NAME_MAX ? "…" : textOf(bytes, value).replace(/\s/g, "");
  const says = !["[]", "{}", "0", "null", "false", '""', "[null]"].includes(text);
  return { kind: "omitted", place, says, isClear, ...(REST_PLACE.test(place) && linkOf(bytes, value)) };
}

/** Identifies the field in all answers of an endpoint. */
export function keyOf({ kind, place }: MetadataField): string {
  return `${kind} ${place}`;
}

/** For a message, independent of language: `data (records), meta.count = 2, has_more`. */
export function describeFields(fields: readonly MetadataField[]): string {
  return fields
    .slice(0, TOLD_MAX)
    .map(({ kind, place, count, ids }) => {
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

function mayCountLines({ kind, place }: MetadataField): boolean {
  return kind === "number" || (kind === "count" && LINES_NAME.test(lastName(place)));
}

function lastName(place: string): string {
  return plainOf(place.split(".").at(-1) ?? "");
}
