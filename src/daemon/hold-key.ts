import type { HoldRow } from "../pass/hold-rows.ts";

/** What distinguishes holds. */
export type HoldKey = Pick<HoldRow, "area" | "reason">;

export function keyOf({ area, reason }: HoldKey): string {
  return `${area}\n${reason}`;
}

/** The flow of a job with these areas: the last one is its own name. */
export function flowOf(areas: readonly string[]): string {
  return areas.at(-1) ?? "";
}
