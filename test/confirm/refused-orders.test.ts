import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import type { SandboxResponse } from "../../src/sandbox/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, orderCount } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const SETTINGS = { orders: { confirm: { body: { order_ids: "{order_ids}" } } } };

/** A service that serves the oldest `batchSize` unconfirmed orders, and refuses each confirm that names one of `bad`. */
async function start(status: number, body = '{"error":"the order cannot be confirmed"}', batchSize = 8) {
  const t = await startTestBridge({ settings: SETTINGS });
  const bad = new Set<string>();
  const { service } = t.sandbox;
  const handle = service.handle.bind(service);
  const ids: string[] = [];
  const accepted: string[][] = [];
  let [refused, isLost] = [0, false];
  const answer = (code: number, text: string): SandboxResponse => ({
    status: code,
    headers: { "content-type": "application/json" },
    body: Buffer.from(text),
    delivery: { kind: isLost ? "reset" : "plain" },
  });
  service.handle = (request) => {
    if (request.path.endsWith("/orders")) {
      const waiting = ids.filter((id) => !accepted.flat().includes(id)).slice(0, batchSize);
      return answer(200, `{"orders":[${waiting.map((id) => service.newestText(id)).join()}]}`);
    }
    if (!request.path.endsWith("/confirm")) return handle(request);
    const { order_ids: named } = JSON.parse(request.body.toString()) as { order_ids: string[] };
    if (named.some((id) => bad.has(id))) {
      refused += 1;
      return answer(status, body);
    }
    if (!isLost) accepted.push(named);
    return answer(200, '{"ok":true}');
  };
  const create = (count: number) => {
    const created = Array.from({ length: count }, () => service.createOrder({}));
    ids.push(...created);
    return created;
  };
  const lose = (is: boolean) => {
    isLost = is;
  };
  return Object.assign(t, { bad, accepted, create, refused: () => refused, lose });
}

const unconfirmed = ({ rows }: TestBridge) =>
  rows<{ ids: string }>("SELECT order_ids AS ids FROM batches WHERE state IN ('stored', 'refused')").flatMap(
    ({ ids }) => JSON.parse(ids) as string[],
  );

describe("a confirm that the service refuses because of one order", () => {
  itWhole.each<[status: number, body?: string]>([[422], [409], [404], [200, '{"success":false}'], [500]])(
    "is divided, so that only that order stays and new ones come: %i",
    async (status, body) => {
      const t = await start(status, body);
      t.create(3);
      const [bad = ""] = t.create(1);
      t.bad.add(bad);
      t.create(16);
      for (let polls = 0; polls < 24; polls++) {
        await t.run("orders");
        t.clock.advance(MINUTE_MS);
      }
      expect(orderCount(t)).toBe(20);

      expect(new Set(unconfirmed(t))).toEqual(new Set([bad]));
      expect(t.accepted.flat()).toHaveLength(19);
      expect(loadFacts(t.bridge.store).refusedBatches).toBe(status === 500 ? 0 : 1);
      t.bad.clear();
      for (let polls = 0; polls < 2; polls++) {
        t.clock.advance(61 * MINUTE_MS);
        await t.run("orders");
      }
      expect(unconfirmed(t)).toEqual([]);
      expect(t.accepted.flat()).toContain(bad);
    },
  );

  it("names a refused order no more with those that come after it", async () => {
    const t = await start(422);
    const [bad = ""] = t.create(5);
    t.bad.add(bad);
    await t.run("orders");
    const before = t.refused();
    t.create(3);
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
    expect(t.accepted.at(-1)).toHaveLength(3);
    // The order alone is served again.
    expect(t.refused() - before).toBeLessThanOrEqual(1);
    expect(unconfirmed(t)).toContain(bad);
  });

  it("keeps nothing back of a service that serves the order first at every poll, alone", async () => {
    const options = { handOut: "next", redeliverAfterMs: MINUTE_MS / 2, batchSize: 2, batchIdKind: "none" } as const;
    const t = await startTestBridge({
      settings: SETTINGS,
      sandbox: { options: { ...options, confirmForm: "order_ids" } },
    });
    const [bad = ""] = createOrders(t, 1);
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const isBad = request.path.endsWith("/confirm") && request.body.includes(bad);
      const answer = handle(isBad ? { ...request, path: "/nowhere" } : request);
      return isBad ? { ...answer, status: 422 } : answer;
    };
    await t.run("orders");
    createOrders(t, 5);
    for (let polls = 0; polls < 2; polls++) {
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
    }
    expect(orderCount(t)).toBe(6);
    expect(unconfirmed(t)).toEqual([bad]);
  });

  itWhole("is divided by few requests where the service refuses every order, and stays whole", async () => {
    const t = await start(422, undefined, 1_000);
    const ids = t.create(1_000);
    for (const id of ids) t.bad.add(id);
    await t.run("orders");
    expect(t.accepted).toEqual([]);
    expect(t.refused()).toBeLessThan(20);
    expect(unconfirmed(t)).toHaveLength(1_000);
    t.clock.advance(MINUTE_MS);
    const before = t.refused();
    await t.run("orders");
    expect(t.refused() - before).toBe(1);
    t.bad.clear();
    t.clock.advance(61 * MINUTE_MS);
    await t.run("orders");
    expect(unconfirmed(t)).toEqual([]);
  });

  itWhole("is not divided where the whole service fails", async () => {
    const t = await start(503);
    for (const id of t.create(6)) t.bad.add(id);
    for (let polls = 0; polls < 8; polls++) {
      await t.run("orders");
      t.clock.advance(5 * MINUTE_MS);
    }
    expect(t.refused()).toBeLessThan(10);
    expect(unconfirmed(t)).toHaveLength(6);
  });

  itWhole("keeps what was accepted where a later part has no answer", async () => {
    const t = await start(422);
    const ids = t.create(8);
    t.bad.add(ids[0] ?? "").add(ids[4] ?? "");
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      t.lose(request.path.endsWith("/confirm") && t.accepted.length > 1);
      return handle(request);
    };
    await t.run("orders");
    expect(t.accepted.flat()).toHaveLength(3);
    expect(new Set(unconfirmed(t)).size).toBe(5);
    service.handle = handle;
    t.lose(false);
    await t.restart();
    for (let polls = 0; polls < 4; polls++) {
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
    }
    expect(new Set(unconfirmed(t))).toEqual(new Set([ids[0], ids[4]]));
    expect(new Set(t.accepted.flat()).size).toBe(6);
  });

  itWhole.each([[3], [1]])(
    "comes to an end over passes where the service takes %i confirms at once, and has all already",
    async (atOnce) => {
      const t = await start(404, '{"error":"this is confirmed already"}');
      const ids = t.create(5);
      await t.run("orders");
      ids.push(...t.create(3));
      await t.run("orders");
      expect(unconfirmed(t)).toEqual([]);
      const { service } = t.sandbox;
      const handle = service.handle.bind(service);
      let [left, isServed] = [0, true];
      service.handle = (request) => {
        if (request.path.endsWith("/confirm") && left-- <= 0)
          return { ...handle({ ...request, path: "/nowhere" }), status: 429 };
        const isServedAgain = request.path.endsWith("/orders") && isServed;
        if (isServedAgain) t.accepted.length = 0;
        const answer = handle(request);
        if (isServedAgain) t.accepted.push(ids);
        isServed &&= !isServedAgain;
        return answer;
      };
      for (const id of ids) t.bad.add(id);
      // Each second pass leaves the probe of the hold to another flow.
      for (let polls = 0; polls < 60; polls++) {
        t.clock.advance(61 * MINUTE_MS);
        left = atOnce;
        await t.run("orders");
        if (polls === 0) expect(unconfirmed(t)).toHaveLength(8);
        await t.restart();
      }
      expect(unconfirmed(t)).toEqual([]);
    },
  );

  itWhole("comes to an end over passes where each is a process of its own, and the others are accepted", async () => {
    const t = await start(422, undefined, 40);
    const ids = t.create(40);
    for (const at of [3, 17, 18, 30, 39]) t.bad.add(ids[at] ?? "");
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    let [left, isServed, most] = [0, true, 0];
    service.handle = (request) => {
      const isOver = request.path.endsWith("/confirm") && left-- <= 0;
      const answer = handle(isOver ? { ...request, path: "/nowhere" } : request);
      if (isOver) return { ...answer, status: 429 };
      return request.path.endsWith("/orders") && !isServed ? { ...answer, body: Buffer.from('{"orders":[]}') } : answer;
    };
    for (let polls = 0; polls < 40; polls++) {
      const before = t.refused();
      left = 3;
      await t.run("orders");
      isServed = false;
      most = Math.max(most, t.refused() - before);
      t.clock.advance(61 * MINUTE_MS);
      await t.restart();
    }
    expect(most).toBeLessThanOrEqual(3);
    expect(new Set(unconfirmed(t))).toEqual(new Set(t.bad));
    expect(t.accepted.flat()).toHaveLength(35);
    expect(loadFacts(t.bridge.store).refusedBatches).toBe(1);
    t.bad.clear();
    left = 1_000;
    t.clock.advance(61 * MINUTE_MS);
    await t.run("orders");
    expect(unconfirmed(t)).toEqual([]);
  });

  it("goes on in the next pass where a stop breaks it off", async () => {
    const t = await start(422);
    const ids = t.create(8);
    t.bad.add(ids[5] ?? "");
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    let confirms = 0;
    service.handle = (request) => {
      if (request.path.endsWith("/confirm") && ++confirms === 2) void t.bridge.stop();
      return handle(request);
    };
    await t.run("orders").catch(() => {});
    await t.restart();
    expect(confirms).toBe(2);
    expect(loadFacts(t.bridge.store).refusedBatches).toBe(0);
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
    expect(new Set(unconfirmed(t))).toEqual(new Set([ids[5]]));
  });
});
