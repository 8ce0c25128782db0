import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const NEXT = { handOut: "next", redeliverAfterMs: null, batchSize: 1 } as const;
const HOUR_MS = 3_600_000;

/** Answers the confirm of one batch with a status of its own. Returns how often it was asked. */
function answerConfirm({ sandbox }: TestBridge, batch: string, status: number, headers = {}): () => number {
  const handle = sandbox.service.handle.bind(sandbox.service);
  let times = 0;
  sandbox.service.handle = (request) => {
    if (!request.path.endsWith("confirm") || !request.body.toString().includes(`"${batch}"`)) return handle(request);
    times += 1;
    return { status, headers, body: Buffer.alloc(0), delivery: { kind: "plain" } };
  };
  return () => times;
}

async function pollFor(t: TestBridge, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 60_000) {
    t.clock.advance(60_000);
    await t.run("orders");
  }
}

function status(t: TestBridge) {
  return describeStatus(
    loadFacts(t.bridge.store),
    { nowMs: t.clock.nowMs(), isRunning: true },
    { erpReadWithinMs: 10 * 365 * 24 * HOUR_MS },
  );
}

describe("one batch whose confirm always fails", () => {
  itSome(1)([500, 503, 408])("waits by itself, is said, and holds up nothing: %s", async (code) => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    const asked = answerConfirm(t, "batch-1", code);
    for (let polls = 0; polls < 4; polls++) await t.run("orders");
    await pollFor(t, 20 * 60_000);
    createOrders(t, 1);
    t.clock.advance(30_000);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1, confirmed: 1 } });
    expect(batchStates(t)).toEqual(["stored", "confirmed"]);
    expect(asked()).toBeLessThan(12);
    expect(status(t)).toMatchObject({ exitCode: 2 });
    expect(status(t).attention).toContainEqual(expect.stringContaining("1 confirm not accepted since"));
    t.sandbox.service.handle = Object.getPrototypeOf(t.sandbox.service).handle.bind(t.sandbox.service);
    await pollFor(t, HOUR_MS + 60_000);
    expectComplete(t);
    expect(status(t).attention.join()).not.toContain("not accepted");
  });

  itWhole.each([402, 401, 403, 302, 451, 423])(
    "is said after a quarter of an hour where it is refused and nothing else is delivered: %s",
    async (code) => {
      const t = await startTestBridge({ sandbox: { options: { batchSize: 1 } } });
      createOrders(t, 2);
      answerConfirm(t, "batch-1", code);
      await pollFor(t, 14 * 60_000);
      expect(status(t).attention.join()).not.toMatch(/1 confirm/);
      await pollFor(t, 2 * 60_000);
      expect(status(t)).toMatchObject({ exitCode: 2 });
      expect(status(t).attention.join()).toMatch(/1 confirm (not accepted since|refused)/);
      await pollFor(t, 3 * HOUR_MS);
      expect(status(t).attention.join()).toMatch(/1 confirm/);
    },
  );

  itWhole.each(["before", "after"] as const)(
    "is no failure of the pull where every confirm breaks off: %s the service acts",
    async (when) => {
      const t = await startTestBridge({ sandbox: { options: { ...NEXT, confirmRepeated: 200 } } });
      const rule = t.sandbox.faults.add({ match: { path: "confirm" }, when, times: "forever", do: { kind: "reset" } });
      for (let orders = 0; orders < 8; orders++) {
        createOrders(t, 1);
        t.clock.advance(30_000);
        expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
      }
      // Each batch tries by itself, and after its third try ever more seldom.
      expect(confirmBodies(t).length).toBeLessThan(30);
      await pollFor(t, 20 * 60_000);
      const { attention, exitCode } = status(t);
      expect(exitCode).toBe(2);
      expect(attention).toContainEqual(expect.stringContaining("8 confirms not accepted since"));
      expect(attention.join()).not.toContain("cannot be reached");
      t.sandbox.faults.remove(rule);
      await pollFor(t, HOUR_MS + 60_000);
      expectComplete(t);
    },
  );

  itWhole.each([
    [503, { "retry-after": "600" }],
    [429, { "retry-after": "600" }],
    [429, {}],
  ])("holds the others only until it alone is answered with a wait: %s %s", async (code, headers) => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    const asked = answerConfirm(t, "batch-1", code, headers);
    await t.run("orders");
    expect(t.rows("SELECT reason FROM holds")).toEqual([{ reason: "rate limit" }]);
    await pollFor(t, 35 * 60_000);
    createOrders(t, 1);
    for (let polls = 0; polls < 120; polls++) {
      t.clock.advance(60_000);
      expect(await t.run("orders")).toMatchObject({ error: null });
      expect(t.rows("SELECT * FROM holds")).toEqual([]);
    }
    expect(batchStates(t)).toEqual(["stored", "confirmed"]);
    expect(asked()).toBeLessThan(12);
    t.sandbox.service.handle = Object.getPrototypeOf(t.sandbox.service).handle.bind(t.sandbox.service);
    await pollFor(t, HOUR_MS + 60_000);
    expectComplete(t);
  });

  itWhole("neither storms nor is forgotten after a restart", async () => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    const asked = answerConfirm(t, "batch-1", 500);
    for (let polls = 0; polls < 4; polls++) await t.run("orders");
    await pollFor(t, 30 * 60_000);
    const before = asked();
    for (let starts = 0; starts < 5; starts++) {
      await t.restart();
      await t.run("orders");
    }
    expect(asked()).toBe(before);
    await pollFor(t, 2 * HOUR_MS);
    expect(asked()).toBeGreaterThan(before);
  });
});

it("remembers over a restart since when a batch whose confirm was lost has not been served", async () => {
  const t = await startTestBridge({ sandbox: { options: NEXT } });
  createOrders(t, 1);
  t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
  await t.run("orders");
  answerConfirm(t, "batch-1", 422);
  await pollFor(t, 30 * 60_000);
  await t.restart();
  await pollFor(t, 36 * 60_000);
  expect(batchStates(t)).toEqual(["confirmed"]);
});

describe("records without a usable id", () => {
  itSome(1)(["null", "17"])("hinder no confirm that names the batch: %s", async (id) => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    const bad = `{"order_id":${id},"status":"new","items":[]}`;
    createOrders(t, 1);
    await t.run("orders");
    t.sandbox.service.createOrder({ raw: bad });
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
    await t.run("orders");
    answerConfirm(t, "batch-2", 422);
    // Another batch with such a record does not say that the first one is served again.
    await pollFor(t, 5 * 60_000);
    t.sandbox.service.createOrder({ raw: bad.replace("new", "paid") });
    await pollFor(t, HOUR_MS + 10 * 60_000);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
  });

  itWhole("are said to block the batch where no confirm can name it", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none", batchSize: 1 } } });
    createOrders(t, 1);
    await t.run("orders");
    t.sandbox.service.createOrder({ raw: '{"order_id":null,"status":"new","items":[]}' });
    createOrders(t, 2);
    for (let polls = 0; polls < 70; polls++) {
      t.clock.advance(30_000);
      await t.run("orders");
    }
    expect(confirmBodies(t)).toHaveLength(1);
    const { attention, exitCode } = status(t);
    expect(exitCode).toBe(2);
    expect(attention).toContain(
      "1 batch cannot be confirmed: none of the records has an id, and the service has served it 64 times or more; orders behind it may wait.",
    );
    expect(attention.join()).not.toContain("refused by the service");
  });

  itWhole("leave the other ids of the batch to its confirm", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none", batchSize: 3 } } });
    createOrders(t, 1);
    await t.run("orders");
    const [id] = createOrders(t, 1);
    t.sandbox.service.createOrder({ raw: '{"order_id":null,"status":"new","items":[]}' });
    await t.run("orders");
    expect(JSON.parse(confirmBodies(t)[1]!)).toEqual({ order_ids: [id] });
  });
});
