import { describe, expect, it } from "vitest";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const whole = {
  settings: { updates: { carry: "whole" } },
  sandbox: { options: { updates: { carry: "whole" } } },
} as const;
const MINUTE = 60_000;

/** Lets the answer to the next status request wait until the returned function is called. */
function holdAnswer(hold: { gate?: Promise<void> }): () => void {
  let open = () => {};
  hold.gate = new Promise((resolve) => {
    open = resolve;
  });
  return open;
}

function expectOwn(bridge: StatusBridge, status: string): void {
  const { ids, order, events, pending, request } = bridge;
  expect(order(ids[0]!)).toMatchObject({ status, revision: 2, erp_revision: 1 });
  expect(events(ids[0]!)).toMatchObject([{ kind: "created" }, { source: "own", new_status: status }]);
  expect(pending()).toEqual([]);
  expect(request(1)).toMatchObject({ state: "sent", echo: null });
}

describe("our own status that comes back", () => {
  itWhole("makes a revision that the ERP need not see, when the order is read back", async () => {
    const bridge = await startStatusBridge();
    bridge.ask(bridge.ids[0]!, "paid");
    await bridge.send();
    expectOwn(bridge, "paid");
    await bridge.run("updates");
    expectOwn(bridge, "paid");
  });

  itWhole("is recognised in the updates after the answer", async () => {
    const bridge = await startStatusBridge(whole);
    const { ids, ask, send, run, sandbox, request } = bridge;
    ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(1)).toMatchObject({ state: "sent", echo: "owed" });
    await run("updates");
    expectOwn(bridge, "paid");
    sandbox.faults.clear();
    const asked = sandbox.ledger.entries.length;
    expect(await send()).toMatchObject({ outcome: "idle" });
    expect(sandbox.ledger.entries).toHaveLength(asked);
  });

  itWhole.each([
    ["whole", whole],
    ["by name", {}],
  ])("is recognised in the updates before the answer (%s)", async (_, options) => {
    const hold: { gate?: Promise<void>; arrived?: () => void } = {};
    const bridge = await startStatusBridge({
      ...options,
      sandbox: {
        ...("sandbox" in options ? options.sandbox : {}),
        onAnswer: async ({ path }) => {
          if (!path.endsWith("/status")) return;
          hold.arrived?.();
          await hold.gate;
        },
      },
    });
    const { ids, ask, send, run, request, states } = bridge;
    ask(ids[0]!, "paid");
    const open = holdAnswer(hold);
    const arrived = new Promise<void>((resolve) => {
      hold.arrived = resolve;
    });
    const running = send();
    await arrived;
    await run("updates");
    expect(states()).toEqual(["sending"]);
    expect(bridge.order(ids[0]!)).toMatchObject({ status: "paid", revision: 2, erp_revision: 1 });
    open();
    expect(await running).toMatchObject({ error: null, counts: { sent: 1 } });
    expectOwn(bridge, "paid");
    expect(request(1)).toMatchObject({ attempts: 1 });
  });

  it("is recognised when a lost answer is settled by reading", async () => {
    const bridge = await startStatusBridge();
    bridge.ask(bridge.ids[0]!, "paid");
    bridge.sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    await bridge.send();
    expectOwn(bridge, "paid");
  });

  itWhole("does not reopen an order that the ERP itself cancels", async () => {
    const bridge = await startStatusBridge();
    bridge.ask(bridge.ids[0]!, "cancelled");
    await bridge.send();
    expectOwn(bridge, "cancelled");
    expect(bridge.order(bridge.ids[0]!)).toMatchObject({ is_cancelled: 1 });
    expect(bridge.events(bridge.ids[0]!)[1]).toMatchObject({ kind: "cancelled" });
  });

  itWhole.each([
    ["the order is read", {}, false],
    ["the updates are", whole, false],
    ["something else has changed as well", {}, true],
  ] as const)("is told of where somebody sets the order back before %s", async (_, options, isMore) => {
    const { ids, ask, send, run, sandbox, clock, request, pending, events, order } = await startStatusBridge(options);
    const id = ask(ids[0]!, "packed");
    // The order cannot be read until a manager has set it back.
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    await send();
    expect(request(id)).toMatchObject({ state: "sent", echo: "owed" });
    sandbox.faults.clear();
    clock.advance(30_000);
    sandbox.service.changeOrder(ids[0]!, { status: "new", ...(isMore ? { total: "99.90" } : {}) });
    clock.advance(MINUTE);
    await run("updates");
    await send();
    await run("updates");
    expect(order(ids[0]!)).toMatchObject({ status: "new", revision: 2, erp_revision: 2 });
    expect(pending()).toMatchObject([{ order_id: ids[0], why: "changed" }]);
    expect(events(ids[0]!)[1]).toMatchObject({ kind: "changed", old_status: "packed", new_status: "new" });
    expect(request(id)).toMatchObject({ state: "sent", echo: null });
  });

  itWhole("leaves an order that the ERP has not taken yet pending", async () => {
    const { sandbox, run, ask, send, pending, clock, take } = await startStatusBridge();
    const id = sandbox.service.createOrder({ status: "new" });
    await run("orders");
    ask(id, "accepted");
    clock.advance(MINUTE);
    await send();
    expect(pending()).toMatchObject([{ order_id: id, why: "new", revision: 2 }]);
    take();
    expect(pending()).toEqual([]);
  });

  itWhole("is an ordinary change where anything else changed with it", async () => {
    const { ids, ask, send, sandbox, pending, order, events } = await startStatusBridge({
      sandbox: {
        onAnswer: ({ path }) => {
          if (path.endsWith("/status")) sandbox.service.changeOrder(ids[0]!, { total: "99.90" });
        },
      },
    });
    ask(ids[0]!, "paid");
    await send();
    expect(order(ids[0]!)).toMatchObject({ status: "paid", revision: 2, erp_revision: 2 });
    expect(events(ids[0]!)[1]).toMatchObject({ source: "snapshot" });
    expect(pending()).toMatchObject([{ why: "changed" }]);
  });

  itWhole("is ours where only ignored paths changed with it", async () => {
    const { ids, ask, send, run, sandbox, pending, order, take, clock } = await startStatusBridge({
      settings: { orders: { ignore: ["$.changed_by"] } },
      sandbox: {
        onAnswer: ({ path }) => {
          if (path.endsWith("/status")) sandbox.service.changeOrder(ids[0]!, { extra: { changed_by: '"api"' } });
        },
      },
    });
    sandbox.service.changeOrder(ids[0]!, { extra: { changed_by: '"shop"' } });
    await run("updates");
    take();
    clock.advance(MINUTE);
    ask(ids[0]!, "paid");
    await send();
    expect(order(ids[0]!)).toMatchObject({ status: "paid", revision: 3, erp_revision: 2 });
    expect(pending()).toEqual([]);
  });

  /** As many orders as `added` asks for; what the service adds to each when our status comes. */
  async function startBringing(
    added: readonly Record<string, string>[],
    options: Parameters<typeof startStatusBridge>[0] = {},
  ): Promise<StatusBridge & { setNext: () => Promise<{ pending: number }> }> {
    let next = 0;
    const bridge = await startStatusBridge({
      ...options,
      orders: added.length,
      sandbox: {
        ...options.sandbox,
        onAnswer: ({ path }) => {
          if (!path.endsWith("/status")) return;
          bridge.sandbox.service.changeOrder(bridge.ids[next]!, { extra: added[next]!, keepTimestamp: true });
        },
      },
    });
    await bridge.run("updates");
    const setNext = async () => {
      bridge.clock.advance(61 * MINUTE);
      await bridge.run("updates");
      bridge.take();
      bridge.ask(bridge.ids[next]!, "paid");
      await bridge.send();
      next++;
      return { pending: bridge.pending().length };
    };
    return Object.assign(bridge, { setNext });
  }

  itWhole("follows an ordinary change where the order, read before it, tells more than the batch did", async () => {
    const told = { customer: '{"phone":"1"}', comment: '"ring"' };
    const options = { sandbox: { options: { shape: { extra: "snapshot" } } } } as const;
    const bridge = await startBringing([told, told], options);
    for (const pending of [1, 1]) expect(await bridge.setNext()).toEqual({ pending });
    expect(bridge.order(bridge.ids[1]!)).toMatchObject({ status: "paid", revision: 3, erp_revision: 3 });
  });

  itWhole(
    "is ours with what the service writes with each of them, and an ordinary change with one entry more",
    async () => {
      const base = { history: '["created"]' };
      const paid = { ...base, history: '["created","paid by the shop"]', paid_at: '"12:00"' };
      const asked = { ...paid, history: '["created","cancel","paid by the shop"]' };
      const bridge = await startBringing([paid, paid, paid, paid, asked, { ...paid, refund: "null" }]);
      for (const id of bridge.ids) bridge.sandbox.service.changeOrder(id, { extra: base });
      await bridge.run("updates");
      for (const pending of [1, 1, 1, 0, 1, 0]) expect(await bridge.setNext()).toEqual({ pending });
    },
  );

  itWhole.each([
    ["a key", { cancel_requested: "true" }],
    ["a key of an object", { payment: '{"state":"paid","refund_requested":"100.00"}' }],
    ["a key of a list's entry", { parcels: '[{"no":1,"declined":true}]' }],
    ["an entry of a list", { parcels: '[{"no":1},{"no":2}]' }],
    ["a key that was empty", { wish: '"in black"' }],
    ["a key that goes", { note: undefined }],
  ])("is an ordinary change where a customer has changed the order before it left: %s", async (_, change) => {
    const extra = { payment: '{"state":"paid"}', parcels: '[{"no":1}]', wish: "null", note: '"ring"' };
    const bridge = await startStatusBridge({ orders: 0 });
    const { sandbox, run, take, ask, send, clock, pending, events } = bridge;
    const id = sandbox.service.createOrder({ status: "new", extra });
    await run("orders");
    take();
    clock.advance(MINUTE);
    const changed = Object.entries({ ...extra, ...change }).filter((each) => each[1] !== undefined);
    sandbox.service.changeOrder(id, { extra: Object.fromEntries(changed) as Record<string, string> });
    ask(id, "packed");
    await send();
    await run("updates");
    expect(events(id)[1]).toMatchObject({ source: "snapshot", new_status: "packed" });
    expect(pending()).toMatchObject([{ order_id: id, why: "changed" }]);
  });

  itWhole("teaches nothing while the changes cannot be followed", async () => {
    const paid = { paid_at: '"12:00"' };
    const bridge = await startBringing([paid, paid, paid, paid, paid]);
    const { sandbox, run, setNext } = bridge;
    sandbox.faults.add({ match: { path: "updates" }, times: 1_000, do: { kind: "status", status: 503 } });
    await run("updates");
    for (let count = 0; count < 5; count++) expect(await setNext()).toEqual({ pending: 1 });
  });

  itWhole("is ours once: the same status set by somebody else later is news", async () => {
    const { ids, ask, send, run, sandbox, pending, clock, take } = await startStatusBridge();
    ask(ids[0]!, "paid");
    await send();
    expect(pending()).toEqual([]);
    for (const status of ["new", "paid"]) {
      clock.advance(MINUTE);
      sandbox.service.changeOrder(ids[0]!, { status });
      await run("updates");
      expect(pending()).toHaveLength(1);
      take();
    }
  });

  itWhole("is somebody else's where the service refused ours", async () => {
    const { ids, ask, send, run, sandbox, pending, clock } = await startStatusBridge({
      sandbox: { options: { status: { transitions: {} } } },
    });
    ask(ids[0]!, "paid");
    await send();
    clock.advance(MINUTE);
    sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    await run("updates");
    expect(pending()).toHaveLength(1);
  });

  itWhole("is awaited where the service takes its time, for a day", async () => {
    for (const [minutes, isOurs] of [
      [60, true],
      [25 * 60, false],
    ] as const) {
      const bridge = await startStatusBridge();
      const { ids, ask, send, run, sandbox, pending, clock, request } = bridge;
      ask(ids[0]!, "paid");
      // Accepted, and applied only later.
      sandbox.faults.add({
        match: { path: "status" },
        do: { kind: "raw", status: 202, contentType: "text/plain", body: "queued" },
      });
      await send();
      expect(request(1)).toMatchObject({ state: "sent", http_status: 202, echo: "awaited" });
      expect(await send()).toMatchObject({ outcome: "idle" });
      clock.advance(minutes * MINUTE);
      sandbox.service.changeOrder(ids[0]!, { status: "paid" });
      await run("updates");
      expect(pending()).toHaveLength(isOurs ? 0 : 1);
      expect(request(1).echo).toBeNull();
    }
  });

  itWhole("does not make the way back look done while it is awaited", async () => {
    const { ids, ask, send, sandbox, posts, effects } = await startStatusBridge();
    ask(ids[0]!, "paid");
    ask(ids[0]!, "new");
    sandbox.faults.add({
      match: { path: "status" },
      do: { kind: "raw", status: 202, contentType: "text/plain", body: "queued" },
    });
    await send();
    expect(posts()).toHaveLength(2);
    expect(effects()).toEqual(["new"]);
  });

  itWhole("is read back ever more seldom while the order cannot be read", async () => {
    const { ids, ask, send, sandbox, clock, request } = await startStatusBridge();
    const reads = () => sandbox.ledger.entries.filter(({ kind }) => kind === "snapshot").length;
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 1_000, do: { kind: "status", status: 500 } });
    await send();
    const before = reads();
    for (let minutes = 0; minutes < 60; minutes++) {
      clock.advance(MINUTE);
      await send();
    }
    // After 1, 2, 4, 8 and then every 15 minutes.
    expect((reads() - before) / before).toBe(7);
    expect(request(id)).toMatchObject({ state: "sent", echo: "owed" });
    sandbox.faults.clear();
    clock.advance(15 * MINUTE);
    await send();
    expect(request(id)).toMatchObject({ echo: null });
  });

  itWhole("is read back before the next status of the order is decided", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, send, states, effects } = bridge;
    ask(ids[0]!, "paid");
    bridge.sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    await send();
    // Stored is still the former status, which is the one that is wanted now.
    ask(ids[0]!, "new");
    await send();
    expect(effects()).toEqual(["paid", "new"]);
    expect(states()).toEqual(["sent", "sent"]);
    expect(bridge.order(ids[0]!)).toMatchObject({ status: "new", erp_revision: 1 });
    expect(bridge.pending()).toEqual([]);
  });

  itWhole("is what the next status of the order starts from", async () => {
    const { ids, ask, send, sandbox, states, effects } = await startStatusBridge();
    ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    await send();
    sandbox.faults.clear();
    ask(ids[0]!, "packed");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    await send();
    expect(states()).toEqual(["sent", "sent"]);
    expect(effects()).toEqual(["paid", "packed"]);
  });

  itWhole("is not undone by a read that began before it", async () => {
    const reads: { open?: () => void; arrived?: () => void } = {};
    let held = "nothing yet";
    const bridge = await startStatusBridge({
      sandbox: {
        onAnswer: async ({ path, method }) => {
          if (method !== "GET" || !path.endsWith(held)) return;
          held = "nothing more";
          const gate = new Promise<void>((resolve) => {
            reads.open = resolve;
          });
          reads.arrived?.();
          await gate;
        },
      },
    });
    const { ids, ask, send, run, sandbox, order, rows } = bridge;
    held = ids[0]!;
    sandbox.service.changeOrder(ids[0]!, { total: "5.00" });
    const arrived = new Promise<void>((resolve) => {
      reads.arrived = resolve;
    });
    const following = run("updates");
    await arrived;
    ask(ids[0]!, "paid");
    await send();
    expect(order(ids[0]!)).toMatchObject({ status: "paid" });
    reads.open?.();
    await following;
    await run("updates");
    expect(order(ids[0]!)).toMatchObject({ status: "paid" });
    expect(rows("SELECT new_status FROM order_events ORDER BY seq")).toEqual([
      { new_status: "new" },
      { new_status: "paid" },
    ]);
    expect(rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});
