/*
 * What needs attention now: one list, which `status`, the page, /health, metrics, alerts, the heartbeat and systemd
 * only render. Pure: the clock is handed in.
 */

import { judgeSpace } from "../backup/space-rule.ts";
import type { DatabaseProblem } from "../database/log/progress.ts";
import type { HoldScope } from "../pass/hold-reasons.ts";
import { AREA_FLOWS } from "../pass/job-names.ts";
import { type ErrorCode, EXIT, type ExitCode, exitCodeOfCode } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { isOfDatabase } from "../platform/troubles.ts";
import { CONDITIONS, type Code, codeOfHold, type Params, type Trait } from "./condition-traits.ts";
import type { Facts, FlowFacts } from "./facts.ts";

export type Condition = {
  [C in Code]: {
    code: C;
    /** A flow, the area of a hold, or for example `database`, `daemon` or `machine`. */
    subject: string;
    /** UTC, ISO 8601; null where it is unknown. */
    since: string | null;
    params: Params[C];
  };
}[Code];

export interface Limits {
  /** How long an order may wait for the ERP. */
  erpReadWithinMs: number;
}

export interface Now {
  nowMs: number;
  isRunning: boolean;
  /** Time since the daemon's last sign of life; undefined where it is unknown, or where the daemon itself asks. */
  silentMs?: number | undefined;
}

/** A log this large means that some program keeps a read transaction open, so that SQLite cannot reset the log. */
const WAL_ALARM_BYTES = 256_000_000;
/** The daemon polls for requests several times a second. */
const UNANSWERED_MS = 5_000;
/** The daemon writes a sign of life every second; a busy disk or a large write may delay it. */
const SILENT_MS = 60_000;
/**
 * Work that waits longer is a condition for its age alone, whatever the cause; shorter trouble shows on the flow
 * itself.
 */
const LATE_MS = 15 * 60_000;
/** The same for rows whose request failed: an ordinary one is sent again after two minutes. */
const UNANSWERED_ROWS_MS = 5 * 60_000;
/** A pass of 200 reads at five requests a second takes 40 s, and the next one follows within a minute. */
const READS_BEHIND_MS = 2 * 60_000;
/** A pass within so long shows that reads are tried, also where the daemon does not run. */
const PASSES_MS = 60 * 60_000;
/** A flow that runs this rarely may not have had its first run yet: until then its silence means nothing. */
const RARE_S = 3_600;

const DATABASE_PROBLEM_CODES = {
  older: "database_older",
  log: "database_log_cut",
  damage: "database_damaged",
} as const satisfies Record<DatabaseProblem, Code>;

/** All present conditions, most important first. */
export function listConditions(facts: Facts, now: Now, limits: Limits): Condition[] {
  const found = [
    ...ofDaemon(facts, now),
    ...facts.holds.map(({ area, reason, since }) => make(codeOfHold(reason), area, since, { reason })),
    ...facts.flows.flatMap((flow) => ofFlow(flow, facts, now)),
    ...ofOrders(facts, now, limits),
    ...ofReads(facts, now),
    ...ofFeeds(facts, now),
    ...ofMachine(facts),
  ];
  return found.sort((a, b) => RANKS.indexOf(a.code) - RANKS.indexOf(b.code));
}

const RANKS = Object.keys(CONDITIONS);

/**
 * Stale flows behind a hold that already explains them: their open notifications do not end, and no new ones are sent.
 */
export function listCovered(facts: Facts, now: Now): Condition[] {
  return facts.flows.flatMap((flow) => (isSilent(flow, now) && isCovered(flow, facts) ? [silence(flow)] : []));
}

export function traitOf({ code }: Pick<Condition, "code">): Trait {
  return CONDITIONS[code];
}

/** Identifies a condition in alerts, series and rows. */
export function keyOf({ code, subject }: Pick<Condition, "code" | "subject">): string {
  return `${code} ${subject}`;
}

/** Count of the condition; 1 where it has none. */
export function levelOf({ params }: Pick<Condition, "params">): number {
  return "count" in params ? params.count : 1;
}

/** The exit code of a command that found these conditions, by the precedence of exit codes. */
export function exitCodeOfAll(conditions: readonly Condition[]): ExitCode {
  const codes = conditions.map((condition) => exitOf(condition));
  return Object.values(EXIT).find((exit) => exit !== EXIT.ok && codes.includes(exit)) ?? EXIT.ok;
}

/** The exit code of a command that finds a hold. */
export function exitCodeOfHold(reason: string): ExitCode {
  return CONDITIONS[codeOfHold(reason)].exit as ExitCode;
}

function exitOf(condition: Condition): ExitCode | null {
  const { exit } = traitOf(condition);
  if (exit !== "error") return exit;
  const { error } = condition.params as { error: string | null };
  return exitCodeOfCode(error ?? "") === EXIT.unreachable ? EXIT.unreachable : EXIT.attention;
}

function make<C extends Code>(code: C, subject: string, since: string | null, params: Params[C]): Condition {
  return { code, subject, since, params } as Condition;
}

function ofDaemon(facts: Facts, { nowMs, isRunning, silentMs = 0 }: Now): Condition[] {
  const { met, databaseProblem, journalSince, unanswered, pageSilent } = facts;
  const list: Condition[] = [];
  const isDatabase = met !== undefined && isOfDatabase(met);
  if (met !== undefined) {
    const params = { error: met.code, sentence: met.sentence };
    list.push(
      isDatabase
        ? make("database_trouble", "database", met.since, params)
        : make("reload_failed", "configuration", met.since, params),
    );
  }
  if (facts.changed !== undefined) list.push(make("objects_changed", "database", null, { names: facts.changed }));
  // The daemon's own database trouble reports the same.
  if (journalSince !== undefined && !isDatabase) list.push(make("foreign_journal", "database", journalSince, {}));
  if (databaseProblem !== undefined)
    list.push(make(DATABASE_PROBLEM_CODES[databaseProblem.kind], "database", databaseProblem.since, {}));
  const fence = fenceOf(facts);
  if (fence !== undefined) list.push(fence);
  // A fenced daemon must not be started.
  if (!isRunning && fence === undefined) list.push(make("not_running", "daemon", null, {}));
  else if (silentMs >= SILENT_MS) list.push(make("not_answering", "daemon", isoTime(nowMs - silentMs), {}));
  else if (unanswered !== undefined && isLongAgo(unanswered, nowMs, UNANSWERED_MS))
    list.push(make("not_answering", "daemon", unanswered, {}));
  if (isRunning && pageSilent !== undefined) {
    const { address, error, since } = pageSilent;
    list.push(make("page_silent", "page", since, { address, error }));
  }
  return list;
}

/** The stored takeover, or else the last error of the mirror. */
function fenceOf({ flows, mirror }: Facts): Condition | undefined {
  const flow = flows.find(isFenced);
  const why = mirror?.fenced ?? flow?.error;
  return why === undefined ? undefined : make("fenced", "mirror", flow?.failingSince ?? null, { why });
}

function isFenced({ flow, enabled, failingSince, errorCode }: FlowFacts): boolean {
  return flow === "mirror" && enabled && failingSince !== null && errorCode === "mirror_fenced";
}

/** A hold that stops the flow is a condition of its own already. */
function ofFlow(flow: FlowFacts, facts: Facts, now: Now): Condition[] {
  if (flow.flow === "erp" || !flow.enabled) return [];
  const isNew = flow.lastSuccessAt === null && flow.staleAfterS <= RARE_S && now.isRunning;
  if (isNew && flow.failingSince === null && flow.firstPassSince != null)
    return [make("first_pass", flow.flow, flow.firstPassSince, {})];
  if (isFenced(flow)) return [];
  if (flow.flow === "mirror" && flow.failingSince !== null && needsPerson(flow.errorCode))
    return [make("mirror_stopped", flow.flow, flow.failingSince, { error: flow.errorCode, why: flow.error })];
  if (isSilent(flow, now)) return isCovered(flow, facts) ? [] : [silence(flow)];
  if (flow.failingSince !== null) {
    if (holdsThatStop(flow, facts).length > 0) return [];
    return [make("flow_failing", flow.flow, flow.failingSince, { error: flow.errorCode, why: flow.error })];
  }
  return isNew ? [make("flow_starting", flow.flow, null, {})] : [];
}

/** Refusals by PostgreSQL that last until a person acts; an unreachable, slow or full PostgreSQL recovers by itself. */
const OF_A_PERSON: ReadonlySet<string> = new Set<ErrorCode>([
  ...(["mirror_access", "mirror_certificate", "mirror_right", "mirror_schema"] as const),
  ...(["mirror_database", "mirror_read_only", "mirror_failed"] as const),
]);

function needsPerson(errorCode: string | null): boolean {
  return errorCode !== null && OF_A_PERSON.has(errorCode);
}

/** Without a daemon every flow is silent; `not_running` reports that. */
function isSilent(flow: FlowFacts, { isRunning }: Now): boolean {
  return isRunning && flow.enabled && flow.flow !== "erp" && flow.isStale;
}

function silence(flow: FlowFacts): Condition {
  const since = flow.silentSince ?? flow.lastSuccessAt;
  const isFailing = flow.failingSince !== null;
  return make("flow_stale", flow.flow, since, {
    ageS: flow.ageS,
    error: isFailing ? flow.errorCode : null,
    why: isFailing ? flow.error : null,
  });
}

/** A hold that ends by itself does not cover a long silence. */
function isCovered(flow: FlowFacts, facts: Facts): boolean {
  return holdsThatStop(flow, facts).some(({ reason }) => CONDITIONS[codeOfHold(reason)].unhealthy !== false);
}

/** Some holds stop nothing. */
function holdsThatStop({ flow }: FlowFacts, { holds }: Facts): Facts["holds"] {
  return holds.filter((hold) => CONDITIONS[codeOfHold(hold.reason)].stalls && isHeldBy(hold, flow));
}

/** Whether the hold applies to the flow or to its whole area. */
export function isHeldBy({ area, scope }: { area: string; scope?: HoldScope }, flow: string): boolean {
  if (area === flow) return true;
  return (
    scope !== "flow" && Object.hasOwn(AREA_FLOWS, area) && AREA_FLOWS[area as "orders"].some((name) => name === flow)
  );
}

/** A single order may have been set back by a person, or have an unusual status. */
const UNSHOWN_ORDERS = 2;

function ofOrders(facts: Facts, { nowMs }: Now, limits: Limits): Condition[] {
  const list: Condition[] = [];
  const { unread, unnamedBatches, openConfirms, refusedBatches, largeConfirms = 0 } = facts;
  if (unread > 0) list.push(make("unread_batches", "orders", facts.unreadSince ?? null, { count: unread }));
  const { unjournaled } = facts;
  if (unjournaled !== undefined && unjournaled.count > 0)
    list.push(make("unjournaled_batches", "orders", unjournaled.since, { count: unjournaled.count }));
  if (refusedBatches > 0) list.push(make("refused_confirms", "orders", null, { count: refusedBatches }));
  const { largerConfirms } = facts;
  if (largerConfirms !== undefined && largerConfirms.count > 0)
    list.push(make("larger_confirms", "orders", largerConfirms.since, { count: largerConfirms.count }));
  if (largeConfirms > 0) list.push(make("large_confirms", "orders", null, { count: largeConfirms }));
  if (unnamedBatches !== undefined && unnamedBatches.count > 0)
    list.push(make("unnamed_batches", "orders", null, unnamedBatches));
  if (openConfirms !== undefined && isLongAgo(openConfirms.since, nowMs, LATE_MS))
    list.push(make("late_confirms", "orders", openConfirms.since, { count: openConfirms.count }));
  list.push(...ofStatuses(facts, nowMs));
  const erp = facts.flows.find(({ flow }) => flow === "erp");
  if (erp !== undefined && erp.quarantined > 0)
    list.push(make("blocked_orders", "erp", null, { count: erp.quarantined }));
  const { kept = 0, refused = 0, extra = 0 } = facts.mirror ?? {};
  if (kept > 0) list.push(make("mirror_kept", "mirror", null, { count: kept }));
  if (refused > 0) list.push(make("mirror_refused", "mirror", null, { count: refused }));
  if (extra > 0) list.push(make("mirror_extra", "mirror", null, { count: extra }));
  if (erp !== undefined && isLongAgo(erp.waitingSince, nowMs, limits.erpReadWithinMs))
    list.push(make("orders_untaken", "erp", erp.waitingSince, { ageS: ageOf(erp.waitingSince, nowMs) }));
  return list;
}

/** With statuses switched off, only waiting requests are reported: nothing else happens until they are switched on. */
function ofStatuses(facts: Facts, nowMs: number): Condition[] {
  const flow = facts.flows.find(({ flow: name }) => name === "statuses");
  if (flow !== undefined && !flow.enabled)
    return flow.waiting > 0 ? [make("unsent_statuses", "statuses", flow.waitingSince, { count: flow.waiting })] : [];
  const list: Condition[] = [];
  const unsettled = findLate(facts.unsettledRequests ?? [], nowMs);
  if (unsettled !== undefined)
    list.push(make("unsettled_statuses", "statuses", unsettled.since, { count: unsettled.count }));
  const unstored = findLate(facts.unstoredRequests ?? [], nowMs);
  if (unstored !== undefined)
    list.push(make("unstored_statuses", "statuses", unstored.since, { count: unstored.count }));
  const { unshown, refusedRequests } = facts;
  if (unshown !== undefined && unshown.orders >= UNSHOWN_ORDERS)
    list.push(make("unshown_statuses", "statuses", unshown.since, { count: unshown.orders }));
  if (refusedRequests > 0) list.push(make("refused_statuses", "statuses", null, { count: refusedRequests }));
  return list;
}

/** While the reading flow is stopped, its own condition covers this. */
function ofReads(facts: Facts, now: Now): Condition[] {
  const { queuedReads: { times = [], why = null } = {}, unlisted } = facts;
  const { count: unlistedCount = 0, since = null } = unlisted ?? {};
  const silent: Condition[] =
    unlistedCount > 0 ? [make("unlisted_changes", "updates", since, { count: unlistedCount })] : [];
  const { unreadableTimes = 0, wideFailing = null } = facts;
  if (wideFailing !== null) silent.push(make("wide_failing", "updates", wideFailing, {}));
  if (unreadableTimes > 0) silent.push(make("unreadable_times", "updates", null, { count: unreadableTimes }));
  const late = findLate(times, now.nowMs);
  const flow = facts.flows.find(({ flow: name }) => name === "updates");
  // Passes may be processes of their own; where there are none, not running is what is told.
  const lastAt = flow?.lastSuccessAt ?? null;
  const isRead = now.isRunning || (lastAt !== null && !isLongAgo(lastAt, now.nowMs, PASSES_MS));
  const isReportedByFlow =
    !isRead || (flow !== undefined && (ofFlow(flow, facts, now).length > 0 || holdsThatStop(flow, facts).length > 0));
  const isLate = late !== undefined && !isReportedByFlow;
  return isLate ? [make("late_reads", "updates", late.since, { count: late.count, why }), ...silent] : silent;
}

/** Orders whose reads wait for those of others, for longer than a usual pass takes. Not a condition: it passes by itself. */
export function findReadsBehind(
  { queuedReads }: Pick<Facts, "queuedReads">,
  nowMs: number,
): { count: number; since: string } | undefined {
  return findLate(queuedReads?.untried ?? [], nowMs, READS_BEHIND_MS);
}

/** What has waited too long. `times`: since when each item waits, oldest first. */
function findLate(
  times: readonly string[],
  nowMs: number,
  limitMs = LATE_MS,
): { count: number; since: string } | undefined {
  const late = times.filter((since) => isLongAgo(since, nowMs, limitMs));
  return late[0] === undefined ? undefined : { count: late.length, since: late[0] };
}

/** Leaves out feeds that are switched off, whose work waits until they are switched on. */
function ofFeeds({ flows: all, erpWrites = [], formerRows = [] }: Facts, { nowMs }: Now): Condition[] {
  const flows = all.filter(({ enabled }) => enabled);
  const isOff = (feed: string) => all.some(({ flow, enabled }) => flow === feed && !enabled);
  return [
    ...formerRows.flatMap(({ feed, since, count, keys }) =>
      isOff(feed) ? [] : [make("former_rows", feed, since, { count, keys })],
    ),
    ...flows.flatMap(({ flow, refused }) =>
      refused > 0 ? [make("refused_rows", flow, null, { count: refused })] : [],
    ),
    ...flows.flatMap(({ flow, quarantined }) =>
      flow !== "erp" && quarantined > 0 ? [make("quarantined", flow, null, { count: quarantined })] : [],
    ),
    ...erpWrites.flatMap(({ feed, since, withinS }) =>
      isLongAgo(since, nowMs, withinS * 1000) ? [make("erp_silent", feed, since, { ageS: ageOf(since, nowMs) })] : [],
    ),
  ];
}

function ofMachine(facts: Facts): Condition[] {
  const list: Condition[] = [];
  for (const { name, since, offsetS, names } of facts.notices ?? []) {
    if (name === "credential") list.push(make("credential_replaced", "machine", since, {}));
    else if (name === "objects") list.push(make("erp_objects", "machine", since, { names: names ?? "" }));
    else if (name === "copy_names") list.push(make("copies_misnamed", "backup", since, { file: names ?? "" }));
    else list.push(make("clock_off", "machine", since, { offsetS: offsetS ?? 0 }));
  }
  if (facts.disk !== undefined && judgeSpace(facts.disk, false) !== "room")
    list.push(make("disk_low", "machine", null, { free: facts.disk.free }));
  for (const { channel, since, error } of facts.undelivered ?? [])
    list.push(make("channel_unreachable", channel, since, { error }));
  if (facts.walBytes > WAL_ALARM_BYTES) list.push(make("log_grown", "database", null, { bytes: facts.walBytes }));
  return list;
}

function isLongAgo(since: string | null, nowMs: number, limitMs: number): boolean {
  return since !== null && nowMs - Date.parse(since) > limitMs;
}

/** Seconds since then. */
export function ageOf(since: string | null, nowMs: number): number | null {
  return since === null ? null : Math.max(0, Math.round((nowMs - Date.parse(since)) / 1000));
}

export interface HealthNow {
  nowMs: number;
  /** Start of the daemon: a flow that has never succeeded is silent since then. */
  startedAtMs: number;
}

/**
 * Computes ages by the program's own clock. A flow that has never succeeded is stale only once its time has passed
 * since the start. Rows whose request failed minutes ago count as refused.
 */
export function measureAges(facts: Facts, { nowMs, startedAtMs }: HealthNow): Facts {
  const flows = facts.flows.map((flow) => {
    if (flow.flow === "erp") return flow;
    const silentSince = flow.lastSuccessAt ?? flow.failingSince ?? new Date(startedAtMs).toISOString();
    const isStale = flow.enabled && (ageOf(silentSince, nowMs) ?? 0) > flow.staleAfterS;
    const refused = flow.refused + countUnanswered(flow, facts, nowMs);
    return { ...flow, ageS: ageOf(flow.lastSuccessAt, nowMs), isStale, silentSince, refused };
  });
  return { ...facts, flows };
}

/** A failure or a hold of the flow explains its rows already. */
function countUnanswered(
  { flow, failingSince, held }: FlowFacts,
  { unansweredRows = [] }: Facts,
  nowMs: number,
): number {
  if (failingSince !== null || held !== null) return 0;
  const { times = [] } = unansweredRows.find(({ feed }) => feed === flow) ?? {};
  return findLate(times, nowMs, UNANSWERED_ROWS_MS)?.count ?? 0;
}
