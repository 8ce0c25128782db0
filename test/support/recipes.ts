import { readFileSync } from "node:fs";

/** A statement on a page, named by the comment before it. */
export interface Recipe {
  name: string;
  sql: string;
}

const BLOCK = /(?:<!-- recipe: ([^>]+?) -->\n)?```sql\n([\s\S]*?)```/g;

/** The `sql` blocks of a page, in order. @throws Error where one has no name, or two have the same */
export function readRecipes(file: string): Recipe[] {
  const recipes = [...readFileSync(file, "utf8").matchAll(BLOCK)].map(([, name, sql = ""]) => {
    if (name === undefined) throw new Error(`${file}: no <!-- recipe: NAME --> stands before\n${sql}`);
    return { name, sql };
  });
  const names = recipes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${file}: two recipes are named ${twice}`);
  return recipes;
}

/** The statements of a recipe. No text in them contains a semicolon. */
export function statementsOf(sql: string): string[] {
  return sql
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
