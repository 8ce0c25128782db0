import path from "node:path";
import { describe, expect, it } from "vitest";
import { remap } from "../../src/daemon/repair.ts";
import { findCancellation } from "../../src/statuses/plan-status.ts";
import { collectingLog, configFor } from "../support/bridge.ts";
import { STATUS_PATH, type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** The order is being edited: its status waits. Meanwhile somebody gives the order another status. */
async function waitWhile(bridge: StatusBridge, status: string, wanted = "packed"): Promise<number> {
  const { ids, ask, send, sandbox, run, clock } = bridge;
  const rule = { match: { path: "status" }, times: "forever", do: { kind: "status", status: 423 } } as const;
  sandbox.faults.add(rule);
  const id = ask(ids[0]!, wanted);
  await send();
  clock.advance(60_000);
  sandbox.service.changeOrder(ids[0]!, { status });
  await run("updates");
  sandbox.faults.clear();
  return id;
}

describe("a status that is asked for after its order was cancelled, and before the changes are asked for", () => {
  const start = async () => {
    const bridge = await startStatusBridge();
    const { run, clock, ids, sandbox } = bridge;
    await run("updates");
    clock.advance(40_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    return Object.assign(bridge, { id: bridge.ask(ids[0]!, "packed") });
  };

  it("does not leave, and the cancellation is an event", async () => {
    const { id, ids, send, posts, request, events } = await start();
    await send();
    expect(posts()).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null, attempts: 0 });
    expect(events(ids[0]!)).toContainEqual(expect.objectContaining({ kind: "cancelled", new_status: "cancelled" }));
  });

  it("leaves only after a read of its order, also right after a pass over changes, which may show it later", async () => {
    const { run, clock, ids, ask, send, sandbox } = await startStatusBridge();
    await run("updates");
    clock.advance(40_000);
    await run("updates");
    ask(ids[0]!, "packed");
    const before = sandbox.ledger.entries.length;
    await send();
    const paths = sandbox.ledger.entries.map(({ method, path }) => `${method} ${path.split("/").slice(-2).join("/")}`);
    expect(paths.slice(before)).toEqual([`GET orders/${ids[0]}`, `POST ${ids[0]}/status`, `GET orders/${ids[0]}`]);
  });

  itWhole("does not leave while a pass over changes is on its way that names it", async () => {
    const { sandbox, bridge, posts, states } = await start();
    const signal = new AbortController().signal;
    sandbox.faults.add({ match: { path: "updates" }, times: 1, do: { kind: "delay", ms: 100 } });
    const jobs = ["updates", "statuses"] as const;
    await Promise.all(jobs.map((job) => bridge.runners.get(job)?.runNow(signal)));
    expect([posts(), states()]).toEqual([[], ["refused"]]);
  });

  itWhole("leaves, where the order cannot be read, by what a pass over changes of the last minutes says", async () => {
    const bridge = await startStatusBridge({ orders: 3 });
    const { run, clock, ids, ask, send, sandbox, effects, states } = bridge;
    await run("updates");
    ask(ids[0]!, "packed");
    sandbox.faults.add({
      match: { path: "snapshot", order: ids[0]! },
      times: "forever",
      do: { kind: "status", status: 403 },
    });
    for (let passes = 0; passes < 60 && states()[0] === "pending"; passes++) {
      clock.advance(60_000);
      await run("updates");
      clock.advance(11_000);
      await send();
      if (passes === 0) expect(effects()).toEqual([]);
    }
    expect([effects(), states()]).toEqual([["packed"], ["sent"]]);
  });
});

describe("a status that waits while its order is cancelled", () => {
  itWhole("is refused, with when the order was cancelled, and the cancellation stays", async () => {
    const bridge = await startStatusBridge();
    const { ids, sendFor, request, effects, order, pending, sandbox } = bridge;
    const id = await waitWhile(bridge, "cancelled");
    await sendFor(20);
    expect(effects()).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null });
    expect(request(id).last_error).toMatch(
      /^the order was cancelled after this request was made: "cancelled" at .*; insert a new request/,
    );
    expect(order(ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
    expect(sandbox.service.statusOf(ids[0]!)).toBe("cancelled");
    expect(pending()).toMatchObject([{ order_id: ids[0], why: "cancelled" }]);
  });

  itWhole("is refused with all that wait behind it, and a request made afterwards is sent", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, send, states, effects } = bridge;
    const { sandbox, run, clock } = bridge;
    sandbox.faults.add({ match: { path: "status" }, times: "forever", do: { kind: "status", status: 423 } });
    ask(ids[0]!, "packed");
    ask(ids[0]!, "shipped");
    await send();
    clock.advance(60_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    await run("updates");
    sandbox.faults.clear();
    ask(ids[0]!, "new");
    await bridge.sendFor(20);
    expect(states()).toEqual(["refused", "refused", "sent"]);
    expect(effects()).toEqual(["new"]);
  });

  itWhole("is refused where the request names a revision that the order never had", async () => {
    const bridge = await startStatusBridge();
    const { erp, sendFor, states, effects } = bridge;
    await waitWhile(bridge, "cancelled");
    erp.exec("UPDATE status_requests SET known_revision = 999");
    await sendFor(20);
    expect([states(), effects()]).toEqual([["refused"], []]);
  });

  itWhole("is refused whatever the clock says, which may be set back and forth", async () => {
    const bridge = await startStatusBridge();
    const { erp, sendFor, states, effects } = bridge;
    await waitWhile(bridge, "cancelled");
    erp.exec("UPDATE status_requests SET requested_at = '2999-01-01T00:00:00.000Z'");
    await sendFor(20);
    expect([states(), effects()]).toEqual([["refused"], []]);
  });

  itWhole("is refused by the revision that the ERP names, although the row came after the cancellation", async () => {
    const { ids, erp, sandbox, run, clock, send, states, effects } = await startStatusBridge();
    clock.advance(60_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    await run("updates");
    const insert = erp.prepare("INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, ?, ?)");
    insert.run(ids[0], "packed", 1);
    await send();
    expect([states(), effects()]).toEqual([["refused"], []]);
    insert.run(ids[0], "packed", 2);
    await send();
    expect([states(), effects()]).toEqual([["refused", "sent"], ["packed"]]);
  });

  itWhole.each(["refunded", "new"])(
    "is refused where the order was moved on or restored since (%s), and a request made afterwards is sent",
    async (status) => {
      const bridge = await startStatusBridge();
      const { ids, ask, sandbox, run, clock, request, sendFor, states, effects } = bridge;
      const id = await waitWhile(bridge, "cancelled");
      clock.advance(60_000);
      sandbox.service.changeOrder(ids[0]!, { status });
      await run("updates");
      await sendFor(20);
      expect([states(), effects()]).toEqual([["refused"], []]);
      expect(request(id).last_error).toMatch(/^the order was cancelled after this request was made: "cancelled" at /);
      ask(ids[0]!, "packed");
      await sendFor(1);
      expect([states(), effects()]).toEqual([["refused", "sent"], ["packed"]]);
    },
  );

  itWhole.each([
    ["both changes are listed at once", { history: "log" }],
    ["whole orders are listed", { history: "log", carry: "whole" }],
    ["the order was moved on before it was read", {}],
  ] as const)("is refused where the order was cancelled and moved on between two passes: %s", async (name, updates) => {
    const carry = "carry" in updates ? updates.carry : "changes";
    const settings = { updates: { carry } } as const;
    const bridge = await startStatusBridge({ settings, sandbox: { options: { updates } } });
    const { ids, ask, sandbox, run, clock, events, sendFor, states, effects } = bridge;
    const move = () => {
      clock.advance(5_000);
      sandbox.service.changeOrder(ids[0]!, { status: "refunded" });
      clock.advance(5_000);
    };
    ask(ids[0]!, "packed");
    clock.advance(60_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    if (name.startsWith("the order")) {
      const handle = sandbox.service.handle.bind(sandbox.service);
      sandbox.service.handle = (call) => {
        if (call.method === "GET" && call.path.endsWith(ids[0]!)) {
          sandbox.service.handle = handle;
          move();
        }
        return handle(call);
      };
    } else move();
    await run("updates");
    await sendFor(2);
    expect([states(), effects()]).toEqual([["refused"], []]);
    expect(events(ids[0]!).map((event) => [event.kind, event.new_status])).toEqual([
      ["created", "new"],
      ["cancelled", "cancelled"],
      ["changed", "refunded"],
    ]);
  });

  itWhole(
    "is refused where the order was cancelled, opened and cancelled while it could not be read, and moved on",
    async () => {
      const settings = { updates: { carry: "changes" } } as const;
      const options = { updates: { history: "log" } } as const;
      const bridge = await startStatusBridge({ settings, sandbox: { options } });
      const { ids, ask, sandbox, run, clock, events, sendFor, states, effects } = bridge;
      const change = (...statuses: string[]) => {
        for (const status of statuses) {
          clock.advance(5_000);
          sandbox.service.changeOrder(ids[0]!, { status });
        }
        clock.advance(60_000);
      };
      sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
      clock.advance(60_000);
      change("cancelled", "new");
      await run("updates");
      ask(ids[0]!, "packed");
      change("cancelled", "refunded");
      await run("updates");
      sandbox.faults.clear();
      clock.advance(10 * 60_000);
      await run("updates");
      await sendFor(2);
      expect(events(ids[0]!).map((event) => event.new_status)).toEqual([
        "new",
        "cancelled",
        "new",
        "cancelled",
        "refunded",
      ]);
      expect([states(), effects()]).toEqual([["refused"], []]);
    },
  );

  itWhole("is sent where it cancels the order itself, in other words", async () => {
    const settings = {
      orders: { statuses: { cancelled: ["cancelled", "declined"], closed: ["cancelled", "declined"] } },
    };
    const bridge = await startStatusBridge({ settings });
    await waitWhile(bridge, "cancelled", "declined");
    await bridge.sendFor(20);
    expect([bridge.states(), bridge.effects()]).toEqual([["sent"], ["declined"]]);
  });

  itWhole("is sent after any other change", async () => {
    const bridge = await startStatusBridge();
    await waitWhile(bridge, "paid");
    await bridge.sendFor(20);
    expect([bridge.states(), bridge.effects()]).toEqual([["sent"], ["packed"]]);
  });

  itWhole(
    "is sent over a cancellation that the bridge has sent, also where that comes back with other changes",
    async () => {
      const { ids, ask, send, sendFor, sandbox, run, clock, events, effects, states } = await startStatusBridge();
      sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
      ask(ids[0]!, "cancelled");
      await send();
      ask(ids[0]!, "new");
      await send();
      clock.advance(60_000);
      sandbox.service.changeOrder(ids[0]!, { total: "1.00" });
      sandbox.faults.clear();
      await run("updates");
      expect(events(ids[0]!).at(-1)).toMatchObject({ kind: "cancelled", source: "snapshot" });
      await sendFor(20);
      expect([states(), effects()]).toEqual([
        ["sent", "sent"],
        ["cancelled", "new"],
      ]);
    },
  );

  itWhole(
    "is refused where only the configuration of today calls the status a cancellation, before and after remap",
    async () => {
      const bridge = await startStatusBridge({ orders: 2 });
      const { ids, erp, sandbox, run, clock, send } = bridge;
      clock.advance(60_000);
      for (const id of ids) sandbox.service.changeOrder(id, { status: "annulled" });
      await run("updates");
      const insert = erp.prepare(
        "INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, 'packed', ?)",
      );
      const names = ["cancelled", "annulled"];
      const settings = { statuses: { path: STATUS_PATH }, orders: { statuses: { cancelled: names, closed: names } } };
      await bridge.restart(settings);
      insert.run(ids[0], 1);
      await send();
      const { store } = bridge.bridge;
      const loaded = configFor(sandbox, path.dirname(store.path), settings);
      const { signal } = new AbortController();
      await remap(store, loaded, { clock, log: collectingLog([]), dryRun: false, onProgress: () => {}, signal });
      expect(bridge.order(ids[1]!)).toMatchObject({ status: "annulled", is_cancelled: 1, revision: 3 });
      insert.run(ids[1], 1);
      await send();
      expect([bridge.states(), bridge.effects()]).toEqual([["refused", "refused"], []]);
      // The ERP read it as what it is now: it knows, although the word meant nothing when it came.
      insert.run(ids[1], 2);
      await send();
      expect([bridge.states().at(-1), bridge.effects()]).toEqual(["sent", ["packed"]]);
    },
  );

  it("is refused where the ERP has never read the order, which came as cancelled", async () => {
    const { erp, sandbox, run, send, states, effects } = await startStatusBridge();
    const id = sandbox.service.createOrder({ status: "cancelled" });
    await run("orders");
    const insert = erp.prepare(
      "INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, 'packed', ?)",
    );
    insert.run(id, 0);
    await send();
    expect([states(), effects()]).toEqual([["refused"], []]);
    insert.run(id, 1);
    await send();
    expect([states(), effects()]).toEqual([["refused", "sent"], ["packed"]]);
  });

  it("is refused where the row has no revision, because it was inserted before its order was stored", async () => {
    const { ids, ask, sandbox, run, clock, send, rows, effects } = await startStatusBridge();
    const cancelled = sandbox.service.createOrder({ status: "cancelled" });
    const later = sandbox.service.createOrder({ status: "new" });
    for (const id of [cancelled, later, `${ids[0]}\0`]) ask(id, "packed");
    await run("orders");
    clock.advance(60_000);
    for (const id of [later, ids[0]!]) sandbox.service.changeOrder(id, { status: "cancelled" });
    await run("updates");
    await send();
    expect(effects()).toEqual([]);
    expect(rows("SELECT state, last_error FROM status_requests ORDER BY id")).toMatchObject([
      { state: "refused", last_error: expect.stringMatching(/^the order was cancelled after this request was made/) },
      { state: "refused", last_error: expect.stringMatching(/^the order was cancelled after this request was made/) },
      { state: "refused", last_error: "order_id is not a UUID" },
    ]);
  });

  itWhole("is sent without a revision where the order was never cancelled", async () => {
    const { ids, ask, erp, send, states, effects } = await startStatusBridge();
    ask(ids[0]!, "packed");
    erp.exec("UPDATE status_requests SET known_revision = NULL");
    await send();
    expect([states(), effects()]).toEqual([["sent"], ["packed"]]);
  });

  itWhole("is refused by revision 0 where the history of the order was removed", async () => {
    const { ids, erp, sandbox, run, clock, send, states, effects } = await startStatusBridge();
    clock.advance(60_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    await run("updates");
    erp.exec("DELETE FROM order_event_rows");
    erp.prepare("INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, 'packed', 0)").run(ids[0]);
    await send();
    expect([states(), effects()]).toEqual([["refused"], []]);
  });
});

describe("findCancellation", () => {
  const event = (was: string | null, status: string | null, isOwn = false) => ({
    was,
    status,
    at: status ?? "",
    isOwn,
  });
  const CANCELLED = new Set(["off", "void"]);
  itSome(1)([
    ["nothing since", "new", [], undefined],
    ["cancelled", "new", [event("new", "off")], "off"],
    ["cancelled and changed again", "new", [event("new", "off"), event("off", "off")], "off"],
    ["by the ERP itself", "new", [event("new", "off", true)], undefined],
    ["cancelled and moved on", "new", [event("new", "off"), event("off", "refunded")], "off"],
    ["cancelled and restored", "new", [event("new", "off"), event("off", "new")], "off"],
    ["by the ERP itself, and moved on", "new", [event("new", "off", true), event("off", "refunded")], undefined],
    ["known as cancelled, moved on", "off", [event("off", "refunded")], undefined],
    ["by the ERP itself, in other words later", "new", [event("new", "off", true), event("off", "void")], undefined],
    ["known as cancelled, in other words now", "off", [event("off", "void")], undefined],
    ["known as cancelled, opened and cancelled again", "off", [event("off", "new"), event("new", "void")], "void"],
    ["known as cancelled, ours was accepted and set back", "off", [event("new", "off")], "off"],
    ["came as cancelled", null, [event(null, "off")], "off"],
    ["unknown what the ERP knew, cancelled since", undefined, [event("new", "off")], "off"],
    ["unknown what the ERP knew, cancelled before", undefined, [event("off", "off")], undefined],
    ["the word means it only now, and came without a change of status", "new", [event("off", "off")], "off"],
  ])("%s", (_name, known, events, expected) => {
    expect(findCancellation({ known, events }, CANCELLED)?.status).toBe(expected);
  });
});
