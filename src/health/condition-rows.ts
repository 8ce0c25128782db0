/*
 * The conditions as they stand in the database, for whoever reads by SQL. Replaced as a whole in one transaction; a crash leaves
 * the former list, whose `seen_at` gets old.
 */
import { deleteRows, insertRow, type Query } from "../database/queries.ts";
import { conditions } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

export type ConditionRow = typeof conditions.$inferSelect;

const ALL = (query: Query) => query.select().from(conditions).orderBy(conditions.rank).prepare();

export function loadConditions(store: Store): ConditionRow[] {
  return store.prepared(ALL).all();
}

export function replaceConditions(store: Store, rows: readonly ConditionRow[]): void {
  deleteRows(store, conditions, {});
  for (const row of rows) insertRow(store, conditions, row);
}
