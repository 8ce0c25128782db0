import { describe, expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const ORDER = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
const orderOf = (n: number) => ({ ...ORDER, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });

/** A service that hands out the same orders under a new name each time, whatever it is told. */
async function startLeased(confirmStatus = 200, write: (order: object) => object = (order) => order) {
  const t = await startTestBridge();
  const orders = [orderOf(0), orderOf(1)];
  let leases = 0;
  const handle = t.sandbox.service.handle.bind(t.sandbox.service);
  t.sandbox.service.handle = (request) => {
    const answer = (status: number, body: object) => ({
      status,
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(body)),
      delivery: { kind: "plain" } as const,
    });
    if (request.path.endsWith("/orders")) {
      leases += 1;
      return answer(200, { batch_id: `lease-${leases}`, orders: orders.map(write) });
    }
    if (!request.path.endsWith("/confirm")) return handle(request);
    handle(request);
    return answer(confirmStatus, confirmStatus === 200 ? { success: true } : { message: "not now" });
  };
  return { ...t, orders, leases: () => leases };
}

async function poll(t: TestBridge, minutes: number): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let at = 0; at < minutes; at++) {
    errors.push((await t.run("orders")).error);
    t.clock.advance(60_000);
  }
  return errors;
}

describe("the same orders under a new batch id each time", () => {
  itWhole("are asked for once in a pass, stand in no more rows, and are told as a confirm without effect", async () => {
    const t = await startLeased();
    expect((await t.run("orders")).outcome).toBe("done");
    expect(t.leases()).toBeLessThan(5);
    const before = t.leases();
    const errors = await poll(t, 30);
    expect(t.leases() - before).toBe(30);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
    expect(errors.slice(0, 10)).toEqual(errors.slice(0, 10).map(() => null));
    expect(errors.at(-1)).toMatchObject({ code: "answer_unknown", hint: m.orders.servedAgainHint });
  });

  const shuffled = (order: object, turn: number) => {
    const members = Object.entries(order);
    const first = turn % members.length;
    return Object.fromEntries([...members.slice(first), ...members.slice(0, first)]);
  };

  itWhole("are the same with their keys in another order", async () => {
    let turn = 0;
    const t = await startLeased(200, (order) => shuffled(order, ++turn));
    await t.run("orders");
    expect(t.leases()).toBeLessThan(6);
    await poll(t, 10);
    expect(batchStates(t)).toHaveLength(3);
  });

  itWhole("are the same where each record says when it was handed out", async () => {
    let turn = 0;
    const t = await startLeased(200, (order) => ({ ...order, delivered_at: `2026-03-01T11:00:00.${1_000 + ++turn}Z` }));
    await t.run("orders");
    expect(t.leases()).toBeLessThan(6);
    const errors = await poll(t, 30);
    expect(batchStates(t).length).toBeLessThan(4);
    expect(errors.at(-1)).toMatchObject({ code: "answer_unknown", hint: m.orders.servedAgainHint });
    t.orders.push(orderOf(2));
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
  });

  /** Once the service has named its orders. */
  async function startUnnamed(write: (order: object, turn: number) => object) {
    let turn = 0;
    const t = await startLeased(200, (order) => (turn++ < 6 ? order : write({ ...order, order_id: undefined }, turn)));
    while (turn < 6) await t.run("orders");
    return { ...t, asked: t.leases() };
  }

  itWhole("are the same where their records bear a number alone, with their keys in another order", async () => {
    const t = await startUnnamed((order, turn) => shuffled({ ...order, number: "17" }, turn));
    const rows = batchStates(t).length;
    expect((await t.run("orders")).outcome).toBe("done");
    expect(t.leases() - t.asked).toBeLessThan(6);
    await poll(t, 10);
    expect(batchStates(t).length - rows).toBeLessThan(4);
    expect(t.rows("SELECT 1 FROM quarantine")).toHaveLength(1);
  });

  itWhole("are asked for fifty times a minute at most where their records differ each time", async () => {
    const t = await startUnnamed((order, turn) => ({ ...order, number: `${turn}` }));
    const pass = await t.bridge.runners.get("orders")!.runNow(new AbortController().signal);
    expect(pass?.outcome).toBe("done");
    expect(t.leases() - t.asked).toBe(50);
  });

  it("are confirmed by the name under which they came last", async () => {
    const t = await startLeased();
    await poll(t, 3);
    expect(confirmBodies(t).at(-1)).toContain(`lease-${t.leases()}`);
  });

  itWhole("are well again once a new order comes", async () => {
    const t = await startLeased();
    await poll(t, 30);
    t.orders.push(orderOf(2));
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
    expect((await poll(t, 5)).every((error) => error === null)).toBe(true);
  });

  itWhole.each([500, 422])("make no rows without bound where the confirm fails: %s", async (status) => {
    const t = await startLeased(status);
    await poll(t, 60);
    expect(batchStates(t)).toHaveLength(2);
    expect(t.leases()).toBeLessThan(70);
    expect(t.rows("SELECT service_batch_id AS id FROM batches ORDER BY id LIMIT 1")).not.toEqual([{ id: '"lease-1"' }]);
  });

  itWhole("are all taken in one pass where each batch is repeated once, as by a queue that was restored", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", batchSize: 1, confirmForm: "batch_id" } },
    });
    const served = Array.from({ length: 8 }, (_, n) => orderOf(n % 4));
    let at = 0;
    const handle = t.sandbox.service.handle.bind(t.sandbox.service);
    t.sandbox.service.handle = (request) => {
      const isPull = request.path.endsWith("/orders");
      if (!isPull && !request.path.endsWith("/confirm")) return handle(request);
      const body = isPull ? { batch_id: `b-${at}`, orders: served.slice(at, at + 1) } : { success: true };
      if (isPull) at += 1;
      return {
        status: 200,
        headers: { "content-type": "application/json" },
        body: Buffer.from(JSON.stringify(at > served.length ? { batch_id: null, orders: [] } : body)),
        delivery: { kind: "plain" },
      };
    };
    await t.run("orders");
    expect(at).toBe(served.length + 1);
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 4 }]);
  });
});
