/*
 * Guesses where an unknown service keeps which value, from names and values in parsed answers. Nothing from these
 * answers is stored or sent; findings are proposed to a person.
 */

import { formatPath, type PathStep, parsePath } from "../answers/json-path.ts";
import { parseTimestamp } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { LineField, OrderField } from "../records/order-mapping.ts";

/** Limits of the search in an answer. */
const DEPTH_MAX = 5;
const MEMBERS_MAX = 300;
const RECORDS_MAX = 50;

export type Group = Readonly<Record<string, unknown>>;

export function isGroup(value: unknown): value is Group {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined where there is none. */
export function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const step of parsePath(path).steps) {
    if (typeof step === "number") value = Array.isArray(value) ? value.at(step) : undefined;
    else value = isGroup(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

export interface FoundList {
  path: string;
  items: unknown[];
}

/** All lists in an answer that may hold records: lists of objects, and empty lists. The shallowest first. */
function findLists(root: unknown): FoundList[] {
  const found: (FoundList & { depth: number })[] = [];
  const visit = (value: unknown, steps: readonly PathStep[]): void => {
    if (Array.isArray(value)) {
      if (value.every(isGroup)) found.push({ path: formatPath(steps), items: value, depth: steps.length });
      return;
    }
    if (!isGroup(value) || steps.length >= DEPTH_MAX) return;
    for (const [key, inner] of Object.entries(value).slice(0, MEMBERS_MAX)) visit(inner, [...steps, key]);
  };
  visit(root, []);
  return found.sort((a, b) => a.depth - b.depth).map(({ path, items }) => ({ path, items }));
}

/**
 * The list that most likely holds orders or changes, because its items have ids. Undefined where none or several
 * qualify.
 */
export function guessRecordList(root: unknown): FoundList | undefined {
  const lists = findLists(root);
  const withIds = lists.filter(({ items }) => items.length > 0 && items.slice(0, RECORDS_MAX).every(hasUuid));
  if (withIds.length > 0) return withIds[0];
  const empty = lists.filter(({ items }) => items.length === 0);
  return lists.length === 1 && empty.length === 1 ? empty[0] : undefined;
}

function hasUuid(item: unknown): boolean {
  return leavesOf(item).some(({ value }) => typeof value === "string" && readOrderId(value) !== undefined);
}

/**
 * Path of the object in which `idPath` has this id; without `idPath`, of the first object that has the id as a member.
 */
export function findOrderRoot(root: unknown, orderId: string, idPath?: string): string | undefined {
  const isId = (value: unknown) => typeof value === "string" && value.toLowerCase() === orderId;
  const queue: { value: unknown; steps: readonly PathStep[] }[] = [{ value: root, steps: [] }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { value, steps } = next;
    const ids = !isGroup(value) ? [] : idPath === undefined ? Object.values(value) : [valueAt(value, idPath)];
    if (ids.some(isId)) return formatPath(steps);
    if (steps.length >= DEPTH_MAX) continue;
    const inner = Array.isArray(value)
      ? value.slice(0, 1).map((item, index) => [index, item] as const)
      : isGroup(value)
        ? Object.entries(value)
        : [];
    for (const [step, member] of inner.slice(0, MEMBERS_MAX)) queue.push({ value: member, steps: [...steps, step] });
  }
  return undefined;
}

interface Leaf {
  path: string;
  key: string;
  /** Key of the enclosing object; empty at the top. */
  around: string;
  depth: number;
  value: unknown;
}

/** Scalars and lists of a record, without the content of its lists. */
function leavesOf(record: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (value: unknown, steps: readonly PathStep[]): void => {
    if (isGroup(value) && steps.length < DEPTH_MAX) {
      for (const [key, inner] of Object.entries(value).slice(0, MEMBERS_MAX)) visit(inner, [...steps, key]);
      return;
    }
    leaves.push({
      path: formatPath(steps),
      key: String(steps.at(-1) ?? ""),
      around: String(steps.at(-2) ?? ""),
      depth: steps.length,
      value,
    });
  };
  visit(record, []);
  return leaves;
}

interface Clue {
  /** Whole names in order of preference, in lower case without separators. */
  names: readonly string[];
  /** A weaker hint: the name contains one of these. */
  parts: RegExp;
  fits: (value: unknown) => boolean;
}

const isText = (value: unknown) => typeof value === "string" && value.length <= 200;
const isScalar = (value: unknown) => isText(value) || typeof value === "number";
const isAmount = (value: unknown) =>
  typeof value === "number" || (typeof value === "string" && /^-?\d+([.,]\d+)?$/.test(value));
const isTimestamp = (value: unknown) => isScalar(value) && parseTimestamp(String(value), "UTC") !== undefined;
const isUuid = (value: unknown) => typeof value === "string" && readOrderId(value) !== undefined;
const isLines = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isGroup);

const ORDER_CLUES: Record<OrderField, Clue> = {
  order_id: {
    names: ["orderid", "id", "uuid", "guid", "orderuuid", "ид", "идентификатор", "ссылка", "код"],
    parts: /id$|uid|ид$|ссылка|заказ/,
    fits: isUuid,
  },
  number: {
    names: ["number", "ordernumber", "num", "no", "номер"],
    parts: /number|номер/,
    fits: (v) => isScalar(v) && !isUuid(v),
  },
  status: {
    names: ["status", "state", "orderstatus", "статус"],
    parts: /status|state|статус|состояни/,
    fits: (v) => isScalar(v) && !isTimestamp(v),
  },
  created_at: {
    names: ["createdat", "created", "orderdate", "date", "дата", "датасоздания", "создан"],
    parts: /creat|placed|дата|созда/,
    fits: isTimestamp,
  },
  updated_at: {
    names: ["updatedat", "updated", "modifiedat", "modified", "changedat", "датаизменения", "изменен", "изменён"],
    parts: /updat|modif|chang|измен|обновл/,
    fits: isTimestamp,
  },
  currency: {
    names: ["currency", "currencycode", "валюта"],
    parts: /currency|валют/,
    fits: (v) => typeof v === "string" && v.length <= 5,
  },
  total: {
    names: ["total", "totalprice", "sum", "amount", "totalamount", "сумма", "итого"],
    parts: /total|сумма|итог/,
    fits: isAmount,
  },
  lines: {
    names: ["items", "lines", "positions", "products", "orderitems", "goods", "товары", "строки", "позиции"],
    parts: /item|line|position|product|good|товар|строк|позици/,
    fits: isLines,
  },
};

const LINE_CLUES: Record<LineField, Clue> = {
  sku: {
    names: ["sku", "article", "vendorcode", "productcode", "code", "артикул"],
    parts: /sku|articl|артикул|код/,
    fits: isScalar,
  },
  name: {
    names: ["name", "title", "productname", "наименование", "название", "товар"],
    parts: /name|title|наимен|назван|товар/,
    fits: isText,
  },
  quantity: {
    names: ["quantity", "qty", "count", "количество", "колво"],
    parts: /quant|qty|count|колич/,
    fits: isAmount,
  },
  price: { names: ["price", "unitprice", "цена"], parts: /price|cost|цена/, fits: isAmount },
};

export type Guess =
  | { state: "fits" }
  /** The configured path does not match, and one candidate is clearly the best. */
  | { state: "guess"; path: string }
  /** It does not match, and there is no candidate or no clear best one. */
  | { state: "unknown"; candidates: string[] };

/** Looks for each field in whole orders, starting with the configured path. */
export function guessOrderFields(
  records: readonly unknown[],
  paths: Readonly<Record<OrderField, string>>,
): Record<OrderField, Guess> {
  return guessAll(records, ORDER_CLUES, paths);
}

export function guessLineFields(
  lines: readonly unknown[],
  paths: Readonly<Record<LineField, string>>,
): Record<LineField, Guess> {
  return guessAll(lines, LINE_CLUES, paths);
}

function guessAll<F extends string>(
  records: readonly unknown[],
  clues: Readonly<Record<F, Clue>>,
  paths: Readonly<Record<F, string>>,
): Record<F, Guess> {
  const looked = records.slice(0, RECORDS_MAX);
  const entries = (Object.keys(clues) as F[]).map(
    (field) => [field, guessOne(looked, clues[field], paths[field])] as const,
  );
  return Object.fromEntries(entries) as Record<F, Guess>;
}

function guessOne(records: readonly unknown[], clue: Clue, path: string): Guess {
  if (records.some((record) => valueAt(record, path) !== undefined)) return { state: "fits" };
  const ranks = new Map<string, number>();
  for (const record of records) {
    for (const leaf of leavesOf(record)) {
      const rank = clue.fits(leaf.value) ? rankOf(leaf, clue) : undefined;
      if (rank !== undefined) ranks.set(leaf.path, Math.min(rank, ranks.get(leaf.path) ?? rank));
    }
  }
  const ordered = [...ranks].sort(([, a], [, b]) => a - b);
  const [best, second] = ordered;
  if (best !== undefined && best[1] !== second?.[1]) return { state: "guess", path: best[0] };
  return { state: "unknown", candidates: ordered.map(([candidate]) => candidate) };
}

const WEAK_RANK = 100;
const DEPTH_RANK = 10;

/** Names without a meaning of their own: `status.code` is a status. */
const HOLLOW = ["code", "slug", "name", "value", "title"];

function rankOf({ key, around, depth }: Leaf, { names, parts }: Clue): number | undefined {
  const own = plainKey(key);
  const hollow = HOLLOW.indexOf(own);
  const plain = hollow === -1 || around === "" || names.includes(own) ? own : plainKey(around);
  const rank = depth * DEPTH_RANK + Math.max(hollow, 0);
  const place = names.indexOf(plain);
  if (place !== -1) return place + rank;
  return parts.test(plain) ? WEAK_RANK + rank : undefined;
}

function plainKey(key: string): string {
  return key.toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** Paths of values beside the list whose keys match, which may be a batch's id or the next `since`. */
export function findNamed(root: unknown, listPath: string, words: RegExp): string[] {
  if (!isGroup(root)) return [];
  return leavesOf(root)
    .filter(({ path, value }) => path !== listPath && isScalar(value))
    .filter(({ key }) => words.test(key.toLowerCase()))
    .map(({ path }) => path);
}

const KEYS_SHOWN = 30;

/** Names and types of an answer's members, never a value. */
export function describeShape(value: unknown): Message {
  if (Array.isArray(value)) {
    return value.length === 0
      ? m.probe.emptyList
      : m.probe.list({ count: value.length, first: describeShape(value[0]) });
  }
  if (!isGroup(value))
    return value === null ? m.common.foreign({ text: "null" }) : m.probe.value({ type: typeof value });
  const members = Object.entries(value).map(([key, inner]) => `${key} (${typeWord(inner)})`);
  if (members.length === 0) return m.probe.emptyObject;
  return members.length > KEYS_SHOWN
    ? m.probe.largeObject({ members: members.slice(0, KEYS_SHOWN) })
    : m.probe.object({ members });
}

/** Names of the members of an answer, or of the first record where it is a list. */
export function memberNames(value: unknown): string[] {
  if (Array.isArray(value)) return memberNames(value[0]);
  return isGroup(value) ? Object.keys(value) : [];
}

function typeWord(value: unknown): string {
  if (Array.isArray(value)) return "list";
  return value === null ? "null" : typeof value;
}
