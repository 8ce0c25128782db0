import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const FILES = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));

// `whole` is what `inWhole` gives: it names the quicker tests itself.
const DESCRIBE = /^( *)(?:(whole|inWhole\([^)]*\))\.)?describe\w*[.(]/;
const TEST = /^( *)(?:(whole|inWhole\([^)]*\))\.)?(it\w*)[.(<]/;

/**
 * Lines of `describe` blocks (1 and up; 0 is the file itself) whose tests are all `itWhole`, apart from blocks that name quicker
 * tests. The formatter sees to the indentation.
 */
function emptyInShort(text: string): number[] {
  const open: { line: number; indent: number; isNamed: boolean; whole: number; short: number }[] = [
    { line: 0, indent: -1, isNamed: false, whole: 0, short: 0 },
  ];
  const all = [...open];
  for (const [index, line] of text.split("\n").entries()) {
    const found = DESCRIBE.exec(line) ?? TEST.exec(line);
    if (found === null) continue;
    const indent = found[1]?.length ?? 0;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const block = open.at(-1);
    if (found[3] === undefined) {
      const isNamed = found[2] !== undefined || block?.isNamed === true;
      const opened = { line: index + 1, indent, isNamed, whole: 0, short: 0 };
      open.push(opened);
      all.push(opened);
    } else if (block !== undefined && !block.isNamed) block[found[3] === "itWhole" ? "whole" : "short"] += 1;
  }
  return all.filter(({ whole, short }) => whole > 0 && short === 0).map(({ line }) => line);
}

describe("the short form", () => {
  it("has tests of each describe of which others are left to the whole one", () => {
    const found = FILES.flatMap((file) =>
      emptyInShort(readFileSync(path.join(FOLDER, file), "utf8")).map((line) => `${file}:${line}`),
    );
    expect(found).toEqual([]);
  });

  it("would be found without", () => {
    const lines = [
      'describe("a", () => {',
      '  itWhole("b", () => {});',
      '  describe("c", () => {',
      '    it("d");',
      "  });",
      "});",
    ];
    expect(emptyInShort(lines.join("\n"))).toEqual([1]);
    expect(emptyInShort(lines.join("\n").replace('it("d")', 'itWhole.each([1])("d")'))).toEqual([1, 3]);
    expect(emptyInShort(lines.join("\n").replace("itWhole(", "it.each([1])("))).toEqual([]);
    expect(emptyInShort(lines.join("\n").replace('it("d")', 'whole.it("d")'))).toEqual([1]);
    expect(emptyInShort(lines.join("\n").replace('describe("a"', 'inWhole("e").describe("a"'))).toEqual([]);
  });
});
