import { expect, it } from "vitest";
import { loadWatermark } from "../../src/pass/position-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";

it("leaves the first position that a pull set while the first pass was reading", async () => {
  let pull: (() => Promise<unknown>) | undefined;
  const t: TestBridge = await startTestBridge({
    sandbox: {
      onAnswer: async ({ path }) => {
        if (!path.includes("/orders/updates")) return;
        const run = pull;
        pull = undefined;
        await run?.();
      },
    },
  });
  t.sandbox.service.setOptions({ dateHeader: false });
  const id = t.sandbox.service.createOrder();
  await t.run("orders");
  t.sandbox.service.changeOrder(id, { status: "paid" });
  expect(loadWatermark(t.bridge.store, "updates")).toBeUndefined();
  t.sandbox.service.setOptions({ dateHeader: true });
  t.sandbox.service.createOrder();
  t.clock.advance(60_000);
  pull = () => t.run("orders");
  await t.run("updates");
  const position = loadWatermark(t.bridge.store, "updates") ?? "";
  expect(Date.parse(position)).toBe(Math.floor(t.clock.nowMs() / 1000) * 1000);
});
