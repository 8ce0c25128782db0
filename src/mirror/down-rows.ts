/*
 * What the mirror's way down reads of the shop's database, as JSON that PostgreSQL takes apart: payloads are spliced in as they are, so
 * that their numbers keep every digit. SQL, because an order's lines and the ERP's mark come with it, and many orders at once.
 */
import { hash } from "node:crypto";
import { onlyValue } from "../database/only-row.ts";
import { columnList, type NamedRow, type Row } from "../database/row.ts";
import {
  batches,
  conditions,
  erpOrders,
  mirrorChanges,
  type orderEventRows,
  orderLineRows,
  orders,
  quarantine,
} from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Clock } from "../platform/ports.ts";
import { fitsJsonb, plainText } from "./plain-values.ts";
import type { Local } from "./plan-down.ts";

/** One record as JSON text. */
export interface JsonRow {
  /** What it is known by in the shop's database. */
  key: number;
  json: string;
  /** The same without what PostgreSQL may refuse all the same. */
  plain: () => string;
}

export interface OrderRow extends JsonRow {
  orderId: string;
  hash: string;
}

/** A moment of the database. */
export function readAtOnce<T>(store: Store, read: () => T): T {
  return store.db.inTransaction ? read() : store.db.transaction(read).deferred();
}

export function loadLocal(store: Store): Omit<Local, "isRestored"> {
  const head = onlyValue<number>(
    store,
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'), 0)",
  );
  const oldest = onlyValue<number | null>(store, "SELECT min(seq) FROM order_event_rows") ?? head + 1;
  return { head, oldest };
}

/** Outcomes of the ERP's requests go back with its rows. */
const OWN_KINDS = "kind IN ('batch', 'quarantine')";

export function hasChanges(store: Store): boolean {
  return onlyValue<number>(store, `SELECT EXISTS (SELECT 1 FROM mirror_changes WHERE ${OWN_KINDS})`) === 1;
}

// ------------------------------------------------------------------------------------------------------------ orders

/** What is read at a time: so much that PostgreSQL is not asked often, and so little that it fits everywhere. */
export interface Bound {
  rows: number;
  /** Of JSON; one row is read whatever its size. */
  bytes: number;
}

/** The orders of the events behind `seq`, with the number of the event that names each. */
export interface News {
  events: readonly { seq: number; key: number }[];
  /** There are no more. */
  isAll: boolean;
  head: number;
}

export function loadNews(store: Store, seq: number, limit: number): News {
  const events = store
    .prepare<{ seq: number; key: number }>(
      "SELECT seq, order_key AS key FROM order_event_rows WHERE seq > ? ORDER BY seq LIMIT ?",
    )
    .all(seq, limit);
  return { events, isAll: events.length < limit, head: loadLocal(store).head };
}

/** Up to which event nothing is left, where these orders were read; pure. */
export function upToOf(seq: number, { events, isAll, head }: News, read: ReadonlySet<number>): number {
  const left = events.findIndex(({ key }) => !read.has(key));
  if (left >= 0) return events[left - 1]?.seq ?? seq;
  const last = events.at(-1)?.seq ?? seq;
  return isAll ? Math.max(last, head) : last;
}

/** Others have their turn after so many orders. */
const ORDERS_PER_TURN = 50;

/**
 * The orders of these keys as they are now, as many as fit. Between two of them others write: an order may then be newer than what
 * named it, and is read once more with what made it so.
 */
export async function loadOrders(
  store: Store,
  clock: Clock,
  keys: Iterable<number>,
  bytesMax: number,
): Promise<{ orders: OrderRow[]; read: ReadonlySet<number> }> {
  const orders: OrderRow[] = [];
  const read = new Set<number>();
  let bytes = 0;
  for (const key of keys) {
    if (bytes >= bytesMax) break;
    if (read.has(key)) continue;
    const order = loadOrder(store, key);
    if (order !== undefined) orders.push(order);
    bytes += order?.json.length ?? 0;
    read.add(key);
    if (read.size % ORDERS_PER_TURN === 0) await clock.sleep(0);
  }
  return { orders, read };
}

export function countOwnOrders(store: Store): number {
  return onlyValue<number>(store, "SELECT count(*) FROM orders");
}

/** The next orders in the order of their keys. */
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
  "payloadHash" as const,
] as const;

type PlainOrder = NamedRow<typeof orders, (typeof PLAIN_COLUMNS)[number]>;

const ORDER = `SELECT ${columnList(orders, PLAIN_COLUMNS)} FROM orders WHERE order_key = ?`;

/** An order's hash, without its payload being read. */
export function hashOrder(store: Store, orderKey: number): { orderId: string; hash: string } | undefined {
  const order = store.prepare<PlainOrder>(ORDER).get(orderKey);
  return order === undefined ? undefined : { orderId: order.orderId, hash: hashOf(order) };
}

function hashOf({ payloadHash, orderKey: _, ...order }: PlainOrder): string {
  return hash("sha256", JSON.stringify([...Object.values(order), payloadHash.toString("hex")]), "hex").slice(0, 32);
}

/** An order as it is now, with its lines and what the ERP has marked. */
export function loadOrder(store: Store, orderKey: number): OrderRow | undefined {
  const order = store.prepare<PlainOrder>(ORDER).get(orderKey);
  if (order === undefined) return undefined;
  const { payload } = store
    .prepare<Pick<Row<typeof orders>, "payload">>("SELECT payload FROM orders WHERE order_key = ?")
    .get(orderKey) as { payload: string };
  const mark = store
    .prepare<NamedRow<typeof erpOrders>>(
      `SELECT ${columnList(erpOrders, ["orderId", "erpNumber", "seenRevision", "state", "error", "note"])} FROM erp_orders WHERE order_id = ?`,
    )
    .get(order.orderId);
  const lines = store
    .prepare<NamedRow<typeof orderLineRows>>(
      `SELECT ${columnList(orderLineRows, ["lineNo", "sku", "name", "quantity", "price", "payload"])} FROM order_line_rows
       WHERE order_key = ? ORDER BY line_no`,
    )
    .all(orderKey);
  const orderHash = hashOf(order);
  const json = (isPlain: boolean) => orderJson({ order, lines, mark, payload, hash: orderHash, isPlain });
  return { key: orderKey, orderId: order.orderId, hash: orderHash, json: json(false), plain: () => json(true) };
}

interface OrderParts {
  order: PlainOrder;
  lines: NamedRow<typeof orderLineRows>[];
  mark: NamedRow<typeof erpOrders> | undefined;
  payload: string;
  hash: string;
  isPlain: boolean;
}

function orderJson({ order, lines, mark, payload, hash: own, isPlain }: OrderParts): string {
  const holds = (json: string) => !isPlain && fitsJsonb(json);
  const fits = holds(payload);
  const fields = {
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
    payload_text: fits ? null : plainText(payload),
    hash: own,
    ...(mark === undefined ? {} : { mark: markOf(mark) }),
  };
  const rows = lines.map((line) => {
    const { lineNo, sku, name, quantity, price } = line;
    const values = {
      line_no: lineNo,
      sku: plainText(sku),
      name: plainText(name),
      quantity: plainText(quantity),
      price: plainText(price),
    };
    return spliced(values, "payload", holds(line.payload) ? line.payload : "null");
  });
  return spliced(fields, "lines", `[${rows.join()}],"payload":${fits ? payload : "null"}`);
}

/** The ERP's own columns take whatever is written. */
function markOf({ erpNumber, seenRevision, state, error, note }: NamedRow<typeof erpOrders>) {
  return {
    erp_number: textOf(erpNumber),
    seen_revision: seenRevision,
    state,
    block_reason: textOf(error),
    note: textOf(note),
  };
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return plainText(Buffer.isBuffer(value) ? value.toString("utf8") : String(value));
}

/** `{…fields, "name": json}` */
function spliced(fields: object, name: string, json: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;
}

// ------------------------------------------------------------------------------------------------------------ events

type EventRow = Row<typeof orderEventRows> & Pick<Row<typeof orders>, "order_id">;

/** Events behind `seq`, and up to which these are all. */
export function loadEventsAfter(store: Store, seq: number, bound: Bound): { events: JsonRow[]; upTo: number } {
  const events: JsonRow[] = [];
  let bytes = 0;
  const rows = store.prepare<EventRow>(
    "SELECT e.*, o.order_id FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key WHERE e.seq > ? ORDER BY e.seq LIMIT ?",
  );
  for (const row of rows.iterate(seq, bound.rows)) {
    if (bytes >= bound.bytes) return { events, upTo: events.at(-1)?.key ?? seq };
    const json = (isPlain: boolean) => eventJson(row, isPlain);
    events.push({ key: row.seq, json: json(false), plain: () => json(true) });
    bytes += events.at(-1)?.json.length ?? 0;
  }
  if (events.length < bound.rows) return { events, upTo: Math.max(seq, loadLocal(store).head) };
  return { events, upTo: events.at(-1)?.key ?? seq };
}

function eventJson(row: EventRow, isPlain: boolean): string {
  const fields = {
    seq: row.seq,
    order_id: row.order_id,
    revision: row.revision,
    kind: row.kind,
    status_changed: row.status_changed === 1,
    lines_changed: row.lines_changed === 1,
    fields_changed: row.fields_changed === 1,
    old_status: plainText(row.old_status),
    new_status: plainText(row.new_status),
    source: row.source,
    at: row.at,
  };
  const { changes } = row;
  return spliced(fields, "changes", changes !== null && !isPlain && fitsJsonb(changes) ? changes : "null");
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

/** After they were committed there. A row that has changed since has another id. */
export function deleteChanges(store: Store, changes: readonly Change[]): void {
  const remove = store.prepare("DELETE FROM mirror_changes WHERE id = ?");
  for (const { id } of changes) remove.run(id);
}

/** So many batches and held records behind these keys are noted as changed; returns where that ends, undefined at the end. */
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

export function loadBatchJson(store: Store, id: number): JsonRow | undefined {
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
  const json = JSON.stringify({
    id: row.id,
    service_batch_id: plainText(row.serviceBatchId),
    received_at: row.receivedAt,
    order_count: row.orderCount,
    state: row.state,
    confirm_attempts: row.confirmAttempts,
    confirmed_at: row.confirmedAt,
    last_error: plainText(row.lastError),
  });
  return { key: id, json, plain: () => json };
}

/** Without the record itself. */
export function loadHeldJson(store: Store, id: number): JsonRow | undefined {
  const row = store
    .prepare<NamedRow<typeof quarantine>>(
      `SELECT ${columnList(quarantine, ["id", "kind", "reference", "reason", "state", "firstSeenAt", "lastSeenAt", "times"])}
       FROM quarantine WHERE id = ?`,
    )
    .get(id);
  if (row === undefined) return undefined;
  const json = JSON.stringify({
    id: row.id,
    kind: row.kind,
    reference: plainText(row.reference),
    reason: plainText(row.reason),
    state: row.state,
    first_seen_at: row.firstSeenAt,
    last_seen_at: row.lastSeenAt,
    times: row.times,
  });
  return { key: id, json, plain: () => json };
}

/** All of them, as they are shown. */
export function loadConditionsJson(store: Store): string {
  const rows = store
    .prepare<NamedRow<typeof conditions>>(
      `SELECT ${columnList(conditions, ["rank", "code", "severity", "subject", "since", "params", "text", "command", "seenAt"])}
       FROM conditions ORDER BY rank`,
    )
    .all();
  const all = rows.map(({ rank, code, severity, subject, since, params, text, command, seenAt }) =>
    spliced(
      { rank, code, severity, subject, since, text: plainText(text), command, seen_at: seenAt },
      "params",
      fitsJsonb(params) ? params : "{}",
    ),
  );
  return `[${all.join()}]`;
}
