import { describe, expect, it } from "vitest";
import { queueRead, requestRead, URGENCY } from "../../src/pass/position-rows.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itWhole } from "../support/whole.ts";

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

  itWhole("takes an order that is not stored as it is named", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    store.write(() => requestRead(store, { orderId: ID, serviceId: ID.toUpperCase() }, AT));
    expect(t.rows("SELECT service_id FROM owed_reads")).toEqual([{ service_id: ID.toUpperCase() }]);
  });
});

describe("a read that waits because its order cannot be read", () => {
  const HOUR_MS = 3_600_000;
  const waiting = (test: Awaited<ReturnType<typeof startWithIll>>) =>
    test.rows<{ attempts: number; due_at: string | null }>("SELECT attempts, due_at FROM owed_reads");

  /** An order that has failed so often that its next read is an hour away, and can be read again now. */
  async function startFailed(service: SandboxOptionsPatch = {}) {
    const test = await startWithIll(12, { service });
    const [id] = test.ids as [string];
    test.ill.set(id, { kind: "status", status: 500 });
    test.change(id, { status: "paid" });
    for (let polls = 0; polls < 12; polls++) await test.poll(HOUR_MS / 2);
    test.ill.delete(id);
    return { ...test, id };
  }

  it("is due at once when the changes say something later of it, and waits for another day where that fails too", async () => {
    const test = await startFailed();
    const { id, change, poll, statusOf, ill } = test;
    expect(waiting(test)[0]?.attempts).toBeGreaterThan(6);
    ill.set(id, { kind: "status", status: 500 });
    change(id, { status: "packed" });
    const asked = test.snapshots(id);
    await poll();
    expect(test.snapshots(id)).toBeGreaterThan(asked);
    expect(waiting(test)[0]?.attempts).toBeLessThanOrEqual(4);
    // The same change once more is no news.
    const again = test.snapshots(id);
    await poll();
    expect(test.snapshots(id)).toBe(again);
    ill.delete(id);
    change(id, { status: "cancelled" });
    await poll();
    expect(statusOf(id).status).toBe("cancelled");
  });

  itWhole("is not due for what is not later", async () => {
    const test = await startFailed();
    const { id, poll, sandbox } = test;
    const asked = test.snapshots(id);
    const { updated_at: at } = JSON.parse(sandbox.service.newestText(id)!) as { updated_at: string };
    for (let times = 0; times < 3; times++) {
      const body = `{"updates":[{"order_id":"${id}","updated_at":"${at}","served":${times}}]}`;
      sandbox.faults.add({ match: { path: "updates" }, do: { kind: "raw", contentType: "application/json", body } });
      await poll(1_000);
    }
    expect(test.snapshots(id)).toBe(asked);
  });

  itWhole(
    "that no record asked for is due at once when a first change asks for it, although that bears an earlier time",
    async () => {
      const test = await startWithIll(12);
      const [id] = test.ids as [string];
      const { sandbox, poll, ill, bridge } = test;
      ill.set(id, { kind: "status", status: 500 });
      bridge.store.write(() => requestRead(bridge.store, { orderId: id, serviceId: id }, AT));
      for (let polls = 0; polls < 12; polls++) await poll(HOUR_MS / 2);
      ill.delete(id);
      expect(waiting(test)[0]?.attempts).toBeGreaterThan(6);
      const asked = test.snapshots(id);
      const { updated_at: at } = JSON.parse(sandbox.service.newestText(id)!) as { updated_at: string };
      const earlier = new Date(Date.parse(at) - HOUR_MS).toISOString();
      const body = `{"updates":[{"order_id":"${id}","updated_at":"${earlier}","items":[]}]}`;
      sandbox.faults.add({ match: { path: "updates" }, do: { kind: "raw", contentType: "application/json", body } });
      await poll(1_000);
      expect(test.snapshots(id)).toBe(asked + 1);
    },
  );

  itWhole("that a batch asked for is due at once when a change says the same", async () => {
    const test = await startWithIll(12);
    const [id] = test.ids as [string];
    const { sandbox, poll, ill, bridge } = test;
    ill.set(id, { kind: "status", status: 500 });
    const record = `{"order_id":"${id}","status":"packed","updated_at":"2026-03-01T11:00:00.000Z","items":[]}`;
    const recordHash = Buffer.alloc(32, 1);
    const read = { orderId: id, serviceId: id, source: "batch", record, recordHash, contentHash: recordHash } as const;
    const urgency = URGENCY.otherStatus;
    bridge.store.write(() => queueRead(bridge.store, { ...read, urgency }, { at: AT, machineMs: 0 }));
    for (let polls = 0; polls < 12; polls++) await poll(HOUR_MS / 2);
    ill.delete(id);
    expect(waiting(test)[0]?.attempts).toBeGreaterThan(6);
    const asked = test.snapshots(id);
    const body = `{"updates":[${record}]}`;
    sandbox.faults.add({ match: { path: "updates" }, do: { kind: "raw", contentType: "application/json", body } });
    await poll(1_000);
    expect(test.snapshots(id)).toBe(asked + 1);
  });

  itWhole("is due at once when a page may have left out its change", async () => {
    const test = await startFailed({ updates: { keeps: "newest", order: "descending", pageLimit: 10 } });
    const { id, ids, change, poll, statusOf } = test;
    change(id, { status: "cancelled" });
    for (const other of ids.slice(1)) change(other, { status: "paid" });
    await poll(1_000);
    await poll(1_000);
    await poll(1_000);
    expect(statusOf(id).status).toBe("cancelled");
  });
});
