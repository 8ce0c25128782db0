import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDecimal } from "../../src/answers/decimal.ts";
import { levelProblem } from "../../src/config/feed-level.ts";
import { isLive, planRow } from "../../src/feeds/diff/plan-feed.ts";
import { compileFeed, type FeedSettings } from "../../src/feeds/feed.ts";
import { levelOf, renderDeletion, renderRow } from "../../src/feeds/feed-record.ts";
import { stockSettings } from "../support/rules.ts";
import { runs } from "../support/whole.ts";

const STOCKS = stockSettings({ table: "goods", available: "quantity - reserved" });
const ROW = { sku: "A", quantity: 5n, reserved: 1n, active: 1n };

function rendered(settings: Partial<FeedSettings>, row = ROW) {
  const rules = compileFeed("stocks", { ...STOCKS, ...settings });
  const result = renderRow(rules, row);
  if ("reason" in result) throw new Error(String(result.reason));
  return { rules, record: result.record };
}

describe("the number that can be sold, and its deletion", () => {
  it.each([
    [{ sku: "{sku}", amount: "{available|number}" }, "4", '{"sku":"A","amount":0}'],
    [{ sku: "{sku}", quantity: "{quantity|number}" }, "5", '{"sku":"A","quantity":0}'],
    [{ sku: "{sku}", amount: "{quantity}" }, "5", '{"sku":"A","amount":0}'],
    [
      { sku: "{sku}", stock: { amount: "{available|string}", unit: "pcs" } },
      "4",
      '{"sku":"A","stock":{"amount":"0","unit":"pcs"}}',
    ],
    [{ sku: "{sku}", rests: [{ store: 1, left: "{available}" }] }, "4", '{"sku":"A","rests":[{"store":1,"left":0}]}'],
    [{ sku: "{sku}", text: "{available} pcs" }, "4", '{"sku":"A","text":"0 pcs"}'],
    [{ sku: "{sku}", total: "{quantity|number}", free: "{available|number}" }, "4", '{"sku":"A","total":0,"free":0}'],
  ])("is found in %j", (record, level, deleted) => {
    const { rules, record: last } = rendered({ record });
    expect(levelOf(rules, last)).toBe(level);
    expect(renderDeletion(rules, last)).toBe(deleted);
    expect(levelProblem("stocks", { ...STOCKS, record })).toBeUndefined();
  });

  it("is what a written on_delete sets to 0", () => {
    const settings = {
      available: null,
      record: { sku: "{sku}", n: { left: "{quantity}" } },
      on_delete: { n: { left: 0 } },
    };
    const { rules, record } = rendered({ ...settings, key: ["sku"] });
    expect([levelOf(rules, record), renderDeletion(rules, record)]).toEqual(["5", '{"sku":"A","n":{"left":0}}']);
  });

  it("counts a NULL as no stock", () => {
    const { rules } = rendered({ record: { sku: "{sku}", amount: "{quantity|number}" } });
    expect(isLive(rules, { record: '{"sku":"A","amount":null}', gone: false })).toBe(false);
  });

  it("is taken away where an earlier template had it, for a row that was never sent with the present one", () => {
    const before = rendered({}).record;
    const { rules } = rendered({ record: { sku: "{sku}", amount: "{available|number}" } });
    const former = compileFeed("stocks", STOCKS).levels;
    expect(renderDeletion(rules, before, former)).toBe('{"sku":"A","quantity":0}');
  });

  it.each<[string, unknown, string]>([
    ["an object", { amount: "{available|number}" }, '{"sku":"A","quantity":{"amount":0}}'],
    ["a list", ["{available|number}"], '{"sku":"A","quantity":[0]}'],
  ])(
    "is taken away in the form of the present template where an earlier one had it in the place of %s",
    (_, quantity, expected) => {
      const { rules, record } = rendered({ record: { sku: "{sku}", quantity } });
      const former = compileFeed("stocks", STOCKS).levels;
      expect(renderDeletion(rules, record, former)).toBe(expected);
      const before = rendered({}).record;
      expect(renderDeletion(rules, before, former)).toBe('{"sku":"A","quantity":0}');
    },
  );

  it("is active for the catalog, whatever it is called there", () => {
    const catalog = { ...STOCKS, available: null, on_delete: { active: false } };
    const rules = compileFeed("catalog", { ...catalog, record: { id: "{sku}", shop: { on: "{active|bool}" } } });
    expect(renderDeletion(rules, '{"id":"A","shop":{"on":true}}')).toBe('{"id":"A","shop":{"on":false}}');
    const plain = compileFeed("catalog", { ...catalog, record: { id: "{sku}" } });
    expect(renderDeletion(plain, '{"id":"A"}')).toBe('{"id":"A","active":false}');
  });
});

/** Any template around one place of the number, in any nesting, beside anything else. */
const leaf = fc.constantFrom(
  "{sku}",
  "{quantity|number}",
  "{available|number}",
  "{available}",
  "{reserved}",
  "x",
  1,
  true,
  null,
);
const key = fc.constantFrom("quantity", "amount", "stock", "a", "rest");
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
}));
const template = fc.dictionary(key, value, { maxKeys: 4 });
const deletion = fc.constantFrom<unknown>(
  { quantity: 0 },
  { amount: 0 },
  { quantity: 0, amount: 0, stock: 0, a: 0, rest: 0 },
  { stock: { amount: 0 } },
  { gone: true },
);

describe("under any template that is not refused", () => {
  it("a deleted row and a zero are no longer for sale, and the guard counts both", () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        template,
        deletion,
        fc.constantFrom<string | null>("quantity - reserved", "quantity", null),
        (record, on_delete, available) => {
          fc.pre(available !== null || !JSON.stringify(record).includes("{available"));
          const settings = { ...STOCKS, record, on_delete, available };
          if (levelProblem("stocks", settings) !== undefined) return;
          accepted += 1;
          const { rules, record: full } = rendered({ ...settings, available });
          const known = {
            sent: { record: full, gone: false, live: isLive(rules, { record: full, gone: false }), current: true },
            outbox: undefined,
          };
          expect(known.sent.live).toBe(true);
          const away = planRow(rules, { kind: "absent" }, known);
          expect(away).toMatchObject({ kind: "send", isDrop: true });
          if (away.kind !== "send") return;
          const left = levelOf(rules, away.record);
          expect(left === undefined || (parseDecimal(left)?.coefficient ?? 1n) <= 0n).toBe(true);
          const empty = rendered({ ...settings, available }, { ...ROW, quantity: 0n, reserved: 0n }).record;
          expect(planRow(rules, { kind: "row", record: empty }, known)).toMatchObject({ kind: "send", isDrop: true });
        },
      ),
      { numRuns: runs(80, 2_000) },
    );
    expect(accepted).toBeGreaterThan(runs(4, 100));
  });
});
