import { describe, expect, it } from "vitest";
import { startStatusBridge } from "../support/statuses.ts";

const MINUTE = 60_000;
const transitions = { new: ["accepted"], accepted: ["shipped"] };

describe("a status that the service refuses", () => {
  it.each([409, 422] as const)("keeps the service's words (%i), and the next one goes", async (refusal) => {
    const { ids, ask, send, request, effects, posts } = await startStatusBridge({
      sandbox: { options: { status: { transitions, refusal } } },
    });
    const bad = ask(ids[0]!, "shipped");
    const good = ask(ids[0]!, "accepted");
    expect(await send()).toMatchObject({ error: null, counts: { refused: 1, sent: 1 } });
    expect(request(bad)).toMatchObject({ state: "refused", http_status: refusal, echo: null });
    expect(request(bad).last_error).toContain("an order with status new cannot become shipped");
    expect(request(good)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["accepted"]);
    await send();
    expect(posts()).toHaveLength(2);
  });

  it("keeps them also for 400", async () => {
    const { ids, ask, send, request } = await startStatusBridge({
      settings: { statuses: { body: { state: "{status}" } } },
    });
    const id = ask(ids[0]!, "paid");
    await send();
    expect(request(id)).toMatchObject({ state: "refused", http_status: 400 });
    expect(request(id).last_error).toContain("the body lacks the text status");
  });

  it("is refused where a success says that it is none, and the order shows no effect", async () => {
    const { ids, ask, send, sandbox, request, effects } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({
      match: { path: "status" },
      do: { kind: "raw", contentType: "application/json", body: '{"success":false,"message":"payment is open"}' },
    });
    expect(await send()).toMatchObject({ error: null, counts: { refused: 1 } });
    expect(request(id)).toMatchObject({ state: "refused", http_status: 200 });
    expect(request(id).last_error).toContain("payment is open");
    expect(effects()).toEqual([]);
  });

  it("is not taken for refused where the answer repeats a status with an unlucky name", async () => {
    const { ids, ask, send, sandbox, request, effects, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "failed");
    sandbox.faults.add({
      match: { path: "status" },
      when: "after",
      do: { kind: "raw", contentType: "application/json", body: '{"status":"failed"}' },
    });
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["failed"]);
    expect(posts()).toHaveLength(1);
  });

  it("is refused with the service's words where the service no longer knows the order", async () => {
    for (const goneStatus of [404, 410] as const) {
      const { ids, ask, send, run, clock, sandbox, request, rows } = await startStatusBridge({
        orders: 2,
        sandbox: { options: { goneStatus } },
      });
      const id = ask(ids[0]!, "paid");
      sandbox.service.deleteOrder(ids[0]!);
      for (let minute = 0; minute < 11; minute++) {
        expect(await send()).toMatchObject({ error: null });
        expect(request(id)).toMatchObject({ state: "pending" });
        await run("updates");
        clock.advance(MINUTE);
      }
      await run("updates");
      expect(await send()).toMatchObject({ error: null, counts: { refused: 1 } });
      expect(request(id)).toMatchObject({ state: "refused", http_status: 404 });
      expect(request(id).last_error).toContain("there is no such order");
      expect(rows("SELECT removed_at IS NOT NULL AS removed FROM orders ORDER BY order_key LIMIT 1")).toEqual([
        { removed: 1 },
      ]);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    }
  });
});

describe("a status path that is wrong", () => {
  it.each([
    ["404", { settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/state" } } }],
    ["405", { settings: { statuses: { method: "PUT" } } }],
  ])("holds the statuses and refuses nothing (%s)", async (status, options) => {
    const bridge = await startStatusBridge({ ...options, orders: 2 });
    const { ids, ask, send, rows, request, states, clock, sandbox, effects } = bridge;
    const id = ask(ids[0]!, "paid");
    ask(ids[1]!, "paid");
    const result = await send();
    expect(result).toMatchObject({ outcome: "failed", error: { code: "request_refused" } });
    expect(result.error!.message).toContain("the order exists, so statuses.path or statuses.method is wrong");
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "statuses", reason: "refused" }]);
    expect(states()).toEqual(["pending", "pending"]);
    expect(request(id)).toMatchObject({ http_status: Number(status), echo: null });
    expect(request(id).last_error).toContain("statuses.path");
    const asked = sandbox.ledger.entries.length;
    clock.advance(4 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "held" });
    expect(sandbox.ledger.entries).toHaveLength(asked);
    expect(await bridge.run("orders")).toMatchObject({ error: null });
    // One probe in the hold's window, and another request tries it.
    clock.advance(2 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "failed" });
    expect(await send()).toMatchObject({ outcome: "held" });
    await bridge.restart({ statuses: { path: "/api/v1/1c/orders/{order_id}/status" } });
    clock.advance(6 * MINUTE);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 2 } });
    expect(rows("SELECT area FROM holds")).toEqual([]);
    expect(effects()).toEqual(["paid", "paid"]);
  });

  it("says nothing while it cannot be told whether the order exists", async () => {
    const { ids, ask, send, sandbox, states, rows } = await startStatusBridge({
      settings: { statuses: { path: "/wrong/{order_id}" } },
    });
    ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(states()).toEqual(["pending"]);
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });
});

describe("an answer that speaks of the whole area", () => {
  it.each([
    [401, "credentials", 5],
    [403, "credentials", 5],
    [429, "rate limit", 1],
  ])("holds the orders for %i and leaves the request as it was", async (status, reason, minutes) => {
    const { ids, ask, send, run, sandbox, rows, request, clock, effects } = await startStatusBridge({ orders: 2 });
    const id = ask(ids[0]!, "paid");
    const other = ask(ids[1]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "status", status } });
    expect(await send()).toMatchObject({ outcome: "failed" });
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "orders", reason }]);
    expect(request(id)).toMatchObject({ state: "pending", http_status: status, echo: null });
    expect(request(other)).toMatchObject({ state: "pending", attempts: 0 });
    expect(await run("orders")).toMatchObject({ outcome: "held" });
    clock.advance(minutes * MINUTE + 1_000);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 2 } });
    expect(rows("SELECT area FROM holds")).toEqual([]);
    expect(effects()).toEqual(["paid", "paid"]);
  });

  it("does not use up the probe of a hold, nor end it, while there is nothing to send", async () => {
    const { send, run, sandbox, rows, clock } = await startStatusBridge();
    sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status: 401 } });
    await run("orders");
    clock.advance(MINUTE);
    expect(await send()).toMatchObject({ outcome: "idle" });
    clock.advance(5 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "idle" });
    expect(rows("SELECT area FROM holds")).toEqual([{ area: "orders" }]);
    expect(await run("orders")).toMatchObject({ error: null });
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });

  it("leaves the request pending where the service cannot be reached at all", async () => {
    const { ids, ask, send, sandbox, request } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    await sandbox.close();
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "unreachable" } });
    expect(request(id)).toMatchObject({ state: "pending" });
  });

  it("follows no redirect", async () => {
    const { ids, ask, send, sandbox, request, rows } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "redirect", to: "https://elsewhere.example/x" } });
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "redirected" } });
    expect(request(id)).toMatchObject({ state: "pending" });
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "statuses", reason: "refused" }]);
  });
});
