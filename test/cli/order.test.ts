import { describe, expect, it } from "vitest";
import { startRepairBridge } from "../support/repair.ts";
import { itWhole } from "../support/whole.ts";

describe("order", () => {
  itWhole("tells an order's story from the batch to the ERP", async () => {
    const t = await startRepairBridge();
    const id = t.sandbox.service.createOrder({
      number: "A-17",
      status: "new",
      total: "9007199254740993",
      currency: "EUR",
      lines: [],
    });
    await t.run("orders");
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(id, { status: "paid" });
    await t.run("updates");
    const db = t.bridge.store.db;
    db.prepare("INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES (?, 'ERP-5', 1)").run(id);
    db.prepare(
      "INSERT INTO status_requests (order_id, status, requested_at) VALUES (?, 'shipped', '2026-03-01T13:00:00.000Z')",
    ).run(id.toUpperCase());
    const shown = await t.command({}, "order", "A-17");
    expect(shown.exitCode).toBe(0);
    expect(shown.out[0]).toBe(`A-17 (${id}): paid, 9007199254740993 EUR, open, revision 2`);
    expect(shown.out.slice(1).map((line) => line.slice(28))).toEqual([
      'received    in batch "batch-1" of 1 order',
      "stored      as revision 1 (from a batch), status new",
      "confirmed   the batch was confirmed",
      expect.stringMatching(
        /^changed {5}revision 2 \(read from the service\): status new → paid; \$\.status new → paid/,
      ),
      "request     request 1: status shipped wanted by the ERP, pending",
      expect.stringMatching(/^erp {9}taken by the ERP as ERP-5 up to revision 1; revision 2 waits since /),
    ]);
    const story = await t.json({}, "order", id.toUpperCase());
    expect(story).toMatchObject({
      version: 1,
      orders: [{ order: { orderId: id, revision: 2 }, erp: { erpNumber: "ERP-5" } }],
    });
  });

  itWhole("says that an order is blocked, removed, or quarantined", async () => {
    const t = await startRepairBridge();
    const id = t.sandbox.service.createOrder();
    const other = t.sandbox.service.createOrder();
    await t.run("orders");
    t.sandbox.service.deleteOrder(id);
    await t.run("reconcile");
    // Only what is missing twice, ten minutes apart and while another order is read, is marked as removed.
    for (let minute = 0; minute < 15; minute++) {
      t.clock.advance(60_000);
      await t.run("updates");
    }
    const db = t.bridge.store.db;
    db.prepare("INSERT INTO erp_orders (order_id, state, error) VALUES (?, 'blocked', 'no such article')").run(id);
    const text = (await t.command({}, "order", id)).out.join("\n");
    expect(text).toContain("no longer at the service, revision 2");
    expect(text).toMatch(/removed +revision 2 \(read from the service\)/);
    expect(text).toMatch(/blocked by the ERP since .*: no such article/);
    expect((await t.command({}, "order", other)).out.at(-1)).toContain("not yet taken by the ERP");
  });

  it("names what it does not know, inertly", async () => {
    const t = await startRepairBridge();
    const shown = await t.command({}, "order", "\u001b[31mnone");
    expect(shown.exitCode).toBe(64);
    expect(shown.err[0]).toBe("erp-bridge: There is no order [31mnone.");
  });
});
