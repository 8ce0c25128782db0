import { beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../src/domain/service-error.ts";
import { HoldGate } from "../../src/jobs/gate.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";

const SIGNAL = new AbortController().signal;
const MINUTE_MS = 60_000;
const refused = new ServiceError("credentials_refused", "GET /orders was answered with 401", {
  area: "orders",
  method: "GET",
  path: "/orders",
  effect: "none",
});
const CREDENTIALS = { area: "orders", reason: "credentials", probeAfterMs: 5 * MINUTE_MS } as const;

let test: TestBridge;
let gate: HoldGate;
beforeEach(async () => {
  test = await startTestBridge({ settings: { imports: { prices: { path: "/api/v1/import/prices" } } } });
  gate = new HoldGate(test.bridge.context);
});

const holds = () => test.rows("SELECT area, reason FROM holds");
const admit = async (...areas: string[]) => await gate.admit(areas, SIGNAL);

describe("a hold", () => {
  it("lets one probe through when its time has come, whatever the wall clock says, and none beside it", async () => {
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
  });

  it("waits as long as the longest wait that was asked for, whichever job met it last", async () => {
    const limited = (probeAfterMs: number) => ({ area: "orders", reason: "rate limit", probeAfterMs }) as const;
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

  it("is not lifted by a pass that was let in before it began", async () => {
    const before = await admit("orders", "updates");
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    await gate.passed(before, SIGNAL);
    expect(holds()).toEqual([{ area: "orders", reason: "credentials" }]);
    expect(await admit("orders")).toMatchObject({ state: "held" });
  });

  it("outlives a restart, and a clock that was years off then costs one window at most", async () => {
    await gate.hold(CREDENTIALS, refused, SIGNAL);
    test.clock.jump(-1_000 * 86_400_000);
    gate = new HoldGate(test.bridge.context);
    expect(await admit("orders")).toMatchObject({ state: "held" });
    test.clock.advance(5 * MINUTE_MS);
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
