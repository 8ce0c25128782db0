/*
 * The conditions in the database, for readers by SQL. Replaced as a whole in one transaction; a crash leaves the former
 * list, whose `seen_at` becomes old.
 */
import { deleteRows, insertRow, listRows } from "../database/queries.ts";
import { conditions } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

export type ConditionRow = typeof conditions.$inferSelect;

export function loadConditions(store: Store): ConditionRow[] {
  return listRows(store, conditions, {}, ["rank"]);
}

export function replaceConditions(store: Store, rows: readonly ConditionRow[]): void {
  deleteRows(store, conditions, {});
  for (const row of rows) insertRow(store, conditions, row);
}
