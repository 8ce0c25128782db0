/*
 * Going through whole tables: after a TRUNCATE, after one of the two databases was restored, and once a night. Pure: which
 * step comes next.
 */
import type { ErpTable, Key } from "./erp-tables.ts";

/** `remote`: PostgreSQL's rows are applied. `local`: keys that PostgreSQL does not have are deleted. */
export type WalkStep =
  | { kind: "remote" | "local"; table: ErpTable; after?: Key }
  | { kind: "requests"; after?: string; isAgain: boolean }
  | { kind: "outcomes"; after: number };

type Because = "truncated" | "night" | "local" | "remote";

export interface Walk {
  because: Because;
  steps: readonly WalkStep[];
  /** Notes that are done with once the walk has ended. */
  ids: readonly string[];
}

export interface Standing {
  /** The round that SQLite has applied last. */
  local: number;
  /** The round whose notes PostgreSQL has deleted last; 0: there was none yet. */
  remote: number;
}

/** Which of the two has gone back: a round is applied first and then deleted, so that SQLite is ahead by one at most. */
export function whoWentBack({ local, remote }: Standing): "local" | "remote" | undefined {
  if (local < remote) return "local";
  return remote > 0 && local > remote + 1 ? "remote" : undefined;
}

/**
 * `filled`: the tables in which PostgreSQL has rows; `used`: those that rows from there have ever come to, as far as the shop's
 * database has. In another one everything is of an ERP on this machine, and nothing is deleted.
 */
export interface Tables {
  filled: readonly ErpTable[];
  used: readonly ErpTable[];
}

export function planWalk(because: Exclude<Because, "truncated">, { filled, used }: Tables): Walk {
  const remote = filled.map((table) => ({ kind: "remote", table }) as const);
  const local =
    because === "night"
      ? []
      : new Set([...used, ...filled]).values().map((table) => ({ kind: "local", table }) as const);
  const requests = { kind: "requests", isAgain: because === "local" } as const;
  const outcomes = because === "remote" ? [{ kind: "outcomes", after: 0 } as const] : [];
  return { because, steps: [...remote, ...local, requests, ...outcomes], ids: [] };
}

/** After tables were emptied as a whole. */
export function planTruncated(tables: readonly ErpTable[], ids: readonly string[]): Walk {
  const steps = tables.flatMap((table) => [{ kind: "remote", table } as const, { kind: "local", table } as const]);
  return { because: "truncated", steps, ids };
}

/** The walk without what its first step has done; `next` undefined: that step is at its end. */
export function advance(walk: Walk, next: WalkStep | undefined): Walk {
  return { ...walk, steps: [...(next === undefined ? [] : [next]), ...walk.steps.slice(1)] };
}
