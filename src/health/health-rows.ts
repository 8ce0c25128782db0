/*
 * What health stores. Conditions, for readers by SQL, are replaced as a whole in one transaction; a crash leaves the former
 * list, whose `seen_at` becomes old. What a receiver was notified of is written after a message has arrived; after a crash
 * in between the same message is sent again.
 */
import { MetaValue } from "../database/meta.ts";
import { deleteRows, insertRow, listRows } from "../database/queries.ts";
import { conditions } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Notified } from "./plan-alerts.ts";

export type ConditionRow = typeof conditions.$inferSelect;

export function loadConditions(store: Store): ConditionRow[] {
  return listRows(store, conditions, {}, ["rank"]);
}

export function replaceConditions(store: Store, rows: readonly ConditionRow[]): void {
  deleteRows(store, conditions, {});
  for (const row of rows) insertRow(store, conditions, row);
}

/** State of one receiver or of the heartbeat. */
export interface ChannelState {
  /** What it was notified of; `told` is the stored name. */
  told: Notified;
  /** Null while the last call succeeded. `error` is a code, never an address. */
  failing: { since: string; error: string } | null;
}

export type ChannelName = "webhook" | "command" | "heartbeat";
export type ChannelStates = Partial<Record<ChannelName, ChannelState>>;

export const CHANNELS = new MetaValue<ChannelStates>("alerts", {});

/** The status page cannot listen because another program uses its port. */
export interface PageSilence {
  address: string;
  since: string;
  /** The system's code, `EADDRINUSE` for a used port. */
  error: string;
}

/** Absent: the page listens, or is switched off. */
export const PAGE_SILENCE = new MetaValue<PageSilence | undefined>("page");
