/*
 * The facts about the present state: read from the database in fact-rows.ts, judged in conditions.ts.
 */

import type { DiskSpace } from "../backup/space-rule.ts";
import type { DatabaseProblem } from "../database/log/progress.ts";
import type { syncStatus } from "../database/schema.ts";
import type { Message } from "../messages/message.ts";
import type { MirrorFacts } from "../mirror/mirror-state.ts";
import type { HoldScope } from "../pass/hold-reasons.ts";
import { hasOwnWords } from "../platform/errors.ts";
import type { Trouble } from "../platform/troubles.ts";

type StatusRow = typeof syncStatus.$inferSelect;

/**
 * One row of `sync_status`. `refused`: rows of a feed that the service refused without a sign that the row was the
 * cause; they are retried. After {@link measureAges} also those whose request failed, and that have waited for minutes
 * although the feed does not fail. `asOf`: of a feed: the site shows the ERP's table as of the last pass, or of the oldest
 * change that waits or is refused.
 */
export interface FlowFacts extends Omit<StatusRow, "error" | "erpWroteAt" | "isErpSilent"> {
  /** The last success, else the first failure, else the program's start; absent before {@link measureAges}. */
  silentSince?: string;
  /** The flow is stale after a longer silence. */
  staleAfterS: number;
  /** Start of the first pass, while no pass has succeeded yet. */
  firstPassSince?: string | null;
  error: Message | null;
}

export interface Facts {
  flows: FlowFacts[];
  holds: { area: string; reason: string; since: string; detail: Message | null; scope?: HoldScope }[];
  lastOrderAt: string | null;
  orders: number;
  unread: number;
  /** When the oldest unreadable batch was received. */
  unreadSince?: string | null;
  /** Stored batches that could not be journaled, and when the oldest was received. */
  unjournaled?: { count: number; since: string | null };
  refusedBatches: number;
  /** Confirms whose answer counted more records than had come, and when the first was answered. */
  largerConfirms?: { count: number; since: string | null };
  /** Batches whose confirm is too large for the service. */
  largeConfirms?: number;
  /** Batches without ids, and how often at least the service has served the last one. */
  unnamedBatches?: { count: number; times: number };
  /** Stored batches that are not confirmed, and since when the oldest waits. */
  openConfirms?: { count: number; since: string | null };
  /**
   * Orders to be read: since when each, oldest first, and the last failure of the oldest. `untried`: those that do not
   * wait after a failure of their own.
   */
  queuedReads?: { times: readonly string[]; untried?: readonly string[]; why: Message | null };
  refusedRequests: number;
  /** Requests that were sent and whose outcome is open: when each was first sent, oldest first. */
  unsettledRequests?: readonly string[];
  /** Requests for orders that are not stored: when each was made, oldest first. */
  unstoredRequests?: readonly string[];
  /** Orders that do not show a status which the service has accepted, and since when. */
  unshown?: { orders: number; since: string | null };
  /** Since when wide re-polls of changes fail; null: they do not. */
  wideFailing?: string | null;
  /** Orders whose status the nightly comparison found changed without an entry in the list of changes. */
  unlisted?: { count: number; since: string | null };
  /** Timestamps of the newest orders and changes that cannot be read, where most of them cannot. */
  unreadableTimes?: number;
  /** Feeds whose last acceptance was recognised by the HTTP status alone. */
  acceptedByStatusOnly: string[];
  walBytes: number;
  /** Free space of the database's file system; absent where it is unknown. */
  disk?: DiskSpace | undefined;
  /** When the ERP last wrote a feed's table, and how long it may be silent. */
  erpWrites?: { feed: string; since: string; withinS: number }[];
  /** Receivers of alerts and the heartbeat that cannot be reached; `error` is a code. */
  undelivered?: { channel: string; since: string; error: string }[];
  /** The address that the status page cannot listen on, because another program does. */
  pageSilent?: { address: string; since: string; error: string } | undefined;
  /** Rows of each feed whose last request has an unknown outcome: since when each waits, oldest first. */
  unansweredRows?: { feed: string; times: readonly string[] }[];
  /** Rows on the site that were sent under a former key and wait for a person's decision. */
  formerRows?: { feed: string; count: number; since: string; keys: string }[];
  /** Absent where there is no mirror. `fenced`: another machine has taken over the shop; which one, and what to do. */
  mirror?: (MirrorFacts & { fenced?: Message | undefined }) | undefined;
  /** Why the database must be verified; set until the daemon has been restarted. */
  databaseProblem?: { kind: DatabaseProblem; since: string } | undefined;
  /** Since when a file DATABASE-journal locks other programs out. */
  journalSince?: string | undefined;
  /** The bridge's objects that are missing or were changed; facts that depend on them are unknown. */
  changed?: string;
  /** The daemon's own trouble, kept in memory and in its lock. */
  met?: Trouble | undefined;
  /** Since when a request of `sync` is unanswered. */
  unanswered?: string | undefined;
  /**
   * Notices of the daemon: a clock that is `offsetS` ahead of the service's, a replaced Client Secret, objects of the
   * ERP's on the bridge's tables, misleading names of copies.
   */
  notices?: {
    name: "clock" | "credential" | "objects" | "copy_names";
    since: string;
    offsetS?: number;
    names?: string;
  }[];
}

/**
 * Removes text written by the service, which may contain anything, customers' data included; conditions show its
 * meaning. Sentences of the bridge's own stay, so that every output is the same.
 */
export function withoutForeignWords(facts: Facts): Facts {
  return {
    ...facts,
    flows: facts.flows.map((flow) => ({ ...flow, error: hasOwnWords(flow.errorCode ?? "") ? flow.error : null })),
    holds: facts.holds.map((hold) => ({ ...hold, detail: null })),
    ...(facts.queuedReads === undefined ? {} : { queuedReads: { ...facts.queuedReads, why: null } }),
  };
}
