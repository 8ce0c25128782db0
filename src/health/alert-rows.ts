/*
 * What each receiver was notified of. Written after a message has arrived; after a crash in between the same message is
 * sent again.
 */

import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { Notified } from "./plan-alerts.ts";

/** State of one receiver or of the heartbeat. */
export interface ChannelState {
  /** What it was notified of; `told` is the stored name. */
  told: Notified;
  /** Null while the last call succeeded. `error` is a code, never an address. */
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
