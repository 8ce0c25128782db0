import fc from "fast-check";
import { expect, it } from "vitest";
import type { ColumnValue } from "../../src/feeds/feed.ts";
import { hashRow } from "../../src/feeds/row-hash.ts";

const value = fc.oneof(
  fc.constant(null),
  fc.string({ maxLength: 3 }),
  fc.bigInt({ min: -9n, max: 9n }),
  fc.constantFrom(0.5, -1.5, 1e300),
  fc.uint8Array({ maxLength: 2 }).map((bytes) => Buffer.from(bytes)),
);
const told = (row: readonly ColumnValue[]) =>
  JSON.stringify(row.map((one) => [typeof one, Buffer.isBuffer(one) ? one.toString("hex") : String(one)]));

it("is the same for the same row only, types and places included", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 3 }), fc.array(value, { maxLength: 3 }), (a, b) => {
      expect(hashRow(a).equals(hashRow(b))).toBe(told(a) === told(b));
    }),
    { numRuns: 2_000 },
  );
  const pairs: [ColumnValue[], ColumnValue[]][] = [
    [["1"], [1n]],
    [[1n], [1]],
    [[null], [""]],
    [
      ["ab", "c"],
      ["a", "bc"],
    ],
    [["x"], [Buffer.from("x")]],
  ];
  for (const [a, b] of pairs) expect(hashRow(a).equals(hashRow(b)), `${told(a)} ${told(b)}`).toBe(false);
});
