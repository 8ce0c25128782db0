import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS, readRetryAfter } from "../../src/service/retry-after.ts";

const now = Date.parse("2026-11-20T16:51:25Z");

describe("readRetryAfter", () => {
  it.each<[string | string[] | undefined, number | undefined]>([
    [undefined, undefined],
    [[], undefined],
    ["", undefined],
    ["soon", undefined],
    ["NaN", undefined],
    ["Infinity", undefined],
    ["1e3", undefined],
    ["12,5", undefined],
    ["120 s", undefined],
    ["30", 30_000],
    [" 30 ", 30_000],
    ["+30", 30_000],
    ["1.5", 1_500],
    ["1.0005", 1_001],
    ["0", RETRY_AFTER_MIN_MS],
    ["0.2", RETRY_AFTER_MIN_MS],
    ["-5", RETRY_AFTER_MIN_MS],
    ["-0.5", RETRY_AFTER_MIN_MS],
    ["3601", RETRY_AFTER_MAX_MS],
    ["999999999", RETRY_AFTER_MAX_MS],
    ["9".repeat(400), RETRY_AFTER_MAX_MS],
    [String(now / 1000 + 90), 90_000],
    [String(now / 1000 + 0.5 + 90), 90_500],
    [String(now + 1_234), 1_234],
    [String(now / 1000 - 90), RETRY_AFTER_MIN_MS],
    [String(now + 1e9), RETRY_AFTER_MAX_MS],
    ["Fri, 20 Nov 2026 16:52:25 GMT", 60_000],
    ["Fri, 20 Nov 2026 16:50:25 GMT", RETRY_AFTER_MIN_MS],
    ["Wed, 20 Nov 2999 16:50:25 GMT", RETRY_AFTER_MAX_MS],
    ["2026-11-20T19:52:25+03:00", 60_000],
    [["5", "60"], 60_000],
    [["rubbish", "5"], 5_000],
  ])("reads %j as %s", (header, expected) => {
    expect(readRetryAfter(header, now)).toBe(expected);
  });

  it("is whole milliseconds within the bounds or nothing, whatever the header", () => {
    const header = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map(String),
      fc.bigInt().map(String),
      fc.date().map((date) => date.toUTCString()),
      fc.array(fc.string()),
    );
    fc.assert(
      fc.property(header, (text) => {
        const wait = readRetryAfter(text, now);
        if (wait === undefined) return;
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(RETRY_AFTER_MIN_MS);
        expect(wait).toBeLessThanOrEqual(RETRY_AFTER_MAX_MS);
      }),
    );
  });
});
