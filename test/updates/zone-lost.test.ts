import { describe, expect, it } from "vitest";
import { describeObservations } from "../../src/probe/observation.ts";
import { dismissObservations, loadObservations } from "../../src/probe/observations.ts";
import type { Followed } from "../support/followed.ts";
import { startWithRewritten } from "../support/rewritten.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

const noticed = ({ bridge }: Followed) => loadObservations(bridge.store).filter(({ kind }) => kind === "zone");

/** A service that compares `since` with the texts of its times, and is upgraded: they are local times without a zone from then on. */
async function startUpgraded(hours: number) {
  const test = await startWithRewritten(4);
  const { ids, clock } = test;
  test.compareTexts();
  test.change(ids[3]!, { status: "paid" });
  await test.poll();
  await test.poll();
  const local = (text: unknown) =>
    new Date(Date.parse(String(text)) + hours * HOUR_MS).toISOString().slice(0, 19).replace("T", " ");
  const as = (order: Record<string, unknown>) => ({
    ...order,
    updated_at: local(order["updated_at"]),
    ...("created_at" in order && { created_at: local(order["created_at"]) }),
  });
  for (const endpoint of ["orders", "updates", "snapshot"] as const) test.rewrite(endpoint, as);
  clock.advance(60_000);
  const polls = async (times: number) => {
    for (let time = 0; time < times; time++) await test.poll();
  };
  return { ...test, polls };
}

describe("a service whose times name no zone after an upgrade", () => {
  itWhole.each([-5, -12, 3, 14])("is followed as before, %i hours from UTC, and it is told", async (hours) => {
    const test = await startUpgraded(hours);
    const { ids, polls, run, change, statusOf, sandbox, bridge, compared } = test;
    sandbox.service.createOrder();
    await run("orders");
    change(ids[0]!, { status: "cancelled" });
    await polls(2);
    expect(statusOf(ids[0]!).status).toBe("cancelled");
    for (const status of ["paid", "packed", "cancelled"]) {
      change(ids[1]!, { status }, 40 * 60_000);
      await polls(1);
      expect(statusOf(ids[1]!).status).toBe(status);
    }
    // The position is one of the new form, once the service's clock has come so far: no pass begins so far back as two zones may lie apart.
    for (let hour = 0; hour <= hours; hour++) {
      change(ids[2]!, { status: `s${hour}` }, HOUR_MS);
      await polls(1);
      expect(statusOf(ids[2]!).status).toBe(`s${hour}`);
    }
    await polls(2);
    const since = Date.parse(`${compared.at(-1)?.replace(" ", "T")}Z`);
    expect(Math.abs(since - test.clock.nowMs())).toBeLessThan((Math.abs(hours) + 1) * HOUR_MS);
    expect(noticed(test)).toHaveLength(1);
    expect(String(describeObservations(noticed(test)))).toContain("service.timezone");
    dismissObservations(bridge.store);
    expect(noticed(test)).toEqual([]);
    await polls(2);
    expect(noticed(test)).toEqual([]);
  });

  itWhole("is followed as before when it goes back to the former form, and that is no news any more", async () => {
    const test = await startUpgraded(-5);
    const { ids, polls, run, change, statusOf, sandbox } = test;
    sandbox.service.createOrder();
    await run("orders");
    await polls(3);
    for (const endpoint of ["orders", "updates", "snapshot"] as const) test.rewrite(endpoint, undefined);
    sandbox.service.createOrder();
    await run("orders");
    change(ids[0]!, { status: "cancelled" });
    await polls(2);
    expect(statusOf(ids[0]!).status).toBe("cancelled");
    expect(noticed(test)).toEqual([]);
  });

  it("is not told where the times never named a zone", async () => {
    const test = await startWithRewritten(2, { service: { timestamps: "iso-naive" } });
    await test.poll();
    test.sandbox.service.createOrder();
    await test.run("orders");
    await test.poll();
    expect(noticed(test)).toEqual([]);
  });
});

it("never stores an older version whose time only seems later, because it names no zone", async () => {
  const test = await startWithRewritten(2, { settings: { updates: { carry: "whole" } } });
  const { ids, statusOf, sandbox } = test;
  const former = JSON.parse(sandbox.service.newestText(ids[0]!)!) as Record<string, unknown>;
  test.change(ids[0]!, { status: "cancelled" });
  await test.poll();
  expect(statusOf(ids[0]!).status).toBe("cancelled");
  const seemsLater = new Date(test.clock.nowMs() + 60_000).toISOString().slice(0, 19);
  test.rewrite("updates", (order) =>
    order["order_id"] === ids[0] ? { ...former, updated_at: seemsLater, total: "1.00" } : order,
  );
  await test.poll(5 * 60_000);
  await test.poll();
  expect(statusOf(ids[0]!).status).toBe("cancelled");
});
