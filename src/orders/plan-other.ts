import type { OrderSource } from "../records/order-mapping.ts";

/** The minimum time between the two reads after which the order itself counts. */
const READS_APART_MS = 10 * 60_000;

/**
 * Decides what a record means that has the id of a stored order and is another order. Only the order itself replaces
 * the stored one, and only where reads at least ten minutes apart have shown nothing else: a service with faulty ids
 * may answer with several orders in turn.
 * @param heldSince the first of the reads that have shown this order alone
 */
export function planOther(source: OrderSource, heldSince: string | undefined, at: string): "hold" | "replace" {
  if (source !== "snapshot" || heldSince === undefined) return "hold";
  return Date.parse(at) - Date.parse(heldSince) >= READS_APART_MS ? "replace" : "hold";
}
