import { describe, expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const ORDER = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
const orderOf = (n: number) => ({ ...ORDER, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });

function shuffled(order: object, turn: number): object {
  const members = Object.entries(order);
  const first = turn % members.length;
  return Object.fromEntries([...members.slice(first), ...members.slice(0, first)]);
}

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
  return Object.assign(t, { orders, leases: () => leases });
}

async function poll(t: TestBridge, minutes: number): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let at = 0; at < minutes; at++) {
    errors.push((await t.run("orders")).error);
    t.clock.advance(60_000);
  }
  return errors;
}

const SAVED = "SELECT value FROM meta WHERE key = 'repeated_batches'";

/** Each pass is a process of its own, as `sync` in a timer is. */
async function syncFor(t: TestBridge, minutes: number): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let at = 0; at < minutes; at++) {
    await t.restart();
    errors.push(...(await poll(t, 1)));
  }
  return errors;
}

describe("the same orders under a new batch id in each process", () => {
  itWhole.each([
    ["as they are", (order: object) => order],
    ["with their keys in another order", (order: object, turn: number) => shuffled(order, turn)],
    [
      "without a time, with their keys in another order",
      (order: object, turn: number) => shuffled({ ...order, updated_at: undefined }, turn),
    ],
    ["with the time of the delivery", (order: object, turn: number) => ({ ...order, delivered_at: `${1_000 + turn}` })],
  ] as const)("get three rows: %s", async (_name, write) => {
    let turn = 0;
    const t = await startLeased(200, (order) => write(order, ++turn));
    await syncFor(t, 4);
    const rows = batchStates(t).length;
    expect(rows).toBe(3);
    const saved = t.rows(SAVED);
    await syncFor(t, 4);
    expect(batchStates(t)).toHaveLength(rows);
    expect(t.rows(SAVED)).toEqual(saved);
  });

  itWhole("get three rows where each process is given them once", async () => {
    const t = await startLeased();
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    let isGiven = false;
    service.handle = (request) => {
      const isPull = request.path.endsWith("/orders");
      if (isPull && isGiven) t.orders.length = 0;
      isGiven ||= isPull;
      return handle(request);
    };
    const orders = [...t.orders];
    for (let times = 0; times < 8; times++) {
      [isGiven, t.orders.length] = [false, 0];
      t.orders.push(...orders);
      await syncFor(t, 1);
      expect(batchStates(t)).toHaveLength(Math.min(times + 1, 3));
    }
  });

  itWhole("get a row of their own with a new order or a newer one among them", async () => {
    const t = await startLeased();
    await syncFor(t, 5);
    const rows = batchStates(t).length;
    t.orders.push(orderOf(2));
    await syncFor(t, 1);
    expect(t.rows("SELECT 1 FROM orders")).toHaveLength(3);
    expect(batchStates(t).length).toBeGreaterThan(rows);
    await syncFor(t, 5);
    const before = batchStates(t).length;
    t.orders[0] = { ...t.orders[0]!, status: "paid", updated_at: "2026-03-01T11:30:00Z" };
    await syncFor(t, 1);
    expect(t.rows("SELECT 1 FROM orders WHERE status = 'paid'")).toHaveLength(1);
    expect(batchStates(t).length).toBeGreaterThan(before);
  });

  it("are stored where one has changed without a newer time", async () => {
    const t = await startLeased();
    await syncFor(t, 5);
    t.orders[0] = { ...t.orders[0]!, status: "paid" };
    await syncFor(t, 1);
    expect(t.rows("SELECT 1 FROM owed_reads UNION SELECT 1 FROM orders WHERE status = 'paid'")).toHaveLength(1);
  });

  itWhole("get a row again where theirs was removed, and then no more", async () => {
    const t = await startLeased();
    await syncFor(t, 5);
    t.bridge.store.db.prepare("DELETE FROM batches").run();
    await syncFor(t, 5);
    expect(batchStates(t)).toHaveLength(1);
  });

  itWhole("are told as a confirm without effect", async () => {
    const t = await startLeased();
    expect((await syncFor(t, 40)).at(-1)).toMatchObject({ code: "answer_unknown", hint: m.orders.servedAgainHint });
    expect(batchStates(t).length).toBeLessThan(5);
  });
});

it("writes nothing of batches that bring new orders", async () => {
  const t = await startTestBridge();
  for (let times = 0; times < 3; times++) {
    t.sandbox.service.createOrder();
    await t.run("orders");
  }
  expect(t.rows(SAVED)).toEqual([]);
});

describe("the same orders under a new batch id each time", () => {
  itWhole(
    "are asked for twice in a pass, stand in no more rows, and are told as a confirm without effect",
    async () => {
      const t = await startLeased();
      expect((await t.run("orders")).outcome).toBe("done");
      expect(t.leases()).toBeLessThan(5);
      const before = t.leases();
      const errors = await poll(t, 30);
      expect(t.leases() - before).toBe(60);
      expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
      expect(errors.slice(0, 10)).toEqual(errors.slice(0, 10).map(() => null));
      expect(errors.at(-1)).toMatchObject({ code: "answer_unknown", hint: m.orders.servedAgainHint });
    },
  );

  itWhole("are the same with their keys in another order", async () => {
    let turn = 0;
    const t = await startLeased(200, (order) => shuffled(order, ++turn));
    await t.run("orders");
    expect(t.leases()).toBeLessThan(6);
    await poll(t, 10);
    expect(batchStates(t)).toHaveLength(3);
  });

  it("are the same with their keys in another order, and where batches hold others of them each time", async () => {
    let turn = 0;
    const t = await startLeased(200, (order) => shuffled(order, ++turn));
    const all = [0, 1, 2, 3].map(orderOf);
    for (const [first, second] of [
      [0, 1],
      [2, 3],
      [1, 2],
      [3, 0],
      [0, 2],
      [1, 3],
      [2, 0],
      [3, 1],
    ] as const) {
      t.orders.splice(0, t.orders.length, all[first]!, all[second]!);
      await poll(t, 1);
    }
    expect(batchStates(t).length).toBeLessThan(7);
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
    // After that, the pass looks at what comes behind them.
    expect(confirmBodies(t).at(-1)).toContain(`lease-${t.leases() - 1}`);
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
    // Each pass asks once more: others may come behind a batch that is not confirmed.
    expect(t.leases()).toBeLessThan(130);
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

itWhole.each([200, 404, 422, 500])(
  "hides none behind a batch that comes first at every poll: its confirm answers %s",
  async (status) => {
    const t = await startTestBridge();
    const waiting = [orderOf(0)];
    const servedAt = new Map<object, number>();
    const handle = t.sandbox.service.handle.bind(t.sandbox.service);
    t.sandbox.service.handle = (request) => {
      const answer = (code: number, body: object) => ({
        status: code,
        headers: { "content-type": "application/json" },
        body: Buffer.from(JSON.stringify(body)),
        delivery: { kind: "plain" } as const,
      });
      const nowMs = t.clock.monotonicMs();
      if (request.path.endsWith("/orders")) {
        const next = waiting.find((order) => nowMs - (servedAt.get(order) ?? -60_000) >= 30_000);
        if (next === undefined) return answer(200, { batch_id: null, orders: [] });
        servedAt.set(next, nowMs);
        return answer(200, { batch_id: `of ${next.order_id}`, orders: [next] });
      }
      if (!request.path.endsWith("/confirm")) return handle(request);
      const at = waiting.findIndex((order) => request.body.toString().includes(order.order_id));
      if (at === 0) return answer(status, status === 200 ? { success: true } : { error: "not now" });
      if (at > 0) waiting.splice(at, 1);
      return answer(200, { success: true });
    };
    await poll(t, 3);
    for (let orders = 1; orders < 4; orders++) {
      waiting.push(orderOf(orders));
      await poll(t, 1);
      expect(t.rows("SELECT 1 FROM orders")).toHaveLength(orders + 1);
      expect(waiting).toHaveLength(1);
    }
  },
);
