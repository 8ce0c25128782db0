import { CONDITIONS, type Code } from "../../src/health/condition-traits.ts";
import { type Condition, listConditions } from "../../src/health/conditions.ts";
import type { Facts, FlowFacts } from "../../src/health/facts.ts";
import { words } from "./messages.ts";

export const NOW_MS = new Date(2026, 5, 1, 18, 30, 0).getTime();
export const RUNNING = { nowMs: NOW_MS, isRunning: true };
export const LIMITS = { erpReadWithinMs: 86_400_000 };
export const CODES = Object.keys(CONDITIONS) as Code[];

export const ago = (minutes: number) => new Date(NOW_MS - minutes * 60_000).toISOString();

export function flowOf(flow: string, over: Partial<FlowFacts> = {}): FlowFacts {
  return {
    flow,
    enabled: true,
    lastSuccessAt: ago(0.2),
    ageS: 12,
    waiting: 0,
    waitingSince: null,
    held: null,
    quarantined: 0,
    refused: 0,
    isStale: false,
    staleAfterS: 300,
    asOf: null,
    lastRunAt: ago(0.2),
    failingSince: null,
    errorCode: null,
    error: null,
    sentence: "",
    ...over,
  };
}

/** Facts of a shop without problems, with these differences. */
export function factsOf(over: Partial<Facts> = {}): Facts {
  return {
    flows: [
      flowOf("orders"),
      flowOf("updates"),
      flowOf("stocks", { lastSuccessAt: ago(11), asOf: ago(11) }),
      flowOf("erp", { waiting: 3, waitingSince: ago(4) }),
    ],
    holds: [],
    lastOrderAt: ago(10),
    orders: 10,
    unread: 0,
    refusedBatches: 0,
    refusedRequests: 0,
    acceptedByStatusOnly: [],
    walBytes: 0,
    ...over,
  };
}

const held = (area: string, reason: string) => ({ holds: [{ area, reason, since: ago(5), detail: null }] });
const flows = (name: string, over: Partial<FlowFacts>) => ({ flows: [flowOf(name, over)] });
const met = (of: "write" | "reload", code: "disk_full" | "config_invalid") => ({
  met: { of, code, sentence: words("It is so."), since: ago(5) },
});

/** For each code, facts that raise it and no other. */
export const SAMPLES: Record<Code, Partial<Facts>> = {
  database_trouble: met("write", "disk_full"),
  database_damaged: { databaseProblem: { kind: "damage", since: ago(5) } },
  database_log_cut: { databaseProblem: { kind: "log", since: ago(5) } },
  database_older: { databaseProblem: { kind: "older", since: ago(5) } },
  foreign_journal: { journalSince: ago(5) },
  reload_failed: met("reload", "config_invalid"),
  credential_replaced: { notices: [{ name: "credential", since: ago(5) }] },
  not_running: {},
  not_answering: { unanswered: ago(1) },
  hold_credentials: held("orders", "credentials"),
  hold_account: held("orders", "account"),
  hold_disk: held("orders", "disk"),
  hold_unread: held("orders", "unread"),
  hold_payment: held("imports", "payment"),
  hold_hand_out_lost: held("orders", "hand-out lost"),
  hold_table: held("stocks", "table"),
  hold_unrestored: held("stocks", "unrestored"),
  hold_refused: held("stocks", "refused"),
  hold_guard: held("stocks", "guard"),
  hold_tie: held("updates", "tie"),
  hold_other: held("orders", "of a later version"),
  flow_stale: flows("orders", { isStale: true, ageS: 7_300, lastSuccessAt: ago(122) }),
  flow_failing: flows("orders", { failingSince: ago(2), errorCode: "unreachable" }),
  fenced: flows("mirror", { failingSince: ago(2), errorCode: "mirror_fenced" }),
  mirror_stopped: flows("mirror", { failingSince: ago(2), errorCode: "mirror_right" }),
  former_rows: { formerRows: [{ feed: "stocks", count: 7, since: ago(5), keys: "c, z" }] },
  mirror_kept: { mirror: { refused: 0, kept: 2, extra: 0 } },
  mirror_refused: { mirror: { refused: 2, kept: 0, extra: 0 } },
  mirror_extra: { mirror: { refused: 0, kept: 0, extra: 2 } },
  objects_changed: { changed: "erp_orders.state, orders_pending" },
  erp_objects: { notices: [{ name: "objects", since: ago(5), names: "t (orders)" }] },
  unread_batches: { unread: 2, unreadSince: ago(5) },
  unjournaled_batches: { unjournaled: { count: 2, since: ago(5) } },
  refused_confirms: { refusedBatches: 2 },
  larger_confirms: { largerConfirms: { count: 1, since: ago(5) } },
  large_confirms: { largeConfirms: 2 },
  unnamed_batches: { unnamedBatches: { count: 2, times: 1 } },
  late_confirms: { openConfirms: { count: 2, since: ago(60) } },
  late_reads: { queuedReads: { times: [ago(60), ago(16), ago(14)], why: words("answered with 403") } },
  wide_failing: { wideFailing: ago(60) },
  unlisted_changes: { unlisted: { count: 2, since: ago(60) } },
  unreadable_times: { unreadableTimes: 2 },
  orders_untaken: flows("erp", { waiting: 1, waitingSince: ago(3 * 24 * 60) }),
  erp_silent: { erpWrites: [{ feed: "stocks", since: ago(120), withinS: 60 }] },
  hold_cut: held("updates", "cut"),
  hold_answer: held("stocks", "answer"),
  unsent_statuses: flows("statuses", { enabled: false, waiting: 3, waitingSince: ago(60) }),
  unsettled_statuses: { unsettledRequests: [ago(60), ago(16), ago(14)] },
  unstored_statuses: { unstoredRequests: [ago(60), ago(16), ago(14)] },
  unshown_statuses: { unshown: { orders: 2, since: ago(5) } },
  refused_statuses: { refusedRequests: 4 },
  quarantined: flows("orders", { quarantined: 2 }),
  blocked_orders: flows("erp", { quarantined: 2 }),
  clock_off: { notices: [{ name: "clock", since: ago(5), offsetS: -600 }] },
  copies_misnamed: { notices: [{ name: "copy_names", since: ago(5), names: "bridge-20261101T024100123Z.db" }] },
  disk_low: { disk: { free: 5 * 1024 * 1024, total: 1e12 } },
  channel_unreachable: { undelivered: [{ channel: "webhook", since: ago(5), error: "timed_out" }] },
  page_silent: { pageSilent: { address: "127.0.0.1:9469", since: ago(5), error: "EADDRINUSE" } },
  log_grown: { walBytes: 300 * 1024 * 1024 },
  hold_mapping: held("orders", "mapping"),
  hold_restored: held("orders", "restored"),
  refused_rows: flows("stocks", { refused: 2 }),
  hold_behind: held("updates", "behind"),
  hold_rate_limit: held("orders", "rate limit"),
  first_pass: flows("orders", { lastSuccessAt: null, ageS: null, isStale: true, firstPassSince: ago(40) }),
  flow_starting: flows("orders", { lastSuccessAt: null, ageS: null }),
};

/** The sample of a code. */
export function sampleOf(code: Code): { facts: Facts; now: { nowMs: number; isRunning: boolean } } {
  return { facts: factsOf(SAMPLES[code]), now: { ...RUNNING, isRunning: code !== "not_running" } };
}

export function conditionsOf(code: Code): Condition[] {
  const { facts, now } = sampleOf(code);
  return listConditions(facts, now, LIMITS);
}
