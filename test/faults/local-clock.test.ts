import { describe, expect } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders, expectComplete } from "../support/pull.ts";
import { itSome } from "../support/whole.ts";

const YEAR_MS = 365 * 86_400_000;
const SERVICE_NOW_MS = Date.UTC(2026, 5, 1, 12);

describe("a local clock that is years off", () => {
  itSome(1)([-10, 10])("by %i years changes no request and loses no change", async (years) => {
    let serviceMs = SERVICE_NOW_MS;
    const t = await startTestBridge({ sandbox: { now: () => serviceMs } });
    t.clock.jump(years * YEAR_MS);
    const ids = createOrders(t, 3);
    await t.run("orders");
    for (let round = 0; round < 3; round++) {
      serviceMs += 60_000;
      t.clock.advance(60_000);
      // In the middle of it somebody puts the clock right, and wrong again.
      t.clock.jump(round % 2 === 0 ? -years * YEAR_MS : years * YEAR_MS);
      for (const id of ids) t.sandbox.service.changeOrder(id, { status: `step-${round}` });
      expect((await t.run("updates")).error).toBeNull();
    }
    const asked = t.sandbox.ledger.ofKind("updates").map(({ query }) => new URLSearchParams(query).get("since") ?? "");
    expect(asked.length).toBeGreaterThan(2);
    // Whether a page of a few changes is all is asked once, from a week before.
    const [wide, near] = [/^2026-05-25T11:/, /^2026-06-01T1[12]:/].map((time) =>
      asked.filter((each) => time.test(each)),
    );
    expect([wide?.length, near?.length]).toEqual([1, asked.length - 1]);
    expect(t.rows("SELECT DISTINCT status FROM orders")).toEqual([{ status: "step-2" }]);
    for (const { value } of t.rows<{ value: string }>("SELECT value FROM watermarks"))
      expect(value).toMatch(/^2026-06-01T12:0|01 Jun 2026 12:0/);
    expectComplete(t);
  });
});
