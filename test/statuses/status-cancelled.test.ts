import { describe, expect, it } from "vitest";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";

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

describe("a status that waits while its order is cancelled", () => {
  it("is refused, with when the order was cancelled, and the cancellation stays", async () => {
    const bridge = await startStatusBridge();
    const { ids, sendFor, request, effects, order, pending, sandbox } = bridge;
    const id = await waitWhile(bridge, "cancelled");
    await sendFor(20);
    expect(effects()).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null });
    expect(request(id).last_error).toMatch(
      /^the order was cancelled after this request was made: "cancelled" since .*; insert a new request/,
    );
    expect(order(ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
    expect(sandbox.service.statusOf(ids[0]!)).toBe("cancelled");
    expect(pending()).toMatchObject([{ order_id: ids[0], why: "cancelled" }]);
  });

  it("is refused with all that wait behind it, and a request made afterwards is sent", async () => {
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

  it("is refused where the request names a revision that the order never had", async () => {
    const bridge = await startStatusBridge();
    const { erp, sendFor, states, effects } = bridge;
    await waitWhile(bridge, "cancelled");
    erp.exec("UPDATE status_requests SET known_revision = 999");
    await sendFor(20);
    expect([states(), effects()]).toEqual([["refused"], []]);
  });

  it("is refused whatever the clock says, which may be set back and forth", async () => {
    const bridge = await startStatusBridge();
    const { erp, sendFor, states, effects } = bridge;
    await waitWhile(bridge, "cancelled");
    erp.exec("UPDATE status_requests SET requested_at = '2999-01-01T00:00:00.000Z'");
    await sendFor(20);
    expect([states(), effects()]).toEqual([["refused"], []]);
  });

  it("is refused by the revision that the ERP names, although the row came after the cancellation", async () => {
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

  it("is sent where the order has another status again", async () => {
    const bridge = await startStatusBridge();
    const { ids, sandbox, run, clock, sendFor, states, effects } = bridge;
    await waitWhile(bridge, "cancelled");
    clock.advance(60_000);
    sandbox.service.changeOrder(ids[0]!, { status: "accepted" });
    await run("updates");
    await sendFor(20);
    expect([states(), effects()]).toEqual([["sent"], ["packed"]]);
  });

  it("is sent where it cancels the order itself, in other words", async () => {
    const settings = {
      orders: { statuses: { cancelled: ["cancelled", "declined"], closed: ["cancelled", "declined"] } },
    };
    const bridge = await startStatusBridge({ settings });
    await waitWhile(bridge, "cancelled", "declined");
    await bridge.sendFor(20);
    expect([bridge.states(), bridge.effects()]).toEqual([["sent"], ["declined"]]);
  });

  it("is sent after any other change", async () => {
    const bridge = await startStatusBridge();
    await waitWhile(bridge, "paid");
    await bridge.sendFor(20);
    expect([bridge.states(), bridge.effects()]).toEqual([["sent"], ["packed"]]);
  });

  it("is sent over a cancellation that the bridge has sent, also where that comes back with other changes", async () => {
    const { ids, ask, send, sendFor, sandbox, run, clock, events, effects, states } = await startStatusBridge();
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 500 } });
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
  });
});
