import { describe, expect } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, orderCount } from "../support/pull.ts";
import { itSome, itWhole, size } from "../support/whole.ts";

const giant = { handOut: "next" as const, redeliverAfterMs: null, batchSize: 5000 };

/** Fails as a dying disk would once the batch is on disk and so many of its orders are stored. */
function failAfter(t: TestBridge, orders: number): { restore: () => void } {
  const { store } = t.bridge;
  const write = store.write.bind(store);
  store.write = (fn) => {
    if (batchStates(t).length > 0 && orderCount(t) >= orders) throw new Error("the process is gone");
    return write(fn);
  };
  return { restore: () => (store.write = write) };
}

describe("a giant batch", () => {
  itWhole("is stored in parts of at most 200 orders and confirmed once, after the last", async () => {
    const count = size(1_000, 5_000);
    const t = await startTestBridge({ sandbox: { options: giant } });
    createOrders(t, count);
    const counts: number[] = [];
    const { store } = t.bridge;
    const write = store.write.bind(store);
    store.write = (fn) => {
      const result = write(fn);
      counts.push(orderCount(t));
      return result;
    };
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: count, batches: 1, confirmed: 1 } });
    const steps = counts.map((count, index) => count - (counts[index - 1] ?? 0));
    expect(Math.max(...steps)).toBe(200);
    expect(confirmBodies(t)).toHaveLength(1);
    expect(batchStates(t)).toEqual(["confirmed"]);
    expectComplete(t);
  });

  itSome(1)([0, 200, 600])("loses nothing when the program dies after %s of its orders", async (orders) => {
    const t = await startTestBridge({ sandbox: { options: { ...giant, batchSize: 1800 } } });
    createOrders(t, 1800);
    failAfter(t, orders);
    await t.run("orders");
    expect(orderCount(t)).toBe(orders);
    expect(batchStates(t)).toEqual(["unread"]);
    expect(confirmBodies(t)).toEqual([]);
    t.clock.advance(3_600_000);
    await t.restart();
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
    expect(orderCount(t)).toBe(1800);
    expect(t.rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 1800 }]);
    expect(t.rows("SELECT value FROM watermarks")).toEqual([{ value: "Sun, 01 Mar 2026 12:00:00 GMT" }]);
    expectComplete(t);
  });

  itWhole("is confirmed by its orders where it has no id, all of them", async () => {
    const t = await startTestBridge({ sandbox: { options: { ...giant, batchSize: 1200, batchIdKind: "none" } } });
    const ids = createOrders(t, 1200);
    await t.run("orders");
    expect(JSON.parse(confirmBodies(t)[0] ?? "")).toEqual({ order_ids: ids });
    expectComplete(t);
  });

  itWhole("is in parts by its bytes too", async () => {
    const t = await startTestBridge({ sandbox: { options: giant } });
    for (let index = 0; index < 5; index++)
      t.sandbox.service.createOrder({ extra: { text: JSON.stringify("я".repeat(1_000_000)) } });
    const failing = failAfter(t, 1);
    await t.run("orders");
    expect(orderCount(t)).toBe(1);
    failing.restore();
    await t.run("orders");
    expect(orderCount(t)).toBe(5);
    expectComplete(t);
  });

  itWhole("closes the hand-out with its body, where a confirm names nothing", async () => {
    const t = await startTestBridge({
      settings: { orders: { confirm: { body: {} } } },
      sandbox: { options: { ...giant, batchSize: 1200, confirmForm: "all" } },
    });
    createOrders(t, 1200);
    failAfter(t, 400);
    await t.run("orders");
    await t.restart();
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
    expectComplete(t);
  });
});
