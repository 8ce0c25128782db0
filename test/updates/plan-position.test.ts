import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TimestampForm } from "../../src/answers/timestamp-form.ts";
import { instantOf } from "../../src/updates/pages/follow.ts";
import { type PositionFacts, planPosition } from "../../src/updates/pages/plan-position.ts";

const rules = { since: "iso", timezone: "UTC", overlapMs: 600_000 } as const;
const FORM: TimestampForm = { kind: "iso", precision: "second", fraction: 0, point: ".", zone: "Z", separator: "T" };
const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 12, minute)).toISOString().replace(".000", "");
const high = (minute: number) => ({ text: at(minute), ns: instantOf(at(minute), "UTC") as bigint });
const http = (minute: number) => new Date(Date.UTC(2026, 2, 1, 12, minute)).toUTCString();
const LOCAL: TimestampForm = { ...FORM, zone: "" };
/** Without a zone, at this hour of the day before. */
const local = (hour: number) => {
  const text = `2026-02-28T${hour}:05:00`;
  return { text, ns: instantOf(text, "UTC") as bigint };
};
const usual: PositionFacts = {
  watermark: at(5),
  token: undefined,
  high: undefined,
  serviceNow: http(30),
  serviceDate: http(30),
  form: FORM,
  isCut: false,
};

describe("where the position goes", () => {
  it.each<[string, Partial<PositionFacts>, string | undefined]>([
    ["nothing was served", {}, undefined],
    ["to the largest timestamp", { high: high(9) }, at(9)],
    ["from nowhere to the largest timestamp", { watermark: undefined, high: high(9) }, at(9)],
    ["nowhere: nothing new", { high: high(5) }, undefined],
    ["not back", { high: high(4) }, undefined],
    ["nowhere: changes that were left out are looked for", { high: high(9), isCut: true }, undefined],
    ["to the service's token", { token: "c-7", high: high(9) }, "c-7"],
    ["nowhere: the same token", { watermark: "c-7", token: "c-7", high: high(9) }, undefined],
    ["a token that is an earlier time", { token: at(4), high: high(4) }, undefined],
    ["a token from the future is left for the largest timestamp", { token: at(50), high: high(9) }, at(9)],
    [
      "back, where the service's clock was set back",
      { serviceNow: "Sun, 01 Mar 2026 11:00:00 GMT", serviceDate: "Sun, 01 Mar 2026 11:00:00 GMT" },
      "Sun, 01 Mar 2026 11:00:00 GMT",
    ],
    [
      "not back to a time that only former answers told",
      { serviceNow: "Sun, 01 Mar 2026 11:00:00 GMT", serviceDate: undefined },
      undefined,
    ],
    ["back to a time without a zone, where times name none by now", { high: local(22), form: LOCAL }, local(22).text],
    ["not back to one that is earlier in any zone", { high: local(21), form: LOCAL }, undefined],
  ])("%s", (_, more, expected) => {
    expect(planPosition({ ...usual, ...more }, rules).watermark).toBe(expected);
  });

  it("is only what the service sent, later than before unless its clock was set back, and stays while a search stands", () => {
    const minute = fc.integer({ min: 0, max: 59 });
    const facts = fc.record<PositionFacts>({
      watermark: fc.option(minute.map(at), { nil: undefined }),
      token: fc.option(fc.oneof(minute.map(at), fc.constantFrom("c-1", "c-2")), { nil: undefined }),
      high: fc.option(minute.map(high), { nil: undefined }),
      serviceNow: fc.option(minute.map(http), { nil: undefined }),
      serviceDate: fc.option(minute.map(http), { nil: undefined }),
      form: fc.constant(FORM),
      isCut: fc.boolean(),
    });
    fc.assert(
      fc.property(facts, (each) => {
        const { watermark } = planPosition(each, rules);
        if (watermark === undefined) return;
        expect(each.isCut).toBe(false);
        expect([each.token, each.high?.text, each.serviceDate]).toContain(watermark);
        expect(watermark).not.toBe(each.watermark);
        const [after, before] = [instantOf(watermark, "UTC"), instantOf(each.watermark, "UTC")];
        const now = instantOf(each.serviceNow, "UTC");
        if (watermark === each.token && watermark !== each.high?.text && after !== undefined && now !== undefined)
          expect(after).toBeLessThanOrEqual(now + 1_000_000_000n);
        if (after === undefined || before === undefined || after > before) return;
        expect(now).toBeDefined();
        expect(now as bigint).toBeLessThan(before - BigInt(rules.overlapMs) * 1_000_000n);
      }),
    );
  });
});
