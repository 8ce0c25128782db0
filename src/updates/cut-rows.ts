/*
 * Changes that a page has left out at its old end, and the search for them: open orders are read one by one, then closed ones.
 * It begins in the transaction that stores what the page held, and the watermark stays where it was until it is over; after a
 * crash it goes on behind the last orders of which a read was requested.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import { select } from "../database/queries.ts";
import { orders } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import type { Anchor } from "./page-cover.ts";

/** The service's time up to which changes are covered, where nothing changes for longer than it may be asked back. */
export const COVERED_STREAM = "updates_covered";

export interface Cut {
  since: string;
  /** How many changes the page held. */
  size: number;
  stage: "open" | "closed";
  /** Reads of orders up to this `order_key` were requested in this stage. */
  after: number;
  /** Another page was cut meanwhile: the search begins once more. */
  again: boolean;
  /** Proved, and therefore shown. */
  isShown: boolean;
  /** The order of pages is another one than that of their times, so that any changes may be missing. */
  isMixed?: boolean | undefined;
  /** The page held a few changes, and there is no other reason to doubt it. */
  isFew?: boolean | undefined;
  /**
   * A page was an answer to another question: nothing shows what changes since the position. Open orders are read for as long as that
   * goes on; nothing was left out, since the position stays.
   */
  isOther?: boolean | undefined;
  /** What said that a page was not whole, where nothing else did: it means nothing if no change is found. */
  lacks?: readonly string[] | undefined;
  /** A read has found a change that no page had shown. */
  isFound?: boolean | undefined;
  /** The largest timestamp that was served: the watermark once the search is over. Without a text: none was. */
  high: { text: string; ns: bigint };
  /** The search began when all up to this instant that pages of one timestamp may have left out could be read (`tie-rows.ts`). */
  tieNs?: bigint | undefined;
  /** Between these times the service could not be asked. */
  skipped?: { from: string; to: string } | undefined;
  /** The service's time up to which changes are covered once the search is over. */
  covered?: string | undefined;
}

type Written = Omit<Cut, "high" | "tieNs"> & { high: { text: string; ns: string }; tieNs?: string };

export function loadCut(store: Store): Cut | undefined {
  const written = loadMetaJson<Written>(store, "cut");
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
  const written = { ...cut, high: { text: high.text, ns: String(high.ns) }, tieNs: tieNs?.toString() };
  saveMetaJson(store, "cut", written);
}

/** With the hold that tells of the search. */
export function deleteCut(store: Store): void {
  deleteMeta(store, "cut");
  deleteHold(store, "updates", "cut");
}

/** Orders whose read no record asked for and that were not tried yet. One that the service has said it does not have waits for minutes. */
export function countRequestedReads(store: Store): number {
  const isMissing = "order_id IN (SELECT order_id FROM missing_orders)";
  return onlyValue(store, `SELECT count(*) FROM owed_reads WHERE record = '' AND attempts = 0 AND NOT ${isMissing}`);
}

/** The `order_key` behind which the newest `count` closed orders stand. */
export function loadClosedBegin(store: Store, count: number): number {
  const rest = `INDEXED BY orders_to_compare
    WHERE is_open = 0 AND removed_at IS NULL ORDER BY order_key DESC LIMIT 1 OFFSET ?`;
  return select(store, orders, ["orderKey"], rest).get(count)?.orderKey ?? 0;
}

export function loadAnchors(store: Store): Anchor[] {
  const anchors = loadMetaJson<[string, string][]>(store, "anchors") ?? [];
  return anchors.map(([orderId, ns]) => ({ orderId, ns: BigInt(ns) }));
}

export function saveAnchors(store: Store, anchors: readonly Anchor[]): void {
  saveMetaJson(
    store,
    "anchors",
    anchors.map(({ orderId, ns }) => [orderId, String(ns)]),
  );
}
