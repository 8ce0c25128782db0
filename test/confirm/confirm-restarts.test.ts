import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const NEXT = { handOut: "next", redeliverAfterMs: null, batchSize: 1 } as const;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SAVED = "SELECT value FROM meta WHERE key = 'confirms'";
const FALSE = { kind: "raw", body: "false", contentType: "text/plain" } as const;

const sent = (t: TestBridge) => confirmBodies(t).length;

/** Each pass is a process of its own, as `sync` in a timer is. Returns how many confirms were sent. */
async function syncFor(t: TestBridge, ms: number, everyMs = MINUTE_MS): Promise<number> {
  const before = sent(t);
  for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
    t.clock.advance(everyMs);
    await t.restart();
    await t.run("orders");
  }
  return sent(t) - before;
}

/** All confirms are answered so, until the returned function is called. */
async function startRefusing(orders: number, action: typeof FALSE | { kind: "status"; status: number }) {
  const t = await startTestBridge({ sandbox: { options: NEXT } });
  const rule = t.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: action });
  createOrders(t, orders);
  await t.run("orders");
  return { t, mend: () => t.sandbox.faults.remove(rule) };
}

describe("a refused confirm, where each pass is a process of its own", () => {
  itWhole("is repeated once an hour, and no pass in between writes a time", async () => {
    const { t, mend } = await startRefusing(2, FALSE);
    expect(batchStates(t)).toEqual(["refused", "refused"]);
    const saved = t.rows(SAVED);
    expect(await syncFor(t, 50 * MINUTE_MS, 5 * MINUTE_MS)).toBe(0);
    expect(t.rows(SAVED)).toEqual(saved);
    expect(await syncFor(t, 10 * MINUTE_MS, 5 * MINUTE_MS)).toBe(2);
    expect(await syncFor(t, 50 * MINUTE_MS, 5 * MINUTE_MS)).toBe(0);
    mend();
    expect(await syncFor(t, 10 * MINUTE_MS, 5 * MINUTE_MS)).toBe(2);
    expectComplete(t);
  });

  itWhole("is repeated by a pass that runs once in six hours", async () => {
    const { t, mend } = await startRefusing(2, FALSE);
    mend();
    await syncFor(t, 6 * HOUR_MS, 6 * HOUR_MS);
    expectComplete(t);
  });

  itWhole.each([
    ["back by a day", -DAY_MS, 0],
    ["back by a year", -365 * DAY_MS, 0],
    ["forward by a day", DAY_MS, 1],
    ["forward by a year", 365 * DAY_MS, 1],
  ])("is repeated within the hour and no more often when the clock is set %s", async (_name, jumpMs, atOnce) => {
    const { t } = await startRefusing(1, FALSE);
    t.clock.jump(jumpMs);
    expect(await syncFor(t, 10 * MINUTE_MS, 5 * MINUTE_MS)).toBe(atOnce);
    expect(await syncFor(t, 2 * HOUR_MS, 5 * MINUTE_MS)).toBe(2);
    t.clock.jump(-jumpMs);
    expect(await syncFor(t, 2 * HOUR_MS + 10 * MINUTE_MS, 5 * MINUTE_MS)).toBeGreaterThanOrEqual(2);
  });

  it("is repeated where an earlier version saved no time", async () => {
    const { t, mend } = await startRefusing(1, FALSE);
    t.bridge.store.db.prepare("DELETE FROM meta WHERE key = 'confirms'").run();
    mend();
    await syncFor(t, HOUR_MS, 10 * MINUTE_MS);
    expectComplete(t);
  });

  itWhole("causes no write an hour where none is refused", async () => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    await syncFor(t, 3 * HOUR_MS, 30 * MINUTE_MS);
    expect(t.rows(SAVED)).toEqual([]);
    expectComplete(t);
  });

  itWhole("is repeated while the confirm of another batch breaks off each time", async () => {
    const { t, mend } = await startRefusing(1, FALSE);
    mend();
    t.sandbox.faults.add({ match: { path: "confirm" }, times: 1, do: { kind: "reset" } });
    createOrders(t, 1);
    const handle = t.sandbox.service.handle.bind(t.sandbox.service);
    t.sandbox.service.handle = (request) => {
      if (!request.path.endsWith("confirm") || !request.body.toString().includes('"batch-2"')) return handle(request);
      return { status: 200, headers: {}, body: Buffer.alloc(0), delivery: { kind: "reset" } };
    };
    await syncFor(t, 3 * HOUR_MS, 5 * MINUTE_MS);
    expect(batchStates(t)).toEqual(["confirmed", "stored"]);
  });
});

describe("confirms refused with 403 while orders are answered, where each pass is a process of its own", () => {
  it("stop after three in a row until a probe is due, then one is sent", async () => {
    const { t, mend } = await startRefusing(20, { kind: "status", status: 403 });
    expect(sent(t)).toBe(3);
    expect(await syncFor(t, 4 * MINUTE_MS)).toBe(0);
    expect(await syncFor(t, MINUTE_MS)).toBe(1);
    expect(await syncFor(t, 4 * MINUTE_MS)).toBe(0);
    mend();
    await syncFor(t, 10 * MINUTE_MS);
    expectComplete(t);
  });

  itWhole("wait no longer than an hour where the clock is set back", async () => {
    const { t, mend } = await startRefusing(20, { kind: "status", status: 403 });
    t.clock.jump(-DAY_MS);
    mend();
    await syncFor(t, HOUR_MS + 5 * MINUTE_MS, 5 * MINUTE_MS);
    expectComplete(t);
  });
});

itWhole("repeats confirms that were all refused as if for the credentials, also where no new batch comes", async () => {
  const { t, mend } = await startRefusing(4, { kind: "status", status: 403 });
  for (let polls = 0; polls < 300 && batchStates(t).includes("stored"); polls++) {
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
  }
  expect(new Set(batchStates(t))).toEqual(new Set(["refused"]));
  const before = sent(t);
  await t.run("orders");
  expect(sent(t) - before).toBeLessThan(2);
  mend();
  for (let polls = 0; polls < 130; polls++) {
    t.clock.advance(MINUTE_MS);
    await t.run("orders");
  }
  expectComplete(t);
});

describe("a confirm of unknown outcome, where each pass is a process of its own", () => {
  it("counts as accepted once ten answers over an hour have served nothing of its batch", async () => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
    await t.run("orders");
    t.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 422 } });
    await syncFor(t, 55 * MINUTE_MS, 5 * MINUTE_MS);
    expect(batchStates(t)).toEqual(["stored"]);
    await syncFor(t, 15 * MINUTE_MS, 5 * MINUTE_MS);
    expect(batchStates(t)).toEqual(["confirmed"]);
  });

  itWhole("is counted from the present where the clock is set back", async () => {
    const t = await startTestBridge({ sandbox: { options: NEXT } });
    createOrders(t, 1);
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
    await t.run("orders");
    t.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 422 } });
    await syncFor(t, 5 * MINUTE_MS, 5 * MINUTE_MS);
    t.clock.jump(-DAY_MS);
    await syncFor(t, 2 * HOUR_MS, 5 * MINUTE_MS);
    expect(batchStates(t)).toEqual(["confirmed"]);
  });
});

it("waits over a restart also with a batch that is served by the same name in another row", async () => {
  const t = await startTestBridge({ sandbox: { options: { redeliverAfterMs: null } } });
  createOrders(t, 1);
  const { service, faults } = t.sandbox;
  const handle = service.handle.bind(service);
  let isOtherwise = false;
  service.handle = (request) => {
    const answered = handle(request);
    const body = Buffer.from(
      answered.body.toString().replaceAll(/"order_id":\s*"([0-9a-f-]{36})"/g, '"order_id":"{$1}"'),
    );
    return isOtherwise ? { ...answered, body } : answered;
  };
  faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 403 } });
  await t.run("orders");
  isOtherwise = true;
  expect(await syncFor(t, 4 * MINUTE_MS)).toBe(0);
  expect(t.rows("SELECT 1 FROM batches")).toHaveLength(2);
});
