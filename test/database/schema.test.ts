import Database from "better-sqlite3";
import { getTableColumns, getTableName, getViewName, is, View } from "drizzle-orm";
import { getTableConfig, getViewConfig, SQLiteTable, type SQLiteView } from "drizzle-orm/sqlite-core";
import { afterAll, describe, expect, expectTypeOf, it } from "vitest";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import type { Row } from "../../src/database/row.ts";
import * as schema from "../../src/database/schema.ts";

interface RealColumn {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
}

const columnsOf = (db: Database.Database, name: string) =>
  db.prepare<[string], RealColumn>("SELECT * FROM pragma_table_info(?)").all(name);

/** What the migrations really made, in the words of the comparison. */
function realColumns(columns: readonly RealColumn[]): string[] {
  const isSequential = columns.filter(({ pk }) => pk > 0).length === 1;
  return columns.map(({ name, type, notnull, pk }) => {
    const isRowId = isSequential && pk > 0 && type === "INTEGER";
    return `${name} ${type.toLowerCase()}${notnull === 1 || isRowId || pk > 0 ? " not null" : ""}`;
  });
}

describe("the drizzle schema", () => {
  const declared: unknown[] = Object.values(schema);
  const tables = declared.filter((entry) => is(entry, SQLiteTable));
  const views = declared.filter((entry) => is(entry, View)) as SQLiteView[];
  const db = new Database(":memory:");
  for (const { statements } of loadMigrations(MIGRATIONS_FOLDER))
    for (const statement of statements) db.exec(statement);
  afterAll(() => db.close());

  it("declares every table and view that the migrations make, and no other", () => {
    const made = db
      .prepare<[], string>(
        `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    ORDER BY name`,
      )
      .pluck()
      .all();
    expect([...tables.map(getTableName), ...views.map(getViewName)].sort()).toEqual(made);
  });

  it.each(tables.map((table) => [getTableName(table), table] as const))(
    "says of %s what the migrations made",
    (name, table) => {
      const primary = getTableConfig(table).primaryKeys.flatMap((key) => key.columns.map((column) => column.name));
      const said = Object.values(getTableColumns(table)).map(
        (column) =>
          `${column.name} ${column.getSQLType()}${column.notNull || column.primary || primary.includes(column.name) ? " not null" : ""}`,
      );
      expect(said).toEqual(realColumns(columnsOf(db, name)));
    },
  );

  it.each(tables.map((table) => [getTableName(table), table] as const))(
    "knows the defaults of %s that it gives",
    (name, table) => {
      const real = new Map(columnsOf(db, name).map((column) => [column.name, column.dflt_value]));
      for (const column of Object.values(getTableColumns(table))) {
        if (column.default === undefined) {
          // drizzle inserts NULL where it knows no default; where that may not be, the compiler asks for a value.
          const isFilledIn = !column.notNull && !column.primary && real.get(column.name) !== null;
          // The rows of `status_requests` are the ERP's.
          expect(isFilledIn && name !== "status_requests" ? column.name : "").toBe("");
          continue;
        }
        const value = typeof column.default === "string" ? `'${column.default}'` : String(Number(column.default));
        expect(`${column.name} ${value}`).toBe(`${column.name} ${real.get(column.name)}`);
      }
    },
  );

  it.each(views.map((view) => [getViewName(view), view] as const))("names the columns of the view %s", (name, view) => {
    const said = Object.values(getViewConfig(view).selectedFields).map((column) => (column as { name: string }).name);
    expect(said).toEqual(columnsOf(db, name).map((column) => column.name));
  });

  it("gives rows as SQLite does: names of SQL, flags as numbers", () => {
    type OrderRow = Row<typeof schema.orders>;
    expectTypeOf<
      Pick<OrderRow, "order_id" | "is_open" | "removed_at" | "payload_source" | "payload_hash">
    >().toEqualTypeOf<{
      order_id: string;
      is_open: number;
      removed_at: string | null;
      payload_source: "batch" | "update" | "snapshot";
      payload_hash: Buffer;
    }>();
    expectTypeOf<Row<typeof schema.conditions>["params"]>().toEqualTypeOf<string>();
    expectTypeOf<Row<typeof schema.ordersPending>["why"]>().toEqualTypeOf<
      "new" | "changed" | "cancelled" | "removed"
    >();
  });
});
