import { describe, expect, it } from "vitest";
import { describeCounts } from "../../src/messages/describe-counts.ts";
import { Message, render } from "../../src/messages/message.ts";
import { counted } from "../../src/messages/numbers.ts";
import { declaredMessages } from "./catalogue.ts";

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
    const nouns =
      /(?<![\d.,-])1 (?:[a-z]+ )?(?:orders|batches|requests|rows|records|copies|events|runs|files|keys|names|fields|paths|changes|payloads|tables|images|days)\b/;
    const wrong = declaredMessages().filter(({ id, params }) => {
      // A limit is a number that the program chooses: never one.
      const isLimit = (name: string) => /(max|names|size)$/i.test(name);
      const one = params.map(([name, type]) => [
        name,
        type === "number" ? (isLimit(name) ? 9 : 1) : type.startsWith("readonly") ? ["§"] : "§",
      ]);
      return nouns.test(render("en", new Message(id, Object.fromEntries(one))));
    });
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });
});
