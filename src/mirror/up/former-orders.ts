/*
 * What the order of a request was before the request may have left, for a shop's database that was restored or made anew. SQL, because
 * requests are read with their orders and events by one statement.
 */
import { isSameName } from "../../database/same-name.ts";
import type { Store } from "../../database/store.ts";
import type { MirrorTx } from "../connection.ts";
import type { TouchedRequest } from "./remote-rows.ts";

/** Only the newest changes of an order count. */
const CHANGES_MAX = 100;

interface StatusChange {
  was: string | null;
  status: string | null;
}

export interface FormerOrder {
  status: string | null;
  revision: number;
  /** The service's timestamp, as written. */
  updatedAt: string | null;
  /** Changes of the status after the revision that the ERP knew, oldest first. */
  changes: readonly StatusChange[];
}

const CHANGE = "status_changed AND kind <> 'created'";

/** Adds to each request the order that PostgreSQL has. */
export async function addFormerOrders<R extends TouchedRequest>(
  tx: MirrorTx,
  shop: string,
  requests: readonly R[],
): Promise<R[]> {
  const found = await tx.query<Omit<FormerOrder, "changes"> & { id: string; changes: string }>(
    `SELECT r.id::text, o.status, o.revision, o.service_updated_at AS "updatedAt", (
       SELECT coalesce(json_agg(json_build_object('was', e.old_status, 'status', e.new_status) ORDER BY e.seq), '[]')::text FROM (
         SELECT * FROM order_events WHERE shop = $1 AND order_id = r.order_id AND revision > coalesce(r.known_revision, 0) AND ${CHANGE}
         ORDER BY seq DESC LIMIT ${CHANGES_MAX}) e) AS changes
     FROM status_requests r JOIN orders o ON o.shop = $1 AND o.order_id = r.order_id WHERE r.shop = $1 AND r.id = ANY ($2::uuid[])`,
    [shop, requests.map(({ id }) => id)],
  );
  const formers = new Map(found.map(({ id, changes, ...order }) => [id, { ...order, changes: JSON.parse(changes) }]));
  return requests.map((request) => ({ ...request, former: formers.get(request.id) }));
}

/**
 * The order as this database has it. Where PostgreSQL has none (`isAlone`), this database may have received it after the request left: what
 * it was before is then not known.
 */
export function loadOwnOrder(
  store: Store,
  orderId: string,
  { knownRevision, isAlone }: { knownRevision: string | null; isAlone: boolean },
): FormerOrder | undefined {
  const order = store
    .prepare<Omit<FormerOrder, "changes"> & { orderKey: number }>(
      "SELECT order_key AS orderKey, status, revision, service_updated_at AS updatedAt FROM orders WHERE order_id = ?",
    )
    .get(orderId);
  if (order === undefined) return undefined;
  const changes = store
    .prepare<StatusChange>(
      `SELECT old_status AS was, new_status AS status FROM order_event_rows
       WHERE order_key = ? AND revision > coalesce(CAST(? AS INTEGER), 0) AND ${isAlone ? "status_changed" : CHANGE}
       ORDER BY seq DESC LIMIT ${CHANGES_MAX}`,
    )
    .all(order.orderKey, knownRevision)
    .reverse();
  return { ...order, changes };
}

/** What is known of the order of a request that may have left. */
export interface FormerFacts {
  request: { wanted: string | null; hasLeft: boolean };
  /** PostgreSQL's. */
  former: FormerOrder | undefined;
  /** This database's. */
  own: FormerOrder | undefined;
}

/**
 * The order as it was before the request left, and whether the status that it asks for was seen on the order since the ERP asked. A
 * change counts as made after the request left where it may have been: any where the request has left, else those of this database.
 * PostgreSQL's row may have them too, unless it is older than this database's.
 */
export function planFormer({ request, former, own }: FormerFacts): Omit<FormerOrder, "changes" | "revision"> & {
  revision: number | null;
  hasComeBack: boolean;
} {
  const { revision = null, updatedAt = null, status = null } = former ?? own ?? {};
  const changes = [...(former?.changes ?? []), ...(own?.changes ?? [])];
  const before = { revision, updatedAt };
  const shown = changes.find(
    ({ was, status }) => isSameName(status, request.wanted) && !isSameName(was, request.wanted),
  );
  if (shown !== undefined) return { ...before, status: shown.was, hasComeBack: true };
  const isOlder = former !== undefined && former.revision < (own?.revision ?? 0);
  const [first] = request.hasLeft ? changes : isOlder ? [] : (own?.changes ?? []);
  return { ...before, status: first === undefined ? status : first.was, hasComeBack: false };
}
