import { expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";

const YEAR_MS = 365 * 86_400_000;

it("a start brings every time of a flow that is still to come to the present, so that it grows old", async () => {
  const t = await startTestBridge();
  t.clock.jump(YEAR_MS);
  await t.run("orders");
  t.clock.jump(-YEAR_MS);
  // The last run is of the right clock again, the last success is not.
  t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status: 500 } });
  await t.run("orders");
  await t.restart();
  const now = new Date(t.clock.nowMs()).toISOString();
  const [flow] = t.rows("SELECT last_run_at, last_success_at, failing_since FROM flows WHERE flow = 'orders'");
  for (const time of Object.values(flow ?? {})) expect(String(time) <= now).toBe(true);
});
