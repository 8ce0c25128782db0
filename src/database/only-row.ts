import type { Store } from "./store.ts";

/** The row of a statement that always gives one: a count, or what a RETURNING clause gives. */
export function onlyRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error("A statement that always gives a row gave none.");
  return row;
}

/** What such a statement of one column gives. Its text is of no other use: see `Store.prepare`. */
export function onlyValue<Value>(store: Store, sql: string, ...params: unknown[]): Value {
  return onlyRow(
    store
      .prepare<Value>(sql)
      .pluck()
      .get(...params),
  );
}
