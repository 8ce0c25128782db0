import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { startTestBridge } from "../support/bridge.ts";

const HOUR_MS = 3_600_000;

describe("a clock that is far from the service's", () => {
  it("is told once, stands in the status while it lasts, and ends by itself", async () => {
    let serviceMs = Date.UTC(2026, 2, 1, 12);
    const t = await startTestBridge({ sandbox: { now: () => serviceMs } });
    const said = () => t.logs.filter(({ message }) => /clock/.test(message)).map(({ level }) => level);
    const told = () => loadFacts(t.bridge.store).notices;
    await t.bridge.watch.look();
    expect(told()).toEqual([]);
    t.clock.jump(3 * HOUR_MS);
    await t.run("orders");
    await t.bridge.watch.look();
    await t.bridge.watch.look();
    expect(told()).toEqual([{ name: "clock", since: "2026-03-01T15:00:00.000Z", offsetS: 10_800 }]);
    expect(said()).toEqual(["warn"]);
    await t.restart();
    expect(told()).toHaveLength(1);
    serviceMs += 3 * HOUR_MS;
    await t.run("orders");
    await t.bridge.watch.look();
    expect(told()).toEqual([]);
    expect(said()).toEqual(["warn", "info"]);
  });
});
