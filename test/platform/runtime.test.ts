import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { isMended, loadBuildDate, monthsTooOld } from "../../src/platform/runtime.ts";
import { tempFolder } from "../support/temp.ts";

describe("the Node that the package carries", () => {
  it("is too old half a year after the package was built", () => {
    const date = "2026-01-01T00:00:00.000Z";
    expect(monthsTooOld(date, Date.parse("2026-06-15T00:00:00Z"))).toBeUndefined();
    expect(monthsTooOld(date, Date.parse("2026-07-15T00:00:00Z"))).toBe(6);
    expect(monthsTooOld(date, Date.parse("2027-07-15T00:00:00Z"))).toBe(18);
  });

  it("has a date in a package, and none in a checkout or in a file that is none", () => {
    const file = path.join(tempFolder(), "build.json");
    for (const [text, date] of [
      ['{"date":"2026-01-01T00:00:00.000Z"}', "2026-01-01T00:00:00.000Z"],
      ['{"date":"soon"}', undefined],
      ["{}", undefined],
      ["{", undefined],
    ] as const) {
      writeFileSync(file, text);
      expect(loadBuildDate(pathToFileURL(file))).toBe(date);
    }
    expect(loadBuildDate()).toBeUndefined();
  });

  it("is known to be mended from a version on, by its major", () => {
    expect(["24.22.0", "24.22.1", "26.12.0", "26.12.1", "28.0.0"].map(isMended)).toEqual([
      false,
      true,
      false,
      true,
      false,
    ]);
  });
});
