import { ageOf, type Condition, traitOf } from "./conditions.ts";
import type { Facts } from "./facts.ts";

/*
 * Whether everything is fresh, for machines that watch. Freshness, not liveness: a daemon that runs and gets nothing
 * done is unhealthy, and one record in quarantine is a matter for a person but no health problem.
 */

export interface HealthProblem {
  /** The subject of the condition: a flow, the area of a hold, `database` or `machine`. */
  flow: string;
  /** The reason of a hold, an error code of the database, or the name that the condition has here. */
  reason: string;
  since: string | null;
}

export interface HealthNow {
  nowMs: number;
  /** A flow that has never succeeded is silent from then on. */
  startedAtMs: number;
}

/** Those of the conditions that make the program unhealthy, most important first. */
export function listHealthProblems(conditions: readonly Condition[]): HealthProblem[] {
  return conditions.flatMap((condition) => {
    const { unhealthy } = traitOf(condition);
    if (unhealthy === false) return [];
    const { reason, error } = condition.params as { reason?: string; error?: string };
    const name = reason ?? (unhealthy === true ? error : undefined) ?? String(unhealthy);
    return [{ flow: condition.subject, reason: name, since: condition.since }];
  });
}

/**
 * The facts with ages by the program's own clock, and with patience for a start: a flow that has never succeeded is
 * stale once its time has passed since the program began to look, not from its first second.
 */
export function measureAges(facts: Facts, { nowMs, startedAtMs }: HealthNow): Facts {
  const flows = facts.flows.map((flow) => {
    if (flow.flow === "erp") return flow;
    const silentSince = flow.lastSuccessAt ?? flow.failingSince ?? new Date(startedAtMs).toISOString();
    const isStale = flow.enabled && (ageOf(silentSince, nowMs) ?? 0) > flow.staleAfterS;
    return { ...flow, ageS: ageOf(flow.lastSuccessAt, nowMs), isStale, silentSince };
  });
  return { ...facts, flows };
}
