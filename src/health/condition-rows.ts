/*
 * The conditions as they stand in the database, for whoever reads by SQL. Replaced as a whole in one transaction; a crash leaves
 * the former list, whose `seen_at` gets old.
 */
import { asc } from "drizzle-orm";
import { conditions } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

export type ConditionRow = typeof conditions.$inferSelect;

export function loadConditions(store: Store): ConditionRow[] {
  return store.query.select().from(conditions).orderBy(asc(conditions.rank)).all();
}

export function replaceConditions(store: Store, rows: readonly ConditionRow[]): void {
  store.query.delete(conditions).run();
  if (rows.length > 0)
    store.query
      .insert(conditions)
      .values([...rows])
      .run();
}
