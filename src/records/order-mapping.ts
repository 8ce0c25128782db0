import {
  compilePathSet,
  type JsonPath,
  kindWords,
  type PathSet,
  parsePath,
  resolvePath,
  resolvePaths,
  resolveSingle,
} from "../answers/json-path.ts";
import { elementsOf, kindOf, readScalar, type Span, TEXT_BYTES_MAX, textOf } from "../answers/json-text.ts";
import { isUuidOfNothing, readOrderId } from "../answers/uuid.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { BadRecord } from "../pass/quarantine-rows.ts";

/** The paths of fields in one kind of record. */
export interface OrderMapping {
  /** The answer these paths belong to; part of the key under which a match is saved. */
  source: OrderSource;
  paths: Record<OrderField, JsonPath>;
  line: Record<LineField, JsonPath>;
  /**
   * The same paths compiled for one walk: of {@link VALUE_FIELDS} and of {@link LINE_FIELDS}, each with those of the
   * extra columns behind them, which the views read.
   */
  values: PathSet;
  lineValues: PathSet;
  /** Names of all of them, in the same order. */
  names: readonly string[];
  lineNames: readonly string[];
  /** Fields that at least one record of an answer must have: the required ones and those set in the configuration. */
  mustMatch: readonly OrderField[];
  /** Fields without which a record cannot be stored. */
  required: readonly OrderField[];
}

export type OrderSource = "batch" | "update" | "snapshot";

/** The kind under which a bad record is quarantined. */
export const BAD_KIND: Record<OrderSource, BadRecord["kind"]> = {
  batch: "order",
  update: "change",
  snapshot: "snapshot",
};
/** Kinds of quarantined orders. A good record of an order releases all of them, whichever answer it came in. */
export const ORDER_KINDS = Object.values(BAD_KIND);

export const ORDER_FIELDS = [
  "order_id",
  "number",
  "status",
  "created_at",
  "updated_at",
  "currency",
  "total",
  "lines",
] as const;
export type OrderField = (typeof ORDER_FIELDS)[number];

/** Read from a record once its id is known. */
export const VALUE_FIELDS = ORDER_FIELDS.filter((field) => field !== "order_id");

export const LINE_FIELDS = ["sku", "name", "quantity", "price"] as const;
export type LineField = (typeof LINE_FIELDS)[number];

/** The values of one order; numbers as their original literals. */
export interface OrderValues {
  number: string | null;
  status: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  currency: string | null;
  total: string | null;
  lines: LineValues[];
}

export interface LineValues {
  sku: string | null;
  name: string | null;
  quantity: string | null;
  price: string | null;
  payload: string;
}

export interface MappingOptions {
  source: OrderSource;
  fields: Record<OrderField, string>;
  line: Record<LineField, string>;
  /** Columns of the views and their paths. */
  extra?: Readonly<Record<string, string>>;
  lineExtra?: Readonly<Record<string, string>>;
  /** True where the path is set in the configuration, so that answers must have it. */
  isWritten: (field: OrderField) => boolean;
  /** Whether records of this source are whole orders, which must have a status and lines. */
  whole: boolean;
}

export function compileMapping(options: MappingOptions): OrderMapping {
  const required: OrderField[] = options.whole ? ["order_id", "status", "lines"] : ["order_id"];
  const paths = mapValues(options.fields, parsePath);
  const line = mapValues(options.line, parsePath);
  const { extra = {}, lineExtra = {} } = options;
  const pathsOf = (columns: Readonly<Record<string, string>>) => Object.values(columns).map(parsePath);
  return {
    source: options.source,
    paths,
    line,
    values: compilePathSet([...VALUE_FIELDS.map((field) => paths[field]), ...pathsOf(extra)]),
    lineValues: compilePathSet([...LINE_FIELDS.map((field) => line[field]), ...pathsOf(lineExtra)]),
    names: [...VALUE_FIELDS, ...Object.keys(extra)],
    lineNames: [...LINE_FIELDS, ...Object.keys(lineExtra)],
    required,
    mustMatch: ORDER_FIELDS.filter(
      (field) => required.includes(field) || (options.isWritten(field) && (options.whole || field === "updated_at")),
    ),
  };
}

export interface RecordId {
  orderId: string;
  serviceId: string;
  /** The original JSON literal, which a confirm repeats. */
  idLiteral: string;
}

interface BadId {
  reason: Message;
  reference: string | null;
  idLiteral: string | null;
}

/** The place of the id may hold a page of text; this much is enough to recognise it. */
const REFERENCE_MAX = 200;

/**
 * Reads a record's id: in lower case for the database, in its original case for requests. A reason where it has none.
 */
export function readRecordId(bytes: Buffer, record: Span, mapping: OrderMapping): RecordId | BadId {
  const path = mapping.paths.order_id;
  const found = resolveSingle(bytes, record, path);
  // No confirm names it: one of the ids may be that of an order that was never served.
  if (found.state === "repeated") return badId(m.orders.idRepeated({ place: found.at }));
  if (found.state === "absent") return badId(m.orders.idMissing({ path: path.text }));
  if (found.state === "null") return badId(m.orders.idNull({ path: path.text }));
  if (found.span.end - found.span.start > TEXT_BYTES_MAX) return badId(m.orders.idNotUuid({ path: path.text }));
  const scalar = readScalar(bytes, found.span);
  if (scalar === undefined) return badId(m.orders.idNotText({ path: path.text }));
  const idLiteral = textOf(bytes, found.span);
  const orderId = readOrderId(scalar);
  if (orderId !== undefined) return { orderId, serviceId: scalar, idLiteral };
  const reason = isUuidOfNothing(scalar) ? m.orders.idOfNothing : m.orders.idNotUuid;
  return { reason: reason({ path: path.text }), reference: orderReference(scalar), idLiteral };
}

/** Quarantine reference of one of several orders with the same id. */
export function orderReference(id: string, number = ""): string {
  return (number === "" ? id : `${id} ${number}`).slice(0, REFERENCE_MAX).toWellFormed();
}

function badId(reason: Message): BadId {
  return { reason, reference: null, idLiteral: null };
}

/**
 * Reads the values of a whole order, or the reason why it cannot be stored. Optional fields that are absent are null;
 * one wrong type refuses the record, because half an order would hide the other half.
 */
export function readOrderValues(
  bytes: Buffer,
  record: Span,
  mapping: OrderMapping,
): { values: OrderValues } | { reason: Message } {
  const texts: Partial<Record<OrderField, string | null>> = {};
  const places = resolvePaths(bytes, record, mapping.values);
  const repeated = findRepeatedValue(bytes, record, { places, paths: mapping.values, names: mapping.names });
  if (repeated !== undefined) return { reason: m.orders.fieldRepeated(repeated) };
  for (const [index, field] of VALUE_FIELDS.entries()) {
    const place = places[index] ?? "absent";
    const path = mapping.paths[field].text;
    if (place === "absent" && mapping.required.includes(field))
      return { reason: m.orders.fieldMissing({ path, field }) };
    if (field === "lines") continue;
    const text = readPlace(bytes, place);
    if (text === undefined) return { reason: m.orders.fieldIs({ path, what: wordsAt(bytes, place), field }) };
    texts[field] = text;
  }
  const lines = readLines(bytes, places[VALUE_FIELDS.indexOf("lines")] ?? "absent", mapping);
  if ("reason" in lines) return lines;
  return {
    values: {
      number: texts.number ?? null,
      status: texts.status ?? null,
      createdAt: texts.created_at ?? null,
      updatedAt: texts.updated_at ?? null,
      currency: texts.currency ?? null,
      total: texts.total ?? null,
      lines: lines.lines,
    },
  };
}

/** The timestamp of a record, or null. Needed before the whole record is read. */
export function readTimestampText(bytes: Buffer, record: Span, mapping: OrderMapping): string | null {
  const found = resolveSingle(bytes, record, mapping.paths.updated_at);
  const isTimestamp = found.state === "value" && found.span.end - found.span.start <= STAMP_BYTES_MAX;
  return isTimestamp ? (readScalar(bytes, found.span) ?? null) : null;
}

/** Longer texts are no timestamp. */
const STAMP_BYTES_MAX = 1_000;

/**
 * Returns the fields of `mapping.mustMatch` that are not in `known` and that no record of the answer has. Stops early:
 * usually the first record has all of them. `keysSeen`: keys of the first record, for the message.
 */
export function findUnmatched(
  bytes: Buffer,
  records: readonly Span[],
  mapping: OrderMapping,
  known: (field: OrderField) => boolean,
): { unmatched: { field: OrderField; path: string; found: Message }[]; matched: OrderField[] } {
  const matched: OrderField[] = [];
  const unmatched: { field: OrderField; path: string; found: Message }[] = [];
  for (const field of mapping.mustMatch) {
    if (known(field)) continue;
    const path = mapping.paths[field];
    if (records.some((record) => resolvePath(bytes, record, path).state !== "absent")) {
      matched.push(field);
      continue;
    }
    unmatched.push({ field, path: path.text, found: describeMiss(bytes, records[0], path) });
  }
  return { unmatched, matched };
}

/** Describes for a message what is found instead of `path`: the deepest place that exists, and its keys. */
export function describeMiss(bytes: Buffer, root: Span | undefined, path: JsonPath): Message {
  if (root === undefined) return m.orders.noRecords;
  const found = resolvePath(bytes, root, path);
  if (found.state !== "absent") return m.orders.itIsThere;
  const place = { at: found.at, found: found.found };
  if (found.keysSeen.length === 0) return m.orders.standsAt(place);
  return m.orders.standsAtWithKeys({ ...place, keys: shortWords(found.keysSeen.join(", ")) });
}

function readLines(bytes: Buffer, place: Place, mapping: OrderMapping): { lines: LineValues[] } | { reason: Message } {
  if (typeof place === "string") return { lines: [] };
  const path = mapping.paths.lines.text;
  if (kindOf(bytes, place) !== "array") return { reason: m.orders.linesNotList({ path }) };
  const lines: LineValues[] = [];
  // A line may be a plain value where its path is `$`.
  const areObjects = LINE_FIELDS.every((field) => mapping.line[field].steps.length > 0);
  for (const [index, element] of elementsOf(bytes, place).entries()) {
    const line = index + 1;
    const kind = kindOf(bytes, element);
    const all = resolvePaths(bytes, element, mapping.lineValues);
    const places = all.slice(0, LINE_FIELDS.length);
    // An object without any of the fields is a line: all of them are optional.
    const isNoLine = kind !== "object" && places.every((each) => each === "absent");
    if ((areObjects && isScalar(kind)) || isNoLine) {
      return { reason: m.orders.lineIs({ line, path, what: kindWords(kind) }) };
    }
    const repeated = findRepeatedValue(bytes, element, {
      places: all,
      paths: mapping.lineValues,
      names: mapping.lineNames,
    });
    if (repeated !== undefined) return { reason: m.orders.lineFieldRepeated({ line, ...repeated }) };
    const texts = places.map((each) => readPlace(bytes, each));
    const bad = texts.indexOf(undefined);
    if (bad !== -1) {
      const field = LINE_FIELDS[bad]!;
      const what = wordsAt(bytes, places[bad]!);
      return { reason: m.orders.lineFieldIs({ line, path: mapping.line[field].text, what, field }) };
    }
    const [sku = null, name = null, quantity = null, price = null] = texts;
    lines.push({ sku, name, quantity, price, payload: textOf(bytes, element) });
  }
  return { lines };
}

/** What a path leads to. */
type Place = ReturnType<typeof resolvePaths>[number];

/** The first field whose path leads to different values, with the place where they differ. */
function findRepeatedValue(
  bytes: Buffer,
  root: Span,
  { places, paths: { paths }, names }: { places: readonly Place[]; paths: PathSet; names: readonly string[] },
): { place: string; field: string } | undefined {
  const index = places.indexOf("repeated");
  const path = paths[index];
  if (path === undefined) return undefined;
  const found = resolveSingle(bytes, root, path);
  return { place: found.state === "repeated" ? found.at : path.text, field: names[index] ?? "" };
}

/** The text at a place: null where there is none, undefined for a list or an object. */
function readPlace(bytes: Buffer, place: Place): string | null | undefined {
  return typeof place === "string" ? null : readScalar(bytes, place);
}

/** Describes a place for which {@link readPlace} returns undefined. */
function wordsAt(bytes: Buffer, place: Place): Message {
  return typeof place === "string" ? m.common.foreign({ text: place }) : kindWords(kindOf(bytes, place));
}

function isScalar(kind: string): boolean {
  return kind !== "array" && kind !== "object";
}

function mapValues<K extends string, A, B>(record: Record<K, A>, change: (value: A) => B): Record<K, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value as A)])) as Record<K, B>;
}
