/* The budget of reads in the background (`plan-read-budget.ts`), one value. Apart from the jobs, because `status` reads it too. */
import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import type { ReadBudget } from "./plan-read-budget.ts";

export const READ_BUDGET = new MetaValue<ReadBudget>("read_budget", { reads: [] });

/** Orders that are read in the background in an hour; undefined where there is no limit. */
export function loadReadsPerHour(store: Store): number | undefined {
  return READ_BUDGET.load(store).limit?.perHour;
}
