import { describe, expect, it } from "vitest";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

/** The service answers reads of the first order with another order, and says so in the list of changes. */
async function startWithOther(): Promise<StatusBridge> {
  const bridge = await startStatusBridge({ orders: 3 });
  const { sandbox, clock } = bridge;
  const [id, other] = bridge.ids as [string, string];
  await bridge.run("updates");
  clock.advance(60_000);
  const { items, ...order } = JSON.parse(sandbox.service.newestText(id)!);
  const at = new Date(clock.nowMs()).toISOString();
  const body = {
    ...order,
    number: "X-2",
    created_at: at,
    updated_at: at,
    items: [{ ...items[0], sku: "X", quantity: 7 }],
  };
  const text = JSON.stringify(body);
  sandbox.faults.add({
    match: { path: "snapshot", order: id },
    do: { kind: "raw", contentType: "application/json", body: text },
    times: "forever",
  });
  sandbox.service.changeOrder(id, { lines: [{ sku: "Y", quantity: 2 }] });
  sandbox.service.changeOrder(other, { lines: [{ sku: "Y", quantity: 2 }] });
  clock.advance(60_000);
  await bridge.run("updates");
  return bridge;
}

async function minutes(bridge: StatusBridge, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    bridge.clock.advance(60_000);
    await bridge.run("updates");
    await bridge.send();
  }
}

describe("a status for an order under whose id the service has another one", () => {
  it("waits while that is in doubt, and is sent when the order is answered as itself again", async () => {
    const bridge = await startWithOther();
    const id = bridge.ask(bridge.ids[0]!, "shipped");
    await minutes(bridge, 5);
    expect(bridge.effects(bridge.ids[0]!)).toEqual([]);
    expect(bridge.request(id)).toMatchObject({ state: "pending", attempts: 0 });
    expect(bridge.request(id).last_error).toContain("another order under this id");
    bridge.sandbox.faults.clear();
    await minutes(bridge, 40);
    expect(bridge.effects(bridge.ids[0]!)).toEqual(["shipped"]);
    expect(bridge.request(id)).toMatchObject({ state: "sent", last_error: null });
  });

  itWhole("waits also where what is held of it was dropped", async () => {
    const bridge = await startWithOther();
    await minutes(bridge, 1);
    bridge.erp.exec("UPDATE quarantine SET state = 'dropped' WHERE kind = 'snapshot'");
    bridge.ask(bridge.ids[0]!, "shipped");
    await minutes(bridge, 5);
    expect(bridge.effects(bridge.ids[0]!)).toEqual([]);
  });

  itWhole("is refused once that is proved, because it was made for the former one", async () => {
    const bridge = await startWithOther();
    const id = bridge.ask(bridge.ids[0]!, "shipped");
    await minutes(bridge, 40);
    expect(bridge.rows("SELECT number FROM orders WHERE order_id = ?", bridge.ids[0]!)).toEqual([{ number: "X-2" }]);
    expect(bridge.effects(bridge.ids[0]!)).toEqual([]);
    expect(bridge.request(id)).toMatchObject({ state: "refused" });
    expect(bridge.request(id).last_error).toContain("(X-2)");
    // One that the ERP has decided on the former order, and one on the present one.
    const insert = bridge.erp.prepare(
      "INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, ?, ?)",
    );
    const former = Number(insert.run(bridge.ids[0]!, "shipped", 1).lastInsertRowid);
    const present = Number(insert.run(bridge.ids[0]!, "accepted", 2).lastInsertRowid);
    await minutes(bridge, 2);
    expect(bridge.request(former)).toMatchObject({ state: "refused", attempts: 0 });
    expect(bridge.request(present)).toMatchObject({ state: "sent" });
  });
});
