/* Where the position of changes goes after a pass. Pure; `store-pass.ts` saves it. */

import type { TimestampForm } from "../../answers/timestamp-form.ts";
import { type FollowRules, type High, isFromFuture, isOfFormerForm, isSetBack, isToken, mayMove } from "./follow.ts";

export interface PositionFacts {
  watermark: string | undefined;
  /** The position that the service named itself, once it was asked and answered. */
  token: string | undefined;
  /** The largest timestamp that was served and is not from the future. */
  high: High | undefined;
  /** The service's clock, also where only an earlier answer had it. */
  serviceNow: string | undefined;
  /** The `Date` of an answer of this pass. */
  serviceDate: string | undefined;
  form: TimestampForm | undefined;
  /** Changes that were left out are looked for. */
  isCut: boolean;
}

/**
 * `reached`: how far the pass has come, undefined where nothing shows it. `watermark`: the position to save, undefined where it stays. Each is
 * verbatim what the service sent: its token, a timestamp, or its `Date` where its clock was set back.
 *
 * A position moves only over what is stored, or what a read is queued for. Pages are read from their oldest timestamps on, so that everything up to the
 * largest one was served, unless a page was cut: then the search for what it lacked comes first, and moves the position at its end.
 */
export function planPosition(
  facts: PositionFacts,
  rules: FollowRules,
): { reached: string | undefined; watermark: string | undefined } {
  const reached = reachedBy(facts, rules);
  const isMove = reached !== undefined && !facts.isCut && moves(reached, facts, rules);
  return { reached, watermark: isMove ? reached : undefined };
}

/** A token was asked and answered; only of times is it known which is the later one. */
function moves(position: string, { token, watermark, serviceNow, form }: PositionFacts, rules: FollowRules): boolean {
  if (position === token && isToken(position, form, rules.timezone)) return position !== watermark;
  // Pages were asked for from so early that it covers all that the former one did.
  if (isOfFormerForm(watermark, position, { form, timezone: rules.timezone })) return true;
  return mayMove(position, watermark, serviceNow, rules);
}

function reachedBy(
  { token, serviceNow, serviceDate, high, watermark, form }: PositionFacts,
  rules: FollowRules,
): string | undefined {
  if (token !== undefined) {
    const isTime = !isToken(token, form, rules.timezone);
    if (!isTime || !isFromFuture(token, serviceNow, rules.timezone)) return token;
  }
  return high?.text ?? (isSetBack(watermark, serviceNow, rules) ? serviceDate : undefined);
}
