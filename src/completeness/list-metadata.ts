/*
 * The fields beside the list of records in an answer: other records, counts, pages, and flags that there is more. Pure.
 */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import { elementsInSlices, kindOf, type Span, skipBlanks, someMember, stringOf, textOf } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { shortWords } from "../messages/inert-text.ts";
import { type OrderMapping, readRecordId, VALUE_FIELDS } from "../records/order-mapping.ts";
import { findLostWords } from "../service/outcome/partial-acceptance.ts";
import { isNothing } from "../service/outcome/reported-errors.ts";
import { NAMES, TEXTS } from "../service/outcome/vocabulary.ts";
import { readBesideEmpty } from "./empty-form.ts";
import { sumsOf } from "./line-sums.ts";
import { placeIn, totalsOf } from "./list-totals.ts";
import {
  COUNT_NAME,
  type ListMetadata,
  type MetadataField,
  mayBeTotal,
  mayCountLines,
  mayCountSums,
  NO_METADATA,
  PAGES_NAME,
  PART_FLAG,
  plainOf,
  REST_PLACE,
  TOTAL_NAME,
} from "./metadata-fields.ts";
import {
  linkOf,
  NAME_MAX,
  NEXT_NAME,
  NOT_SHOWN,
  nextOf,
  readNumber,
  readPages,
  readRelated,
  turnOf,
} from "./page-fields.ts";

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
/** The largest batch that is examined for numbers of lines: such a number is known from smaller batches before. */
const EXPLAINED_MAX = 1_000;
/** The same for sums over their lines alone. */
const SUMMED_MAX = 10_000;

/** For these, `false` does. */
const WHOLE_FLAG = /^(?:is)?(?:complete|whole|полный)$/;
/** They state that more follows. */
const MORE_FLAG =
  /^(?:(?:has|is|there(?:is|are)?)?(?:more|next)(?:page|pages|data|items|results|records|orders)?|truncated|istruncated|incomplete|естьеще|ещё|еще)$/;

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
    const parent = { isElement, isBeside: !isElement && isAround(place, list) };
    const { pages, ...shown } = isElement ? NOT_SHOWN : readPages(bytes, span, place);
    if (pages !== undefined && fields.length < FIELDS_MAX) fields.push(pages);
    someMember(bytes, span, ({ key, value }) => {
      if (skipped.has(value.start) || key.length > NAME_MAX) return false;
      if (shown.hasPageSize === true && key === "size") return false;
      const at = placeIn(place, key);
      const leftOut = readLeftOut(bytes, value, { name: plainOf(key), place: at, ...parent });
      if (leftOut !== undefined && fields.length < FIELDS_MAX) fields.push(hideIn(leftOut, hideSecrets));
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
  // What the head counts are records.
  const mayBeSum = (field: MetadataField) =>
    size > 0 && (field.count ?? 0) >= size && mayCountSums(field) && !head.includes(field);
  const sums = size <= SUMMED_MAX && all.some(mayBeSum) ? yield* sumsOf(bytes, root, { list, mapping }) : undefined;
  const explained = all.map((field) => {
    const { count = 0 } = field;
    const isSum = mayBeSum(field) && (sums?.explains(count) || (mayBeTotal(field) && sums?.isTotal(count)));
    const isTotal = totals.has(count) && mayCountLines(field);
    return isTotal || isSum ? { ...field, isExplained: true as const } : field;
  });
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

/**
 * Fields which state that records were left out of a batch: a list or an object with content, a number, a text. Warnings
 * and messages may be about anything, so their words decide.
 */
function readLeftOut(
  bytes: Buffer,
  value: Span,
  { name, place, isElement, isBeside }: { name: string; place: string; isElement: boolean; isBeside: boolean },
): MetadataField | undefined {
  const isNamed = NAMES.leftOutOrders.test(name) || REST_PLACE.test(place);
  const isWarning = NAMES.warning.test(name);
  const isMessage = isBeside && NAMES.text.test(name) && /^(?:string|array)$/.test(kindOf(bytes, value));
  const words = !isNamed && ((isWarning && !isElement) || isMessage) ? findLostWords(bytes, value) : undefined;
  if (!isNamed && !isWarning && words === undefined) return undefined;
  const isClear = isNamed || words !== undefined;
  const link = REST_PLACE.test(place) ? linkOf(bytes, value) : {};
  return {
    kind: "omitted",
    place,
    says: saysSome(bytes, value),
    isClear,
    ...link,
    ...(words !== undefined && { words }),
  };
}

function saysSome(bytes: Buffer, value: Span): boolean {
  if (value.end - value.start > NAME_MAX) return true;
  const isNone = kindOf(bytes, value) === "string" && TEXTS.notAny.test(stringOf(bytes, value));
  return !isNone && !isNothing(bytes, value) && textOf(bytes, value).replace(/\s/g, "") !== "[null]";
}

/** Before it is shortened: a part of a secret cannot be recognised. */
function hideIn(field: MetadataField, hideSecrets: (text: string) => string): MetadataField {
  return field.words === undefined ? field : { ...field, words: shortWords(hideSecrets(field.words)) };
}

/** Whether the list is in the object at this place, or it is an envelope: other objects are data of the shop. */
function isAround(place: string, list: JsonPath): boolean {
  if (list.text.startsWith(`$.${place}.`)) return true;
  return place === "" || place.split(".").every((name) => NAMES.envelopeOfCounts.test(plainOf(name)));
}
