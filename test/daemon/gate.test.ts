import { beforeEach, describe, expect, it, vi } from "vitest";
import { HoldGate } from "../../src/daemon/gate.ts";
import { saveFlow } from "../../src/pass/runs.ts";
import { ServiceError } from "../../src/service/service-error.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { words } from "../support/messages.ts";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { startShop } from "../support/shop.ts";
import { itWhole, some } from "../support/whole.ts";

const SIGNAL = new AbortController().signal;
const MINUTE_MS = 60_000;
const refused = new ServiceError("credentials_refused", words("GET /orders was answered with 401"), {
  area: "orders",
  method: "GET",
  path: "/orders",
  effect: "none",
});
const CREDENTIALS = { area: "orders", scope: "area", reason: "credentials", probeAfterMs: 5 * MINUTE_MS } as const;

let test: TestBridge;
let gate: HoldGate;
beforeEach(async () => {
  test = await startTestBridge({ settings: { imports: { prices: { path: "/api/v1/import/prices" } } } });
  gate = new HoldGate(test.bridge.context);
});

const holds = () => test.rows("SELECT area, reason FROM holds");
const admit = async (...areas: string[]) => await gate.admit(areas, SIGNAL);

describe("a hold", () => {
  itWhole(
    "lets one probe through when its time has come, whatever the wall clock says, and none beside it",
    async () => {
      await gate.hold(CREDENTIALS, refused, SIGNAL);
      test.clock.jump(86_400_000);
      expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
      test.clock.jump(-10 * 86_400_000);
      test.clock.advance(5 * MINUTE_MS);
      const both = await Promise.all([admit("orders"), admit("orders", "updates")]);
      expect(both.map(({ state }) => state)).toEqual(["probe", "held"]);
      await gate.passed(both[0]!, SIGNAL);
      expect(holds()).toEqual([]);
      expect(await admit("orders")).toEqual({ state: "open" });
    },
  );

  itWhole("waits as long as the longest wait that was asked for, whichever job met it last", async () => {
    const limited = (probeAfterMs: number) =>
      ({ area: "orders", scope: "area", reason: "rate limit", probeAfterMs }) as const;
    await gate.hold(limited(30_000), refused, SIGNAL);
    await gate.hold(limited(1_000), refused, SIGNAL);
    test.clock.advance(29_000);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(1_000);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
    await gate.hold(limited(2_000), refused, SIGNAL);
    test.clock.advance(2_000);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
  });

  const unpaid = new ServiceError("payment_required", words("GET /orders/updates was answered with 402"), {
    area: "orders",
    method: "GET",
    path: "/orders/updates",
    effect: "none",
  });
  const ORDERS_ALONE = { ...CREDENTIALS, scope: "flow" } as const;
  const PAYMENT = { area: "orders", scope: "area", reason: "payment", probeAfterMs: 30 * MINUTE_MS } as const;

  it("is probed again soon where the probe failed for another reason, and as late as at first where it was refused", async () => {
    await gate.hold(PAYMENT, unpaid, SIGNAL, ["orders"]);
    test.clock.advance(30 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
    test.clock.advance(4 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
    await gate.hold(PAYMENT, unpaid, SIGNAL, ["orders"]);
    test.clock.advance(29 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "held" });
  });

  it("of an area is probed as soon as that of the endpoint whose wait is the shortest, by others than the one with a longer wait", async () => {
    await gate.hold(ORDERS_ALONE, refused, SIGNAL, ["orders"]);
    test.clock.advance(MINUTE_MS);
    await gate.hold(PAYMENT, unpaid, SIGNAL, ["orders", "updates"]);
    test.clock.advance(5 * MINUTE_MS - 1);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
    const probe = await admit("orders");
    expect(probe).toMatchObject({ state: "probe" });
    // Refused again: the next one is due as soon.
    await gate.hold(ORDERS_ALONE, refused, SIGNAL, ["orders"]);
    test.clock.advance(5 * MINUTE_MS);
    const next = await admit("orders");
    expect(next).toMatchObject({ state: "probe" });
    await gate.passed(next, SIGNAL);
    // The one with the longer wait stays alone.
    expect(scopes(test)).toEqual([{ area: "updates", reason: "payment", scope: "flow" }]);
    expect(await admit("orders", "statuses")).toEqual({ state: "open" });
    test.clock.advance(20 * MINUTE_MS - 1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "probe" });
  });

  itWhole("of an area is probed sooner where an endpoint with a shorter wait is refused after it", async () => {
    await gate.hold(PAYMENT, unpaid, SIGNAL, ["orders", "updates"]);
    test.clock.advance(MINUTE_MS);
    await gate.hold(ORDERS_ALONE, refused, SIGNAL, ["orders"]);
    test.clock.advance(5 * MINUTE_MS - 1);
    expect(await admit("orders", "statuses")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders", "statuses")).toMatchObject({ state: "probe" });
    test.clock.advance(24 * MINUTE_MS - 1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "probe" });
  });

  it("leaves the next probe to a flow that asked while the last one was under way", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    for (const isAsked of [false, true]) {
      test.clock.advance(5 * MINUTE_MS);
      expect(await admit("orders")).toMatchObject({ state: "probe" });
      if (isAsked) expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
      await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    }
    test.clock.advance(5 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    expect(await admit("orders", "updates")).toMatchObject({ state: "probe" });
  });

  it("leaves the next probe to other flows in the next process too, where they run, and for a while", async () => {
    const { store } = test.bridge;
    const next = async (enabled: boolean, leftMs: number) => {
      store.write(() => saveFlow(store, { flow: "updates", enabled, staleAfterS: 300 }));
      gate = new HoldGate(test.bridge.context);
      await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
      await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
      gate = new HoldGate(test.bridge.context);
      await admit("orders");
      test.clock.advance(5 * MINUTE_MS + leftMs);
      return (await admit("orders")).state;
    };
    expect(await next(true, 0)).toBe("held");
    expect(await admit("orders", "updates")).toMatchObject({ state: "probe" });
    expect(await next(true, 16 * MINUTE_MS)).toBe("held");
    test.clock.advance(15 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
    expect(await next(false, 0)).toBe("probe");
  });

  it.each([0, 61, 1440])(
    "leaves the next probe to other flows also where it was due %d minutes ago, and for a while",
    async (lateMin) => {
      await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
      for (let probes = 0; probes < 2; probes++) {
        test.clock.advance(5 * MINUTE_MS);
        expect(await admit("orders")).toMatchObject({ state: "probe" });
        if (probes > 0) expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
        await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
      }
      test.clock.advance((5 + lateMin) * MINUTE_MS);
      expect(await admit("orders")).toMatchObject({ state: "held" });
      test.clock.jump(-86_400_000);
      test.clock.advance(5 * MINUTE_MS - 1);
      expect(await admit("orders")).toMatchObject({ state: "held" });
      test.clock.advance(1);
      expect(await admit("orders")).toMatchObject({ state: "probe" });
    },
  );

  it("leaves no probe to flows that never take it, where each pass is a process of its own", async () => {
    const { store } = test.bridge;
    store.write(() => saveFlow(store, { flow: "updates", enabled: true, staleAfterS: 300 }));
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    for (const [waitMs, state] of [
      [10 * MINUTE_MS, "held"],
      [10 * MINUTE_MS, "probe"],
    ] as const) {
      test.clock.advance(waitMs);
      gate = new HoldGate(test.bridge.context);
      expect(await admit("orders")).toMatchObject({ state });
    }
  });

  it.each([10, 60, 1440])("leaves a probe to others once in a process that starts %d minutes later", async (later) => {
    const { store } = test.bridge;
    store.write(() => saveFlow(store, { flow: "updates", enabled: true, staleAfterS: 300 }));
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders"]);
    for (const state of ["held", "probe"]) {
      test.clock.advance(later * MINUTE_MS);
      gate = new HoldGate(test.bridge.context);
      expect(await admit("orders")).toMatchObject({ state });
    }
  });

  itWhole("of an area waits as long as its only kind of refusal", async () => {
    await gate.hold(PAYMENT, unpaid, SIGNAL, ["orders", "updates"]);
    test.clock.advance(30 * MINUTE_MS - 1);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
  });

  it("is not lifted by a pass that was let in before it began", async () => {
    const before = await admit("orders", "updates");
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    await gate.passed(before, SIGNAL);
    expect(holds()).toEqual([{ area: "orders", reason: "credentials" }]);
    expect(await admit("orders")).toMatchObject({ state: "held" });
  });

  it("of a flow that is refused while another one's probe runs stands for that flow alone", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.advance(5 * MINUTE_MS);
    gate = new HoldGate(test.bridge.context);
    const probe = await admit("orders");
    await gate.hold(gate.planFor(refused, ["orders", "updates"])!, refused, SIGNAL, ["orders", "updates"]);
    await gate.passed(probe, SIGNAL);
    expect(scopes(test)).toEqual([{ area: "updates", reason: "credentials", scope: "flow" }]);
    expect(await admit("orders")).toEqual({ state: "open" });
    test.clock.advance(5 * MINUTE_MS - 1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    const next = await admit("orders", "updates");
    expect(next).toMatchObject({ state: "probe" });
    await gate.passed(next, SIGNAL);
    expect(holds()).toEqual([]);
  });

  it("that begins while another one's probe runs is not cut short where that probe asked nothing", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.advance(5 * MINUTE_MS);
    const probe = await admit("orders", "statuses");
    await gate.hold(CREDENTIALS, refused, SIGNAL, ["orders", "updates"]);
    await gate.unused(probe, ["orders", "statuses"], SIGNAL);
    test.clock.advance(5 * MINUTE_MS - 1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "held" });
    test.clock.advance(1);
    expect(await admit("orders", "updates")).toMatchObject({ state: "probe" });
  });

  it("that begins while a probe waits for the write lock is not cut short where that probe cannot be written", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.advance(5 * MINUTE_MS);
    const { store } = test.bridge;
    const write = store.write.bind(store);
    let other: Promise<unknown> | undefined;
    store.write = () => {
      store.write = write;
      other = gate.hold(CREDENTIALS, refused, SIGNAL, ["orders", "statuses"]);
      throw new Error("the disk is full");
    };
    await expect(admit("orders")).rejects.toThrow("the disk is full");
    await other;
    expect(await admit("orders")).toMatchObject({ state: "held", leftMs: 5 * MINUTE_MS });
    test.clock.advance(5 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
  });

  it("is not replaced by what one order was answered", async () => {
    const met = [
      ["collection", ["orders", "updates"]],
      ["order", ["orders", "statuses"]],
    ] as const;
    for (const [target, areas] of met) {
      const where = { area: "orders", target, method: "GET", path: "/x", status: 401, effect: "none" } as const;
      const error = new ServiceError("credentials_refused", words("no"), where);
      await gate.hold(gate.planFor(error, areas)!, error, SIGNAL, areas);
    }
    expect(await admit("orders")).toMatchObject({ state: "held" });
    expect(await admit("orders", "statuses")).toMatchObject({ state: "held" });
  });

  it("outlives a restart, and a clock that was years off then costs one window at most", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.jump(-1_000 * 86_400_000);
    gate = new HoldGate(test.bridge.context);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(5 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
  });

  it("costs one window at most also where each pass is a process, after a clock that was years ahead", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.jump(-1_000 * 86_400_000);
    const states: string[] = [];
    for (const minutes of [0, 2, 2, 2]) {
      test.clock.advance(minutes * MINUTE_MS);
      gate = new HoldGate(test.bridge.context);
      states.push((await admit("orders")).state);
    }
    expect(states).toEqual(["held", "held", "held", "probe"]);
    const [{ since, next_probe_at: next } = {}] = test.rows("SELECT since, next_probe_at FROM holds");
    expect(Date.parse(String(since))).toBeLessThanOrEqual(test.clock.nowMs());
    expect(Date.parse(String(next))).toBeLessThanOrEqual(test.clock.nowMs() + 5 * MINUTE_MS);
  });

  it("costs no more than the wait that was asked for, after a clock that was hours ahead", async () => {
    await gate.hold({ ...CREDENTIALS, reason: "rate limit", probeAfterMs: 2 * MINUTE_MS }, refused, SIGNAL);
    test.clock.jump(-3 * 60 * MINUTE_MS);
    gate = new HoldGate(test.bridge.context);
    expect(await admit("orders")).toMatchObject({ state: "held", leftMs: 2 * MINUTE_MS });
    test.clock.advance(2 * MINUTE_MS);
    expect(await admit("orders")).toMatchObject({ state: "probe" });
  });

  it("is in force also where it cannot be written, and is written by its first probe", async () => {
    const { db } = test.bridge.store;
    db.pragma("query_only = ON");
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    expect(holds()).toEqual([]);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(5 * MINUTE_MS);
    await expect(admit("orders")).rejects.toThrow();
    db.pragma("query_only = OFF");
    expect(await admit("orders")).toMatchObject({ state: "probe" });
    expect(holds()).toEqual([{ area: "orders", reason: "credentials" }]);
    expect(await admit("orders")).toMatchObject({ state: "held" });
  });
});

describe("an unpaid subscription", () => {
  it("is probed by the feed that has something to send, not used up or lifted by one that has nothing", async () => {
    const { sandbox, run, bridge, clock } = test;
    await run("stocks");
    await run("prices");
    sandbox.service.setOptions({ paid: false });
    bridge.store.db.prepare("INSERT INTO prices (sku, price) VALUES ('A', '10.50')").run();
    expect(await run("prices")).toMatchObject({ outcome: "failed", hold: { area: "imports", reason: "payment" } });
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
    const asked = () => sandbox.ledger.ofKind("import").length;
    expect(asked()).toBe(1);

    clock.advance(30 * MINUTE_MS);
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
    expect(holds()).toEqual([{ area: "imports", reason: "payment" }]);
    expect(await run("prices")).toMatchObject({ outcome: "failed" });
    // At most one probe in its window.
    clock.advance(29 * MINUTE_MS);
    await run("stocks");
    await run("prices");
    expect(asked()).toBe(2);

    sandbox.service.setOptions({ paid: true });
    clock.advance(MINUTE_MS);
    await run("stocks");
    expect(await run("prices")).toMatchObject({ outcome: "done", lifted: [{ reason: "payment" }] });
    expect(holds()).toEqual([]);
    expect([...sandbox.service.imported("prices").values()]).toHaveLength(1);
  });
});

describe("a hold that a pass has tried and was let in", () => {
  const fault = (path: "orders" | "updates" | "confirm" | "snapshot" | "import", status: number, times: number) =>
    ({ match: { path }, times, do: { kind: "status", status } }) as const;
  const some = 50;

  itWhole("is over although single orders cannot be read behind it", async () => {
    const followed = await startFollowed(5);
    const { sandbox, run, clock, ids } = followed;
    sandbox.faults.add(fault("updates", 402, 1));
    expect(await run("updates")).toMatchObject({ outcome: "failed", hold: { reason: "payment" } });
    sandbox.faults.add(fault("snapshot", 404, some));
    for (const id of ids) followed.change(id, { status: "paid" });
    clock.advance(30 * MINUTE_MS);
    expect(await run("updates")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
    expect(scopes(followed)).toEqual([]);
    followed.change(ids[0]!, { status: "packed" });
    const asked = sandbox.ledger.ofKind("updates").length;
    clock.advance(MINUTE_MS);
    await run("updates");
    expect(sandbox.ledger.ofKind("updates").length).toBeGreaterThan(asked);
  });

  it("is over although a confirm fails behind it", async () => {
    const { sandbox, run, clock } = test;
    sandbox.faults.add(fault("orders", 402, 1));
    await run("orders");
    expect(holds()).toEqual([{ area: "orders", reason: "payment" }]);
    sandbox.service.createOrder();
    sandbox.faults.add(fault("confirm", 500, some));
    clock.advance(30 * MINUTE_MS);
    expect(await run("orders")).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(holds()).toEqual([]);
  });

  itWhole.each([500, 402])(
    "is over although a later part of a feed is answered with 500, and stands with 402 (%i)",
    async (status) => {
      const feeds = await startFeeds({ settings: { imports: { stocks: { chunk: 2 } } } });
      const { erp, sandbox, clock } = feeds;
      sandbox.faults.add(fault("import", 402, 1));
      fillStock(erp, 6);
      await feeds.minute();
      const begun = feeds.rows("SELECT area, reason, since FROM holds");
      expect(begun).toMatchObject([{ area: "imports", reason: "payment" }]);
      clock.advance(30 * MINUTE_MS);
      const { length: before } = sandbox.ledger.ofKind("import");
      sandbox.faults.add({ ...fault("import", status, some), skip: 1 });
      expect(await feeds.run("stocks")).toMatchObject({ outcome: "failed" });
      expect(sandbox.ledger.ofKind("import").length).toBeGreaterThan(before + 1);
      expect(feeds.rows("SELECT area, reason, since FROM holds")).toEqual(status === 500 ? [] : begun);
    },
  );
});

const LIKE_FEEDS = {
  imports: {
    prices: {
      path: "/api/v1/import/prices",
      record: { sku: "{sku}", price_type: "{price_type}", price: "{price|number}" },
    },
  },
};

/** Which flows `sync_status` shows as held. */
const heldFlows = (bridge: TestBridge) =>
  bridge
    .rows<{ flow: string }>("SELECT flow FROM sync_status WHERE held IS NOT NULL ORDER BY flow")
    .map(({ flow }) => flow);
const scopes = (bridge: TestBridge) => bridge.rows("SELECT area, reason, scope FROM holds ORDER BY area");

describe("a hold of an area whose probe fails for another reason", () => {
  /** All endpoints of orders refuse; then only `fault` is left. */
  async function startRefused(fault: { path: "orders" | "updates"; status: number }) {
    const { sandbox, run, clock } = test;
    await run("orders");
    await run("updates");
    sandbox.service.setOptions({ refuse: ["1c"] });
    clock.advance(MINUTE_MS);
    await run("updates");
    await run("orders");
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "area" }]);
    sandbox.service.setOptions({ refuse: [] });
    const { path, status } = fault;
    sandbox.faults.add({ match: { path }, times: "forever", do: { kind: "status", status } });
    const asked = () => [sandbox.ledger.ofKind("orders").length, sandbox.ledger.ofKind("updates").length] as const;
    return { ...test, asked };
  }

  it.each([
    ["orders", "updates"],
    ["updates", "orders"],
  ] as const)("is probed by another flow next where %s fails, which goes first", async (failing, other) => {
    const { run, clock } = await startRefused({ path: failing, status: 504 });
    for (let minute = 0; minute < 11; minute++) {
      clock.advance(MINUTE_MS);
      await run(failing);
      await run(other);
    }
    expect(scopes(test)).toEqual([]);
    expect(await run(other)).toMatchObject({ error: null, outcome: expect.stringMatching(/idle|done/) });
  });

  itWhole("is probed by another flow next where each pass is a process of its own", async () => {
    const { run, clock, restart } = await startRefused({ path: "orders", status: 504 });
    for (let polls = 0; polls < 6; polls++) {
      clock.advance(5 * MINUTE_MS);
      await restart();
      await run("orders");
      await restart();
      await run("updates");
    }
    expect(scopes(test)).toEqual([]);
  });

  itWhole("stands while the others are refused, and is probed no more often", async () => {
    const { run, clock, sandbox, asked } = await startRefused({ path: "orders", status: 504 });
    sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: { kind: "status", status: 401 } });
    const [orders, updates] = asked();
    for (let minute = 0; minute < 40; minute++) {
      clock.advance(MINUTE_MS);
      await run("orders");
      await run("updates");
    }
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "area" }]);
    const [ordersNow, updatesNow] = asked();
    expect(ordersNow - orders + updatesNow - updates).toBeLessThanOrEqual(40 / 5);
  });

  itWhole("is probed by its flow as before where no other one asks", async () => {
    const { run, clock, asked, sandbox } = await startRefused({ path: "orders", status: 504 });
    const [before] = asked();
    for (let minute = 0; minute < 30; minute++) {
      clock.advance(MINUTE_MS);
      await run("orders");
    }
    expect(asked()[0] - before).toBe(30 / 5);
    sandbox.faults.clear();
    clock.advance(5 * MINUTE_MS);
    await run("orders");
    expect(scopes(test)).toEqual([]);
  });

  itWhole("of imports is probed by another feed next", async () => {
    const feeds = await startFeeds({ settings: LIKE_FEEDS });
    const { erp, sandbox } = feeds;
    fillStock(erp, 1);
    sandbox.service.setOptions({ refuse: ["import"] });
    await feeds.minute("stocks", "prices");
    expect(feeds.rows("SELECT area, scope FROM holds")).toEqual([{ area: "imports", scope: "area" }]);
    sandbox.service.setOptions({ refuse: [] });
    sandbox.faults.add({
      match: { path: "import", feed: "stocks" },
      times: "forever",
      do: { kind: "status", status: 500 },
    });
    for (let minute = 0; minute < 20; minute++) {
      erp.exec(`INSERT OR REPLACE INTO prices (sku, price) VALUES ('A', ${minute + 1})`);
      await feeds.minute("stocks", "prices");
    }
    expect(feeds.rows("SELECT area FROM holds WHERE scope = 'area'")).toEqual([]);
  });
});

describe("a refusal of one endpoint", () => {
  it("of the pull holds the pull alone, for as long as following is accepted; and it continues by itself", async () => {
    const { sandbox, run, clock } = test;
    sandbox.service.createOrder();
    await run("orders");
    await run("updates");
    sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 403 } });
    for (let minute = 0; minute < 30; minute++) {
      clock.advance(MINUTE_MS);
      await run("orders");
      expect(await run("updates")).toMatchObject({ error: null, outcome: expect.stringMatching(/idle|done/) });
    }
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "flow" }]);
    expect(heldFlows(test)).toEqual(["orders"]);
    expect(sandbox.ledger.ofKind("orders").length).toBeLessThanOrEqual(1 + 7);
    sandbox.faults.clear();
    clock.advance(5 * MINUTE_MS);
    await run("orders");
    expect(scopes(test)).toEqual([]);
  });

  itWhole("leaves no failure behind in a flow that runs once a day: a start runs it again", async () => {
    const failing = () => test.rows("SELECT flow FROM sync_status WHERE failing_since IS NOT NULL");
    await test.run("orders");
    await test.run("updates");
    await test.run("reconcile");
    test.sandbox.service.setOptions({ refuse: ["1c"] });
    await test.run("updates");
    await test.run("orders");
    expect(await test.run("reconcile")).toMatchObject({ outcome: "held" });
    test.sandbox.service.setOptions({ refuse: [] });
    test.clock.advance(6 * MINUTE_MS);
    await test.restart();
    await test.run("orders");
    await test.run("updates");
    expect(failing()).toEqual([{ flow: "reconcile" }]);
    test.bridge.start();
    await vi.waitFor(() => expect(failing()).toEqual([]), { timeout: 30_000 });
  });

  itWhole("widens to the area once every endpoint that is tried refuses, and then probes once for all", async () => {
    const { sandbox, run, clock } = test;
    sandbox.service.createOrder();
    await run("orders");
    await run("updates");
    sandbox.service.setOptions({ refuse: ["1c"] });
    clock.advance(MINUTE_MS);
    await run("updates");
    expect(scopes(test)).toEqual([{ area: "updates", reason: "credentials", scope: "flow" }]);
    await run("orders");
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "area" }]);
    expect(heldFlows(test)).toEqual(["orders", "reconcile", "statuses", "updates"]);
    const asked = () => sandbox.ledger.ofKind("orders").length + sandbox.ledger.ofKind("updates").length;
    const before = asked();
    for (let minute = 0; minute < 20; minute++) {
      clock.advance(MINUTE_MS);
      await run("orders");
      await run("updates");
    }
    expect(asked() - before).toBeLessThanOrEqual(4);
    sandbox.service.setOptions({ refuse: [] });
    for (let minute = 0; minute < 6; minute++) {
      clock.advance(MINUTE_MS);
      await run("orders");
      await run("updates");
    }
    expect(scopes(test)).toEqual([]);
  });

  itWhole("converges after a restart, when nothing is known of the others any more", async () => {
    const { sandbox, run, clock } = test;
    sandbox.service.createOrder();
    sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 401 } });
    await run("orders");
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "area" }]);
    await test.restart();
    let followed = 0;
    for (let minute = 0; minute < 30; minute++) {
      clock.advance(MINUTE_MS);
      await test.run("orders");
      const { outcome } = await test.run("updates");
      if (outcome !== "held") followed += 1;
    }
    // The pull's first probe is in vain; the next one is left to following, which is let in.
    expect(followed).toBeGreaterThanOrEqual(15);
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "flow" }]);
    await test.restart();
    clock.advance(5 * MINUTE_MS);
    await test.run("orders");
    expect(scopes(test)).toEqual([{ area: "orders", reason: "credentials", scope: "flow" }]);
    sandbox.faults.clear();
    clock.advance(5 * MINUTE_MS);
    await test.run("orders");
    expect(scopes(test)).toEqual([]);
  });

  itWhole.each([402, 403])("of one feed (%i) holds that feed, also after a restart", async (status) => {
    const feeds = await startFeeds({ settings: LIKE_FEEDS, arm: ["stocks", "prices"] });
    const { erp, sandbox, minute, site, level } = feeds;
    fillStock(erp, 1);
    await minute("stocks", "prices");
    sandbox.faults.add({ match: { feed: "prices" }, times: "forever", do: { kind: "status", status } });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    for (let passed = 0; passed < 24; passed++) {
      erp.prepare("UPDATE stock SET quantity = ?").run(passed);
      feeds.clock.advance(2 * MINUTE_MS);
      await feeds.minute("stocks", "prices");
      if (passed === 12) await feeds.restart();
      expect(level("S-1")).toBe(passed);
    }
    const reason = status === 402 ? "payment" : "credentials";
    expect(scopes(feeds)).toEqual([{ area: "prices", reason, scope: "flow" }]);
    expect(heldFlows(feeds)).toEqual(["prices"]);
    sandbox.faults.clear();
    for (let passed = 0; passed < 31; passed += 3) {
      feeds.clock.advance(2 * MINUTE_MS);
      await feeds.minute("stocks", "prices");
    }
    expect([scopes(feeds), Object.keys(site("prices"))]).toEqual([[], ["A"]]);
  });

  itWhole("asks that feed to wait, however often, and the others go on; also after a restart", async () => {
    const feeds = await startFeeds({ settings: LIKE_FEEDS, arm: ["stocks", "prices"] });
    const { erp, sandbox, minute, site, level } = feeds;
    fillStock(erp, 1);
    await minute("stocks", "prices");
    const wait = { kind: "status", status: 429, headers: { "retry-after": "3600" } } as const;
    sandbox.faults.add({ match: { feed: "prices" }, times: "forever", do: wait });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    const asked = () => sandbox.ledger.ofKind("import").filter(({ path }) => path.endsWith("/prices")).length;
    for (let passed = 0; passed < 13; passed++) {
      feeds.clock.advance(9 * MINUTE_MS);
      erp.prepare("UPDATE stock SET quantity = ?").run(passed);
      await feeds.minute("stocks", "prices");
      if (passed === 8) await feeds.restart();
      expect(level("S-1")).toBe(passed);
    }
    expect(scopes(feeds)).toEqual([{ area: "prices", reason: "rate limit", scope: "flow" }]);
    expect(heldFlows(feeds)).toEqual(["prices"]);
    expect(asked()).toBe(3);
    sandbox.faults.clear();
    feeds.clock.advance(60 * MINUTE_MS);
    await feeds.minute("stocks", "prices");
    expect([scopes(feeds), Object.keys(site("prices"))]).toEqual([[], ["A"]]);
  });

  itWhole.each([
    ["updates", { path: "updates" }],
    ["one order", { path: "snapshot" }],
  ] as const)("asks for a wait at %s, and new orders come as ever", async (_, match) => {
    const followed = await startFollowed(2);
    const { sandbox, run, clock, ids } = followed;
    const wait = { kind: "status", status: 429, headers: { "retry-after": "3600" } } as const;
    sandbox.faults.add({ match, times: "forever", do: wait });
    followed.change(ids[0]!, { status: "paid" });
    for (let passed = 0; passed < 13; passed++) {
      clock.advance(10 * MINUTE_MS);
      const id = sandbox.service.createOrder({ status: "new" });
      await run("orders");
      await run("updates");
      expect(followed.rows("SELECT status FROM orders WHERE order_id = ?", id)).toHaveLength(1);
    }
    expect(sandbox.ledger.ofKind(match.path).length).toBeLessThanOrEqual(match.path === "updates" ? 4 : 8);
    sandbox.faults.clear();
    clock.advance(61 * MINUTE_MS);
    await run("updates");
    expect(followed.statusOf(ids[0]!).status).toBe("paid");
    expect(scopes(followed)).toEqual([]);
  });

  itWhole("asks to wait, and the second one too: all of the area wait, and each as long as it was asked", async () => {
    const { sandbox, run, clock } = test;
    sandbox.service.createOrder();
    await run("orders");
    await run("updates");
    const wait = (path: "updates" | "orders", seconds: number) =>
      sandbox.faults.add({
        match: { path },
        times: "forever",
        do: { kind: "status", status: 429, headers: { "retry-after": String(seconds) } },
      });
    wait("updates", 1800);
    wait("orders", 600);
    clock.advance(MINUTE_MS);
    await run("updates");
    expect(scopes(test)).toEqual([{ area: "updates", reason: "rate limit", scope: "flow" }]);
    await run("orders");
    expect(scopes(test)).toEqual([
      { area: "orders", reason: "rate limit", scope: "area" },
      { area: "updates", reason: "rate limit", scope: "flow" },
    ]);
    expect(heldFlows(test)).toEqual(["orders", "reconcile", "statuses", "updates"]);
    const asked = (kind: "orders" | "updates") => sandbox.ledger.ofKind(kind).length;
    const before = [asked("orders"), asked("updates")];
    sandbox.faults.clear();
    for (let minutes = 3; minutes < 30; minutes += 3) {
      clock.advance(3 * MINUTE_MS);
      await run("orders");
      await run("updates");
      if (minutes === 9) expect([asked("orders"), asked("updates")]).toEqual(before);
      if (minutes === 12) expect(asked("orders")).toBeGreaterThan(before[0]!);
    }
    expect(asked("updates")).toBe(before[1]);
    clock.advance(4 * MINUTE_MS);
    await run("updates");
    expect(asked("updates")).toBeGreaterThan(before[1]!);
    expect(scopes(test)).toEqual([]);
  });

  itWhole("of imports as a whole holds them all, though one of them was accepted a minute before", async () => {
    const feeds = await startFeeds({ settings: LIKE_FEEDS, arm: ["stocks", "prices"] });
    const { erp, sandbox } = feeds;
    fillStock(erp, 1);
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await feeds.minute("stocks", "prices");
    sandbox.service.setOptions({ paid: false });
    erp.exec("UPDATE stock SET quantity = 3; UPDATE prices SET price = 2");
    await feeds.minute("stocks", "prices");
    expect(scopes(feeds)).toEqual([{ area: "imports", reason: "payment", scope: "area" }]);
    expect(heldFlows(feeds)).toEqual(["catalog", "images", "prices", "stocks"]);
  });

  itWhole.each(some([401, 402, 403, 405, 423, 429, 451], 1))(
    "for one order (%i) holds nothing, and the others are read",
    async (status) => {
      const followed = await startFollowed(5);
      const { ids, sandbox } = followed;
      const bad = ids[2]!;
      sandbox.faults.add({ match: { path: "snapshot", order: bad }, times: "forever", do: { kind: "status", status } });
      for (const id of ids) followed.change(id, { status: "paid" });
      for (let minute = 0; minute < 30; minute += 3) {
        await followed.poll(3 * MINUTE_MS);
        expect(await followed.run("orders")).toMatchObject({ error: null });
      }
      expect(ids.filter((id) => followed.statusOf(id).status === "paid")).toEqual(ids.filter((id) => id !== bad));
      expect(scopes(followed)).toEqual([]);
      expect(followed.rows<{ attempts: number }>("SELECT attempts FROM owed_reads")[0]!.attempts).toBeGreaterThan(1);
    },
  );

  itWhole("is lifted by resuming the area, whether it holds the area or its flows one by one", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    expect((await shop.command("sync", "orders", "updates")).code).toBe(0);
    for (const area of ["updates", "statuses"]) {
      shop.write(
        "INSERT INTO holds (area, reason, since, scope) VALUES (?, 'credentials', '2026-01-01T00:00:00.000Z', 'flow')",
        area,
      );
    }
    expect((await shop.command("resume", "orders")).out).toContain("orders: goes on (credentials)");
    expect(shop.rows("SELECT area FROM holds")).toEqual([]);
  });
});
