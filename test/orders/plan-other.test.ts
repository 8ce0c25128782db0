import { describe, expect, it } from "vitest";
import { planOther } from "../../src/orders/plan-other.ts";

const AT = "2026-03-01T12:00:00.000Z";

describe("a record of another order under the id of a stored one", () => {
  it.each([
    ["a batch's record", "batch", "2026-02-01T12:00:00.000Z", "hold"],
    ["a change", "update", "2026-02-01T12:00:00.000Z", "hold"],
    ["the order itself, for the first time", "snapshot", undefined, "hold"],
    ["the order itself, again within ten minutes", "snapshot", "2026-03-01T11:50:00.001Z", "hold"],
    ["the order itself, again after ten minutes", "snapshot", "2026-03-01T11:50:00.000Z", "replace"],
    ["the order itself, where the clock was set back", "snapshot", "2026-03-01T13:00:00.000Z", "hold"],
  ] as const)("%s", (_name, source, heldSince, plan) => {
    expect(planOther(source, heldSince, AT)).toBe(plan);
  });
});
