import { describe, expect, it } from "vitest";
import { elementAt, elementsInSlices, elementsOf, memberOf, textOf } from "../../src/answers/json-text.ts";
import { scanInSlices, scanJson } from "../../src/answers/scan-json.ts";
import { atOnce, inTurns } from "../../src/answers/slices.ts";
import { itWhole } from "../support/whole.ts";

/** Some megabytes, with text whose letters take several bytes each. */
const large = Buffer.from(
  JSON.stringify({
    orders: Array.from({ length: 40_000 }, (_, n) => ({ n, name: `товар ${n} — «ёлка»`, lines: [[1], {}] })),
    end: [7],
  }),
);

describe("work in slices", () => {
  itWhole("scans the same as at once, and lets others run in between", async () => {
    let turns = 0;
    const scanned = await inTurns(scanInSlices(large), async () => {
      turns += 1;
    });
    expect(scanned).toEqual(scanJson(large));
    expect(scanned.values).toBe(1 + 1 + 40_000 * 7 + 2);
    expect(turns).toBeGreaterThan(large.length / 1024 / 1024 - 2);
    expect(turns).toBeLessThan(large.length / 1024 / 1024 + 2);
  });

  it("notices bytes that are not UTF-8 in any slice", () => {
    const broken = Buffer.from(large);
    broken[large.lastIndexOf("ё") + 1] = 0x41;
    expect(scanJson(broken).utf8).toBe(false);
    expect(scanJson(large).utf8).toBe(true);
  });

  it("steps over a large list at once, and finds the same behind it", () => {
    const root = scanJson(large);
    const { start, end } = root;
    expect(root.ends.size).toBe(2);
    expect(memberOf(large, root, "end")).toEqual(memberOf(large, { start, end }, "end"));
    expect(textOf(large, memberOf(large, root, "end")!)).toBe("[7]");
  });

  itWhole("finds elements in slices and one by one as in the list of all", () => {
    const list = memberOf(large, scanJson(large), "orders")!;
    const all = elementsOf(large, list);
    expect(atOnce(elementsInSlices(large, list))).toEqual(all);
    for (const index of [0, 1, 39_999, 40_000, -1, -2, -40_000, -40_001]) {
      expect(elementAt(large, list, index)).toEqual(all.at(index));
    }
  });

  it("ends with what the turn throws", async () => {
    const stop = () => Promise.reject(new Error("stopped"));
    await expect(inTurns(scanInSlices(large), stop)).rejects.toThrow("stopped");
  });
});
