import type { DiskSpace } from "../backup/space-rule.ts";
import type { HoldScope } from "../database/hold-names.ts";
import type { DoubtKind } from "../database/progress.ts";
import type { syncStatus } from "../database/schema.ts";
import type { Message } from "../messages/message.ts";
import type { MirrorFacts } from "../mirror/mirror-state.ts";
import { hasOwnWords } from "../platform/errors.ts";
import type { Trouble } from "../platform/troubles.ts";

/* What is known about how things stand: read from the database in one place (fact-rows.ts), and judged in one place (conditions.ts). */

type StatusRow = typeof syncStatus.$inferSelect;

/**
 * One row of `sync_status`. `refused`: rows of a feed that the service refused while nothing proved that it was about them; they are
 * tried again. `asOf`: of a feed: what the site shows is the ERP's table of the last pass, or of the oldest change that waits
 * or is refused.
 */
export interface FlowFacts extends Omit<StatusRow, "error" | "erpWroteAt" | "isErpSilent"> {
  /** The last success, or the first failure or the start of the program where there was none; absent before ages are measured. */
  silentSince?: string;
  /** After so long a silence `isStale`. */
  staleAfterS: number;
  /** A pass of a flow that has never succeeded is under way. */
  firstPassSince?: string | null;
  error: Message | null;
}

export interface Facts {
  flows: FlowFacts[];
  holds: { area: string; reason: string; since: string; detail: Message | null; scope?: HoldScope }[];
  lastOrderAt: string | null;
  orders: number;
  unread: number;
  /** When the oldest of them came that could not be read. */
  unreadSince?: string | null;
  /** Stored batches that the journal could not be given, and when the oldest of them came. */
  unjournaled?: { count: number; since: string | null };
  refusedBatches: number;
  /** Batches whose confirm is too large for the service. */
  largeConfirms?: number;
  /** Batches that no confirm can name, and how often the service has served the last one at least. */
  unnamedBatches?: { count: number; times: number };
  /** Stored batches whose confirm fails, and since when the oldest of them waits. */
  failedConfirms?: { count: number; since: string | null };
  /** Orders that are to be read: since when each, the oldest first, and what came of that one at last. */
  owedReads?: { times: readonly string[]; why: Message | null };
  refusedRequests: number;
  /** Requests that have left and are not settled: when each left first, the oldest first. */
  unsettledRequests?: readonly string[];
  /** Orders that lack a status which the service has accepted, and since when. */
  unshown?: { orders: number; since: string | null };
  /** Orders whose change of status the nightly comparison has found, and which the list of changes does not name. */
  unlisted?: { count: number; since: string | null };
  /** Feeds whose last acceptance was shown by the status code alone. */
  acceptedByStatusOnly: string[];
  walBytes: number;
  /** What the database's file system has left; absent where it is not known. */
  disk?: DiskSpace | undefined;
  /** When the ERP was last seen to write a feed's table, and how long its silence may last. */
  erpWrites?: { feed: string; since: string; withinS: number }[];
  /** Receivers of alerts and the heartbeat's address that cannot be reached; `error` is a code. */
  undelivered?: { channel: string; since: string; error: string }[];
  /** The address that the status page cannot have, because another program listens there. */
  pageSilent?: { address: string; since: string; error: string } | undefined;
  /** Rows on the site that were sent under a former key and wait for a person. */
  formerRows?: { feed: string; count: number; since: string; keys: string }[];
  /** Absent where there is no mirror. `fenced`: another machine has taken the shop over; which one, and what to do. */
  mirror?: (MirrorFacts & { fenced?: Message | undefined }) | undefined;
  /** Why the database must be verified, until the daemon has started anew. */
  doubt?: { kind: DoubtKind; since: string } | undefined;
  /** Since when a file DATABASE-journal keeps other programs out. */
  journalSince?: string | undefined;
  /** Tables, views and the like of the bridge's that are missing or were changed; what they tell is not known then. */
  changed?: string;
  /** The daemon's own trouble; no other process has it. */
  met?: Trouble | undefined;
  /** Since when the daemon, if it runs, has left a request of `sync` untaken. */
  unanswered?: string | undefined;
  /** What the daemon noticed about its machine: a clock that is `offsetS` ahead of the service's, a Client Secret that was replaced, objects of the ERP's on the bridge's tables, names of copies that mislead. */
  notices?: {
    name: "clock" | "credential" | "objects" | "copy_names";
    since: string;
    offsetS?: number;
    names?: string;
  }[];
}

/**
 * What the service wrote may hold anything, a customer's data included: here its meaning is shown, never its words. Sentences that
 * are the bridge's own stay, so that every surface shows the same.
 */
export function withoutForeignWords(facts: Facts): Facts {
  return {
    ...facts,
    flows: facts.flows.map((flow) => ({ ...flow, error: hasOwnWords(flow.errorCode ?? "") ? flow.error : null })),
    holds: facts.holds.map((hold) => ({ ...hold, detail: null })),
    ...(facts.owedReads === undefined ? {} : { owedReads: { ...facts.owedReads, why: null } }),
  };
}
