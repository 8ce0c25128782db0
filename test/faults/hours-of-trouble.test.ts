import { expect } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { startFollowed } from "../support/followed.ts";
import { inWhole } from "../support/whole.ts";

const QUARTER_MS = 900_000;
const raw = (body: string, status = 200): FaultAction => ({
  kind: "raw",
  status,
  contentType: "application/json",
  body,
});

inWhole("orders/pull-random", "updates/follow-trouble").it(
  "converges within a day without a person after hours in which every endpoint of orders was ill",
  async () => {
    const test = await startFollowed(6);
    const { sandbox, ids } = test;
    const old = sandbox.service.newestText(ids[0]!)!;
    const troubles: FaultAction[] = [
      raw('{"error":"not found"}', 404),
      { kind: "html" },
      { kind: "status", status: 401 },
      { kind: "status", status: 500 },
      { kind: "reset" },
      raw('{"error":"database is down","orders":[],"updates":[]}'),
      raw(`{"result":{"list":[${old}]}}`),
      raw('{"list":[{"text":"out of order"}]}'),
      raw(old),
    ];
    const rounds = async (count: number) => {
      for (let round = 0; round < count; round++) {
        test.clock.advance(QUARTER_MS);
        for (const job of ["orders", "updates"] as const) await test.run(job);
      }
    };
    for (const [n, action] of troubles.entries()) {
      sandbox.service.createOrder();
      sandbox.service.changeOrder(ids[n % ids.length]!, { status: `paid ${n}` });
      for (const path of ["orders", "updates", "snapshot", "confirm"] as const)
        sandbox.faults.add({ match: { path }, times: "forever", do: action });
      await rounds(2);
      sandbox.faults.clear();
    }
    await rounds(4 * 26);
    await test.run("reconcile");
    await rounds(2);
    const served = sandbox.service.orders().map(({ id }) => [id, JSON.parse(sandbox.service.newestText(id)!)]);
    const stored = test.rows<{ order_id: string; payload: string }>("SELECT order_id, payload FROM orders");
    expect(Object.fromEntries(stored.map((row) => [row.order_id, JSON.parse(row.payload)]))).toEqual(
      Object.fromEntries(served),
    );
    expect(test.rows("SELECT area, reason FROM holds")).toEqual([]);
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    expect(test.rows("SELECT kind FROM quarantine WHERE state = 'held'")).toEqual([]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    const facts = loadFacts(test.bridge.store);
    // Ages are counted by SQLite's clock and not by the test's, there is no ERP here, and nothing is sent.
    const ran = facts.flows.filter(({ lastSuccessAt }) => lastSuccessAt !== null);
    const flows = ran.map((flow) => ({ ...flow, isStale: false }));
    const { attention, exitCode } = describeStatus(
      { ...facts, flows, erpWrites: [] },
      { nowMs: test.clock.nowMs(), isRunning: true },
      { erpReadWithinMs: Number.POSITIVE_INFINITY },
    );
    expect({ attention, exitCode }).toEqual({ attention: [], exitCode: 0 });
  },
  60_000,
);
