import { describe, expect, it } from "vitest";
import { payloadOf } from "../../src/feeds/diff/diff.ts";

describe("the payload of a row that is held", () => {
  it("has the beginning of a value, however large it is: more than fits into one string of the engine", () => {
    const { payload } = payloadOf([{ sku: "A", quantity: Buffer.alloc(300_000_000, 0xab) }]);
    expect(JSON.parse(payload)).toEqual([{ sku: "A", quantity: `x'${"ab".repeat(1_000)}'` }]);
  });
});
