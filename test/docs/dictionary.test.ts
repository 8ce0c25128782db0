import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { dictionary, documentedTables } from "../../scripts/docs/dictionary.ts";
import { startTestBridge } from "../support/bridge.ts";
import { PAGES } from "../support/pages.ts";

const TYPES: Record<string, (value: unknown) => boolean> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  real: (value) => typeof value === "number",
  any: (value) => typeof value === "string" || typeof value === "number",
  "0 or 1": (value) => value === 0 || value === 1,
  blob: () => true,
};

describe("docs/dictionary.md", () => {
  it("is what the schema says, and the schema is what the database has", async () => {
    expect(readFileSync("docs/dictionary.md", "utf8")).toBe(dictionary());
    const { rows } = await startTestBridge();
    for (const { name, columns, isView } of documentedTables()) {
      const there = rows<{ name: string }>(`SELECT name FROM pragma_table_info('${name}')`).map(
        (column) => column.name,
      );
      expect(columns.map((column) => column.name).sort(), name).toEqual(there.sort());
      expect(
        rows(`SELECT 1 FROM sqlite_schema WHERE name = '${name}' AND type = '${isView ? "view" : "table"}'`),
      ).toHaveLength(1);
    }
  });

  it("has examples that the columns take", async () => {
    for (const { name, columns } of documentedTables()) {
      for (const { name: column, type, values, example } of columns) {
        const fits =
          example === null ? type.endsWith("?") : example === undefined || TYPES[type.replace("?", "")]?.(example);
        expect([name, column, fits]).toEqual([name, column, true]);
        if (values.length > 0 && example !== null) expect(values, `${name}.${column}`).toContain(example);
      }
    }
    const { bridge } = await startTestBridge();
    const tables = documentedTables().filter(({ isView }) => !isView);
    // An order first: the ERP's mark names it.
    for (const { name, columns } of tables.toSorted(
      (a, b) => Number(b.name === "orders") - Number(a.name === "orders"),
    )) {
      const names = columns.map((column) => column.name);
      const values = columns.map(({ type, example }) =>
        example === undefined && type === "blob" ? Buffer.alloc(32) : (example ?? null),
      );
      const insert = bridge.store.db.prepare(
        `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      );
      expect(() => insert.run(values), name).not.toThrow();
    }
  });

  it("has every table and view that a page asks the reader to query", () => {
    const known = new Set(documentedTables().map(({ name }) => name));
    const internal = ["body_parts", "sqlite_schema", "sqlite_sequence"];
    // The mirror's tables are PostgreSQL's.
    const named = PAGES.filter((page) => !page.startsWith("docs/many-shops.")).flatMap((page) =>
      [...readFileSync(page, "utf8").matchAll(/\b(?:FROM|JOIN|INTO) ([a-z]+(?:_[a-z]+)*)\b/g)].map(
        ([, name = ""]) => name,
      ),
    );
    const own = /^(my_|json_each$|goods$|kept$|taken$|seen$|pragma_)/;
    expect(
      [...new Set(named)].filter((name) => !known.has(name) && !internal.includes(name) && !own.test(name)),
    ).toEqual([]);
  });
});
