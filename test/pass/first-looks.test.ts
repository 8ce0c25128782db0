import { describe, expect, it } from "vitest";
import { judgeLook } from "../../src/pass/first-looks.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe("a read of an order whose answer is in doubt", () => {
  it.each([
    ["none before", undefined, DAY, "first"],
    ["one a little less than ten minutes ago", MINUTE, 11 * MINUTE - 1, "vain"],
    ["one ten minutes ago", MINUTE, 11 * MINUTE, "second"],
    ["one nearly a day ago", MINUTE, DAY + MINUTE - 1, "second"],
    ["one a day ago", MINUTE, DAY + MINUTE, "first"],
    ["one before the machine's start, five minutes ago", DAY, 5 * MINUTE, "vain"],
    ["one before the machine's start, ten minutes ago", DAY, 10 * MINUTE, "second"],
  ] as const)("%s: %s %s: %s", (_name, firstMs, nowMs, look) => {
    expect(judgeLook(firstMs, nowMs)).toBe(look);
  });
});
