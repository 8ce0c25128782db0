import { describe, expect, it } from "vitest";
import { leastAgoMs } from "../../src/pass/machine-clock.ts";

describe("how long ago a time of the machine's clock was at least", () => {
  it.each([
    ["within one run of the machine", 5, 65, 60],
    ["at once", 5, 5, 0],
    ["before the machine's last start", 100, 30, 30],
  ])("%s", (_name, then, now, ago) => {
    expect(leastAgoMs(then, now)).toBe(ago);
  });
});
