/*
 * Copies orders from the mirror into a shop's database: those that the database lacks or has in an older revision, and that
 * no copy or journal has. Columns derived from the payload are copied with it. Where PostgreSQL has the order as jsonb,
 * the service's exact text is lost, so each open order is also read from the service. SQL, because the rows keep their
 * revision numbers, which the ERP refers to.
 */
import { hash } from "node:crypto";
import type { Store } from "../../database/store.ts";
import { requestReadAs } from "../../pass/position-rows.ts";
import type { MirrorLink } from "../connection.ts";

/** Orders per query and commit. */
const ORDERS_MAX = 500;

interface MirroredOrder {
  orderId: string;
  serviceId: string | null;
  number: string | null;
  status: string | null;
  isCancelled: boolean;
  isOpen: boolean;
  serviceCreatedAt: string | null;
  serviceUpdatedAt: string | null;
  currency: string | null;
  total: string | null;
  revision: number;
  erpRevision: number;
  receivedAt: string;
  changedAt: string;
  removedAt: string | null;
  lines: string;
  payload: string | null;
}

interface MirroredLine {
  line_no: number;
  sku: string | null;
  name: string | null;
  quantity: string | null;
  price: string | null;
  payload: string;
}

const iso = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** A line's payload is text, so that numbers in it keep all digits. */
const LINES = `(SELECT coalesce(json_agg(json_build_object('line_no', l.line_no, 'sku', l.sku, 'name', l.name, 'quantity', l.quantity,
    'price', l.price, 'payload', l.payload::text) ORDER BY l.line_no), '[]')::text
  FROM jsonb_to_recordset(o.lines) AS l (line_no integer, sku text, name text, quantity text, price text, payload jsonb))`;
const READ = `
  SELECT o.order_id::text AS "orderId", o.service_id AS "serviceId", o.number, o.status, o.is_cancelled AS "isCancelled", o.is_open AS "isOpen",
    o.service_created_at AS "serviceCreatedAt", o.service_updated_at AS "serviceUpdatedAt", o.currency, o.total, o.revision,
    o.erp_revision AS "erpRevision", ${iso("o.received_at")} AS "receivedAt", ${iso("o.changed_at")} AS "changedAt",
    ${iso("o.removed_at")} AS "removedAt", ${LINES} AS lines, coalesce(o.payload_text, o.payload::text) AS payload
  FROM orders o WHERE o.shop = $1 AND o.order_id = ANY ($2::uuid[]) ORDER BY o.received_at, o.order_id`;
/** In order of arrival, so that the keys of inserted orders ascend with it, as in the original database. */
const IN_ORDER = `DECLARE in_order NO SCROLL CURSOR FOR
  SELECT order_id::text AS "orderId" FROM orders WHERE shop = $1 ORDER BY received_at, order_id`;

export interface Brought {
  /** Orders that were missing or older, and were copied. */
  orders: number;
  /** Orders whose content the mirror does not have: they are read from the service. */
  unread: number;
}

/** Copies the shop's orders from PostgreSQL, a page per transaction. */
export async function bringOrders(link: MirrorLink, shop: string, to: { store: Store; at: string }): Promise<Brought> {
  return await link.transaction(async (tx) => {
    const brought = { orders: 0, unread: 0 };
    await tx.run(IN_ORDER, [shop]);
    for (;;) {
      const next = await tx.query<Pick<MirroredOrder, "orderId">>(`FETCH ${ORDERS_MAX} FROM in_order`);
      if (next.length === 0) return brought;
      const page = await tx.query<MirroredOrder>(READ, [shop, next.map(({ orderId }) => orderId)]);
      to.store.write(() => {
        for (const order of page) bringOrder(to.store, order, to.at, brought);
      });
    }
  });
}

function bringOrder(store: Store, order: MirroredOrder, at: string, brought: Brought): void {
  const own = store
    .prepare<{ orderKey: number; revision: number }>(
      "SELECT order_key AS orderKey, revision FROM orders WHERE order_id = ?",
    )
    .get(order.orderId);
  if (own !== undefined && own.revision >= order.revision) return;
  if (order.payload === null) {
    queueMirroredRead(store, order, at);
    brought.unread += 1;
    return;
  }
  const orderKey = writeOrder(store, own?.orderKey, { ...order, payload: order.payload });
  writeLines(store, orderKey, JSON.parse(order.lines) as MirroredLine[]);
  if (order.isOpen) queueMirroredRead(store, order, at);
  brought.orders += 1;
}

const COLUMNS = [
  ...[
    "order_id",
    "service_id",
    "number",
    "status",
    "is_cancelled",
    "is_open",
    "service_created_at",
    "service_updated_at",
  ],
  ...["currency", "total", "revision", "erp_revision", "received_at", "changed_at", "removed_at", "payload_source"],
  ...[
    "payload_hash",
    "payload",
    "batch_hash",
    "batch_content_hash",
    "update_hash",
    "update_content_hash",
    "snapshot_hash",
  ],
];

function writeOrder(store: Store, orderKey: number | undefined, order: MirroredOrder & { payload: string }): number {
  const values = [
    ...[order.orderId, order.serviceId, order.number, order.status, Number(order.isCancelled), Number(order.isOpen)],
    ...[order.serviceCreatedAt, order.serviceUpdatedAt, order.currency, order.total, order.revision, order.erpRevision],
    ...[order.receivedAt, order.changedAt, order.removedAt, "snapshot"],
    ...[hash("sha256", order.payload, "buffer"), order.payload, null, null, null, null, null],
  ];
  if (orderKey === undefined) {
    const marks = COLUMNS.map(() => "?").join(", ");
    const sql = `INSERT INTO orders (${COLUMNS.join(", ")}) VALUES (${marks})`;
    return Number(store.prepare(sql).run(...values).lastInsertRowid);
  }
  const sets = COLUMNS.map((name) => `${name} = ?`).join(", ");
  store.prepare(`UPDATE orders SET ${sets} WHERE order_key = ?`).run(...values, orderKey);
  store.prepare("DELETE FROM compared_orders WHERE order_key = ?").run(orderKey);
  return orderKey;
}

function writeLines(store: Store, orderKey: number, lines: readonly MirroredLine[]): void {
  store.prepare("DELETE FROM order_line_rows WHERE order_key = ?").run(orderKey);
  const add = store.prepare(
    "INSERT INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  for (const line of lines) {
    add.run(orderKey, line.line_no, line.sku, line.name, line.quantity, line.price, line.payload);
  }
}

/** Adds the order to the refresh queue, so that it is read from the service. Inside a transaction. */
export function queueMirroredRead(
  store: Store,
  { orderId, serviceId }: Pick<MirroredOrder, "orderId" | "serviceId">,
  at: string,
): void {
  requestReadAs(store, { orderId, serviceId: serviceId ?? orderId }, at);
}
