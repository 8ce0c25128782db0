/*
 * Values that nearly every former order has and this record lacks. Where a table of the service is unavailable, it may
 * send `null`, `[]`, lines without an article or fewer lines than it counts for every order. Such a record is held
 * until it was read so twice, ten minutes apart, while another order had the value (`updates/reads/repeated-reads.ts`), or until
 * the service has sent it for a day. SQL, because it counts lines and names an index.
 */
import type { Store } from "../database/store.ts";
import { hasLasted, type MachineTime } from "../pass/machine-clock.ts";
import type { LineValues, OrderMapping, OrderSource, OrderValues } from "../records/order-mapping.ts";
import { countsLines, isCounted, lacksCounted } from "./counted-lines.ts";

/**
 * How many of the newest orders are compared, and the percentage of them that may lack a value that is expected. Where
 * many lack it, few orders are enough; and one order that has lost it for good must not hide that all others lose it
 * later.
 */
const FORMER = [
  { limit: 10, withoutMax: 50 },
  { limit: 100, withoutMax: 10 },
] as const;
/** The percentage for a single value, which some orders of any shop may lack. */
const SINGLE_WITHOUT_MAX = 2;
/** With fewer former orders, a single value is not judged. */
const SINGLE_FORMER_MIN = 5;
/** How long a record without the value is held before it is accepted. */
export const HELD_MS = 24 * 3_600_000;
/** The same for a single value: answers of another kind than the former ones may never have it. */
const SINGLE_HELD_MS = 3_600_000;
/**
 * The same where the record counts more lines than it has: what its number means is a guess. With the time to the next read of the
 * order it is less than an hour.
 */
const COUNT_HELD_MS = 25 * 60_000;

const MAIN_PARTS = ["status", "lines"] as const;
/** Values of lines with an article. */
const LINE_VALUES = ["quantity", "price"] as const;
const SINGLE_PARTS = ["number", "total", "currency", ...LINE_VALUES] as const;
type ValuePart = (typeof MAIN_PARTS)[number] | (typeof SINGLE_PARTS)[number];
/** `count`: the record counts more lines than it contains. */
export type LostPart = ValuePart | "count";

interface Former extends Record<ValuePart, number> {
  isOwn: number;
  /**
   * It was cancelled, and a read of it is queued: it may have been stored from a change with the status alone, and lack
   * what it lacked when it was cancelled.
   */
  isOpened: number;
  source: OrderSource;
}

export interface JudgedOrder {
  values: OrderValues;
  isCancelled: boolean;
  /** The status is a number where the configured ones are words, or the reverse: an enumeration in another encoding. */
  isOddStatus: boolean;
  /** The record's JSON text, with the paths below. */
  text: string;
  mapping: Pick<OrderMapping, "paths">;
}

const LACKS_LINE_VALUE = (name: (typeof LINE_VALUES)[number]) =>
  `NOT is_cancelled AND EXISTS (SELECT 1 FROM order_line_rows l WHERE l.order_key = o.order_key
     AND l.sku IS NOT NULL AND l.${name} IS NULL) AS ${name}`;
const LACKS_SINGLE = [
  ...["number", "total", "currency"].map((name) => `NOT is_cancelled AND ${name} IS NULL AS ${name}`),
  ...LINE_VALUES.map(LACKS_LINE_VALUE),
].join(", ");

/** The same as {@link isNumber}. */
const IS_NUMBER = "(trim(status) NOT GLOB '*[^0-9.+-]*' OR lower(trim(status)) IN ('true', 'false'))";

/** Whether a status is a number, a boolean or empty. */
export function isNumber(status: string): boolean {
  // Blanks alone, as SQLite's trim.
  return /^ *([\d.+-]*|true|false) *$/i.test(status);
}

/**
 * Loads which expected values the newest orders and this one lack, as 0 or 1.
 * @param areNumbers the expected kind of their statuses; null: any
 */
function loadFormer(store: Store, order: { orderId: string; limit: number; areNumbers: 0 | 1 | null }): Former[] {
  return store
    .prepare<Former>(
      `SELECT order_id = @orderId AS isOwn, payload_source AS source,
         EXISTS (SELECT 1 FROM owed_reads r WHERE r.order_id = o.order_id)
           AND EXISTS (SELECT 1 FROM order_event_rows e WHERE e.order_key = o.order_key AND e.kind = 'cancelled') AS isOpened,
         coalesce(trim(status), '') = '' OR coalesce(${IS_NUMBER} <> @areNumbers, 0) AS status, ${LACKS_SINGLE},
         NOT is_cancelled AND trim(coalesce(total, ''), '0.,+- ') <> '' AND NOT EXISTS (
           SELECT 1 FROM order_line_rows l WHERE l.order_key = o.order_key AND l.sku IS NOT NULL) AS lines
       FROM orders o WHERE order_key IN (SELECT order_key FROM orders ORDER BY order_key DESC LIMIT @limit)
         OR order_id = @orderId`,
    )
    .all(order);
}

interface PartValues extends Pick<OrderValues, "number" | "status" | "total" | "currency"> {
  lines: readonly LineValues[];
}

function hasValue(values: PartValues, part: ValuePart): boolean {
  if (part === "lines") return values.lines.some(({ sku }) => sku !== null);
  if (part === "quantity" || part === "price")
    return values.lines.every((line) => line.sku === null || line[part] !== null);
  return part === "status" ? (values.status ?? "").trim() !== "" : values[part] !== null;
}

/** Whether a record has a value that another one lacks. */
export function hasPart(order: Omit<JudgedOrder, "isCancelled">, part: LostPart): boolean {
  if (part === "status" && order.isOddStatus) return false;
  return part === "count" ? countsLines(order) : hasValue(order.values, part);
}

/** The values that the record lacks although orders usually have them. */
export function findLacking({ isCancelled, ...record }: JudgedOrder): LostPart[] {
  // A cancelled order, or one without a total, may have no lines left.
  const mayLackLines = isCancelled || isNothing(record.values.total);
  const main: readonly ValuePart[] = mayLackLines ? ["status"] : MAIN_PARTS;
  const parts: readonly ValuePart[] = isCancelled ? main : [...main, ...SINGLE_PARTS];
  const lacking: LostPart[] = parts.filter((part) => !hasPart(record, part));
  return isCancelled || !lacksCounted(record) ? lacking : [...lacking, "count"];
}

/**
 * Whether an order loses values that it had, or lines without a change of its total: possibly a temporary fault of the
 * service.
 */
export function losesValues(stored: PartValues, values: PartValues): boolean {
  const isFewer = stored.lines.length > values.lines.length && stored.total === values.total;
  return isFewer || [...MAIN_PARTS, ...SINGLE_PARTS].some((part) => hasValue(stored, part) && !hasValue(values, part));
}

/**
 * A value that the record lacks although it had it before or nearly every former order has it. Queries the database
 * only where a value is missing.
 */
export function findLost(
  store: Store,
  order: JudgedOrder & { orderId: string; source: OrderSource },
): LostPart | undefined {
  let lost = findLacking(order);
  const { orderId, isOddStatus, values } = order;
  const areNumbers = isOddStatus ? (isNumber(values.status ?? "") ? 0 : 1) : null;
  for (const { limit, withoutMax } of FORMER) {
    if (lost.length === 0) return undefined;
    const former = loadFormer(store, { orderId, limit, areNumbers });
    lost = lost.filter((part) => !isUsual(former, { part, withoutMax, ...order }));
  }
  return lost.find((part) => part !== "count" || wasCounted(store, order));
}

function isUsual(
  former: readonly Former[],
  { part, withoutMax, source }: { part: LostPart; withoutMax: number; source: OrderSource },
): boolean {
  if (former.length === 0) return true;
  if (part === "count") return false;
  if (former.some((each) => each.isOwn && each[part])) return true;
  if (part === "status" || part === "lines") return isIn(former, part, withoutMax);
  // Answers of one kind may contain less than those of another.
  const alike = former.filter((each) => each.source === source);
  if (former.length < SINGLE_FORMER_MIN || isIn(alike, part, SINGLE_WITHOUT_MAX)) return true;
  return alike.length < SINGLE_FORMER_MIN && isIn(former, part, SINGLE_WITHOUT_MAX);
}

function isIn(former: readonly Former[], part: ValuePart, withoutMax: number): boolean {
  return former.filter((each) => each[part] && !each.isOpened).length * 100 > former.length * withoutMax;
}

/** Whether former orders had as many lines as they counted. */
function wasCounted(store: Store, order: JudgedOrder & { orderId: string }): boolean {
  const former = store
    .prepare<{ isOwn: number; text: string }>(
      `SELECT order_id = @orderId AS isOwn, payload AS text FROM orders WHERE order_id = @orderId OR order_key IN (
         SELECT order_key FROM orders WHERE NOT is_cancelled AND removed_at IS NULL ORDER BY order_key DESC LIMIT 10)`,
    )
    .all({ orderId: order.orderId });
  return isCounted(order, former);
}

/** Whether a total is zero or missing. */
function isNothing(total: string | null): boolean {
  return total === null || Number(total.replace(",", ".")) === 0;
}

/** Whether records of the order have been held long enough to be accepted without the value. */
export function isHeldForLong(
  store: Store,
  { kind, part, orderId }: { kind: string; part: LostPart; orderId: string },
  now: MachineTime,
): boolean {
  const heldMs = part === "status" || part === "lines" ? HELD_MS : part === "count" ? COUNT_HELD_MS : SINGLE_HELD_MS;
  const sql = `SELECT first_seen_at AS at, first_seen_ms AS machineMs FROM quarantine INDEXED BY quarantine_record
    WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'`;
  return store
    .prepare<{ at: string; machineMs: number | null }>(sql)
    .all(kind, orderId)
    .some((since) => hasLasted(since, now, heldMs));
}
