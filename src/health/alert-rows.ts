/* What each receiver was notified of. Written after a message has arrived; after a crash in between the same message goes out once more. */

import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { Notified } from "./plan-alerts.ts";

/** A place that is called from outside the flows, and how the calling goes. */
export interface ChannelState {
  /** The name that it has in the database. */
  told: Notified;
  /** Null while the last call went well. `error` holds a code, never an address. */
  failing: { since: string; error: string } | null;
}

export type ChannelName = "webhook" | "command" | "heartbeat";
export type ChannelStates = Partial<Record<ChannelName, ChannelState>>;

export function loadChannels(store: Store): ChannelStates {
  return loadMetaJson<ChannelStates>(store, "alerts") ?? {};
}

export function saveChannels(store: Store, channels: ChannelStates): void {
  saveMetaJson(store, "alerts", channels);
}
