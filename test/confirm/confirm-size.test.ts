import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const UUID_BYTES = 39;

/** Confirms of more bytes are answered with 413. Gives how many ids each accepted one named, and how many were refused. */
function limitConfirms({ sandbox }: TestBridge, bytesMax: () => number) {
  const { service } = sandbox;
  const accepted: number[] = [];
  let refused = 0;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const isConfirm = request.path.endsWith("/confirm");
    if (isConfirm && request.body.length > bytesMax()) {
      refused += 1;
      return { status: 413, headers: {}, body: Buffer.from("too large"), delivery: { kind: "plain" } };
    }
    const response = handle(request);
    if (isConfirm && response.status === 200 && response.delivery.kind === "plain")
      accepted.push((JSON.parse(request.body.toString()) as { order_ids?: string[] }).order_ids?.length ?? 0);
    return response;
  };
  return { accepted, refused: () => refused };
}

const ids = (count: number) => count * UUID_BYTES + 20;
const ORDERS = { sandbox: { options: { handOut: "repeat", confirmForm: "order_ids", batchSize: 1_000 } } } as const;
const startNaming = () =>
  startTestBridge({ ...ORDERS, settings: { orders: { confirm: { body: { order_ids: "{order_ids}" } } } } });

describe("a confirm that is too large for the service", () => {
  itWhole("is divided until each part is accepted, and confirms stay as small for a day", async () => {
    const t = await startNaming();
    const { accepted, refused } = limitConfirms(t, () => ids(6));
    createOrders(t, 20);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 20, confirmed: 1 } });
    expect(accepted).toEqual([5, 5, 5, 5]);
    expect(refused()).toBe(2);
    expectComplete(t);
    await t.restart();
    createOrders(t, 7);
    expect((await t.run("orders")).error).toBeNull();
    expect(accepted.slice(4)).toEqual([5, 2]);
    expect(refused()).toBe(2);
    t.clock.advance(25 * 60 * MINUTE_MS);
    createOrders(t, 6);
    expect((await t.run("orders")).error).toBeNull();
    expect(accepted.slice(6)).toEqual([6]);
    expectComplete(t);
  });

  it("is divided, and a part confirms an earlier batch of which it holds every order", async () => {
    const t = await startNaming();
    const { accepted } = limitConfirms(t, () => ids(3));
    createOrders(t, 6);
    t.sandbox.faults.add({ match: { path: "confirm" }, times: 1, do: { kind: "status", status: 500 } });
    await t.run("orders");
    const refused = `INSERT INTO batches (fingerprint, received_at, order_count, state, confirm_attempts, order_ids, account)
      SELECT 'former', received_at, 1, 'refused', 1, json_array(order_ids ->> 0), account FROM batches`;
    t.bridge.store.db.prepare(refused).run();
    expect(batchStates(t)).toEqual(["stored", "refused"]);
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
    expect(accepted).toEqual([3, 3]);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
    expectComplete(t);
  });

  itWhole("is sent in parts as large where the service refuses orders of one of them", async () => {
    const t = await startNaming();
    const [first = "", second = ""] = createOrders(t, 8);
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const isRefused = request.path.endsWith("/confirm") && [first, second].some((id) => request.body.includes(id));
      if (!isRefused) return handle(request);
      return { status: 404, headers: {}, body: Buffer.from('{"error":"gone"}'), delivery: { kind: "plain" } };
    };
    const { accepted, refused } = limitConfirms(t, () => ids(2));
    await t.run("orders");
    expect(accepted).toEqual([2, 2, 2]);
    expect(refused()).toBe(2);
    const [batch] = t.rows("SELECT state, order_ids AS ids FROM batches");
    expect(batch).toEqual({ state: "refused", ids: JSON.stringify([first, second]) });
  });

  itWhole("names nothing again that was accepted, whatever happens to the other parts", async () => {
    const t = await startNaming();
    const { accepted } = limitConfirms(t, () => ids(3));
    createOrders(t, 9);
    // 9, 5 and 3 ids: two refused for their size, one accepted, then no answer.
    const rule = t.sandbox.faults.add({ match: { path: "confirm" }, skip: 1, times: "forever", do: { kind: "reset" } });
    await t.run("orders");
    expect(accepted).toEqual([3]);
    const named = (text: string | null) => (JSON.parse(text ?? "{}") as { order_ids: string[] }).order_ids;
    const [left] = t.rows<{ ids: string }>("SELECT order_ids AS ids FROM batches");
    expect(JSON.parse(left?.ids ?? "")).toHaveLength(6);
    const gone = named(confirmBodies(t)[0] ?? null).slice(0, 3);
    await t.restart();
    t.sandbox.faults.remove(rule);
    const before = confirmBodies(t).length;
    for (let polls = 0; polls < 3; polls++) {
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
    }
    const again = confirmBodies(t).slice(before).flatMap(named);
    expect(again.filter((id) => gone.includes(id))).toEqual([]);
    expect(again).toHaveLength(6);
    expectComplete(t);
  });

  itWhole("is no lasting limit where everything is answered so for a while", async () => {
    const t = await startNaming();
    let bytesMax = 0;
    const { accepted } = limitConfirms(t, () => bytesMax);
    createOrders(t, 20);
    for (let polls = 0; polls < 2; polls++) {
      await t.run("orders");
      t.clock.advance(MINUTE_MS);
    }
    expect(accepted).toEqual([]);
    expectNothingLost(t);
    bytesMax = ids(1_000);
    for (let polls = 0; polls < 20; polls++) {
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
    }
    expect(accepted).toEqual([20]);
    expectComplete(t);
  });

  itWhole("sends so many parts in a pass, and the others in the next ones", async () => {
    const t = await startNaming();
    const { accepted } = limitConfirms(t, () => ids(1));
    createOrders(t, 600);
    await t.run("orders");
    expect(accepted).toHaveLength(500);
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
    expect(accepted).toHaveLength(600);
    expect(new Set(accepted)).toEqual(new Set([1]));
    expectComplete(t);
  });

  itWhole.each([
    ["a batch", "batch_id", "auto"],
    ["one order", "order_ids", { order_ids: "{order_ids}" }],
  ] as const)("is told of as such where it names %s", async (_, confirmForm, body) => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "repeat", confirmForm } },
      settings: { orders: { confirm: { body } } },
    });
    limitConfirms(t, () => 0);
    createOrders(t, 1);
    for (let polls = 0; polls < 6; polls++) {
      await t.run("orders");
      t.clock.advance(60 * MINUTE_MS);
    }
    expect(batchStates(t)).toEqual(["refused"]);
    expect(loadFacts(t.bridge.store)).toMatchObject({ refusedBatches: 0, largeConfirms: 1 });
  });
});
