import { describe, expect, it } from "vitest";
import {
  closeDelivery,
  coveredLosses,
  giveUpLost,
  loadDelivery,
  openDelivery,
  UNANSWERED,
} from "../../src/batches/delivery-rows.ts";
import type { FaultRule } from "../../src/sandbox/fault-rule.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Settings, startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  addFormerBatches,
  batchStates,
  confirmBodies,
  createOrders,
  expectComplete,
  expectNothingLost,
  orderCount,
} from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const UNNAMED: Settings = { orders: { confirm: { body: {} } } };
const lostGet: FaultRule = { match: { path: "orders" }, when: "after", do: { kind: "reset" } };
const neverHandedOut: FaultRule = { match: { path: "orders" }, do: { kind: "reset" } };

function start(options: SandboxOptionsPatch = {}): Promise<TestBridge> {
  return startTestBridge({ settings: UNNAMED, sandbox: { options: { confirmForm: "all", ...options } } });
}

/** The mark as it is: null where no hand-out is open. */
function mark({ rows }: TestBridge): unknown {
  return rows("SELECT is_open, lost FROM pull_mark")[0] ?? null;
}

const holds = ({ rows }: TestBridge) => rows("SELECT area, reason FROM holds");
/** A GET left and the program was killed before its answer was stored. */
const crashInPull = async (t: TestBridge) => {
  t.sandbox.faults.add(lostGet);
  await t.run("orders");
  await t.restart();
};

describe("a confirm that names nothing", () => {
  itWhole("is sent at once while every hand-out is stored", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 3 });
    createOrders(t, 9);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { batches: 3, confirmed: 3 } });
    expect(confirmBodies(t)).toEqual(["{}", "{}", "{}"]);
    expectComplete(t);
    expect(mark(t)).toBeNull();
  });

  itWhole(
    "answered in a new form is an acceptance once the service no longer knew what it covered, three times",
    async () => {
      const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
      createOrders(t, 3);
      await t.run("orders");
      const raw = { kind: "raw", body: '{"strange":1}', contentType: "application/json" } as const;
      for (let times = 0; times < 3; times++) {
        createOrders(t, 1);
        t.clock.advance(60_000);
        t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: raw });
        t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 409 } });
        expect(await t.run("orders")).toMatchObject({ error: { code: "answer_unknown" } });
        t.clock.advance(60_000);
        expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
      }
      createOrders(t, 1);
      t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: raw });
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
      expectComplete(t);
    },
  );

  it("commits the mark before the service is asked", async () => {
    let atRequest: unknown;
    const t: TestBridge = await startTestBridge({
      settings: UNNAMED,
      sandbox: {
        onRequest: ({ method }) => {
          if (method === "GET") atRequest = mark(t);
        },
      },
    });
    await t.run("orders");
    expect(atRequest).toEqual({ is_open: 1, lost: 0 });
    expect(mark(t)).toBeNull();
  });

  itWhole("covers every batch stored so far, and they end as confirmed together", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    createOrders(t, 3);
    t.sandbox.faults.add({ match: { path: "confirm" }, times: 3, do: { kind: "status", status: 429 } });
    for (let passes = 0; passes < 3; passes++) {
      await t.run("orders");
      t.clock.advance(600_000);
    }
    expect(batchStates(t)).toEqual(["stored", "stored", "stored"]);
    expect(await t.run("orders")).toMatchObject({ counts: { confirmed: 3 } });
    expectComplete(t);
  });

  itWhole.each([
    ["within the process", false],
    ["over a restart", true],
  ] as const)(
    "may be carried out until its time limit is over: nothing is asked for before, %s",
    async (_, isRestarted) => {
      const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
      createOrders(t, 2);
      t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 504 } });
      await t.run("orders");
      if (isRestarted) await t.restart();
      const asked = () => t.sandbox.ledger.ofKind("orders").length;
      const before = asked();
      t.clock.advance(50_000);
      expect((await t.run("orders")).error).toMatchObject({ text: { id: "orders.confirmMayArrive" } });
      expect([asked(), confirmBodies(t).length]).toEqual([before, 1]);
      t.clock.advance(10_000);
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1, confirmed: 2 } });
      expectComplete(t);
    },
  );

  it("is over at once where the service has answered it, or it has not left", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    for (const fault of [
      { kind: "status", status: 409 },
      { kind: "status", status: 403 },
    ] as const) {
      createOrders(t, 1);
      t.sandbox.faults.add({ match: { path: "confirm" }, do: fault });
      await t.run("orders");
      expect(t.rows("SELECT 1 FROM meta WHERE key = 'open_confirm'")).toEqual([]);
      t.clock.advance(3_600_000);
    }
  });
});

describe("a lost answer of GET while confirms name nothing", () => {
  /** The service loses an answer, delivers the next batch, and sets its clock back by an hour before it delivers another one. */
  async function startSetBack(): Promise<TestBridge> {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000, batchSize: 1 });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    await t.run("orders");
    t.sandbox.service.setOptions({ clockOffsetMs: -3_600_000 });
    createOrders(t, 1);
    await t.run("orders");
    return t;
  }

  /** The batch from after the step has come again, and the lost one has not. */
  async function passMinute(t: TestBridge): Promise<void> {
    t.clock.advance(61_000);
    await t.run("orders");
  }

  itWhole("is not proved to have come again by what a service serves whose clock was set back", async () => {
    const t = await startSetBack();
    await passMinute(t);
    expect(confirmBodies(t)).toEqual([]);
    expect(orderCount(t)).toBe(2);
    t.sandbox.service.setOptions({ clockOffsetMs: 0 });
    await passMinute(t);
    await passMinute(t);
    await passMinute(t);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
    expectComplete(t);
  });

  /** As before, but no answer contains a time; the times of orders say it. */
  async function startUndatedSetBack(): Promise<TestBridge> {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000, batchSize: 1, dateHeader: false });
    t.sandbox.service.changeOrder(t.sandbox.service.createOrder(), { status: "paid" });
    await t.run("orders");
    await t.run("updates");
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    await t.run("orders");
    t.sandbox.service.setOptions({ clockOffsetMs: -3_600_000 });
    createOrders(t, 1);
    await t.run("orders");
    return t;
  }

  it("is not proved by what a service serves that names no time, while new orders have times of an hour before", async () => {
    const t = await startUndatedSetBack();
    await passMinute(t);
    await passMinute(t);
    expect(orderCount(t)).toBe(3);
    expect(confirmBodies(t)).toHaveLength(1);
  });

  itWhole("waits no longer than new orders are behind, also where such orders come all the time", async () => {
    const t = await startUndatedSetBack();
    for (let minute = 0; minute < 50; minute++) {
      if (minute % 10 === 0) createOrders(t, 1);
      await passMinute(t);
    }
    expect(confirmBodies(t)).toHaveLength(1);
    for (let minute = 0; minute < 20; minute++) await passMinute(t);
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  it("waits no longer than a day for a clock that stays behind", async () => {
    const t = await startSetBack();
    t.clock.advance(86_400_000);
    await passMinute(t);
    await passMinute(t);
    await passMinute(t);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
    expectComplete(t);
  });

  itWhole("lets no confirm go until the lost batch and those after it have come", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000, batchSize: 2 });
    createOrders(t, 6);
    t.sandbox.faults.add(lostGet);
    expect(await t.run("orders")).toMatchObject({ outcome: "failed" });
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { batches: 2 } });
    expect(mark(t)).toEqual({ is_open: 0, lost: 1 });
    expect(confirmBodies(t)).toEqual([]);
    expect(batchStates(t)).toEqual(["stored", "stored"]);
    t.clock.advance(61_000);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { batches: 1, confirmed: 3 } });
    expect(mark(t)).toBeNull();
    expectComplete(t);
  });

  it("heals at once where the service repeats a batch until it is confirmed", async () => {
    const t = await start({ handOut: "repeat" });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { confirmed: 1 } });
    expectComplete(t);
  });

  itWhole("changes nothing where the answer was lost and nothing was handed out", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000 });
    createOrders(t, 2);
    t.sandbox.faults.add(neverHandedOut);
    await t.run("orders");
    await t.run("orders");
    expect(confirmBodies(t)).toEqual([]);
    t.clock.advance(61_000);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole.each([
    [429, { "retry-after": "1" }],
    [401, {}],
    [302, { location: "https://elsewhere.example/" }],
  ])("loses nothing when the service refuses with %s", async (status, headers) => {
    const t = await start({ handOut: "next", redeliverAfterMs: null });
    createOrders(t, 1);
    t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status, headers } });
    await t.run("orders");
    expect(mark(t)).toBeNull();
    t.clock.advance(301_000);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole("is remembered over a restart", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 2 });
    createOrders(t, 4);
    await crashInPull(t);
    expect(mark(t)).toEqual({ is_open: 1, lost: 0 });
    await t.run("orders");
    await t.restart();
    await t.run("orders");
    expect(orderCount(t)).toBe(2);
    expect(confirmBodies(t)).toEqual([]);
    expectNothingLost(t);
  });

  itWhole("is not settled by a batch that was served before it and comes again first", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000, batchSize: 1 });
    createOrders(t, 1);
    const failing = t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "status", status: 500 },
    });
    await t.run("orders");
    t.sandbox.faults.remove(failing);
    t.clock.advance(30_000);
    createOrders(t, 1);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    // The first batch, stored long ago, is served again before the lost one.
    t.clock.advance(31_000);
    await t.run("orders");
    expect(confirmBodies(t)).toHaveLength(1);
    expect(orderCount(t)).toBe(1);
    expectNothingLost(t);
    for (let minute = 0; minute < 3; minute++) {
      t.clock.advance(61_000);
      await t.run("orders");
    }
    expectComplete(t);
  });

  itWhole("waits for the second lost answer too", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: 60_000, batchSize: 1 });
    createOrders(t, 4);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    t.sandbox.faults.add({ ...lostGet, skip: 1 });
    await t.run("orders");
    expect(orderCount(t)).toBe(1);
    t.clock.advance(61_000);
    for (let poll = 0; poll < 6; poll++) {
      await t.run("orders");
      expectNothingLost(t);
    }
    t.clock.advance(61_000);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole("shows a hold after the wait, goes on storing, and ends it when a batch comes again", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    await t.run("orders");
    expect(holds(t)).toEqual([]);
    t.clock.advance(16 * 60_000);
    createOrders(t, 1);
    await t.run("orders");
    await t.run("orders");
    expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
    expect(t.logs.filter(({ level, message }) => level === "warn" && message.includes("resume orders"))).toHaveLength(
      1,
    );
    expect(orderCount(t)).toBe(2);
    expect(confirmBodies(t)).toEqual([]);
    t.sandbox.service.setOptions({ redeliverAfterMs: "cycle" });
    for (let poll = 0; poll < 5; poll++) await t.run("orders");
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  itWhole.each<[string, FaultRule["do"]]>([
    ["204", { kind: "raw", status: 204, body: "", contentType: "text/plain" }],
    ["a list that is null", { kind: "raw", body: `{"orders":null}`, contentType: "application/json" }],
  ])("is not ended by an answer that no empty one was like before: %s", async (_, answer) => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    createOrders(t, 2);
    t.sandbox.faults.add({ ...lostGet, do: answer });
    for (let minute = 0; minute < 17; minute++) {
      await t.run("orders");
      t.clock.advance(60_000);
    }
    expect([orderCount(t), confirmBodies(t)]).toEqual([1, []]);
    expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
    t.sandbox.service.setOptions({ redeliverAfterMs: "cycle" });
    for (let poll = 0; poll < 5; poll++) await t.run("orders");
    expect(holds(t)).toEqual([]);
    expectComplete(t);
  });

  itWhole.each([
    ["an hour back", -3_600_000],
    ["a day ahead", 86_400_000],
  ])("is waited for as long as ever when the wall clock jumps %s", async (_how, jumpMs) => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    await t.run("orders");
    t.clock.jump(jumpMs);
    t.clock.advance(14 * 60_000);
    await t.run("orders");
    expect(holds(t)).toEqual([]);
    t.clock.advance(2 * 60_000);
    await t.run("orders");
    expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
  });

  itWhole(
    "is waited for as long as ever where the clock was set back and each pass is a process of its own",
    async () => {
      const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
      createOrders(t, 2);
      t.sandbox.faults.add(lostGet);
      await t.run("orders");
      t.clock.jump(-86_400_000);
      const pass = async () => {
        await t.restart();
        await t.run("orders");
      };
      await pass();
      t.clock.advance(14 * 60_000);
      await pass();
      expect(holds(t)).toEqual([]);
      t.clock.advance(2 * 60_000);
      await pass();
      expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
    },
  );

  it("is waited for from the first start after the clock was set back, also where nothing may be asked for", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    t.clock.jump(-86_400_000);
    await t.restart();
    t.clock.advance(16 * 60_000);
    await t.restart();
    await t.run("orders");
    expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
  });

  itWhole("goes on when a person has looked", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 1 });
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    t.clock.advance(16 * 60_000);
    await t.run("orders");
    expect(confirmBodies(t)).toEqual([]);
    t.bridge.store.db.exec("DELETE FROM pull_mark; DELETE FROM holds");
    await t.run("orders");
    expect(confirmBodies(t)).toEqual(["{}"]);
    expect(batchStates(t)).toEqual(["confirmed"]);
  });
});

describe("an answer that could not be read while confirms name nothing", () => {
  it("keeps confirms back until the kept batch is read", async () => {
    const t = await start({ handOut: "next", redeliverAfterMs: null, batchSize: 2 });
    createOrders(t, 2);
    t.sandbox.service.setOptions({ shape: { batch: ["list"] } });
    expect(await t.run("orders")).toMatchObject({ error: { code: "answer_shape" } });
    t.sandbox.service.setOptions({ shape: { batch: ["orders"] } });
    createOrders(t, 2);
    await t.run("orders");
    expect(batchStates(t)).toEqual(["unread", "stored"]);
    expect(confirmBodies(t)).toEqual([]);
    t.sandbox.service.setOptions({ shape: { batch: ["list"] } });
    await t.restart({ orders: { confirm: { body: {} }, batch: { orders: "$.list" } } });
    await t.run("orders");
    expectComplete(t);
    expect(orderCount(t)).toBe(4);
  });
});

describe("confirms that name their batch, and later nothing", () => {
  const startNamed = () =>
    startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } } });
  const reset = { kind: "status", status: 422 } as const;

  itWhole("know an answer that was lost before, and cover it only once somebody has decided", async () => {
    const t = await startNamed();
    t.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: reset });
    createOrders(t, 3);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    await t.run("orders");
    expect(orderCount(t)).toBeLessThan(3);
    t.sandbox.faults.clear();
    t.sandbox.service.setOptions({ confirmForm: "all" });
    const before = confirmBodies(t).length;
    await t.restart(UNNAMED);
    createOrders(t, 1);
    for (let pass = 0; pass < 3; pass++) await t.run("orders");
    expect(confirmBodies(t).slice(before)).toEqual([]);
    expect(mark(t)).toMatchObject({ lost: 1 });
    expectNothingLost(t);
  });

  itWhole("go on at once where every answer was stored, with one note for them all, which a crash leaves", async () => {
    const t = await startNamed();
    addFormerBatches(t);
    createOrders(t, 1);
    await t.run("orders");
    const noted = () => t.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'unanswered'")[0]?.value;
    const first = noted();
    expect(JSON.parse(first!)).toMatchObject({ isLost: false });
    t.clock.advance(60_000);
    createOrders(t, 2);
    await t.run("orders");
    t.sandbox.faults.add({
      match: { path: "orders" },
      do: { kind: "raw", body: '{"list":[{}]}', contentType: "application/json" },
    });
    await t.run("orders");
    t.bridge.store.db.exec("DELETE FROM batches WHERE state = 'unread'");
    await t.run("orders");
    expect(noted()).toBe(first);
    t.sandbox.service.setOptions({ confirmForm: "all" });
    await t.restart(UNNAMED);
    expect(noted()).toBeUndefined();
    createOrders(t, 1);
    expect(await t.run("orders")).toMatchObject({ counts: { confirmed: 1 } });
    expectComplete(t);
    const open = (since: string) => JSON.stringify({ since, isLost: false });
    t.bridge.store.db.prepare("INSERT INTO meta VALUES ('unanswered', ?)").run(open("2026-03-01T00:00:00.000Z"));
    await t.run("orders");
    expect(t.rows("SELECT opened_at, lost FROM pull_mark")).toEqual([
      { opened_at: "2026-03-01T00:00:00.000Z", lost: 1 },
    ]);
    expect(noted()).toBeUndefined();
  });

  itWhole("wait for what was lost before they named their batch, also where a giant one came meanwhile", async () => {
    const t = await startNamed();
    addFormerBatches(t);
    const { store } = t.bridge;
    store.write(() => openDelivery(store, "2026-03-01T00:00:00.000Z"));
    t.sandbox.service.setOptions({ batchSize: 1_000 });
    createOrders(t, 201);
    expect(await t.run("orders")).toMatchObject({ counts: { created: 201, confirmed: 1 } });
    t.sandbox.service.setOptions({ confirmForm: "all" });
    await t.restart(UNNAMED);
    await t.run("orders");
    expect(mark(t)).toMatchObject({ lost: 1 });
  });

  it("are kept back by nothing while they name their batch", async () => {
    const t = await startNamed();
    addFormerBatches(t);
    t.sandbox.faults.add(neverHandedOut);
    t.sandbox.faults.add(neverHandedOut);
    await t.run("orders");
    await t.run("orders");
    createOrders(t, 1);
    t.clock.advance(60_000);
    expect(await t.run("orders")).toMatchObject({ counts: { confirmed: 1 } });
    expect([mark(t), holds(t)]).toEqual([null, []]);
    expectComplete(t);
  });
});

describe("a loss that a person gives up", () => {
  const at = (minute: number) => `2026-03-01T12:0${minute}:00.000Z`;

  it("was shown where it came before the hold", async () => {
    const { store } = (await start()).bridge;
    const covered = () => coveredLosses(store, at(2));
    store.write(() => openDelivery(store, at(0)));
    expect(store.write(() => openDelivery(store, at(1)))).toEqual({ openedAt: at(0), lost: true, lostAt: null });
    store.write(() => closeDelivery(store));
    expect(covered()).toMatchObject({ isShown: true });
    // Another one is lost after the hold began.
    store.write(() => openDelivery(store, at(3)));
    expect(store.write(() => openDelivery(store, at(4)))).toEqual({ openedAt: at(0), lost: true, lostAt: at(3) });
    store.write(() => closeDelivery(store));
    expect(covered()).toEqual({ what: at(3), isShown: false });
    expect(store.write(() => giveUpLost(store))).toEqual({ from: at(0), to: at(3) });
    expect(loadDelivery(store)).toBeUndefined();
  });

  it("stays open where the note of named confirms has its place", async () => {
    const { store } = (await start()).bridge;
    store.write(() => openDelivery(store, at(0)));
    store.write(() => UNANSWERED.save(store, { since: at(1), isLost: true }));
    store.write(() => closeDelivery(store));
    expect(loadDelivery(store)).toEqual({ openedAt: at(0), lost: false, lostAt: null });
  });

  it("is not that of a request which is still open", async () => {
    const { store } = (await start()).bridge;
    store.write(() => openDelivery(store, at(0)));
    store.write(() => openDelivery(store, at(1)));
    expect(store.write(() => giveUpLost(store))).toEqual({ from: at(0), to: at(0) });
    expect(loadDelivery(store)).toEqual({ openedAt: at(1), lost: false, lostAt: null });
    expect(store.write(() => openDelivery(store, at(3)))).toEqual({ openedAt: at(1), lost: true, lostAt: null });
  });
});
