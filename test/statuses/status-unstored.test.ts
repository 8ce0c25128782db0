import { describe, expect, it } from "vitest";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

type Hook = (request: { method: string; path: string }) => void | Promise<void>;

/** Two orders, and what happens as requests arrive. */
async function start(): Promise<StatusBridge & { hooks: { onRequest?: Hook } }> {
  const hooks: { onRequest?: Hook } = {};
  const sandbox = { onRequest: (request: { method: string; path: string }) => hooks.onRequest?.(request) };
  const bridge = await startStatusBridge({ orders: 2, sandbox });
  await bridge.run("updates");
  bridge.clock.advance(60_000);
  await bridge.run("updates");
  return Object.defineProperties({ hooks } as never, {
    ...Object.getOwnPropertyDescriptors(bridge),
    hooks: { value: hooks },
  });
}

/** The ERP has the write lock when the answer comes; then a pass of statuses has its turn first. */
function lockAt(bridge: Awaited<ReturnType<typeof start>>, isAsked: (path: string) => boolean): void {
  const { hooks, erp, clock, send } = bridge;
  hooks.onRequest = ({ path }) => {
    if (!isAsked(path)) return;
    delete hooks.onRequest;
    erp.exec("BEGIN IMMEDIATE");
    const { sleep } = clock;
    clock.sleep = async () => {
      clock.sleep = sleep;
      erp.exec("COMMIT");
      await send();
    };
  };
}

describe("a status for an order that an answer calls cancelled, which is not stored yet", () => {
  it("waits while the pass over the changes goes on", async () => {
    const bridge = await start();
    const { ids, hooks, ask, sandbox, clock, run, send, request, effects } = bridge;
    const id = ask(ids[0]!, "shipped");
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[1]!, { status: "paid" });
    clock.advance(1_000);
    let pages = 0;
    hooks.onRequest = async ({ path }) => {
      if (path.includes("/updates") && ++pages === 2) await send();
    };
    await run("updates");
    expect(pages).toBeGreaterThan(1);
    expect(request(id).last_error).toMatch(/^the service has named the status "cancelled" for this order/);
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
  });

  itWhole.each(["batch", "order"])("waits while the ERP keeps the %s from being stored", async (what) => {
    const bridge = await start();
    const { ids, ask, sandbox, clock, run, send, request, effects } = bridge;
    const id = ask(ids[0]!, "shipped");
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    const order = sandbox.service.newestText(ids[0]!)!;
    const body = `{"batch_id":"again","orders":[${order}]}`;
    sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    clock.advance(1_000);
    lockAt(bridge, (path) => (what === "batch" ? path.endsWith("/orders") : path.endsWith(ids[0]!)));
    await run(what === "batch" ? "orders" : "reconcile");
    expect(request(id).last_error).not.toBeNull();
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
  });

  itWhole.each([
    ["change", "id"],
    ["batch", "id"],
    ["change", "number"],
    ["batch", "number"],
  ])("waits while the ERP keeps a %s from being stored that names it by its %s", async (what, key) => {
    const bridge = await start();
    const { ids, ask, sandbox, clock, run, send, request, effects, rows } = bridge;
    // The changes have named orders as configured before.
    sandbox.service.changeOrder(ids[1]!, { status: "paid" });
    await run("updates");
    clock.advance(1_000);
    const id = ask(ids[0]!, "shipped");
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    const { number } = rows<{ number: string }>("SELECT number FROM orders WHERE order_id = ?", ids[0]!)[0]!;
    const record = { [key]: key === "id" ? ids[0]! : number, status: "cancelled" };
    const body = JSON.stringify(what === "batch" ? { batch_id: "again", orders: [record] } : { updates: [record] });
    const path = what === "batch" ? "orders" : "updates";
    sandbox.faults.add({ match: { path }, do: { kind: "raw", contentType: "application/json", body } });
    clock.advance(1_000);
    lockAt(bridge, (asked) => (what === "batch" ? asked.endsWith("/orders") : asked.includes("/updates")));
    await run(path);
    expect(request(id).last_error).toMatch(/^the service has named the status "cancelled" for this order/);
    await run("updates");
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
  });

  itWhole.each(["change", "batch"])(
    "waits while the ERP keeps from being stored what the answer with a %s teaches",
    async (what) => {
      const bridge = await start();
      const { ids, ask, sandbox, clock, run, send, request, effects } = bridge;
      const id = ask(ids[0]!, "shipped");
      sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
      const list = `[${sandbox.service.newestText(ids[0]!)!}]`;
      const [path, record] =
        what === "batch" ? ["orders", `"batch_id":"again","orders":${list}`] : ["updates", `"updates":${list}`];
      const body = `{"size":1,${record}}`;
      sandbox.faults.add({
        match: { path: path as "orders" },
        do: { kind: "raw", contentType: "application/json", body },
      });
      clock.advance(1_000);
      lockAt(bridge, (asked) => (what === "batch" ? asked.endsWith("/orders") : asked.includes("/updates")));
      await run(path as "orders");
      expect(request(id).last_error).not.toBeNull();
      await send();
      expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
    },
  );

  itWhole("waits also where an answer for the order was asked for before", async () => {
    const bridge = await start();
    const { ids, hooks, ask, sandbox, clock, run, send, request, effects } = bridge;
    const id = ask(ids[0]!, "shipped");
    sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    const raw = (body: string) => ({ kind: "raw", contentType: "application/json", body }) as const;
    sandbox.faults.add({ match: { path: "snapshot" }, do: raw(sandbox.service.newestText(ids[0]!)!) });
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 503 } });
    const record = { id: ids[0]!, status: "cancelled" };
    clock.advance(1_000);
    hooks.onRequest = async ({ path }) => {
      if (!path.endsWith(ids[0]!)) return;
      delete hooks.onRequest;
      sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
      sandbox.faults.add({ match: { path: "orders" }, do: raw(JSON.stringify({ batch_id: "b", orders: [record] })) });
      await run("orders");
    };
    await run("updates");
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    sandbox.faults.clear();
    clock.advance(60_000);
    await run("updates");
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
  });
});
