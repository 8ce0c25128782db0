/* The reasons of holds: what each stops, how it ends, and the command that ends it. Pure. */
import type { HoldReason, HoldScope } from "../database/hold-names.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** Reasons that concern one flow's own requests or rows, whatever its name. */
const OF_ONE_FLOW: ReadonlySet<HoldReason> = new Set<HoldReason>([
  "refused",
  "hand-out lost",
  "tie",
  "behind",
  "cut",
  "unread",
  "answer",
  "guard",
  "table",
  "disk",
  "unrestored",
]);

/** What a hold covers by default. */
export function scopeOfReason(reason: HoldReason): HoldScope {
  return OF_ONE_FLOW.has(reason) ? "flow" : "area";
}

type Ending = "itself" | "approve" | { states: () => Message };
const PUT_RIGHT = { states: () => m.pass.causePutRight };
/**
 * How each hold ends. `itself`: by a probe or a later finding; lifting it by hand costs a request at most.
 * `approve`: by that command alone. Otherwise by a statement of a person, which cannot be undone.
 */
const ENDINGS: Record<HoldReason, Ending> = {
  credentials: "itself",
  payment: "itself",
  "rate limit": "itself",
  refused: "itself",
  unread: "itself",
  behind: "itself",
  cut: "itself",
  table: "itself",
  disk: "itself",
  guard: "approve",
  "hand-out lost": { states: () => m.pass.ordersCompared },
  restored: { states: () => m.pass.ordersLookedFor },
  unrestored: { states: () => m.pass.sourceLookedAt },
  tie: { states: () => m.pass.changesLookedFor },
  answer: { states: () => m.pass.areAcceptances },
  mapping: PUT_RIGHT,
  account: PUT_RIGHT,
};

/** How the hold ends. A reason that only a later version knows ends by a person's statement. */
export function endingOf(reason: string): Ending {
  return Object.hasOwn(ENDINGS, reason) ? ENDINGS[reason as HoldReason] : PUT_RIGHT;
}

export function isHoldReason(text: string): text is HoldReason {
  return Object.hasOwn(ENDINGS, text);
}

export const HOLD_REASONS = Object.keys(ENDINGS) as readonly HoldReason[];

/** The command that ends this hold alone. */
export function commandToLift(area: string, reason: string): string {
  const ending = endingOf(reason);
  if (ending === "approve") return `erp-bridge approve ${area}`;
  const named = reason.includes(" ") ? `"${reason}"` : reason;
  return `erp-bridge resume ${area}${ending === "itself" ? "" : ` --hold ${named}`}`;
}

/**
 * What `resume AREA` lifts, and what it leaves. It lifts the holds that would end by themselves; a hold that needs a
 * statement it lifts only if the hold is named or is the only one.
 *
 * @example
 * planLift(["credentials", "hand-out lost"]); // lifts credentials, leaves the other one
 * planLift(["hand-out lost"]); // lifts it
 * planLift(["credentials", "hand-out lost"], "hand-out lost"); // lifts that alone
 * @param standing the reasons of the area's holds
 */
export function planLift<Reason extends string>(
  standing: readonly Reason[],
  named?: string,
): { lifted: Reason[]; left: Reason[] } {
  const meant = named === undefined ? standing : standing.filter((reason) => reason === named);
  const isLifted = (reason: Reason) => {
    const ending = endingOf(reason);
    return ending !== "approve" && (ending === "itself" || meant.length === 1);
  };
  return { lifted: meant.filter(isLifted), left: meant.filter((reason) => !isLifted(reason)) };
}
