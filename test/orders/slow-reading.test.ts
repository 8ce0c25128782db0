import { expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, orderCount } from "../support/pull.ts";

const ORDERS = 3000;
const TOTAL_S = 30;

it("reading an answer has the time limit of its request; what was cut off is read whole at the next try", async () => {
  const t = await startTestBridge({
    settings: { service: { timeouts: { total: `${TOTAL_S}s` } } },
    sandbox: { options: { batchSize: ORDERS } },
  });
  createOrders(t, ORDERS);
  // Each slice of an answer lets others run for so long.
  let sliceMs = TOTAL_S * 1000;
  const { sleep } = t.clock;
  t.clock.sleep = async (ms, signal) => await sleep.call(t.clock, ms === 0 ? sliceMs : ms, signal);
  const { error } = await t.run("orders");
  expect(error).toMatchObject({ code: "timed_out", message: `The answer could not be read within ${TOTAL_S} s.` });
  expect(orderCount(t)).toBe(0);
  expect(confirmBodies(t)).toEqual([]);
  sliceMs = 0;
  t.clock.advance(3_600_000);
  expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: ORDERS, confirmed: 1 } });
  expect(batchStates(t)).toEqual(["confirmed"]);
  expectComplete(t);
});
