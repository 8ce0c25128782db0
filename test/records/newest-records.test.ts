import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { elementsOf } from "../../src/answers/json-text.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { newestInSlices } from "../../src/records/newest-records.ts";
import { readRecords } from "../../src/records/read-records.ts";
import { batchMapping } from "../support/rules.ts";

const mapping = batchMapping({ order_id: "$.id", updated_at: "$.at" });

interface Sketch {
  /** Which order; null: a record without an id. */
  order: number | null;
  /** Second of its timestamp; null: none. */
  at: number | null;
  bad: boolean;
  note: number;
}

const sketch = fc.record<Sketch>({
  order: fc.option(fc.nat(2)),
  at: fc.option(fc.nat(3)),
  bad: fc.boolean(),
  note: fc.nat(2),
});

const textOf = ({ order, at, bad, note }: Sketch) =>
  JSON.stringify({
    ...(order === null ? {} : { id: `00000000-0000-4000-8000-00000000000${order}` }),
    status: bad ? {} : "new",
    items: [],
    note,
    ...(at === null ? {} : { at: `2026-03-01T12:00:0${at}Z` }),
  });

function choose(sketches: readonly Sketch[]) {
  const bytes = Buffer.from(`[${sketches.map(textOf).join(",")}]`);
  const root = scanJson(bytes);
  const records = readRecords(bytes, { root, elements: elementsOf(bytes, root) }, mapping);
  const { records: chosen, ambiguous } = atOnce(newestInSlices(bytes, records, { mapping, timezone: "UTC" }));
  return { chosen: chosen.map((record) => sketches[records.indexOf(record)]!), ambiguous };
}

const key = (one: Sketch) => JSON.stringify(one);

describe("the newest record of each order in one answer", () => {
  it("is one usable record for each order that has any, never one that is known to be older", () => {
    fc.assert(
      fc.property(fc.array(sketch, { maxLength: 8 }), (sketches) => {
        const { chosen, ambiguous } = choose(sketches);
        for (const order of [0, 1, 2]) {
          const group = sketches.filter((one) => one.order === order);
          const distinct = new Set(group.map(key));
          const usable = group.filter(({ bad }) => !bad);
          const picked = chosen.filter((one) => one.order === order && !one.bad);
          expect(picked).toHaveLength(usable.length === 0 ? 0 : 1);
          const newest = Math.max(...usable.map(({ at }) => at ?? -1));
          const best = picked[0];
          if (best !== undefined) expect(best.at === null || best.at === newest).toBe(true);
          const sure = new Set(usable.filter(({ at }) => at === null || at === newest).map(key)).size === 1;
          if (distinct.size > 1 && best !== undefined) {
            expect(ambiguous.has(`00000000-0000-4000-8000-00000000000${order}`)).toBe(!sure);
          }
        }
      }),
    );
  });

  it("keeps every record that cannot be used, unless it is known to be superseded", () => {
    fc.assert(
      fc.property(fc.array(sketch, { maxLength: 8 }), (sketches) => {
        const { chosen } = choose(sketches);
        const kept = new Set(chosen.map(key));
        const best = new Map(chosen.filter(({ bad, order }) => !bad && order !== null).map((one) => [one.order, one]));
        for (const one of sketches.filter(({ bad, order }) => bad || order === null)) {
          const other = one.order === null ? undefined : best.get(one.order);
          const isSuperseded = other !== undefined && other.at !== null && one.at !== null && other.at > one.at;
          expect(kept.has(key(one))).toBe(!isSuperseded);
        }
      }),
    );
  });

  it("is every record where no order comes twice", () => {
    const sketches: Sketch[] = [0, 1, null, 2].map((order) => ({ order, at: order, bad: order === 1, note: 0 }));
    const { chosen, ambiguous } = choose(sketches);
    expect(chosen).toHaveLength(4);
    expect(ambiguous.size).toBe(0);
  });
});
