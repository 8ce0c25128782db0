import fc from "fast-check";
import { expect, it } from "vitest";
import { KeySet } from "../../src/feeds/diff/key-set.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { itWhole } from "../support/whole.ts";

const parts = fc.array(fc.string({ unit: ANY_CHARACTER, maxLength: 6 }), { minLength: 1, maxLength: 4 });
const withoutEnd = (key: readonly string[]) =>
  JSON.stringify(key.slice(0, key.findLastIndex((part) => part !== "") + 1));

it("holds the keys that were added and no other, empty parts at the end aside", () => {
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 200 }), fc.array(parts, { maxLength: 50 }), (added, asked) => {
      const set = new KeySet();
      const model = new Set<string>();
      for (const key of added) {
        expect(set.add(key)).toBe(!model.has(withoutEnd(key)));
        model.add(withoutEnd(key));
      }
      for (const key of [...added, ...asked]) expect(set.has([...key, ""])).toBe(model.has(withoutEnd(key)));
    }),
  );
});

itWhole("tells many keys that are much alike apart", () => {
  const set = new KeySet();
  const keys = Array.from({ length: 200_000 }, (_, n) => [`SKU-${n}`, n % 2 === 0 ? "main" : ""]);
  expect(keys.filter((key) => set.add(key))).toHaveLength(keys.length);
  expect(keys.every((key) => set.has(key))).toBe(true);
  expect(keys.filter(([sku = ""]) => set.has([`${sku}x`]) || set.has([sku, "other"]))).toEqual([]);
});
