/* What a pass of the mirror's way down has to do; pure. */
import type { Position } from "./position.ts";

/** How far the shop's database has come. */
export interface Local {
  /** The number of the newest event ever. */
  head: number;
  /** Of the oldest event that is kept; one more than `head` where none is. */
  oldest: number;
  /** The event up to which PostgreSQL has every order was never in this database: a copy was restored, whose numbers then jump. */
  isOther: boolean;
  /** The first event that PostgreSQL has refused since the last comparison. */
  refusedEvent: number | undefined;
  /** PostgreSQL is an older one than it was. */
  isRestored: boolean;
}

/** What the position becomes before anything is written. */
export interface Beginning {
  move: Partial<Pick<Position, "epoch" | "ordersSeq" | "eventsSeq" | "walk" | "walkAfter">>;
  /** Every batch and every held record is written again. */
  refill: boolean;
  why: "first" | "went back" | "other" | "restored" | "expired" | "asked" | undefined;
}

const NOTHING: Beginning = { move: {}, refill: false, why: undefined };

/**
 * The position of a shop of which there is none. Orders are walked through, and stand as of now: what happens meanwhile comes first.
 */
export function firstPosition(local: Pick<Local, "head">) {
  return { epoch: 0, ordersSeq: local.head, eventsSeq: 0, walk: "copy", walkAfter: 0 } as const;
}

/**
 * Whether everything must be gone through, and why.
 *
 * @example
 * planBeginning(position, { head: 900, … }); // where ordersSeq is 1000: the file is an older one: everything, over what is there
 * planBeginning(position, { oldest: 2000, head: 3000, … }); // ordersSeq 1000: events were removed that were not mirrored yet
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

/** From the beginning; a copy stays one, because hardly anything is there to be compared with. */
function walkOf({ walk }: Pick<Position, "walk">) {
  return { walk: walk ?? "compare", walkAfter: 0 } as const;
}
