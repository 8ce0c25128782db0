import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const TEXT = readFileSync("docs/reliability.md", "utf8");
const ROWS = [
  ...Array.from({ length: 37 }, (_, index) => String(index + 1)),
  "5a",
  "5b",
  "9a",
  "12a",
  "12b",
  "13a",
  "13b",
  "15a",
  "15b",
  "16a",
  "16h",
  "16i",
  "16b",
  "21b",
  "26a",
  "26b",
  "26h",
  "26i",
  "27a",
  "40",
  "41",
  "42",
  "41a",
  "42a",
  "42b",
  "43",
  "21a",
  "22a",
  "23a",
  "24a",
  "25a",
  "25b",
  "43a",
  "43b",
  "44",
  "45",
  "45a",
  "45b",
  "47",
  "46",
  "46a",
  ...["50", "51", "52", "53", "54", "55", "56"],
];

const quoted = [...TEXT.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text ?? "");

/** The cells of each numbered row. */
const rows = new Map(
  TEXT.split("\n")
    .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")))
    .filter(([number]) => /^\d+[abhi]?$/.test(number ?? ""))
    .map((cells) => [cells[0] ?? "", cells]),
);

describe("docs/reliability.md", () => {
  it("has every row, each with a command that shows it", () => {
    expect([...rows.keys()].sort()).toEqual([...ROWS].sort());
    for (const [number, [, fault, does, shown, seen]] of rows) {
      expect(
        [fault, does, seen].every((cell) => cell !== undefined && cell !== ""),
        `row ${number}`,
      ).toBe(true);
      expect(shown, `row ${number}`).toMatch(/`(test\/\S+\.test\.ts|npm run (crash|bench)|node scripts\/)/);
    }
  });

  it("names only files that exist", () => {
    const files = quoted.flatMap((text) => text.split(" ").filter((word) => /^(test|scripts|docs|src)\//.test(word)));
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it("names only scripts and parts that exist", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
    const named = [
      ...new Set(quoted.map((text) => /^npm run (\S+)/.exec(text)?.[1]).filter((name) => name !== undefined)),
    ];
    expect(named).toContain("campaign:crash");
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    const parts = /--part ([a-z|]+)\]/.exec(readFileSync("scripts/crash.ts", "utf8"))?.[1]?.split("|");
    const used = new Set([...TEXT.matchAll(/--part ([a-z]+)/g)].map(([, part]) => part));
    expect([...used].sort()).toEqual(parts?.sort());
  });
});
