import { describe, expect, it } from "vitest";
import { markRequestsUnknown } from "../../src/backup/settle.ts";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { requestUnstored } from "../../src/orders/unstored-requests.ts";
import { startTestBridge } from "../support/bridge.ts";
import { NO_SUCH_ORDER, WEB_PAGE_404 } from "../support/ill-orders.ts";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const UNKNOWN = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const MINUTE_MS = 60_000;

/** A pass over changes and one of statuses each minute. */
async function runFor({ clock, run }: StatusBridge, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    clock.advance(MINUTE_MS);
    await run("updates");
    await run("statuses");
  }
}

/** An order that the service has and no batch has brought: one of before a restore. */
async function startUnstored(options: Parameters<typeof startStatusBridge>[0] = {}) {
  const bridge = await startStatusBridge(options);
  await bridge.run("updates");
  const id = bridge.sandbox.service.createOrder({ status: "new" });
  return { bridge, id };
}

const snapshots = ({ sandbox }: StatusBridge, id: string) =>
  sandbox.ledger.ofKind("snapshot").filter(({ path }) => path.toLowerCase().endsWith(id)).length;

describe("a status for an order that is not stored", () => {
  it("waits, and goes out once the service has answered with the order", async () => {
    const { bridge, id } = await startUnstored();
    const asked = bridge.ask(id.toUpperCase(), "shipped");
    expect(await bridge.send()).toMatchObject({ error: null });
    expect(bridge.request(asked)).toMatchObject({ state: "pending", attempts: 0, http_status: null });
    expect(bridge.request(asked).last_error).toContain("the service is asked for it");
    expect(bridge.posts()).toEqual([]);
    await runFor(bridge, 1);
    expect(bridge.request(asked).state).toBe("sent");
    expect(bridge.effects(id)).toEqual(["shipped"]);
    expect(bridge.order(id)).toBeDefined();
  });

  it("is not asked about before the first pull, where following changes begins", async () => {
    const t = await startTestBridge();
    const request = () => {
      t.bridge.store.write(() => requestUnstored(t.bridge.store, UNKNOWN, "2026-03-01T12:00:00.000Z"));
      return t.rows("SELECT order_id FROM owed_reads");
    };
    expect(request()).toEqual([]);
    await t.run("orders");
    expect(request()).toEqual([{ order_id: UNKNOWN }]);
  });

  it("that may have left before a restore is decided by the order, and is not sent again", async () => {
    const { bridge, id } = await startUnstored();
    const [asked, missing] = [bridge.ask(id, "shipped"), bridge.ask(UNKNOWN, "shipped")];
    bridge.sandbox.service.changeOrder(id, { status: "shipped" });
    markRequestsUnknown(bridge.bridge.store, {});
    await runFor(bridge, 3);
    expect(bridge.request(asked)).toMatchObject({ state: "sent", http_status: null });
    expect(bridge.request(missing).state).toBe("sending");
    await runFor(bridge, 12);
    expect(bridge.request(missing)).toMatchObject({ state: "refused", http_status: 404 });
    expect(bridge.posts()).toEqual([]);
  });

  itWhole("is not sent where the order was cancelled before it came", async () => {
    const { bridge, id } = await startUnstored();
    const asked = bridge.ask(id, "shipped");
    bridge.sandbox.service.changeOrder(id, { status: "cancelled" });
    await bridge.send();
    await runFor(bridge, 1);
    expect([bridge.request(asked).state, bridge.posts()]).toEqual(["refused", []]);
  });

  it("is refused where the service has no such order, twice in ten minutes", async () => {
    const bridge = await startStatusBridge();
    const asked = bridge.ask(UNKNOWN, "paid");
    const second = bridge.ask(UNKNOWN, "shipped");
    await bridge.send();
    await runFor(bridge, 9);
    expect([bridge.states(), snapshots(bridge, UNKNOWN)]).toEqual([["pending", "pending"], 2]);
    await runFor(bridge, 3);
    expect(bridge.request(asked)).toMatchObject({ state: "refused", http_status: 404, attempts: 0 });
    expect(bridge.request(asked).last_error).toContain("the service has no order with this order_id");
    expect(bridge.request(second).state).toBe("refused");
    expect(bridge.posts()).toEqual([]);
    expect(bridge.logs.filter(({ message }) => message.includes("is refused"))).toHaveLength(2);
    expect(bridge.rows("SELECT 1 FROM owed_reads")).toEqual([]);
  });

  it("waits again where the order comes after all, and goes out", async () => {
    const { bridge, id } = await startUnstored();
    const asked = bridge.ask(id, "paid");
    bridge.sandbox.faults.add({ match: { path: "snapshot", order: id }, times: "forever", do: NO_SUCH_ORDER });
    await bridge.send();
    await runFor(bridge, 12);
    expect(bridge.states()).toEqual(["refused"]);
    bridge.sandbox.faults.clear();
    await bridge.run("orders");
    await runFor(bridge, 1);
    expect(bridge.request(asked).state).toBe("sent");
  });

  itWhole.each([
    ["a web page", WEB_PAGE_404],
    ["an error of the service's", { kind: "status", status: 500 } as const],
    ["a refusal", { kind: "status", status: 403 } as const],
  ])("waits while the order's read is answered with %s", async (_, answer) => {
    const { bridge, id } = await startUnstored();
    const asked = bridge.ask(id, "paid");
    const match = { path: "snapshot", order: id } as const;
    bridge.sandbox.faults.add({ match, times: "forever", do: answer });
    await bridge.send();
    await runFor(bridge, 30);
    expect(bridge.request(asked).state).toBe("pending");
    bridge.sandbox.faults.clear();
    await runFor(bridge, 70);
    expect(bridge.request(asked).state).toBe("sent");
  });

  itWhole("waits while the service answers for no order", async () => {
    const bridge = await startStatusBridge();
    const asked = bridge.ask(UNKNOWN, "paid");
    bridge.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: NO_SUCH_ORDER });
    await bridge.send();
    await runFor(bridge, 60);
    expect(bridge.request(asked).state).toBe("pending");
  });

  itWhole("is told after a quarter of an hour", async () => {
    const { bridge, id } = await startUnstored();
    bridge.erp
      .prepare("INSERT INTO status_requests (order_id, status, requested_at) VALUES (?, 'paid', ?)")
      .run(id, new Date(bridge.clock.nowMs()).toISOString());
    bridge.sandbox.faults.add({ match: { path: "snapshot", order: id }, times: "forever", do: WEB_PAGE_404 });
    const told = () => {
      const now = { nowMs: bridge.clock.nowMs(), isRunning: false };
      const conditions = listConditions(loadFacts(bridge.bridge.store), now, { erpReadWithinMs: 86_400_000 });
      return conditions.flatMap(({ code, params }) => (code === "unstored_statuses" ? [params] : []));
    };
    await runFor(bridge, 14);
    expect(told()).toEqual([]);
    await runFor(bridge, 3);
    expect(told()).toEqual([{ count: 1 }]);
  });

  itWhole("costs a read in a quarter of an hour where the order cannot be stored", async () => {
    const { bridge, id } = await startUnstored();
    const asked = bridge.ask(id, "paid");
    const broken = { kind: "raw", contentType: "application/json", body: `{"order_id":"${id}","lines":5}` } as const;
    bridge.sandbox.faults.add({ match: { path: "snapshot", order: id }, times: "forever", do: broken });
    await bridge.send();
    await runFor(bridge, 60);
    expect(bridge.request(asked).state).toBe("pending");
    expect(snapshots(bridge, id)).toBeLessThan(10);
  });

  itWhole("neither delays the others nor asks for many at once", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, send, request, sandbox } = bridge;
    await bridge.run("updates");
    for (let n = 0; n < 60; n++) ask(`7c9e6679-7425-40de-944b-${String(n).padStart(12, "0")}`, "paid");
    const known = ask(ids[0]!, "shipped");
    await send();
    expect(request(known).state).toBe("sent");
    const before = sandbox.ledger.ofKind("snapshot").length;
    await runFor(bridge, 1);
    // Each that is not found is asked for in capitals as well, and followed by one that the service has.
    expect(sandbox.ledger.ofKind("snapshot").length - before).toBeLessThanOrEqual(61);
    await runFor(bridge, 60);
    expect(bridge.states().filter((state) => state === "refused")).toHaveLength(60);
  });

  itWhole("is asked for before any order is stored, two at a time", async () => {
    const bridge = await startStatusBridge({ orders: 0 });
    for (let n = 0; n < 5; n++) bridge.ask(`7c9e6679-7425-40de-944b-${String(n).padStart(12, "0")}`, "paid");
    await bridge.send();
    bridge.clock.advance(MINUTE_MS);
    expect(await bridge.run("updates")).toMatchObject({ error: null });
    expect(bridge.sandbox.ledger.ofKind("snapshot")).toHaveLength(2);
    expect(bridge.states()).toEqual(Array(5).fill("pending"));
  });
});
