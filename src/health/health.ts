import type { DoubtKind } from "../database/progress.ts";
import { isOfDatabase } from "../platform/troubles.ts";
import { listSilent, type StatusFacts } from "./status.ts";

/*
 * Whether everything is fresh, for machines that watch. Freshness, not liveness: a daemon that runs and gets nothing
 * done is ill, and one record in quarantine is a matter for a person but no illness.
 */

export interface Illness {
  /** A flow, or the area of a hold. */
  flow: string;
  /** The reason of a hold, or one of these. */
  reason:
    | "stale"
    | "unread"
    | "untaken"
    | "unwritten"
    | "clock"
    | "credential"
    | "objects"
    | "journal"
    | DoubtKind
    | (string & {});
  since: string;
}

export interface HealthNow {
  nowMs: number;
  /** A flow that has never succeeded is silent from then on. */
  startedAtMs: number;
}

/** What these say passes by itself, or has been told while everything goes on: only the silence after it is an illness. */
const PASSING_HOLDS = new Set(["rate limit", "mapping", "restored"]);

/** Everything that is ill, holds first; empty where all flows are fresh. */
export function listIllnesses(facts: StatusFacts, now: HealthNow, limits: { erpReadWithinMs: number }): Illness[] {
  const holds = facts.holds
    .filter(({ reason }) => !PASSING_HOLDS.has(reason))
    .map(({ area, reason, since }) => ({ flow: area, reason, since }));
  const stale = facts.flows
    .filter((flow) => flow.isStale && !holds.some((hold) => hold.flow === flow.flow))
    .map((flow) => ({ flow: flow.flow, reason: "stale", since: silentSince(flow, now.startedAtMs) }));
  const unread = facts.unreadSince == null ? [] : [{ flow: "orders", reason: "unread", since: facts.unreadSince }];
  const untaken = facts.flows.flatMap(({ flow, waitingSince }) =>
    flow === "erp" && waitingSince !== null && now.nowMs - Date.parse(waitingSince) > limits.erpReadWithinMs
      ? [{ flow, reason: "untaken", since: waitingSince }]
      : [],
  );
  const machine = (facts.notices ?? []).map(({ name, since }) => ({ flow: "machine", reason: name, since }));
  const unwritten = listSilent(facts, now.nowMs).map(({ feed, since }) => ({ flow: feed, reason: "unwritten", since }));
  const doubt =
    facts.doubt === undefined ? [] : [{ flow: "database", reason: facts.doubt.kind, since: facts.doubt.since }];
  const journal =
    facts.journalSince === undefined ? [] : [{ flow: "database", reason: "journal", since: facts.journalSince }];
  const { met } = facts;
  // Where a reload failed, everything goes on with what was in force.
  const own = met === undefined || !isOfDatabase(met) ? [] : [{ flow: "database", reason: met.code, since: met.since }];
  return [...own, ...doubt, ...journal, ...holds, ...stale, ...unread, ...untaken, ...unwritten, ...machine];
}

/**
 * The facts with ages by the program's own clock, and with patience for a start: a flow that has never succeeded is
 * stale once its time has passed since the program began to look, not from its first second.
 */
export function measureAges(facts: StatusFacts, { nowMs, startedAtMs }: HealthNow): StatusFacts {
  const flows = facts.flows.map((flow) => {
    if (flow.flow === "erp") return flow;
    const silentS = secondsSince(silentSince(flow, startedAtMs), nowMs);
    const ageS = flow.lastSuccessAt === null ? null : secondsSince(flow.lastSuccessAt, nowMs);
    return { ...flow, ageS, isStale: flow.enabled && silentS > flow.staleAfterS };
  });
  return { ...facts, flows };
}

function silentSince(flow: { lastSuccessAt: string | null; failingSince: string | null }, startedAtMs: number): string {
  return flow.lastSuccessAt ?? flow.failingSince ?? new Date(startedAtMs).toISOString();
}

function secondsSince(at: string, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000));
}
