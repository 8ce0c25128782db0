import path from "node:path";
import { getTableColumns, getTableName } from "drizzle-orm";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { describe, expect, it } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrate.ts";
import { openStore } from "../../src/database/open.ts";
import * as schema from "../../src/database/schema.ts";
import { tempFolder } from "../support/temp.ts";

interface RealColumn {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** What the migrations really made, in the words of the comparison. */
function realColumns(columns: readonly RealColumn[]): string[] {
  const isSequential = columns.filter(({ pk }) => pk > 0).length === 1;
  return columns.map(({ name, type, notnull, pk }) => {
    const isRowId = isSequential && pk > 0 && type === "INTEGER";
    return `${name} ${type.toLowerCase()}${notnull === 1 || isRowId || pk > 0 ? " not null" : ""}`;
  });
}

describe("the drizzle schema", () => {
  const tables = Object.values(schema) as SQLiteTable[];

  it.each(tables.map((table) => [getTableName(table), table] as const))(
    "says of %s what the migrations made",
    (name, table) => {
      const store = openStore({
        path: path.join(tempFolder(), "bridge.db"),
        migrationsFolder: MIGRATIONS_FOLDER,
        mode: "daemon",
      });
      const columns = store.db
        .prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?)')
        .all(name) as RealColumn[];
      store.close();
      const primary = getTableConfig(table).primaryKeys.flatMap((key) => key.columns.map((column) => column.name));
      const said = Object.values(getTableColumns(table)).map(
        (column) =>
          `${column.name} ${column.getSQLType()}${column.notNull || column.primary || primary.includes(column.name) ? " not null" : ""}`,
      );
      expect(said).toEqual(realColumns(columns));
    },
  );
});
