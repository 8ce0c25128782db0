import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startTestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

describe("a database that is full", () => {
  it("fails the pass in one line, confirms nothing, and goes on by itself when there is room", async () => {
    const { sandbox, bridge, run, rows, logs } = await startTestBridge();
    await run("orders");
    const { db } = bridge.store;
    db.pragma(`max_page_count = ${db.pragma("page_count", { simple: true })}`);
    for (let count = 0; count < 100; count++) sandbox.service.createOrder();
    for (let pass = 0; pass < 3; pass++) {
      expect(await run("orders")).toMatchObject({ outcome: "failed", error: { code: "disk_full" } });
    }
    expect(sandbox.ledger.ofKind("confirm")).toEqual([]);
    expect(rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 0 }]);
    const errors = logs.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors).toEqual([
      expect.stringMatching(/^orders: Writing to the database: the disk of .* is full \(.*\)\.$/),
    ]);

    db.pragma("max_page_count = 1000000");
    expect(await run("orders")).toMatchObject({ error: null, counts: { created: 100, confirmed: 1 } });
    expect(logs.map(({ message }) => message)).toContain("orders: works again.");
    expect(sandbox.ledger.confirmedOrderIds().size).toBe(100);
  });
});

describe("a failing job", () => {
  it("writes one line for an outage, another when it fails in another way, and one when it works again", async () => {
    const { sandbox, run, logs } = await startTestBridge();
    const failWith = (status: number) =>
      sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status } });
    for (const status of [500, 503, 500, 400]) {
      failWith(status);
      await run("orders");
    }
    const told = () => logs.filter(({ level }) => level === "error" || level === "info").map(({ message }) => message);
    expect(told()).toEqual([
      expect.stringMatching(/^orders: the service is out of order \(GET .* 500: .*\)\.$/),
      expect.stringMatching(/^orders: GET .* was answered with 400: .*; orders held \(refused\)\.$/),
    ]);
  });
});

describe("a hold", () => {
  it("is over once the service lets a pass in, also where the pass fails by what was answered then", async () => {
    const { sandbox, clock, run, rows } = await startTestBridge();
    sandbox.service.createOrder();
    await run("orders");
    const answer = (fault: FaultAction) => sandbox.faults.add({ match: { path: "updates" }, times: 1, do: fault });
    const holds = () => rows("SELECT area, reason FROM holds");
    answer({ kind: "status", status: 402 });
    await run("updates");
    expect(holds()).toEqual([{ area: "updates", reason: "payment" }]);
    clock.advance(24 * 3_600_000);
    answer({ kind: "html" });
    expect(await run("updates")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
    expect(holds()).toEqual([]);
    expect(await run("updates")).toMatchObject({ error: null });
  });

  itWhole(
    "whose end cannot be written leaves the pass failed by its own error, and is over after the next one",
    async () => {
      const { sandbox, bridge, clock, run, rows } = await startTestBridge();
      sandbox.service.createOrder();
      await run("orders");
      const answer = (fault: FaultAction) => sandbox.faults.add({ match: { path: "updates" }, times: 1, do: fault });
      answer({ kind: "status", status: 402 });
      await run("updates");
      clock.advance(24 * 3_600_000);
      bridge.store.db.exec(
        "CREATE TEMP TRIGGER full BEFORE DELETE ON main.holds BEGIN SELECT RAISE(ABORT, 'full'); END",
      );
      answer({ kind: "html" });
      expect(await run("updates")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
      expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "updates", reason: "payment" }]);
      bridge.store.db.exec("DROP TRIGGER full");
      clock.advance(24 * 3_600_000);
      expect(await run("updates")).toMatchObject({ error: null });
      expect(rows("SELECT area, reason FROM holds")).toEqual([]);
    },
  );

  itWhole("goes on where a pass fails without an answer", async () => {
    const { sandbox, clock, run, rows } = await startTestBridge();
    sandbox.service.createOrder();
    await run("orders");
    sandbox.faults.add({ match: { path: "updates" }, times: 1, do: { kind: "status", status: 402 } });
    await run("updates");
    clock.advance(24 * 3_600_000);
    sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: { kind: "status", status: 502 } });
    expect(await run("updates")).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(rows("SELECT reason FROM holds")).toEqual([{ reason: "payment" }]);
  });
});

describe("a stop", () => {
  it("in the middle of a wait ends the pass as stopped, not as a defect of the program", async () => {
    const { sandbox, run, clock, bridge, rows } = await startTestBridge();
    sandbox.service.createOrder();
    await run("orders");
    sandbox.faults.add({ match: { path: "updates" }, do: { kind: "status", status: 502 } });
    const stop = new AbortController();
    clock.sleep = async (_ms, signal) => {
      stop.abort();
      signal?.throwIfAborted();
    };
    const result = await bridge.runners.get("updates")!.runNow(stop.signal);
    expect(result).toMatchObject({ outcome: "stopped", error: { code: "stopped" } });
    expect(rows("SELECT outcome, error_code FROM runs WHERE job = 'updates'")).toEqual([
      { outcome: "stopped", error_code: "stopped" },
    ]);
  });
});
