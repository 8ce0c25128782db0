/*
 * What alerts are made from, and what was told to whom. The facts are read on the daemon's own connection in two
 * parts, because one of them is cheap. What was told is written after a message has arrived; after a crash in between
 * the same message goes out once more.
 */

import { loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { countKeptBodies, countRefusedConfirms, loadUnnamedBatches } from "../orders/batch-rows.ts";
import { loadHolds } from "../pass/hold-rows.ts";
import { countRefusedRequests } from "../statuses/status-rows.ts";
import type { AlertFacts, FlowFacts } from "./alerts.ts";
import { loadNotices } from "./notices.ts";
import type { Told } from "./plan-alerts.ts";

/** The part that may change at any moment and costs next to nothing to read. */
export function loadQuickFacts(store: Store): Pick<AlertFacts, "flows" | "holds" | "walBytes" | "notices" | "met"> {
  const flows = store
    .prepare(
      `SELECT flow, enabled, stale_after_s AS staleAfterS, last_success_at AS lastSuccessAt, failing_since AS failingSince,
         error_code AS errorCode FROM flows ORDER BY flow`,
    )
    .all() as (Omit<FlowFacts, "enabled"> & { enabled: number })[];
  return {
    flows: flows.map((flow) => ({ ...flow, enabled: flow.enabled === 1 })),
    holds: loadHolds(store).map(({ area, reason, since, scope }) => ({ area, reason, since, scope })),
    walBytes: store.walBytes(),
    notices: loadNotices(store).map(({ name, since }) => ({ name, since })),
    met: store.troubles.first,
  };
}

/** Counts over tables that may be long: not for every few seconds. */
export function loadCountedFacts(
  store: Store,
): Omit<AlertFacts, "flows" | "holds" | "walBytes" | "notices" | "met" | "written"> {
  const count = (sql: string) => (store.prepare(sql).get() as { n: number }).n;
  return {
    quarantined: store
      .prepare(
        "SELECT kind, count(*) AS count FROM quarantine INDEXED BY quarantine_held WHERE state = 'held' GROUP BY kind",
      )
      .all() as AlertFacts["quarantined"],
    unreadBatches: countKeptBodies(store),
    refusedConfirms: countRefusedConfirms(store),
    unnamedBatches: loadUnnamedBatches(store).count,
    refusedRequests: countRefusedRequests(store),
    blockedByErp: count("SELECT count(*) AS n FROM erp_queue WHERE blocked = 1"),
    erpWaitingSince: (
      store.prepare("SELECT min(since) AS at FROM erp_queue WHERE blocked = 0").get() as { at: string | null }
    ).at,
  };
}

/** A place that is called from outside the flows, and how the calling goes. */
export interface ChannelState {
  told: Told;
  /** Null while the last call went well. `error` holds a code, never an address. */
  failing: { since: string; error: string } | null;
}

export type ChannelName = "webhook" | "command" | "heartbeat";
export type ChannelStates = Partial<Record<ChannelName, ChannelState>>;

export function loadChannels(store: Store): ChannelStates {
  return JSON.parse(loadMeta(store, "alerts") ?? "{}") as ChannelStates;
}

export function saveChannels(store: Store, channels: ChannelStates): void {
  saveMeta(store, "alerts", JSON.stringify(channels));
}
