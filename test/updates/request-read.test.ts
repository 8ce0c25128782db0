import { describe, expect, it } from "vitest";
import { requestRead } from "../../src/pass/position-rows.ts";
import { startTestBridge } from "../support/bridge.ts";

const ID = "8ab29c1c-b076-45c3-93a1-2a40623eb142";
const AT = "2026-03-01T12:00:00.000Z";

describe("a read that no record asks for", () => {
  it("names a stored order as the service writes it, whatever form is handed in", async () => {
    const t = await startTestBridge();
    t.sandbox.service.createOrder();
    await t.run("orders");
    const { store } = t.bridge;
    const asked = () => t.rows("SELECT service_id FROM owed_reads WHERE order_id = ?", ID);
    store.write(() => {
      store.prepare("UPDATE orders SET order_id = ?, service_id = ?").run(ID, ID.toUpperCase());
      requestRead(store, { orderId: ID, serviceId: ID }, AT);
    });
    expect(asked()).toEqual([{ service_id: ID.toUpperCase() }]);
  });

  it("takes an order that is not stored as it is named", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    store.write(() => requestRead(store, { orderId: ID, serviceId: ID.toUpperCase() }, AT));
    expect(t.rows("SELECT service_id FROM owed_reads")).toEqual([{ service_id: ID.toUpperCase() }]);
  });
});
