import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const DECLARED = /new MetaValue\b[^"]*?\(\s*"(\w+)"/g;

/** Two declarations of one key could have different types. */
it("has one declaration of each key of a JSON value, by its name", () => {
  const sources = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const declared = sources.flatMap((text) => [...text.matchAll(DECLARED)].map(([, key]) => key));
  const [, union = ""] = /\btype JsonKey =([^;]+);/.exec(readFileSync("src/database/meta.ts", "utf8")) ?? [];
  expect(declared.sort()).toEqual([...union.matchAll(/\w+/g)].map(String).sort());
  expect(sources.flatMap((text) => text.match(/new MetaValue\b/g) ?? [])).toHaveLength(declared.length);
});
