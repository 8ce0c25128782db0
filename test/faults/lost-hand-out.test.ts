import { describe, expect } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { addFormerBatches, createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { itSome } from "../support/whole.ts";

describe("an answer that is lost after its batch was handed out, by a service that goes on to the following one", () => {
  itSome(1)([
    ["its id", {}, {}],
    [
      "its orders",
      { orders: { confirm: { body: { order_ids: "{order_ids}" } } } },
      { batchIdKind: "none", confirmForm: "order_ids" },
    ],
  ] as const)(
    "keeps no confirm waiting that names %s, and never covers the lost batch",
    async (_, settings, options) => {
      const t = await startTestBridge({
        settings,
        sandbox: { options: { handOut: "next", redeliverAfterMs: "cycle", batchSize: 2, ...options } },
      });
      addFormerBatches(t);
      const ids = createOrders(t, 6);
      const lost = ids.slice(0, 2);
      t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
      expect((await t.run("orders")).error).not.toBeNull();
      expect(t.sandbox.ledger.handedOutOrderIds()).toEqual(new Set(lost));
      await t.restart();

      // Each following batch is confirmed right after its own commit.
      const order: string[] = [];
      const { store } = t.bridge;
      const write = store.write.bind(store);
      store.write = (fn) => {
        const before = t.rows("SELECT 1 FROM batches").length;
        const result = write(fn);
        if (t.rows("SELECT 1 FROM batches").length > before) order.push("stored");
        return result;
      };
      t.sandbox.faults.add({ match: { path: "orders" }, skip: 2, when: "before", do: { kind: "reset" } });
      const confirms = () => t.sandbox.ledger.ofKind("confirm").length;
      await t.run("orders");
      expect(order).toEqual(["stored", "stored"]);
      expect(confirms()).toBe(2);
      expect([...t.sandbox.ledger.confirmedOrderIds()].sort()).toEqual(ids.slice(2).sort());
      expectNothingLost(t);

      await t.run("orders");
      expect(lost.every((id) => t.sandbox.ledger.confirmedOrderIds().has(id))).toBe(true);
      expectComplete(t);
    },
  );
});
