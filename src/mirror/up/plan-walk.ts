/*
 * Going through whole tables: after a TRUNCATE, after one of the two databases was restored, and once a night. Pure: which
 * step comes next.
 */
import type { TableCounts } from "../mirror-state.ts";
import type { ErpTable, Key } from "./erp-tables.ts";

/**
 * `remote`: PostgreSQL's rows are applied. `local`: rows that PostgreSQL does not have are deleted; `kept`: they are counted. Requests go by their
 * numbers, so that those of one order keep their order.
 */
export type WalkStep =
  | { kind: "remote" | "local" | "kept"; table: ErpTable; after?: Key }
  | { kind: "requests"; after?: string; isAgain: boolean }
  | { kind: "outcomes"; after: number };

type Because = "truncated" | "night" | "local" | "remote" | "approved";

export interface Walk {
  because: Because;
  steps: readonly WalkStep[];
  /** Notes that are done with once the walk has ended. */
  ids: readonly string[];
  /** Zeros that were left in place of deleted rows go with it. */
  hasZeros?: boolean;
  /** Rows that PostgreSQL does not have and that stay, by their tables, as far as the walk has come. */
  kept: TableCounts;
  /** The triggers in PostgreSQL before it began; absent: it goes through some tables alone. */
  triggers?: string;
}

export interface Standing {
  /** The round that SQLite has applied last. */
  local: number;
  /** The round whose notes PostgreSQL has deleted last; 0: it has never seen one. */
  remote: number;
}

/** Which of the two has gone back: a round is applied first and then deleted, so that SQLite is ahead by one at most. */
export function whoWentBack({ local, remote }: Standing): "local" | "remote" | undefined {
  if (local < remote) return "local";
  return remote > 0 && local > remote + 1 ? "remote" : undefined;
}

const ZEROS = { kind: "local", table: "stock" } as const;

/**
 * `filled`: the tables in which PostgreSQL has rows; `used`: those that rows from there have ever come to, as far as the shop's
 * database has. In another one everything is of an ERP on this machine, and nothing is deleted. `held`: those with rows that a restored
 * PostgreSQL lacks: they go when a person approves that, so that no article goes to zero because of a restore.
 */
export interface Tables {
  filled: readonly ErpTable[];
  used: readonly ErpTable[];
  held: readonly ErpTable[];
  /** Rows of stock were left as zeros in place of deleted ones: the site has them, or they wait. Absent: there are none. */
  hasZeros?: boolean | undefined;
}

/** Marks that PostgreSQL lacks are written there again by the comparison of orders: the orders were taken, wherever that was noted. */
function isKept(table: ErpTable): boolean {
  return table !== "erp_orders";
}

export function planWalk(because: Exclude<Because, "truncated">, tables: Tables): Walk {
  const { filled, used, held, hasZeros } = tables;
  const remote = filled.map((table) => ({ kind: "remote", table }) as const);
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
    approved: held.filter(isKept).map((table) => ({ kind: "local", table })),
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
  { used, held }: Omit<Tables, "filled">,
  ids: readonly string[],
): Walk {
  const steps = tables.flatMap((table) => [
    { kind: "remote", table } as const,
    // Whether an ERP or a restore deleted the rows that PostgreSQL lacks can no longer be determined.
    ...(used.includes(table) ? [{ kind: held.includes(table) ? "kept" : "local", table } as const] : []),
  ]);
  return { because: "truncated", steps, ids, kept: {} };
}

/** The walk without what its first step has done; `next` undefined: that step is at its end. `kept`: rows that this step has counted. */
export function advance(walk: Walk, next: WalkStep | undefined, kept = 0): Walk {
  const [step] = walk.steps;
  const counts =
    step?.kind === "kept" ? { ...walk.kept, [step.table]: (walk.kept[step.table] ?? 0) + kept } : walk.kept;
  return { ...walk, kept: counts, steps: [...(next === undefined ? [] : [next]), ...walk.steps.slice(1)] };
}

/** How many rows stay for want of an approval once a walk has ended. */
export function keptAfter({ because, kept }: Walk, before: TableCounts): TableCounts {
  const all = because === "truncated" ? { ...before, ...kept } : kept;
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));
}
