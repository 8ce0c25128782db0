/* docs/dictionary.md: the tables and columns that other programs may read, from the comments of the schema. */

import { readFileSync } from "node:fs";
import { getTableColumns, getTableName, getViewName, getViewSelectedFields, is, type Table, View } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import * as schema from "../../src/database/schema.ts";
import { tableOf } from "./table.ts";

const PARTS: readonly (readonly [heading: string, names: readonly (keyof typeof schema)[]])[] = [
  ["Written by the ERP", ["erpOrders", "statusRequests", "stock", "prices", "products", "images"]],
  ["Orders", ["ordersPending", "ordersBlocked", "orders", "orderLines", "ordersWide", "orderLinesWide", "orderEvents"]],
  ["What is on the site", ["stockSent", "pricesSent", "productsSent", "imagesSent"]],
  [
    "How the bridge is doing",
    ["syncStatus", "conditions", "holds", "batches", "keptBodies", "quarantine", "runs", "queuedReads", "observations"],
  ],
];

const HEAD = `# Dictionary

<!-- Written by scripts/write-config-docs.ts from src/database/schema.ts; do not edit by hand. -->

Tables and columns that other programs may read or write, each with an example. Who writes what, and how, is in [Integration by SQL](integration.md);
statements for reports are in [Questions about the data](questions.md). Tables and columns that are not on this page are the bridge's own and may change with any version.

- A type with a question mark may be NULL. \`any\` takes whatever the ERP writes: text or a number.
- A time of the bridge's is text like \`2026-06-01T12:00:00.000Z\`, UTC. One of the service's is its own text, as it came.
- An amount is text, exactly as the service sent it.
`;

export function dictionary(): string {
  const parts = PARTS.map(([heading, names]) => `## ${heading}\n\n${names.map(entryOf).join("\n")}`);
  return [HEAD, ...parts].join("\n");
}

export interface Documented {
  name: string;
  isView: boolean;
  comment: string;
  columns: { name: string; type: string; values: readonly string[]; meaning: string; example: unknown }[];
}

/** Every table and view of the page. */
export function documentedTables(): Documented[] {
  return PARTS.flatMap(([, names]) => names.map(documented));
}

function entryOf(key: keyof typeof schema): string {
  const { name, comment, columns } = documented(key);
  const rows = columns.map(({ name: column, type, values, meaning, example }) => [
    `\`${column}\``,
    type,
    `${meaning}${values.length === 0 ? "" : ` One of ${values.map((value) => `\`${value}\``).join(", ")}.`}`,
    example === undefined ? "" : `\`${JSON.stringify(example)}\``,
  ]);
  return `### ${name}\n\n${comment}\n\n${tableOf(["Column", "Type", "Meaning", "Example"], rows)}`;
}

const TABLES: typeof schema = { ...schema };
const source = readFileSync("src/database/schema.ts", "utf8");

function documented(key: keyof typeof schema): Documented {
  const table = TABLES[key];
  const comments = commentsOf(key);
  const isView = is(table, View);
  const fields = isView ? getViewSelectedFields(table) : getTableColumns(table as Table);
  const columns = Object.entries(fields as Record<string, SQLiteColumn>).map(([property, column]) => {
    const { meaning, example } = comments.get(property) ?? {};
    if (meaning === undefined) throw new Error(`src/database/schema.ts: ${key}.${property} has no comment`);
    const isFlag = column.dataType === "boolean";
    const type = `${column.getSQLType()}${column.notNull || column.primary ? "" : "?"}`;
    return { name: column.name, type: isFlag ? "0 or 1" : type, values: column.enumValues ?? [], meaning, example };
  });
  const name = isView ? getViewName(table) : getTableName(table as Table);
  return { name, isView, comment: comments.get("")?.meaning ?? "", columns };
}

interface Comment {
  meaning: string;
  example: unknown;
}

/** The comments of a declaration by property, with those of the groups that are spread into it; "" is its own. */
function commentsOf(name: string): Map<string, Comment> {
  const [whole = "", own = ""] =
    new RegExp(`(?:/\\*\\*([^\\n]*)\\*/\\n)?(?:export )?const ${name} = [\\s\\S]*?(?=\\n\\n|\\n$)`).exec(source) ?? [];
  if (whole === "") throw new Error(`src/database/schema.ts: ${name} is not there`);
  const found = new Map<string, Comment>([["", readComment(own)]]);
  for (const [, group = "", comment = "", property = ""] of whole.matchAll(
    /^ +(?:\.\.\.(\w+),|\/\*\*(.*)\*\/\n +(\w+):)/gm,
  )) {
    if (group === "") found.set(property, readComment(comment));
    else for (const [inner, text] of commentsOf(group)) if (inner !== "" && !found.has(inner)) found.set(inner, text);
  }
  return found;
}

function readComment(text: string): Comment {
  const [meaning = "", example] = text.trim().split(/ @example /);
  return { meaning, example: example === undefined ? undefined : (JSON.parse(example) as unknown) };
}
