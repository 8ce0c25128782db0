import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { counted } from "../../src/messages/counted.ts";
import { describeCounts } from "../../src/messages/describe-counts.ts";
import { harvestMessages } from "./harvest.ts";

/** Everything that the program counts, as the calls name it: `counted(n, "batch", "batches")`. */
function countedThings(): Map<string, string> {
  const sources = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const calls = sources.flatMap((text) => [...text.matchAll(/counted\([^"`]+?, "([^"]+)"(?:, "([^"]+)")?,?\s*\)/g)]);
  return new Map(calls.map(([, one = "", many = `${one}s`]) => [many, one]));
}

describe("a counted thing", () => {
  it("has the form that fits its number", () => {
    expect([0, 1, 2].map((n) => counted(n, "batch", "batches"))).toEqual(["0 batches", "1 batch", "2 batches"]);
    expect(String(describeCounts({ copies: 1, removed: 1, requests: 2, differ: 0 }))).toBe(
      "1 copy, 1 removed, 2 requests, 0 differ",
    );
    expect(String(describeCounts({ batches: 1, created: 0, differ: 1 }))).toBe("1 batch, 1 differs");
    expect(String(describeCounts({ created: 0 }))).toBe("nothing to do");
  });

  it("is never written with a plural alone", () => {
    const things = countedThings();
    expect(things.size).toBeGreaterThan(15);
    const messages = harvestMessages();
    const texts = new Set(messages.map(({ text }) => text));
    const nouns = [...new Set([...things].map(([many]) => many.split(" ").at(-1) ?? many))];
    const plural = new RegExp(`\\{([a-z]+)\\} ((?:[a-z]+ )?(?:${nouns.join("|")}))\\b`, "g");
    const wrong = messages.flatMap(({ place, text }) =>
      [...text.matchAll(plural)]
        // A limit is a number that the program chooses: never one.
        .filter(([, hole]) => !/(max|min|size)$/.test(hole ?? ""))
        .filter(([whole, hole, words = ""]) => {
          const one = things.get(words);
          return one === undefined || !texts.has(text.replace(whole, `{${hole}} ${one}`));
        })
        .map(([whole]) => `${place}: ${whole}`),
    );
    expect(wrong).toEqual([]);
  });
});
