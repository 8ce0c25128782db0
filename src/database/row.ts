/* Types of the rows that SQL statements return: the schema's columns, with the types that the driver returns. */
import type { Column, Table, View } from "drizzle-orm";

/** The driver's value of a column: for texts the values listed in the schema, for flags 0 and 1, for JSON its text. */
type Value<C extends Column> =
  | (C["_"]["driverParam"] extends string
      ? C["_"]["data"] extends string
        ? C["_"]["data"]
        : string
      : C["_"]["driverParam"])
  | (C["_"]["notNull"] extends true ? never : null);

type ColumnsOf<T> = T extends Table
  ? T["_"]["columns"]
  : T extends View & { _: { selectedFields: infer Fields } }
    ? Fields
    : never;

/**
 * A row of a table or view as an SQL statement returns it, under the names of its columns:
 * `store.prepare<Pick<Row<typeof orders>, "order_key" | "revision">>("SELECT order_key, revision …")`.
 */
export type Row<T extends Table | View> = {
  [K in keyof ColumnsOf<T> as ColumnsOf<T>[K] extends Column
    ? ColumnsOf<T>[K]["_"]["name"]
    : never]: ColumnsOf<T>[K] extends Column ? Value<ColumnsOf<T>[K]> : never;
};

/** The same under the schema's property names: what `SELECT ${columnList(orders, …)}` returns. */
export type NamedRow<T extends Table, Name extends keyof T["_"]["columns"] = keyof T["_"]["columns"]> = {
  [K in Name]: T["_"]["columns"][K] extends Column ? Value<T["_"]["columns"][K]> : never;
};
