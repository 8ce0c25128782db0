import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const english = readFileSync("README.md", "utf8");
const russian = readFileSync("README.ru.md", "utf8");

/** What is typed, with comments and quoted words of people left out. */
function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map((match) => match[1] ?? "");
  return blocks.map((block) => block.replace(/ +#.*$/gm, "").replace(/'[^']* 4711'/, "''"));
}

function headingsOf(text: string): string[] {
  return [...text.replace(/```[\s\S]*?```/g, "").matchAll(/^#+ /gm)].map(([mark]) => mark);
}

describe("the README in Russian", () => {
  it("has the commands, the SQL and the YAML of the English one", () => {
    expect(codeOf(russian).length).toBeGreaterThan(5);
    expect(codeOf(russian)).toEqual(codeOf(english));
  });

  it("has the same chapters and tables", () => {
    expect(headingsOf(russian)).toEqual(headingsOf(english));
    const rows = (text: string) => (text.match(/^\|/gm) ?? []).length;
    expect(rows(russian)).toBe(rows(english));
  });

  it("leads to the English one and back, and to nothing that is not there", () => {
    expect(english).toContain("[Русский](README.ru.md)");
    expect(russian).toContain("[English](README.md)");
    const places = [...russian.matchAll(/\]\(([^)#]+)/g)].map((match) => match[1] ?? "");
    expect(places.filter((place) => !existsSync(place))).toEqual([]);
  });
});
