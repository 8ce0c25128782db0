import type { Store } from "./store.ts";

/** The row of a statement that always returns one: an aggregate, or a RETURNING clause. */
export function onlyRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error("A statement that always gives a row gave none.");
  return row;
}

/** The value of such a statement with one column. The same SQL text must not be used elsewhere: see `Store.prepare`. */
export function onlyValue<Value>(store: Store, sql: string, ...params: unknown[]): Value {
  return onlyRow(
    store
      .prepare<Value>(sql)
      .pluck()
      .get(...params),
  );
}
