import fc from "fast-check";
import { expect, it } from "vitest";
import { keyReadings, referenceOf } from "../../src/feeds/row-reference.ts";

const rules = (columns: number) => ({ keys: ["a", "b", "c", "d"].slice(0, columns) });

it("a name has every key among its readings that is joined to it, and that it stands for as a list", () => {
  const part = fc.stringMatching(/^[a-z/ ]{0,6}$/);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (key) => {
      const { keys } = rules(key.length);
      const last = key.findLastIndex((text) => text !== "");
      expect(keyReadings({ keys }, key.join("/"))).toContainEqual(key);
      expect(keyReadings({ keys }, key.slice(0, last + 1).join("/"))).toContainEqual(key);
      expect(keyReadings({ keys }, JSON.stringify(key))).toContainEqual(key);
      expect(keyReadings({ keys }, referenceOf(key))).toContainEqual(key);
    }),
  );
});

it("a name has few readings, each once", () => {
  expect(keyReadings(rules(1), "a/b/c")).toEqual([["a/b/c"]]);
  expect(keyReadings(rules(2), "a/b/c")).toEqual([
    ["a", "b/c"],
    ["a/b", "c"],
    ["a/b/c", ""],
  ]);
  expect(keyReadings(rules(2), '["a/b"]')).toEqual([
    ["a/b", ""],
    ['["a', 'b"]'],
    ['["a/b"]', ""],
  ]);
});
