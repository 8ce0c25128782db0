/*
 * Reads rows of the shop's database as values of PostgreSQL's columns. Payloads remain text, so that numbers keep all
 * digits. SQL, because many orders are read at once, each with its lines and its row in `erp_orders`.
 */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onlyValue } from "../../database/only-row.ts";
import { columnList } from "../../database/queries.ts";
import type { NamedRow, Row } from "../../database/row.ts";
import {
  batches,
  conditions,
  erpOrders,
  mirrorChanges,
  type orderEventRows,
  orderLineRows,
  orders,
  quarantine,
} from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import { loadMirrorState } from "../mirror-state.ts";
import {
  type BATCH_COLUMNS,
  type CONDITION_COLUMNS,
  type DownRow,
  type EVENT_COLUMNS,
  type HELD_COLUMNS,
  ID_COLUMNS,
  type MARK_COLUMNS,
  type ORDER_COLUMNS,
  type Values,
} from "./down-columns.ts";
import { fitsJsonb, plainText } from "./plain-values.ts";
import type { Local } from "./plan-down.ts";
import { RowsBuffer, type RowsBuffers } from "./rows-buffer.ts";
import type { QueueRows, ReadOrders, ReadRows } from "./write-down.ts";

/** Reads one snapshot of the database. */
export function readAtOnce<T>(store: Store, read: () => T): T {
  return store.db.inTransaction ? read() : store.db.transaction(read).deferred();
}

/** The highest event number ever assigned, 0 before the first. */
export function loadHead(store: Store): number {
  return onlyValue<number>(
    store,
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'), 0)",
  );
}

/** @param ordersSeq the event up to which PostgreSQL has all orders */
export function loadLocal(store: Store, ordersSeq: number): Omit<Local, "isRestored"> {
  const head = loadHead(store);
  const oldest = onlyValue<number | null>(store, "SELECT min(seq) FROM order_event_rows") ?? head + 1;
  const hasEvent = () =>
    onlyValue<number>(store, "SELECT EXISTS (SELECT 1 FROM order_event_rows WHERE seq = ?)", ordersSeq) === 1;
  const isOther = oldest <= ordersSeq && ordersSeq < head && !hasEvent();
  const refused = loadMirrorState(store, "refused_event");
  return { head, oldest, isOther, refusedEvent: refused === undefined ? undefined : Number(refused) };
}

/** Outcomes of the ERP's requests are written by the other direction (up). */
const OWN_KINDS = "kind IN ('batch', 'quarantine')";

export function hasChanges(store: Store): boolean {
  return onlyValue<number>(store, `SELECT EXISTS (SELECT 1 FROM mirror_changes WHERE ${OWN_KINDS})`) === 1;
}

// ------------------------------------------------------------------------------------------------------------ orders

/** A limit of what is read at a time: large enough for few round trips, small enough for memory and time limits. */
export interface Bound {
  rows: number;
  /** Approximate length of all texts; one row is read whatever its size. */
  bytes: number;
}

/** Limits of a transaction, and of one statement in it (`part`). */
export interface PartsBound extends Bound {
  part: Bound;
}

/** Events after a position, each with the key of its order. */
export interface News {
  events: readonly { seq: number; key: number }[];
  /** Whether there are no further events. */
  isAll: boolean;
  head: number;
}

export function loadNews(store: Store, seq: number, limit: number): News {
  const events = store
    .prepare<{ seq: number; key: number }>(
      "SELECT seq, order_key AS key FROM order_event_rows WHERE seq > ? ORDER BY seq LIMIT ?",
    )
    .all(seq, limit);
  return { events, isAll: events.length < limit, head: loadHead(store) };
}

/** The event up to which all orders were read, given the keys in `read`; pure. */
export function upToOf(seq: number, { events, isAll, head }: News, read: ReadonlySet<number>): number {
  const left = events.findIndex(({ key }) => !read.has(key));
  if (left >= 0) return events[left - 1]?.seq ?? seq;
  const last = events.at(-1)?.seq ?? seq;
  return isAll ? Math.max(last, head) : last;
}

/** Orders read in one transaction, before the event loop runs other work. */
const ORDERS_PER_TURN = 16;

/** Orders that one statement writes. */
export interface OrdersPart extends ReadOrders {
  /** Keys that were looked up, including missing orders. */
  keys: number[];
}

/**
 * Reads the orders with these keys in their current state, as many as fit, in parts. Other flows may write between two
 * transactions: an order may be newer than the event that listed it, and is read again with its newer event.
 */
export async function* loadOrders(
  store: Store,
  keys: Iterable<number>,
  { bytes, part: bound }: PartsBound,
  buffers: RowsBuffers<typeof ORDER_COLUMNS>,
): AsyncGenerator<OrdersPart, void, void> {
  const due = [...new Set(keys)];
  for (let at = 0, left = bytes; at < due.length && left > 0; ) {
    const part = ordersPart(store, buffers.next());
    const { rows } = part;
    while (at < due.length && part.keys.length < bound.rows && rows.bytes < Math.min(left, bound.bytes)) {
      const turn = due.slice(at, at + Math.min(ORDERS_PER_TURN, bound.rows - part.keys.length));
      at += readAtOnce(store, () => readOrders(store, turn, Math.min(left, bound.bytes) - rows.bytes, part));
      await nextTurn();
    }
    left -= rows.bytes;
    yield part;
  }
}

function ordersPart(store: Store, rows: RowsBuffer<typeof ORDER_COLUMNS>): OrdersPart & { marks: MarkValues[] } {
  const keys: number[] = [];
  return { rows, keys, marks: [], again: () => readAtOnce(store, () => loadOrderRows(store, keys)) };
}

export function countOwnOrders(store: Store): number {
  return onlyValue<number>(store, "SELECT count(*) FROM orders");
}

const QUEUE = `SELECT o.order_id AS orderId, q.order_key IS NOT NULL AS isWaiting
  FROM json_each(?) j CROSS JOIN orders o ON o.order_key = j.value LEFT JOIN erp_queue q ON q.order_key = o.order_key`;
/** An order that is unknown here is not waiting. */
const QUEUE_BY_ID = `SELECT j.value AS orderId, q.order_key IS NOT NULL AS isWaiting
  FROM json_each(?) j LEFT JOIN orders o ON o.order_id = j.value LEFT JOIN erp_queue q ON q.order_key = o.order_key`;

/**
 * Divides these orders, given by keys or ids, into those in the ERP's queue (blocked or not) and the others.
 * @param queue receives the result: a walk through all orders reuses its buffers
 */
export function readQueue(
  store: Store,
  of: { keys: readonly number[] } | { ids: readonly string[] },
  queue: QueueRows = newQueue(),
): QueueRows {
  queue.waiting.clear();
  queue.taken.clear();
  const [sql, list] = "keys" in of ? [QUEUE, of.keys] : [QUEUE_BY_ID, of.ids];
  const rows = store.prepare<{ orderId: string; isWaiting: number }>(sql).iterate(JSON.stringify(list));
  for (const { orderId, isWaiting } of rows) queue[isWaiting === 1 ? "waiting" : "taken"].add({ order_id: orderId });
  return queue;
}

export function newQueue(): QueueRows {
  return { waiting: new RowsBuffer(ID_COLUMNS), taken: new RowsBuffer(ID_COLUMNS) };
}

/** The keys of the next orders, ascending. */
export function loadKeysAfter(store: Store, orderKey: number, limit: number): number[] {
  return store
    .prepare<Pick<Row<typeof orders>, "order_key">>(
      "SELECT order_key FROM orders WHERE order_key > ? ORDER BY order_key LIMIT ?",
    )
    .all(orderKey, limit)
    .map((row) => row.order_key);
}

const PLAIN_COLUMNS = [
  ...(["orderKey", "orderId", "serviceId", "number", "status", "isCancelled", "isOpen", "serviceCreatedAt"] as const),
  ...([
    "serviceUpdatedAt",
    "currency",
    "total",
    "revision",
    "erpRevision",
    "receivedAt",
    "changedAt",
    "removedAt",
  ] as const),
] as const;

type PlainOrder = NamedRow<typeof orders, (typeof PLAIN_COLUMNS)[number]> & { payloadHash: string };

const PLAIN = `${columnList(orders, PLAIN_COLUMNS)}, lower(hex(payload_hash)) AS payloadHash`;
const ORDER = `SELECT ${PLAIN} FROM orders WHERE order_key = ?`;
const WHOLE_ORDER = `SELECT ${PLAIN}, payload FROM orders WHERE order_key = ?`;
/** `blocked`: the flag in the queue, which a change of the order resets while `state` in `erp_orders` stays. */
const MARKS = `SELECT o.order_key AS orderKey, ${columnList(erpOrders, ["orderId", "erpNumber", "seenRevision", "state", "error", "note"], "e")},
    q.blocked
  FROM json_each(?) j CROSS JOIN orders o ON o.order_key = j.value CROSS JOIN erp_orders e ON e.order_id = o.order_id
  LEFT JOIN erp_queue q ON q.order_key = o.order_key`;
const LINES = `SELECT ${columnList(orderLineRows, ["orderKey", "lineNo", "sku", "name", "quantity", "price", "payload"])} FROM order_line_rows
  WHERE order_key IN (SELECT value FROM json_each(?)) ORDER BY order_key, line_no`;

/** The hash of an order, computed without reading its payload. */
export function hashOrder(store: Store, orderKey: number): { orderId: string; hash: string } | undefined {
  const order = store.prepare<PlainOrder>(ORDER).get(orderKey);
  return order === undefined ? undefined : { orderId: order.orderId, hash: hashOf(order) };
}

const HASHED = [...PLAIN_COLUMNS.filter((name) => name !== "orderKey"), "payloadHash" as const];

function hashOf(order: PlainOrder): string {
  return hash("sha256", JSON.stringify(HASHED.map((name) => order[name])), "hex").slice(0, 32);
}

/** Adds the first of these orders, up to about `bytes`; returns how many keys were looked up. */
function readOrders(
  store: Store,
  keys: readonly number[],
  bytes: number,
  to: OrdersPart & { marks: MarkValues[] },
): number {
  const { looked, found } = findOrders(store, keys, bytes);
  to.keys.push(...looked);
  for (const { order, lines, mark } of found) {
    to.rows.add(orderValues(order, lines, fitsJsonb));
    if (mark !== undefined) to.marks.push(markOf(mark, order.erpRevision));
  }
  return looked.length;
}

function loadOrderRows(store: Store, keys: readonly number[]): DownRow<typeof ORDER_COLUMNS>[] {
  return findOrders(store, keys, Number.POSITIVE_INFINITY).found.map(({ order, lines }) => ({
    key: order.orderKey,
    values: orderValues(order, lines, fitsJsonb),
    plain: () => orderValues(order, lines, () => false),
  }));
}

interface FoundOrder {
  order: WholeOrder;
  lines: readonly Line[];
  mark: Mark | undefined;
}

function findOrders(
  store: Store,
  keys: readonly number[],
  bytes: number,
): { looked: readonly number[]; found: FoundOrder[] } {
  const orders: WholeOrder[] = [];
  let left = bytes;
  let count = 0;
  for (; count < keys.length && left > 0; count++) {
    const order = store.prepare<WholeOrder>(WHOLE_ORDER).get(keys[count]);
    if (order === undefined) continue;
    orders.push(order);
    // The lines are about as long as the payload.
    left -= 2 * order.payload.length;
  }
  const these = JSON.stringify(orders.map(({ orderKey }) => orderKey));
  const lines = Map.groupBy(store.prepare<Line>(LINES).all(these), ({ orderKey }) => orderKey);
  const marks = new Map(
    store
      .prepare<Mark>(MARKS)
      .all(these)
      .map((mark) => [mark.orderKey, mark]),
  );
  const found = orders.map((order) => ({
    order,
    lines: lines.get(order.orderKey) ?? [],
    mark: marks.get(order.orderKey),
  }));
  return { looked: keys.slice(0, count), found };
}

/** Those of these orders that have a row in the shop's `erp_orders`. */
export function listMarked(store: Store, orderIds: readonly string[]): ReadonlySet<string> {
  const rows = store
    .prepare<{ orderId: string }>(
      "SELECT lower(e.order_id) AS orderId FROM json_each(?) j CROSS JOIN erp_orders e ON e.order_id = j.value",
    )
    .all(JSON.stringify(orderIds));
  return new Set(rows.map(({ orderId }) => orderId));
}

type WholeOrder = PlainOrder & Pick<Row<typeof orders>, "payload">;
type Line = NamedRow<typeof orderLineRows>;
type MarkValues = Values<typeof MARK_COLUMNS>;
type Mark = NamedRow<typeof erpOrders> & { orderKey: number; blocked: number | null };

/** @param fits whether a JSON text can be sent as jsonb */
function orderValues(
  order: WholeOrder,
  lines: readonly Line[],
  fits: (json: string) => boolean,
): Values<typeof ORDER_COLUMNS> {
  const { payload } = order;
  const isJson = fits(payload);
  return {
    order_id: order.orderId,
    service_id: plainText(order.serviceId),
    number: plainText(order.number),
    status: plainText(order.status),
    is_cancelled: order.isCancelled === 1,
    is_open: order.isOpen === 1,
    service_created_at: plainText(order.serviceCreatedAt),
    service_updated_at: plainText(order.serviceUpdatedAt),
    currency: plainText(order.currency),
    total: plainText(order.total),
    revision: order.revision,
    erp_revision: order.erpRevision,
    received_at: order.receivedAt,
    changed_at: order.changedAt,
    removed_at: order.removedAt,
    lines: `[${lines.map((line) => lineJson(line, fits)).join()}]`,
    payload: isJson ? payload : null,
    payload_text: isJson ? null : plainText(payload),
    hash: hashOf(order),
  };
}

/** Inserts the payload's text unchanged, so that numbers keep all digits. */
function lineJson({ lineNo, sku, name, quantity, price, payload }: Line, fits: (json: string) => boolean): string {
  const values = {
    line_no: lineNo,
    sku: plainText(sku),
    name: plainText(name),
    quantity: plainText(quantity),
    price: plainText(price),
  };
  return `${JSON.stringify(values).slice(0, -1)},"payload":${fits(payload) ? payload : "null"}}`;
}

/** The ERP's columns accept values of any type. `blocked_at` is 0 where a later change of the order has lifted the block. */
function markOf(mark: Mark, erpRevision: number): MarkValues {
  const { orderId, erpNumber, seenRevision, state, error, note, blocked } = mark;
  return {
    order_id: orderId,
    erp_number: textOf(erpNumber),
    seen_revision: seenRevision,
    state,
    block_reason: textOf(error),
    note: textOf(note),
    blocked_at: state !== "blocked" ? null : blocked === 0 ? 0 : erpRevision,
  };
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return plainText(Buffer.isBuffer(value) ? value.toString("utf8") : String(value));
}

// ------------------------------------------------------------------------------------------------------------ events

type EventRow = Row<typeof orderEventRows> & Pick<Row<typeof orders>, "order_id">;

/** Events that one statement writes. `upTo`: all events up to this one were read. */
export interface EventsPart extends ReadRows<typeof EVENT_COLUMNS> {
  upTo: number;
}

const EVENTS = `SELECT e.*, o.order_id FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key
  WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ? + 0`;

/** The events after `seq` up to `head`, as many as fit, in parts. Stored events never change. */
export async function* loadEvents(
  store: Store,
  { seq, head }: { seq: number; head: number },
  { rows, bytes, part }: PartsBound,
  buffers: RowsBuffers<typeof EVENT_COLUMNS>,
): AsyncGenerator<EventsPart, void, void> {
  let left = { rows, bytes };
  for (let after = seq; after < head && left.rows > 0 && left.bytes > 0; ) {
    const bound = { rows: Math.min(left.rows, part.rows), bytes: Math.min(left.bytes, part.bytes) };
    const next = readEvents(store, { after, head }, bound, buffers.next());
    left = { rows: left.rows - next.rows.count, bytes: left.bytes - next.rows.bytes };
    after = next.upTo;
    yield next;
    await nextTurn();
  }
}

function readEvents(
  store: Store,
  { after, head }: { after: number; head: number },
  bound: Bound,
  to: RowsBuffer<typeof EVENT_COLUMNS>,
): EventsPart {
  let upTo = head;
  for (const row of store.prepare<EventRow>(EVENTS).iterate(after, head, bound.rows)) {
    to.add(eventValues(row));
    if (to.count < bound.rows && to.bytes < bound.bytes) continue;
    upTo = row.seq;
    break;
  }
  const again = () =>
    store
      .prepare<EventRow>(EVENTS)
      .all(after, upTo, bound.rows)
      .map((row) => {
        const values = eventValues(row);
        return { key: row.seq, values, plain: () => ({ ...values, changes: null }) };
      });
  return { rows: to, upTo, again };
}

function eventValues(row: EventRow): Values<typeof EVENT_COLUMNS> {
  const { changes } = row;
  return {
    seq: row.seq,
    order_id: row.order_id,
    revision: row.revision,
    kind: row.kind,
    status_changed: row.status_changed === 1,
    lines_changed: row.lines_changed === 1,
    fields_changed: row.fields_changed === 1,
    old_status: plainText(row.old_status),
    new_status: plainText(row.new_status),
    changes: changes !== null && fitsJsonb(changes) ? changes : null,
    source: row.source,
    at: row.at,
  };
}

// -------------------------------------------------------------------------------------- batches, quarantine, outcomes

export type Change = NamedRow<typeof mirrorChanges>;

export function loadChanges(store: Store, limit: number): Change[] {
  return store
    .prepare<Change>(
      `SELECT ${columnList(mirrorChanges, ["id", "kind", "key"])} FROM mirror_changes WHERE ${OWN_KINDS} ORDER BY id LIMIT ?`,
    )
    .all(limit);
}

/** To be called after they were committed in PostgreSQL. A row that has changed since has a new id. */
export function deleteChanges(store: Store, changes: readonly Change[]): void {
  const remove = store.prepare("DELETE FROM mirror_changes WHERE id = ?");
  for (const { id } of changes) remove.run(id);
}

/** Marks the next `limit` rows after this key as changed; returns the last key, or undefined at the end. */
export function noteChanges(
  store: Store,
  kind: "batch" | "quarantine",
  after: number,
  limit: number,
): number | undefined {
  const table = kind === "batch" ? "batches" : "quarantine";
  const ids = store
    .prepare<number>(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`)
    .pluck()
    .all(after, limit) as number[];
  const note = store.prepare("INSERT INTO mirror_changes (kind, key) VALUES (?, ?) ON CONFLICT DO NOTHING");
  for (const id of ids) note.run(kind, id);
  return ids.length < limit ? undefined : ids.at(-1);
}

export function loadBatch(store: Store, id: number): DownRow<typeof BATCH_COLUMNS> | undefined {
  const row = store
    .prepare<NamedRow<typeof batches>>(
      `SELECT ${columnList(batches, [
        ...([
          "id",
          "serviceBatchId",
          "receivedAt",
          "orderCount",
          "state",
          "confirmAttempts",
          "confirmedAt",
          "lastError",
        ] as const),
      ])} FROM batches WHERE id = ?`,
    )
    .get(id);
  if (row === undefined) return undefined;
  const values = {
    id: row.id,
    service_batch_id: plainText(row.serviceBatchId),
    received_at: row.receivedAt,
    order_count: row.orderCount,
    state: row.state,
    confirm_attempts: row.confirmAttempts,
    confirmed_at: row.confirmedAt,
    last_error: plainText(row.lastError),
  };
  return { key: id, values };
}

/** A quarantined record, without its payload. */
export function loadHeld(store: Store, id: number): DownRow<typeof HELD_COLUMNS> | undefined {
  const row = store
    .prepare<NamedRow<typeof quarantine>>(
      `SELECT ${columnList(quarantine, ["id", "kind", "reference", "reason", "state", "firstSeenAt", "lastSeenAt", "times"])}
       FROM quarantine WHERE id = ?`,
    )
    .get(id);
  if (row === undefined) return undefined;
  const values = {
    id: row.id,
    kind: row.kind,
    reference: plainText(row.reference),
    reason: plainText(row.reason),
    state: row.state,
    first_seen_at: row.firstSeenAt,
    last_seen_at: row.lastSeenAt,
    times: row.times,
  };
  return { key: id, values };
}

/** All conditions, in the order in which they are shown. */
export function loadConditions(store: Store): DownRow<typeof CONDITION_COLUMNS>[] {
  return store
    .prepare<NamedRow<typeof conditions>>(
      `SELECT ${columnList(conditions, ["rank", "code", "severity", "subject", "since", "params", "text", "command", "seenAt"])}
       FROM conditions ORDER BY rank`,
    )
    .all()
    .map(({ rank, code, severity, subject, since, params, text, command, seenAt }) => ({
      key: rank,
      values: {
        ...{ rank, code, severity, subject, since, command },
        params: fitsJsonb(params) ? params : "{}",
        text: plainText(text),
        seen_at: seenAt,
      },
    }));
}
