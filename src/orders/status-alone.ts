import { withoutPaths } from "../answers/json-value.ts";
import { sharedDifferences } from "./compare-snapshot.ts";
import type { EventPlan, PlanRules } from "./plan-order.ts";

/**
 * Whether a change is nothing but a change of status; the timestamp and ignored paths are no part of it. An answer of
 * another kind than the one that was stored may tell more or less of the order: then what both tell is compared.
 */
export function isStatusAlone(
  event: EventPlan,
  order: { stored: string; incoming: string; isOtherShape: boolean },
  rules: Pick<PlanRules, "ignore" | "statusPaths">,
): boolean {
  if (!event.linesChanged && !event.fieldsChanged) return event.statusChanged;
  if (!order.isOtherShape) return false;
  return withoutPaths(sharedDifferences(order.stored, order.incoming, rules.ignore), rules.statusPaths).length === 0;
}
