import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";

describe("the main job", () => {
  it("stores a batch, confirms it, follows a change and pushes stock", async () => {
    const { sandbox, run, rows, bridge, clock } = await startTestBridge();
    const ids = Array.from({ length: 25 }, () => sandbox.service.createOrder());
    const pulled = await run("orders");
    expect(pulled).toMatchObject({ error: null });
    expect(rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 25 }]);
    expect([...sandbox.ledger.confirmedOrderIds()].sort()).toEqual([...ids].sort());

    clock.advance(60_000);
    sandbox.service.changeOrder(ids[3]!, { status: "paid" });
    expect(await run("updates")).toMatchObject({ error: null });
    expect(rows("SELECT status, revision FROM orders WHERE order_id = ?", ids[3])).toEqual([
      { status: "paid", revision: 2 },
    ]);

    bridge.store.db
      .prepare("INSERT INTO stock (sku, quantity, reserved) VALUES ('A-1', 10.5, 2), ('A-2', '0.250', 0)")
      .run();
    expect(await run("stocks")).toMatchObject({ error: null, counts: { sent: 2 } });
    expect([...sandbox.service.imported("stocks").values()]).toEqual([
      '{"sku":"A-1","warehouse":"","quantity":8.5}',
      '{"sku":"A-2","warehouse":"","quantity":0.25}',
    ]);
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
  });
});
