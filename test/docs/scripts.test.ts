import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
const NAMED = /npm (?:run )?((?<=run )[a-z][a-z:-]*[a-z]|test)/g;

/** What a text asks npm to run. */
function namesIn(text: string): string[] {
  return [...text.matchAll(NAMED)].map(([, name = ""]) => name);
}

describe("npm's commands", () => {
  it("are there, wherever a page or a script names one", () => {
    const files = [...globSync("*.md"), ...globSync("docs/**/*.md"), ...globSync("{scripts,test}/**/*.ts")];
    const named = files
      .filter((file) => file !== "CHANGELOG.md")
      .flatMap((file) => namesIn(readFileSync(file, "utf8")).map((name) => ({ file, name })));
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
  });

  it("have a line each for contributors", () => {
    const listed = namesIn(readFileSync("CONTRIBUTING.md", "utf8"));
    expect(Object.keys(scripts).filter((name) => !listed.includes(name))).toEqual([]);
  });
});
