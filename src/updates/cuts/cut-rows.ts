/*
 * The search for changes that a page left out at its old end: open orders are read one by one, then closed ones. It
 * starts in the transaction that stores the page's changes, and the watermark does not move until it is over; after a
 * crash it continues after the last order of which a read was queued.
 */

import { MetaValue } from "../../database/meta.ts";
import { onlyValue } from "../../database/only-row.ts";
import { select } from "../../database/queries.ts";
import { orders } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import { deleteHold } from "../../pass/hold-rows.ts";
import { CUT_HIGH } from "../../pass/position-rows.ts";
import type { Anchor } from "../pages/page-cover.ts";

/** The service's time up to which changes are covered, for feeds that are quiet for longer than `since` may go back. */
export const COVERED_STREAM = "updates_covered";

export interface Cut {
  since: string;
  /** Number of changes on the page. */
  size: number;
  stage: "open" | "closed";
  /** Reads of orders up to this `order_key` were queued in this stage. */
  after: number;
  /** Another page was cut meanwhile, so the search starts again at its end. */
  again: boolean;
  /** Proved, and therefore shown to the user. */
  isShown: boolean;
  /** The page is not sorted by time, so any change may be missing. */
  isMixed?: boolean | undefined;
  /** The page held few changes, and nothing else suggests a cut. */
  isFew?: boolean | undefined;
  /**
   * A page answered another question than the one asked, so nothing shows the changes since the position. Open orders
   * are read for as long as this lasts; nothing is lost, because the position stays.
   */
  isOther?: boolean | undefined;
  /** The only signs beside the list that a page was incomplete; if no change is found, they mean nothing. */
  lacks?: readonly string[] | undefined;
  /** A read has found a change that no page had. */
  isFound?: boolean | undefined;
  /** The largest timestamp served: the watermark once the search is over. `text` is empty where none was served. */
  high: { text: string; ns: bigint };
  /**
   * The search includes everything up to this instant that pages of one timestamp may have left out (`equal-timestamps-rows.ts`).
   */
  tieNs?: bigint | undefined;
  /** Changes between these times could not be requested. */
  skipped?: { from: string; to: string } | undefined;
  /** The service's time up to which changes are covered once the search is over. */
  covered?: string | undefined;
}

type Written = Omit<Cut, "high" | "tieNs"> & { high: { text: string; ns: string }; tieNs?: string | undefined };

const CUT = CUT_HIGH as MetaValue<Written | undefined>;
/** The id and the time of each. */
const ANCHORS = new MetaValue<[orderId: string, ns: string][]>("anchors", []);

export function loadCut(store: Store): Cut | undefined {
  const written = CUT.load(store);
  if (written === undefined) return undefined;
  const { high, tieNs, ...cut } = written;
  return {
    ...cut,
    high: { text: high.text, ns: BigInt(high.ns) },
    ...(tieNs !== undefined && { tieNs: BigInt(tieNs) }),
  };
}

export function saveCut(store: Store, cut: Cut): void {
  const { high, tieNs } = cut;
  CUT.save(store, { ...cut, high: { text: high.text, ns: String(high.ns) }, tieNs: tieNs?.toString() });
}

/** Also deletes the hold that shows the search. */
export function deleteCut(store: Store): void {
  CUT.delete(store);
  deleteHold(store, "updates", "cut");
}

/** Number of queued reads without a record that were not tried yet. Others may wait for minutes. */
export function countRequestedReads(store: Store): number {
  const isMissing = "order_id IN (SELECT order_id FROM missing_orders)";
  return onlyValue(store, `SELECT count(*) FROM owed_reads WHERE record = '' AND attempts = 0 AND NOT ${isMissing}`);
}

/** The `order_key` after which the newest `count` closed orders begin. */
export function loadClosedBegin(store: Store, count: number): number {
  const rest = `INDEXED BY orders_to_compare
    WHERE is_open = 0 AND removed_at IS NULL ORDER BY order_key DESC LIMIT 1 OFFSET ?`;
  return select(store, orders, ["orderKey"], rest).get(count)?.orderKey ?? 0;
}

export function loadAnchors(store: Store): Anchor[] {
  return ANCHORS.load(store).map(([orderId, ns]) => ({ orderId, ns: BigInt(ns) }));
}

export function saveAnchors(store: Store, anchors: readonly Anchor[]): void {
  ANCHORS.save(
    store,
    anchors.map(({ orderId, ns }) => [orderId, String(ns)]),
  );
}
