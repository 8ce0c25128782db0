/*
 * Whether everything is fresh, for monitoring. This is freshness, not liveness: a daemon that runs and achieves nothing
 * is unhealthy, and one quarantined record needs a person but is no health problem.
 */

import { type Condition, traitOf } from "./conditions.ts";

export interface HealthProblem {
  /** The subject of the condition: a flow, the area of a hold, `database` or `machine`. */
  flow: string;
  /** The reason of a hold, an error code of the database, or the condition's name in /health. */
  reason: string;
  since: string | null;
}

/** The conditions that make the program unhealthy, most important first. */
export function listHealthProblems(conditions: readonly Condition[]): HealthProblem[] {
  return conditions.flatMap((condition) => {
    const { unhealthy } = traitOf(condition);
    if (unhealthy === false) return [];
    const { reason, error } = condition.params as { reason?: string; error?: string };
    const name = reason ?? (unhealthy === true ? error : undefined) ?? String(unhealthy);
    return [{ flow: condition.subject, reason: name, since: condition.since }];
  });
}
