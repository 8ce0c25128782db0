import { describe, expect } from "vitest";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import type { ChangePatch } from "../../src/sandbox/order-draft.ts";
import { LIMITS } from "../support/conditions.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

/** From now on the list of changes is answered as it is while nothing changes, until it is called again. */
async function silence(test: Followed): Promise<() => void> {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  let empty: Buffer = Buffer.alloc(0);
  const listen = (isSilent: boolean) => {
    service.handle = (request) => {
      const answer = handle(request);
      if (!request.path.includes("/orders/updates")) return answer;
      if (!isSilent) empty = answer.body;
      return { ...answer, body: empty };
    };
  };
  listen(false);
  for (let polls = 0; polls < 12; polls++) await test.poll(HOUR_MS / 6);
  listen(true);
  return () => {
    service.handle = handle;
  };
}

const conditionsOf = ({ bridge, clock }: Followed) =>
  listConditions({ ...loadFacts(bridge.store), flows: [] }, { nowMs: clock.nowMs(), isRunning: true }, LIMITS).filter(
    ({ code }) => code === "unlisted_changes",
  );

/** Changes made while the list is silent, and polls for `hours` from the comparison on. */
async function compareAfter(test: Followed, changes: readonly ChangePatch[], hours: number): Promise<void> {
  for (const [index, patch] of changes.entries()) test.change(test.ids[index]!, patch);
  await test.run("reconcile");
  for (let polls = 0; polls < hours * 6; polls++) await test.poll(HOUR_MS / 6);
}

const STATUSES: ChangePatch[] = [{ status: "cancelled" }, { status: "cancelled" }, { status: "paid" }];

describe("a list of changes that is silent while orders change", () => {
  itSome(1)([
    ["with a Date", {}],
    ["without one, this machine's clock behind", { dateHeader: false, clockOffsetMs: 3 * HOUR_MS }],
    ["without one, this machine's clock ahead", { dateHeader: false, clockOffsetMs: -3 * HOUR_MS }],
  ])("is told of an hour after the comparison, until it names something new: %s", async (_, service) => {
    const test = await startFollowed(8, { service });
    test.change(test.ids[7]!, { status: "paid" });
    await test.poll();
    const mend = await silence(test);
    await compareAfter(test, STATUSES, 0.5);
    expect(conditionsOf(test)).toEqual([]);
    await test.poll(HOUR_MS);
    expect(conditionsOf(test)).toEqual([
      { code: "unlisted_changes", subject: "updates", since: expect.any(String), params: { count: 3 } },
    ]);
    mend();
    test.change(test.ids[6]!, { status: "paid" });
    await test.poll();
    expect(conditionsOf(test)).toEqual([]);
  });

  itWhole.each<[string, ChangePatch[]]>([
    ["one order alone", [{ status: "paid" }]],
    ["what lists of changes may leave out", [{ total: "1.00" }, { total: "2.00" }]],
  ])("is not told of for %s", async (_, changes) => {
    const test = await startFollowed(8);
    test.change(test.ids[7]!, { status: "paid" });
    await test.poll();
    await silence(test);
    await compareAfter(test, changes, 3);
    expect(
      test.rows("SELECT 1 FROM order_events WHERE source = 'reconcile' OR source = 'snapshot'").length,
    ).toBeGreaterThan(0);
    expect(conditionsOf(test)).toEqual([]);
  });
});
