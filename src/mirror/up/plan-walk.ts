/*
 * Plans walks through whole tables: after a TRUNCATE, after a restore of one of the two databases, and once a night. Pure.
 */
import { sumOf, type TableCounts } from "../mirror-state.ts";
import type { ErpTable, Key } from "./erp-tables.ts";

/**
 * `remote`: applies PostgreSQL's rows. `lower`: the same without rows that sell more than the shop's, which it counts; `raised`: applies
 * these too. `local`: deletes rows that PostgreSQL does not have; `kept`: only counts these. Requests are applied by number, so that those
 * of one order keep their order.
 */
export type WalkStep =
  | { kind: "remote" | "lower" | "raised" | "local" | "kept"; table: ErpTable; after?: Key }
  | { kind: "requests"; after?: string; isAgain: boolean }
  | { kind: "outcomes"; after: number };

type Because = "truncated" | "night" | "local" | "remote" | "approved";

export interface Walk {
  because: Because;
  steps: readonly WalkStep[];
  /** Ids of the notes that are deleted once the walk has ended. */
  ids: readonly string[];
  /** The walk also deletes zeros that replaced deleted rows. */
  hasZeros?: boolean;
  /** Number of kept rows that PostgreSQL does not have, by table, and of raised ones, so far in the walk. */
  kept: TableCounts;
  /** The version of the triggers in PostgreSQL before the walk; absent for a walk through only some tables. */
  triggers?: string;
}

export interface Standing {
  /** The last round applied in SQLite. */
  local: number;
  /** The last round whose notes were deleted in PostgreSQL; 0 where there was none. */
  remote: number;
}

/** The key in counts of kept rows for those that a `lower` step has counted. */
export const RAISED = "raised";

/** Which of the two was restored: a round is applied in SQLite before its notes are deleted, so SQLite is ahead by at most one. */
export function whoWentBack({ local, remote }: Standing): "local" | "remote" | undefined {
  if (local < remote) return "local";
  return remote > 0 && local > remote + 1 ? "remote" : undefined;
}

const ZEROS = { kind: "local", table: "stock" } as const;
const RAISED_STOCK = { kind: "raised", table: "stock" } as const;

function remoteStep(table: ErpTable, isLower: boolean): WalkStep {
  return { kind: isLower && table === "stock" ? "lower" : "remote", table };
}

/**
 * `filled`: the tables in which PostgreSQL has rows; `used`: those that rows from there have ever come to, as far as the shop's
 * database has. In another one everything is of an ERP on this machine, and nothing is deleted. `held`: those with rows that a restored
 * PostgreSQL lacks: they go when a person approves that, so that no article goes to zero because of a restore. `isRaised`: it also has
 * stock that sells more than the shop's: it is applied when the ERP writes it again or a person approves that, so that nothing that is
 * sold is on sale again because of a restore.
 */
export interface Tables {
  filled: readonly ErpTable[];
  used: readonly ErpTable[];
  held: readonly ErpTable[];
  isRaised: boolean;
  /** Rows of stock were left as zeros in place of deleted ones: the site has them, or they wait. Absent: there are none. */
  hasZeros?: boolean | undefined;
}

/** Marks that PostgreSQL lacks are written there again by the comparison of orders: the orders were taken, wherever that was noted. */
function isKept(table: ErpTable): boolean {
  return table !== "erp_orders";
}

export function planWalk(because: Exclude<Because, "truncated">, tables: Tables): Walk {
  const { filled, used, held, isRaised, hasZeros } = tables;
  const isLower = isRaised || (because === "remote" && used.includes("stock"));
  const remote = filled.map((table) => remoteStep(table, isLower));
  const either = [...new Set([...used, ...filled])];
  // Zeros are no rows that a restore has taken.
  const isCounted = (table: ErpTable) =>
    isKept(table) && (table !== "stock" || hasZeros === undefined || held.includes(table));
  const absent: Record<typeof because, readonly WalkStep[]> = {
    night: [
      ...[...new Set([...used, ...held])].filter(isCounted).map((table) => ({ kind: "kept", table }) as const),
      ...(hasZeros === true && used.includes("stock") && !held.includes("stock") ? [ZEROS] : []),
    ],
    remote: either.filter(isKept).map((table) => ({ kind: "kept", table })),
    local: either.map((table) => ({ kind: held.includes(table) ? "kept" : "local", table })),
    // Counted anew before any is deleted: see `unlessMore`.
    approved: [
      ...(["kept", "local"] as const).flatMap((kind) => held.filter(isKept).map((table) => ({ kind, table }))),
      ...(isRaised && filled.includes("stock") ? [RAISED_STOCK] : []),
    ],
  };
  const requests = { kind: "requests", isAgain: because === "local" } as const;
  const outcomes = because === "remote" ? [{ kind: "outcomes", after: 0 } as const] : [];
  const steps = [...remote, ...absent[because], requests, ...outcomes];
  return { because, steps, ids: [], kept: {}, hasZeros: hasZeros === true && because === "night" };
}

/**
 * After tables were emptied as a whole, or many notes were folded into one. In a table that nothing has ever come to nothing goes, nor in one that has
 * rows which wait for an approval.
 */
export function planTruncated(
  tables: readonly ErpTable[],
  { used, held, isRaised }: Omit<Tables, "filled">,
  ids: readonly string[],
): Walk {
  const steps = tables.flatMap((table) => [
    remoteStep(table, isRaised),
    // Whether an ERP or a restore deleted the rows that PostgreSQL lacks can no longer be determined.
    ...(used.includes(table) ? [{ kind: held.includes(table) ? "kept" : "local", table } as const] : []),
  ]);
  return { because: "truncated", steps, ids, kept: {} };
}

/** Whether only an approval lets a step of a walk with that reason happen. */
export function isApprovedStep(step: WalkStep | undefined): boolean {
  return step?.kind === "local" || step?.kind === "raised";
}

/** The walk without what was approved, where that would be of more rows than a person has seen. */
export function unlessMore(walk: Walk, approved: number): Walk {
  if (walk.because !== "approved" || sumOf(walk.kept) <= approved) return walk;
  return { ...walk, steps: walk.steps.filter((step) => !isApprovedStep(step)) };
}

/** The walk after a part of its first step; `next` undefined: that step is complete. `kept`: rows counted by this step. */
export function advance(walk: Walk, next: WalkStep | undefined, kept = 0): Walk {
  const [step] = walk.steps;
  const counts = { ...walk.kept };
  if (step?.kind === "kept") counts[step.table] = (counts[step.table] ?? 0) + kept;
  if (step?.kind === "lower") counts[RAISED] = (counts[RAISED] ?? 0) + kept;
  if (step?.kind === "local" && next === undefined) counts[step.table] = 0;
  if (step?.kind === "raised" && next === undefined) counts[RAISED] = 0;
  return { ...walk, kept: counts, steps: [...(next === undefined ? [] : [next]), ...walk.steps.slice(1)] };
}

/** Number of rows, by table, and of raised ones, that wait for an approval after a walk. */
export function keptAfter({ because, kept }: Walk, before: TableCounts): TableCounts {
  const all = because === "truncated" ? { ...before, ...kept } : kept;
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));
}
