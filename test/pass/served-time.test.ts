import { describe, expect, it } from "vitest";
import { reachedTimeMs } from "../../src/pass/served-time.ts";

const at = (text: string) => Date.parse(text);

describe("the time that timestamps have reached", () => {
  it.each([
    [[], undefined],
    [[null, "yesterday"], undefined],
    [["2026-03-01T10:00:00Z"], at("2026-03-01T10:00:00Z")],
    [["2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z"], at("2026-03-01T10:00:00Z")],
    [["9999-12-31T00:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z"], at("2026-03-01T12:00:00Z")],
    [["1970-01-01T00:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z"], at("2026-03-01T10:00:00Z")],
    [["2026-03-01T13:00:00"], at("2026-03-01T10:00:00Z")],
  ])("%j", (timestamps, expected) => {
    expect(reachedTimeMs(timestamps, "Europe/Moscow")).toBe(expected);
  });
});
