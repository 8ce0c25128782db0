import { describe, expect, it, onTestFinished } from "vitest";
import { saveStoredBatch } from "../../src/batches/batch-rows.ts";
import { markConfirmed, markConfirmRefused } from "../../src/confirm/outcome-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  batchStates,
  confirmBodies,
  createOrders,
  dumpTables,
  expectComplete,
  expectNothingLost,
  orderCount,
} from "../support/pull.ts";
import { itSome, itWhole, some } from "../support/whole.ts";

const onConfirm = { match: { path: "confirm" as const } };

/** Stored and tried, then as if the program had been killed before the answer was noted. */
function forgetConfirm({ bridge }: TestBridge): void {
  bridge.store.db.prepare("UPDATE batches SET state = 'stored', confirmed_at = NULL, order_ids = '[]'").run();
}

function saveBatch(
  { bridge: { store } }: TestBridge,
  fingerprint: string,
  { batchId, orderIds }: { batchId: string | null; orderIds: string },
) {
  const received = { fingerprint, batchId, orderIds, orderCount: 1, confirmAttempts: 0, account: null, at: "" };
  return store.write(() => saveStoredBatch(store, received));
}

const UUID_A = "0f8c1e2a-0000-4000-8000-00000000000a";
const UUID_B = "0f8c1e2a-0000-4000-8000-00000000000b";
const UUID_C = "0f8c1e2a-0000-4000-8000-00000000000c";

describe("a confirm whose answer does not come", () => {
  it("is repeated when it was lost on the way", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 3);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "reset" } });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 3 } });
    expect(batchStates(t)).toEqual(["stored"]);
    expectNothingLost(t);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
    expectComplete(t);
  });

  itWhole.each([200, 404, 409, 410] as const)(
    "ends as confirmed when it was applied and the repeat answers %s",
    async (repeated) => {
      const t = await startTestBridge({
        sandbox: { options: { handOut: "next", confirmRepeated: repeated, confirmUnknown: repeated } },
      });
      createOrders(t, 3);
      t.sandbox.faults.add({ ...onConfirm, when: "after", do: { kind: "reset" } });
      await t.run("orders");
      expect(batchStates(t)).toEqual(["stored"]);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
      expectComplete(t);
      expect(confirmBodies(t)).toHaveLength(2);
      expect(orderCount(t)).toBe(3);
    },
  );

  itWhole("is repeated after a restart, the pull coming first", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", confirmRepeated: 404 } } });
    createOrders(t, 3);
    await t.run("orders");
    forgetConfirm(t);
    await t.restart();
    const before = t.sandbox.ledger.entries.length;
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
    expect(t.sandbox.ledger.entries.slice(before).map(({ kind }) => kind)).toEqual(["orders", "confirm"]);
    expectComplete(t);
  });

  itWhole("keeps trying through hours of errors, while orders go on being stored", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 2 } },
    });
    createOrders(t, 8);
    const rule = t.sandbox.faults.add({ ...onConfirm, times: "forever", do: { kind: "status", status: 503 } });
    expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(orderCount(t)).toBe(8);
    expect(confirmBodies(t)).toHaveLength(3);
    for (let hour = 0; hour < 3; hour++) {
      t.clock.advance(3_600_000);
      createOrders(t, 1);
      expect(await t.run("orders")).toMatchObject({ outcome: "failed" });
    }
    expect(orderCount(t)).toBe(11);
    expect(t.rows("SELECT count(*) AS n FROM batches WHERE state = 'stored' AND last_error LIKE '%503%'")).not.toEqual([
      { n: 0 },
    ]);
    t.sandbox.faults.remove(rule);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 7 } });
    expectComplete(t);
  });

  itWhole("does not keep the other batches waiting when some are never accepted", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    createOrders(t, 6);
    const rule = t.sandbox.faults.add({ ...onConfirm, times: "forever", do: { kind: "status", status: 500 } });
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    t.sandbox.faults.remove(rule);
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const isPoison = /"batch-[123]"/.test(request.body.toString());
      return isPoison
        ? { status: 500, headers: {}, body: Buffer.alloc(0), delivery: { kind: "plain" } }
        : handle(request);
    };
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    expect(batchStates(t)).toEqual(["stored", "stored", "stored", "confirmed", "confirmed", "confirmed"]);
    service.handle = handle;
    t.clock.advance(120_000);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole("does not take a connection that was never made for an attempt", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 1);
    const rule = t.sandbox.faults.add({ ...onConfirm, do: { kind: "status", status: 500 } });
    await t.run("orders");
    t.sandbox.faults.remove(rule);
    t.bridge.store.db.prepare("UPDATE batches SET confirm_attempts = 0").run();
    await t.sandbox.close();
    await t.run("orders");
    expect(t.rows("SELECT state, confirm_attempts FROM batches")).toEqual([{ state: "stored", confirm_attempts: 0 }]);
    // Another service at the same address, which has never heard of the batch.
    const other = await startSandbox({ port: Number(new URL(t.sandbox.url).port) });
    onTestFinished(() => other.close());
    await t.run("orders");
    expect(batchStates(t)).toEqual(["refused"]);
  });

  itWhole.each(['{"success":', "fals", '{"batch_id":"7"'])(
    "is unknown when the answer breaks off: %s",
    async (body) => {
      const t = await startTestBridge({ sandbox: { options: { handOut: "next", confirmRepeated: 404 } } });
      createOrders(t, 1);
      t.sandbox.faults.add({ ...onConfirm, when: "after", do: { kind: "raw", body, contentType: "application/json" } });
      expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
      expect(t.rows("SELECT state, confirm_attempts FROM batches")).toEqual([{ state: "stored", confirm_attempts: 1 }]);
      // It had arrived: not found then means confirmed.
      await t.run("orders");
      expectComplete(t);
    },
  );

  itWhole("is no acceptance when a web page answers", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "html" } });
    expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
    expect(batchStates(t)).toEqual(["stored"]);
    await t.run("orders");
    expectComplete(t);
  });
});

describe("a confirm that is refused", () => {
  itWhole.each([400, 404, 405, 409, 410, 422])("ends as refused and visible at the first %s", async (status) => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 2);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "status", status, body: '{"error":"no such batch here"}' } });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { refused: 1 } });
    expect(t.rows("SELECT state, order_count, last_error FROM batches")).toEqual([
      { state: "refused", order_count: 2, last_error: expect.stringContaining("no such batch here") },
    ]);
    await t.run("orders");
    expect(confirmBodies(t)).toHaveLength(1);
    expect(orderCount(t)).toBe(2);
  });

  itWhole.each([
    '{"success":false,"message":"wrong form"}',
    '{"success":0,"message":"wrong form"}',
    '{"success":"false","message":"wrong form"}',
    '{"status":"error","message":"wrong form"}',
    '{"error":"wrong form","confirmed":[]}',
    "failure\nwrong form",
  ])("is refused as well when a 200 carries an error: %s", async (body) => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "raw", body, contentType: "application/json" } });
    await t.run("orders");
    expect(t.rows("SELECT state, last_error FROM batches")).toEqual([
      { state: "refused", last_error: expect.stringContaining("wrong form") },
    ]);
  });

  itWhole(
    "is tried again within the hour, and what a service refused that was out of order is confirmed then",
    async () => {
      const t = await startTestBridge({
        sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
      });
      createOrders(t, 3);
      t.sandbox.faults.add({ ...onConfirm, times: 3, do: { kind: "raw", body: "false", contentType: "text/plain" } });
      await t.run("orders");
      expect(batchStates(t)).toEqual(["refused", "refused", "refused"]);
      t.clock.advance(30 * 60_000);
      await t.run("orders");
      expect(confirmBodies(t)).toHaveLength(3);
      t.clock.advance(31 * 60_000);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 3 } });
      expectComplete(t);
    },
  );

  itWhole("is not tried again for ever, and never more than twenty an hour", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    createOrders(t, 30);
    t.sandbox.faults.add({ ...onConfirm, times: "forever", do: { kind: "status", status: 422 } });
    await t.run("orders");
    const sent = () => confirmBodies(t).length;
    expect(sent()).toBe(30);
    t.clock.advance(3_600_000);
    await t.run("orders");
    await t.run("orders");
    expect(sent()).toBe(50);
    t.bridge.store.db.prepare("UPDATE batches SET confirm_attempts = 48").run();
    t.clock.advance(3_600_000);
    await t.run("orders");
    expect(sent()).toBe(50);
    expect(new Set(batchStates(t))).toEqual(new Set(["refused"]));
  });

  itSome(1)([
    ["the same name", '"batch-1"', `["${UUID_C}"]`],
    ["all its orders", "null", `["${UUID_A}","${UUID_B}"]`],
  ])("ends with a batch of %s that is accepted, and only then", async (_name, batchId, orderIds) => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    const refused = saveBatch(t, "refused", { batchId: '"batch-1"', orderIds: `["${UUID_A}","${UUID_B}"]` });
    store.write(() => markConfirmRefused(store, refused, m.common.foreign({ text: "no" })));
    const other = saveBatch(t, "other", { batchId: '"batch-2"', orderIds: `["${UUID_A}"]` });
    store.write(() => markConfirmed(store, other, { account: "", at: "2026" }));
    expect(batchStates(t)).toEqual(["refused", "confirmed"]);
    const covering = saveBatch(t, "covering", { batchId: batchId === "null" ? null : batchId, orderIds });
    store.write(() => markConfirmed(store, covering, { account: "", at: "2026" }));
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
  });

  itWhole("ends where its orders come again in several batches, and the last of these is accepted", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    const refused = saveBatch(t, "refused", { batchId: '"batch-1"', orderIds: `["${UUID_A}","${UUID_B}"]` });
    store.write(() => markConfirmRefused(store, refused, m.common.foreign({ text: "no" })));
    const first = saveBatch(t, "first", { batchId: '"batch-2"', orderIds: `["${UUID_A}","${UUID_C}"]` });
    store.write(() => markConfirmed(store, first, { account: "", at: "2026" }));
    expect(t.rows("SELECT state, order_ids FROM batches")).toEqual([
      { state: "refused", order_ids: `["${UUID_B}"]` },
      { state: "confirmed", order_ids: null },
    ]);
    const last = saveBatch(t, "last", { batchId: '"batch-3"', orderIds: `["${UUID_B}"]` });
    store.write(() => markConfirmed(store, last, { account: "", at: "2026" }));
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
  });

  itWhole("is sent once more when its batch is served again, and may succeed then", async () => {
    const t = await startTestBridge();
    createOrders(t, 2);
    t.sandbox.faults.add({ ...onConfirm, times: 2, do: { kind: "status", status: 422 } });
    await t.run("orders");
    const before = dumpTables(t);
    expect(await t.run("orders")).toMatchObject({ outcome: "idle" });
    expect(dumpTables(t)).toBe(before);
    expect(confirmBodies(t)).toHaveLength(2);
    expect(await t.run("orders")).toMatchObject({ counts: { confirmed: 1 } });
    expectComplete(t);
  });

  itWhole("is never a list without names, which might mean everything", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none" } } });
    createOrders(t, 1);
    await t.run("orders");
    t.sandbox.service.createOrder({ raw: '{"status":"new","items":[]}' });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { quarantined: 1, refused: 1 } });
    expect(confirmBodies(t)).toHaveLength(1);
    expect(t.rows("SELECT last_error FROM batches WHERE state = 'refused'")).toEqual([
      { last_error: "No record of this batch has an id by which a confirm could name it." },
    ]);
  });
});

describe("a confirm that says no to everybody", () => {
  it("holds the area at 429 and is sent again afterwards", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    createOrders(t, 3);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "status", status: 429 } });
    expect(await t.run("orders")).toMatchObject({ outcome: "failed" });
    expect(t.rows("SELECT area, reason FROM holds")).toEqual([{ area: "orders", reason: "rate limit" }]);
    expect(t.sandbox.ledger.entries).toHaveLength(2);
    expect(await t.run("orders")).toMatchObject({ outcome: "held" });
    t.clock.advance(301_000);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 3 } });
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
    expectComplete(t);
  });
});

type Test = Awaited<ReturnType<typeof startTestBridge>>;

/** Polls every half minute, each of which must do well. */
async function pollFor(t: Test, ms: number, everyMs = 30_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += everyMs) {
    t.clock.advance(everyMs);
    expect(await t.run("orders")).toMatchObject({ error: null });
  }
}

/** Every confirm that names this batch is answered with `answer`, whatever has become of it. Returns how many were. */
function refuse(t: Test, name: string, answer: { status: number; body: string }): () => number {
  const { service } = t.sandbox;
  const handle = service.handle.bind(service);
  const headers = { "content-type": "application/json", location: "/login" };
  let times = 0;
  service.handle = (request) => {
    if (!request.path.endsWith("confirm") || !request.body.toString().includes(`"${name}"`)) return handle(request);
    times += 1;
    return { status: answer.status, headers, body: Buffer.from(answer.body), delivery: { kind: "plain" } };
  };
  return () => times;
}

const REFUSALS = [
  { status: 400, body: '{"error":"unknown batch"}' },
  { status: 402, body: "" },
  { status: 403, body: '{"error":"not your batch"}' },
  { status: 405, body: "" },
  { status: 412, body: "" },
  { status: 422, body: '{"error":"already confirmed"}' },
  { status: 423, body: "" },
  { status: 302, body: "" },
  { status: 200, body: '{"error":"already confirmed"}' },
  { status: 200, body: '{"success":false}' },
];

describe("a confirm whose answer was lost, and whose repeat is refused", () => {
  const start = async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onConfirm, when: "after", do: { kind: "reset" } });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
    return t;
  };

  itSome(1)(some(REFUSALS, 2))(
    "counts as confirmed once nothing of it was served for an hour: $status $body",
    async (answer) => {
      const t = await start();
      const times = refuse(t, "batch-1", answer);
      await pollFor(t, 59 * 60_000, 59_000);
      expect(batchStates(t)).toEqual(["stored"]);
      createOrders(t, 1);
      t.clock.advance(30_000);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1, confirmed: 1 } });
      await pollFor(t, 3 * 60_000);
      expectComplete(t);
      expect(t.rows("SELECT * FROM holds")).toEqual([]);
      expect(times()).toBeLessThan(9);
    },
  );

  itWhole("needs ten polls", async () => {
    const t = await start();
    refuse(t, "batch-1", { status: 422, body: "" });
    for (let polls = 0; polls < 9; polls++) {
      t.clock.advance(1_200_000);
      await t.run("orders");
    }
    expect(batchStates(t)).toEqual(["stored"]);
    for (let polls = 0; polls < 2; polls++) {
      t.clock.advance(1_200_000);
      await t.run("orders");
    }
    expect(batchStates(t)).toEqual(["confirmed"]);
  });

  itWhole("is refused and visible where an order of it is served again", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: 1_200_000 } } });
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "reset" } });
    await t.run("orders");
    refuse(t, "batch-1", { status: 422, body: '{"error":"no"}' });
    await pollFor(t, 2 * 3_600_000, 120_000);
    expect(batchStates(t)[0]).toBe("refused");
  });

  itWhole("is refused and visible where the first attempt was refused as well", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 1);
    refuse(t, "batch-1", { status: 422, body: "" });
    await pollFor(t, 3 * 3_600_000, 180_000);
    expect(batchStates(t)).toEqual(["refused"]);
  });
});

describe("a confirm that is refused as if for the credentials, while orders are answered", () => {
  itWhole.each([
    [401, 5],
    [402, 30],
    [403, 5],
    [302, 5],
    [412, 5],
  ])(
    "waits by itself, is asked for as seldom as the answer wants, is told after some tries, and succeeds later: %s",
    async (status, minutes) => {
      const t = await startTestBridge({
        sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
      });
      createOrders(t, 1);
      const { service } = t.sandbox;
      const handle = service.handle.bind(service);
      const asked = refuse(t, "batch-1", { status, body: "" });
      expect(await t.run("orders")).toMatchObject({ error: null });
      createOrders(t, 1);
      t.clock.advance(30_000);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1, confirmed: 1 } });
      expect(t.rows("SELECT * FROM holds")).toEqual([]);
      expect(batchStates(t)).toEqual(["stored", "confirmed"]);
      for (let tries = 1; tries < 4; tries++) {
        await pollFor(t, (minutes - 1) * 60_000);
        expect(asked()).toBe(tries);
        await t.restart();
        await pollFor(t, 60_000);
        expect(asked()).toBe(tries + 1);
      }
      expect(batchStates(t)).toEqual(["refused", "confirmed"]);
      service.handle = handle;
      await pollFor(t, 124 * 60_000, 4 * 60_000);
      expectComplete(t);
    },
  );

  it("is no attempt of unknown outcome: not found means refused afterwards", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    createOrders(t, 1);
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "status", status: 403 } });
    t.sandbox.faults.add({ ...onConfirm, do: { kind: "status", status: 404 } });
    await t.run("orders");
    t.clock.advance(301_000);
    await t.run("orders");
    expect(batchStates(t)).toEqual(["refused"]);
  });

  itWhole(
    "waits also where the batch is served again by its name, with the ids of its orders written otherwise",
    async () => {
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
      faults.add({ ...onConfirm, times: "forever", do: { kind: "status", status: 403 } });
      await t.run("orders");
      isOtherwise = true;
      await pollFor(t, 4 * 60_000);
      expect(t.rows("SELECT 1 FROM batches")).toHaveLength(2);
      expect(confirmBodies(t)).toHaveLength(1);
      await pollFor(t, 2 * 60_000);
      expect(confirmBodies(t)).toHaveLength(2);
    },
  );

  itWhole("is the service's answer to all where it meets several in a row: one tries when a probe is due", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    t.sandbox.faults.add({ ...onConfirm, times: "forever", do: { kind: "status", status: 403 } });
    createOrders(t, 8);
    await t.run("orders");
    await pollFor(t, 4 * 60_000);
    expect(confirmBodies(t)).toHaveLength(3);
    await pollFor(t, 60_000);
    expect(confirmBodies(t)).toHaveLength(4);
    t.sandbox.faults.clear();
    await pollFor(t, 5 * 60_000);
    expectComplete(t);
  });
});

describe("the count in the answer to a confirm", () => {
  /** The confirm is acted on, and answered with this many orders where it names the batch, else with all of them. */
  async function start(redeliverAfterMs: number | null = null) {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs } } });
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    const known = new Map<string, number>();
    const counts = new Map<string, number | undefined>();
    let asked = 0;
    service.handle = (request) => {
      const [name = ""] = /batch-\d+/.exec(request.body.toString()) ?? [];
      if (!request.path.endsWith("confirm")) return handle(request);
      asked += 1;
      const isIgnored = counts.get(name) !== undefined && redeliverAfterMs !== null;
      const answer = isIgnored ? undefined : handle(request);
      const confirmed = counts.get(name) ?? known.get(name) ?? 0;
      const headers = { "content-type": "application/json" };
      const body = Buffer.from(JSON.stringify({ confirmed }));
      return { status: 200, headers, body, delivery: answer?.delivery ?? { kind: "plain" } };
    };
    let batches = 0;
    /** Stores and confirms a batch of so many orders. */
    const batch = async (orders: number, count?: number) => {
      batches += 1;
      known.set(`batch-${batches}`, orders);
      counts.set(`batch-${batches}`, count);
      createOrders(t, orders);
      t.clock.advance(30_000);
      expect(await t.run("orders")).toMatchObject({ error: null });
      return batchStates(t)[batches - 1];
    };
    return { t, batch, setCount: (name: string, count?: number) => counts.set(name, count), asked: () => asked };
  }

  it("says nothing before it was the size of two batches", async () => {
    const { batch } = await start();
    expect(await batch(3, 2)).toBe("confirmed");
    expect(await batch(2)).toBe("confirmed");
    expect(await batch(3)).toBe("confirmed");
    expect(await batch(4, 1)).toBe("confirmed");
  });

  itWhole.each([2, 0])(
    "leaves the outcome unknown where it is smaller, and is known to count else afterwards: %s",
    async (count) => {
      const { t, batch, asked } = await start();
      expect([await batch(1), await batch(2)]).toEqual(["confirmed", "confirmed"]);
      expect(await batch(3, count)).toBe("stored");
      expect(t.rows("SELECT last_error FROM batches WHERE state = 'stored'")).toEqual([
        { last_error: `The confirm of a batch of 3 orders was answered with confirmed: ${count}.` },
      ]);
      const before = asked();
      await pollFor(t, 30 * 60_000);
      await t.restart();
      await pollFor(t, 29 * 60_000);
      expect(batchStates(t)).toEqual(["confirmed", "confirmed", "stored"]);
      await pollFor(t, 2 * 60_000);
      expectComplete(t);
      expect(asked() - before).toBeLessThan(8);
      expect(await batch(3, count)).toBe("confirmed");
    },
  );

  itWhole("ends with a repeat that counts them all", async () => {
    const { t, batch, setCount } = await start();
    await batch(1);
    await batch(2);
    expect(await batch(3, 2)).toBe("stored");
    setCount("batch-3", undefined);
    await pollFor(t, 2 * 60_000);
    expectComplete(t);
    expect(await batch(3, 2)).toBe("stored");
  });

  itWhole("is no refusal where the batch is served again: it is confirmed until it is gone", async () => {
    const { t, batch, setCount } = await start(600_000);
    await batch(1);
    await batch(2);
    expect(await batch(3, 2)).toBe("stored");
    await pollFor(t, 2 * 3_600_000, 120_000);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "stored"]);
    setCount("batch-3", undefined);
    await pollFor(t, 3_600_000, 120_000);
    expectComplete(t);
  });

  itWhole("says nothing of a repeat, which may count only what is new", async () => {
    const { t, batch } = await start();
    await batch(1);
    await batch(2);
    t.sandbox.faults.add({ ...onConfirm, when: "after", do: { kind: "reset" } });
    await batch(3, 0);
    await pollFor(t, 2 * 60_000);
    expectComplete(t);
  });
});

it("confirms a batch that was served in another composition together with its newest form", async () => {
  const t = await startTestBridge({
    sandbox: { options: { batchSize: 1, batchOverlap: 2, confirmForm: "batch_id", confirmRepeated: 404 } },
  });
  const wait = { kind: "status" as const, status: 429, headers: { "retry-after": "5" } };
  t.sandbox.faults.add({ match: { path: "confirm" }, when: "before", skip: 1, do: wait });
  t.sandbox.service.createOrder();
  t.sandbox.service.createOrder();
  await t.run("orders");
  t.clock.advance(5 * 60_000);
  await t.run("orders");
  // The second one came with an order of the first beside its own, then alone; one confirm names both.
  const batches = t.rows("SELECT service_batch_id AS id, state FROM batches ORDER BY id");
  expect(batches.map(({ id }) => id)).toEqual(['"batch-1"', '"batch-2"', '"batch-2"']);
  expect(batches.map(({ state }) => state)).toEqual(["confirmed", "confirmed", "confirmed"]);
});
