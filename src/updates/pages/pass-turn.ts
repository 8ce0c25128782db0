/*
 * What a pass that the service ended leaves for the next one, which may be one of another process: a timer that runs `sync`
 * starts one each time.
 */

import { deleteMeta, loadMetaJson, saveMetaJson } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";

/** What the next pass begins with: queued reads of orders, or the rest of a wide re-poll. */
export type Turn = "reads" | "wide";

/** To be called inside a write transaction. */
export function saveTurn(store: Store, turn: Turn): void {
  saveMetaJson(store, "updates_turn", turn satisfies Turn);
}

export function loadTurn(store: Store): Turn | undefined {
  return loadMetaJson<Turn>(store, "updates_turn");
}

/** To be called inside a write transaction. */
export function deleteTurn(store: Store): void {
  deleteMeta(store, "updates_turn");
}

/** Passes in a row that the service ended before their pages could be judged, apart for new changes and wide re-polls. */
interface Unjudged {
  news: number;
  sweep: number;
}
const NONE: Unjudged = { news: 0, sweep: 0 };

export function loadUnjudged(store: Store, of: keyof Unjudged): number {
  return (loadMetaJson<Unjudged>(store, "updates_unjudged") ?? NONE)[of];
}

/** To be called inside a write transaction. */
export function saveUnjudged(store: Store, of: keyof Unjudged, passes: number): void {
  const others = loadMetaJson<Unjudged>(store, "updates_unjudged") ?? NONE;
  saveMetaJson(store, "updates_unjudged", { ...others, [of]: passes } satisfies Unjudged);
}
