import { describe, expect, it } from "vitest";
import { basic, get, handClock, post, sandboxFor, send } from "./client.ts";

describe("the snapshot", () => {
  it("shows the newest version, and 404 in JSON for what does not exist", async () => {
    const sandbox = await sandboxFor();
    const id = sandbox.service.createOrder();
    sandbox.service.changeOrder(id, { lines: [{ sku: "A", quantity: "2.5", price: "10.01" }] });
    const answer = await get(sandbox, `/${id}`);
    expect(answer.text).toBe(sandbox.service.newestText(id));
    expect(answer.text).toContain('"total":25.03,');
    for (const path of [`/${crypto.randomUUID()}`, `/${id.toUpperCase()}X`, "/..%2Fconfirm", "/%E0%A4%A"]) {
      const missing = await get(sandbox, path);
      expect(missing.status).toBe(404);
      expect(missing.json.error).toEqual(expect.any(String));
    }
    sandbox.service.deleteOrder(id);
    expect((await get(sandbox, `/${id}`)).status).toBe(404);
    expect(sandbox.service.newestText(id)).toBeUndefined();
  });

  it("forgets an order some time after its last change", async () => {
    const clock = handClock();
    const sandbox = await sandboxFor({ now: clock.now, options: { orderRetentionMs: 1000, goneStatus: 410 } });
    const id = sandbox.service.createOrder();
    clock.pass(900);
    sandbox.service.changeOrder(id, { status: "paid" });
    clock.pass(999);
    expect((await get(sandbox, `/${id}`)).status).toBe(200);
    clock.pass(1);
    expect((await get(sandbox, `/${id}`)).status).toBe(410);
    expect((await post(sandbox, `/${id}/status`, { status: "shipped" })).status).toBe(410);
  });
});

describe("the status change", () => {
  it("changes the status, and a change tells it", async () => {
    const sandbox = await sandboxFor();
    const id = sandbox.service.createOrder();
    await get(sandbox);
    expect((await post(sandbox, `/${id}/status`, { status: "shipped" })).json).toMatchObject({ status: "shipped" });
    expect(sandbox.service.statusOf(id)).toBe("shipped");
    expect((await get(sandbox, "/updates?since=0")).json.updates).toMatchObject([{ order_id: id, status: "shipped" }]);
    await post(sandbox, `/${id}/status`, { status: "shipped" });
    expect(sandbox.service.orders()[0]?.versions).toBe(2);
    expect(sandbox.ledger.effects("status")).toHaveLength(2);
  });

  it("refuses in words a transition that is not allowed, an unknown order and a body without it", async () => {
    const transitions = { new: ["paid"], paid: [] };
    const sandbox = await sandboxFor({ options: { status: { transitions, refusal: 409 } } });
    const id = sandbox.service.createOrder();
    const refused = await post(sandbox, `/${id}/status`, { status: "delivered" });
    expect(refused.status).toBe(409);
    expect(refused.json.error).toMatch(/new cannot become delivered/);
    expect((await post(sandbox, `/${id}/status`, { status: "paid" })).status).toBe(200);
    expect((await post(sandbox, `/${id}/status`, { status: "constructor" })).status).toBe(409);
    expect((await post(sandbox, `/${crypto.randomUUID()}/status`, { status: "paid" })).status).toBe(404);
    expect((await post(sandbox, `/${id}/status`, { state: "paid" })).status).toBe(400);
  });

  it("takes no status before the order is confirmed where it is told so, and takes it after a confirm that it forgets", async () => {
    const sandbox = await sandboxFor({ options: { status: { confirmedOnly: true } } });
    for (const confirmsForgotten of [false, true]) {
      sandbox.service.setOptions({ confirmsForgotten });
      const id = sandbox.service.createOrder();
      const status = async () => (await post(sandbox, `/${id}/status`, { status: "paid" })).status;
      const batch = await get(sandbox);
      expect(await status()).toBe(409);
      await post(sandbox, "/confirm", { batch_id: batch.json.batch_id });
      expect(await status()).toBe(200);
    }
  });

  it("writes when a status was set where it is told to", async () => {
    const sandbox = await sandboxFor({ options: { status: { timed: true } } });
    const id = sandbox.service.createOrder({ extra: { comment: '"ring"' } });
    await post(sandbox, `/${id}/status`, { status: "packed" });
    const at = expect.stringMatching(/^20.*Z$/);
    expect((await get(sandbox, `/${id}`)).json).toMatchObject({ status: "packed", comment: "ring", packed_at: at });
  });

  it("repeats the secret in what it says of a request and not in an order, if told", async () => {
    const sandbox = await sandboxFor({ options: { repeatsSecret: true } });
    const id = sandbox.service.createOrder();
    const { clientSecret } = sandbox;
    const said = await post(sandbox, `/${id}/status`, { status: "packed" });
    expect(said.json).toMatchObject({ by: { [clientSecret]: "ok" }, ok: true });
    expect((await get(sandbox, `/${crypto.randomUUID()}`)).text).toContain(clientSecret);
    expect((await get(sandbox, `/${id}`)).text).not.toContain(clientSecret);
  });

  it("listens where and how it is told, also under the snapshot's own path", async () => {
    const status = { path: "/api/v1/1c/orders/{order_id}", method: "PATCH", key: ["заказ", "статус"] } as const;
    const sandbox = await sandboxFor({ options: { status } });
    const id = sandbox.service.createOrder();
    const path = `/api/v1/1c/orders/${id}`;
    const sent = { headers: basic(sandbox), body: JSON.stringify({ заказ: { статус: "paid" } }) };
    expect((await send(sandbox, "PATCH", path, sent)).status).toBe(200);
    expect((await get(sandbox, `/${id}`)).json.status).toBe("paid");
    expect((await send(sandbox, "POST", path, sent)).status).toBe(405);
    sandbox.service.setOptions({ status: { path: null } });
    expect((await post(sandbox, `/${id}/status`, { status: "x" })).status).toBe(404);
  });
});
