/*
 * What a pass that the service ended leaves for the next one, which may be one of another process: a timer that runs `sync`
 * starts one each time.
 */

import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";

/** What the next pass begins with: queued reads of orders, or the rest of a wide re-poll. */
export type Turn = "reads" | "wide";

export const TURN = new MetaValue<Turn | undefined>("updates_turn");

/** Passes in a row that the service ended before their pages could be judged, apart for new changes and wide re-polls. */
interface Unjudged {
  news: number;
  sweep: number;
}
const UNJUDGED = new MetaValue<Unjudged>("updates_unjudged", { news: 0, sweep: 0 });

export function loadUnjudged(store: Store, of: keyof Unjudged): number {
  return UNJUDGED.load(store)[of];
}

/** To be called inside a write transaction. */
export function saveUnjudged(store: Store, of: keyof Unjudged, passes: number): void {
  UNJUDGED.save(store, { ...UNJUDGED.load(store), [of]: passes });
}
