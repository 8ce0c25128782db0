/* The reasons of holds: one row says everything about a reason but its words, which stand in `messages/words`. Pure. */
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";

/** `area`: holds all flows of the area. `flow`: holds only the flow of this name; the pull has the name of its area. */
export type HoldScope = "area" | "flow";

interface HoldFacts {
  /** What the hold covers by default. Where it blocks requests of an area, it may also be of one flow of it. */
  scope: HoldScope;
  /** Null: requests are sent. */
  blocks: {
    /** The answer of the service that sets the hold; one that asks to wait may name a time. */
    by?: "refusal" | "wait";
    /** Until one request may probe, where no time is named; null: only a person ends the hold. */
    probeMs: number | null;
  } | null;
  /**
   * `itself`: by a probe or a later finding; lifting it by hand costs a request at most. `approve`: by that command
   * alone. Otherwise by this statement of a person, which cannot be undone.
   */
  ends: "itself" | "approve" | (() => Message);
  /** As of a condition; a notice needs no command. */
  severity: "critical" | "error" | "warning" | "notice";
  /** Its flows do not go on. */
  stalls: boolean;
  /** Of a hold that ends by itself or stops nothing: only a stale flow behind it makes /health fail. */
  unhealthy?: false;
  exit?: ExitCode;
  /** The next command where that is not the one that ends the hold; `$` stands for the area. */
  command?: string;
}

const MINUTE_MS = 60_000;
/** A person corrects the cause, and some services lock accounts after several failures. */
const REFUSAL = { by: "refusal", probeMs: 5 * MINUTE_MS } as const;

/** Of one severity, the most important first. */
export const HOLDS = {
  credentials: {
    scope: "area",
    blocks: REFUSAL,
    ends: "itself",
    severity: "critical",
    stalls: true,
    exit: EXIT.credentials,
  },
  account: {
    scope: "area",
    blocks: null,
    ends: () => m.pass.causePutRight,
    severity: "critical",
    stalls: true,
    command: "erp-bridge check",
  },
  disk: { scope: "flow", blocks: null, ends: "itself", severity: "critical", stalls: true, command: "df -h" },
  /** There is no room to keep another unreadable answer. */
  unread: {
    scope: "flow",
    blocks: { probeMs: 5 * MINUTE_MS },
    ends: "itself",
    severity: "critical",
    stalls: true,
    command: "erp-bridge probe --write",
  },
  payment: {
    scope: "area",
    blocks: { by: "refusal", probeMs: 30 * MINUTE_MS },
    ends: "itself",
    severity: "error",
    stalls: true,
    exit: EXIT.credentials,
  },
  "hand-out lost": { scope: "flow", blocks: null, ends: () => m.pass.ordersCompared, severity: "error", stalls: false },
  table: { scope: "flow", blocks: null, ends: "itself", severity: "error", stalls: true },
  /** A restore could not bring over a feed's source: it may be as old as the copy. */
  unrestored: {
    scope: "flow",
    blocks: { probeMs: null },
    ends: () => m.pass.sourceLookedAt,
    severity: "error",
    stalls: true,
  },
  /** A 4xx that names no record: the service or the configuration is the cause. */
  refused: { scope: "flow", blocks: REFUSAL, ends: "itself", severity: "error", stalls: true },
  guard: { scope: "flow", blocks: null, ends: "approve", severity: "error", stalls: false },
  tie: { scope: "flow", blocks: null, ends: () => m.pass.changesLookedFor, severity: "error", stalls: false },
  /** Pages of changes lack their oldest entries, which are searched for order by order. */
  cut: { scope: "flow", blocks: null, ends: "itself", severity: "warning", stalls: false },
  /** The outcome of rows is unknown, because their answers were in a new form. */
  answer: { scope: "flow", blocks: null, ends: () => m.pass.areAcceptances, severity: "warning", stalls: false },
  mapping: {
    scope: "area",
    blocks: null,
    ends: () => m.pass.causePutRight,
    severity: "warning",
    stalls: false,
    unhealthy: false,
    command: "erp-bridge remap",
  },
  /** Data that a restore could not bring back. */
  restored: {
    scope: "area",
    blocks: null,
    ends: () => m.pass.ordersLookedFor,
    severity: "warning",
    stalls: false,
    unhealthy: false,
  },
  /** A pass over the list of changes reached its limit, and the next continues there. */
  behind: { scope: "flow", blocks: null, ends: "itself", severity: "notice", stalls: false },
  "rate limit": {
    scope: "area",
    blocks: { by: "wait", probeMs: MINUTE_MS },
    ends: "itself",
    severity: "notice",
    stalls: true,
    unhealthy: false,
  },
} as const satisfies Record<string, HoldFacts>;

export type HoldReason = keyof typeof HOLDS;
export const HOLD_REASONS = Object.keys(HOLDS) as readonly HoldReason[];

/** A reason that only a later version knows. */
const OTHER: HoldFacts = { ...HOLDS.account, severity: "error", command: "erp-bridge resume $" };

export function isHoldReason(text: string): text is HoldReason {
  return Object.hasOwn(HOLDS, text);
}

export function factsOf(reason: string): HoldFacts {
  return isHoldReason(reason) ? HOLDS[reason] : OTHER;
}

/** Whether the answer may be about one endpoint alone, or about all of the area: `scopeOfRefusal` says which. */
export function isOfFlowOrArea(reason: string): boolean {
  const { scope, blocks } = factsOf(reason);
  return scope === "area" && blocks !== null;
}

/** Whether the service has asked for the wait. */
export function isRequestedWait(reason: string): boolean {
  return factsOf(reason).blocks?.by === "wait";
}

/** The command that ends this hold alone. */
export function commandToLift(area: string, reason: string): string {
  const { ends } = factsOf(reason);
  if (ends === "approve") return `erp-bridge approve ${area}`;
  const named = reason.includes(" ") ? `"${reason}"` : reason;
  return `erp-bridge resume ${area}${ends === "itself" ? "" : ` --hold ${named}`}`;
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
    const { ends } = factsOf(reason);
    return ends !== "approve" && (ends === "itself" || meant.length === 1);
  };
  return { lifted: meant.filter(isLifted), left: meant.filter((reason) => !isLifted(reason)) };
}
