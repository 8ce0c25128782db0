/* Decides what a transaction from the shop to PostgreSQL has to do; pure. */
import type { Position } from "../position.ts";

/** The progress of the shop's database. */
export interface Local {
  /** The highest event number ever assigned. */
  head: number;
  /** Number of the oldest stored event; `head + 1` where there is none. */
  oldest: number;
  /** This database never had the event up to which PostgreSQL has all orders: a copy was restored, and its numbers jumped. */
  isOther: boolean;
  /** The first event that PostgreSQL has refused since the last comparison. */
  refusedEvent: number | undefined;
  /** PostgreSQL was restored to an earlier state. */
  isRestored: boolean;
}

/** Changes of the position before anything is written. */
export interface Beginning {
  move: Partial<Pick<Position, "epoch" | "ordersSeq" | "eventsSeq" | "walk" | "walkAfter">>;
  /** Write all batches and quarantined records again. */
  refill: boolean;
  why: "first" | "went back" | "other" | "restored" | "expired" | "asked" | undefined;
}

const NOTHING: Beginning = { move: {}, refill: false, why: undefined };

/**
 * The position of a new shop. A walk copies all orders; events from now on are copied first.
 */
export function firstPosition(local: Pick<Local, "head">) {
  return { epoch: 0, ordersSeq: local.head, eventsSeq: 0, walk: "copy", walkAfter: 0 } as const;
}

/**
 * Whether all rows must be compared, and why.
 *
 * @example
 * planBeginning(position, { head: 900, … }); // ordersSeq is 1000: the database is an older copy; all is compared
 * planBeginning(position, { oldest: 2000, head: 3000, … }); // ordersSeq is 1000: events were deleted before they were mirrored
 */
export function planBeginning(
  position: Pick<Position, "epoch" | "ordersSeq" | "eventsSeq" | "walk">,
  local: Local,
  isCompareAsked: boolean,
): Beginning {
  if (local.head < position.ordersSeq) {
    const move = { epoch: position.epoch + 1, ordersSeq: local.head, eventsSeq: 0, ...COMPARE };
    return { move, refill: true, why: "went back" };
  }
  if (local.isRestored) return { move: walkOf(position), refill: true, why: "restored" };
  if (local.isOther) return { move: { ordersSeq: local.head, ...walkOf(position) }, refill: true, why: "other" };
  if (local.oldest > position.ordersSeq + 1 && local.head > position.ordersSeq)
    return { move: { ordersSeq: local.head, ...walkOf(position) }, refill: false, why: "expired" };
  if (isCompareAsked && position.walk === null) {
    const { refusedEvent } = local;
    const eventsSeq = refusedEvent === undefined ? {} : { eventsSeq: Math.min(position.eventsSeq, refusedEvent - 1) };
    return { move: { ...COMPARE, ...eventsSeq }, refill: true, why: "asked" };
  }
  return NOTHING;
}

const COMPARE = { walk: "compare", walkAfter: 0 } as const;

/** Restarts the walk; a first copy stays a copy, because PostgreSQL has hardly any orders to compare. */
function walkOf({ walk }: Pick<Position, "walk">) {
  return { walk: walk ?? "compare", walkAfter: 0 } as const;
}
