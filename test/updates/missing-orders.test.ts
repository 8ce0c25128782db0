import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { ServiceError } from "../../src/service/service-error.ts";
import { saysNoSuchOrder } from "../../src/updates/reads/missing-orders.ts";
import type { Followed } from "../support/followed.ts";
import { NO_SUCH_ORDER, startWithIll, WEB_PAGE_404 } from "../support/ill-orders.ts";
import { words } from "../support/messages.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/missing-orders");

const MINUTE = 60_000;

const order = ({ rows }: Followed, id: string) =>
  rows(
    "SELECT is_open, revision, erp_revision, removed_at IS NOT NULL AS removed FROM orders WHERE order_id = ?",
    id,
  )[0];
const UNTOUCHED = { is_open: 1, revision: 1, erp_revision: 1, removed: 0 };
const REMOVED = { is_open: 0, revision: 2, erp_revision: 2, removed: 1 };
const removedCount = ({ rows }: Followed) =>
  rows<{ n: number }>("SELECT count(*) AS n FROM orders WHERE removed_at IS NOT NULL")[0]!.n;
const updates = ({ rows }: Followed) =>
  rows("SELECT waiting, failing_since FROM sync_status WHERE flow = 'updates'")[0];

async function pollFor(test: Followed, minutes: number, everyMinutes = 1): Promise<void> {
  for (let minute = 0; minute < minutes; minute += everyMinutes) {
    test.clock.advance(everyMinutes * MINUTE);
    await test.run("updates");
  }
}

describe("an order that the service says it does not have", () => {
  itSome(1)([404, 410] as const)(
    "is marked once it says so again ten minutes later, and others are well: %s",
    async (status) => {
      const test = await startWithIll(4);
      const [id, other] = test.ids as [string, string];
      test.ill.set(id, { kind: "status", status });
      test.change(id, { status: "paid" });
      test.change(other, { status: "paid" });
      expect(await test.poll()).toMatchObject({ changed: 1 });
      expect(order(test, id)).toEqual(UNTOUCHED);
      expect(updates(test)).toEqual({ waiting: 1, failing_since: null });
      await pollFor(test, 9);
      expect(test.snapshots(id)).toBe(1);
      expect(order(test, id)).toEqual(UNTOUCHED);
      await pollFor(test, 3);
      expect(test.snapshots(id)).toBe(2);
      expect(order(test, id)).toEqual(REMOVED);
      expect(test.rows("SELECT kind FROM order_events WHERE order_id = ? ORDER BY seq", id)).toEqual([
        { kind: "created" },
        { kind: "removed" },
      ]);
      expect(updates(test)).toEqual({ waiting: 0, failing_since: null });
      expect(test.rows("SELECT * FROM missing_orders")).toEqual([]);
      await pollFor(test, 30);
      expect(test.snapshots(id)).toBe(2);
    },
  );

  itWhole(
    "is back within the hour where one machine of the service had lost the newest orders for a while, and is asked for ever more seldom otherwise",
    async () => {
      const test = await startWithIll(6);
      const [gone, ...shard] = [test.ids[0]!, ...test.ids.slice(4)];
      for (const id of [gone, ...shard]) {
        test.ill.set(id, NO_SUCH_ORDER);
        test.change(id, { status: "paid" });
      }
      await pollFor(test, 50);
      expect(removedCount(test)).toBe(3);
      for (const id of shard) test.ill.delete(id);
      const asked = test.snapshots(gone);
      await pollFor(test, 40);
      expect(removedCount(test)).toBe(1);
      expect(shard.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid"]);
      await pollFor(test, 3 * 24 * 60, 30);
      expect(test.snapshots(gone) - asked).toBe(5);
      expect(test.rows("SELECT * FROM later_reads")).toEqual([]);
    },
  );

  itWhole("is noted as missing once where it was never stored, and is asked for ever more seldom", async () => {
    const test = await startWithIll(3);
    test.sandbox.service.setOptions({ updates: { scope: "all" } });
    const stranger = test.sandbox.service.createOrder();
    test.change(stranger, { total: "1" });
    test.ill.set(stranger, NO_SUCH_ORDER);
    const [well] = test.ids as [string];
    let times = 0;
    for (let minute = 0; minute < 60; minute++) {
      test.change(well, { total: String(minute) });
      await pollFor(test, 1);
      const isNoted = test.rows("SELECT 1 FROM missing_orders").length > 0;
      if (isNoted && minute > 12) times += 1;
    }
    expect(times).toBe(0);
    expect(test.snapshots(stranger)).toBeGreaterThan(3);
    expect(test.rows("SELECT kind, state FROM quarantine WHERE reference = ?", stranger)).toEqual([
      { kind: "change", state: "held" },
    ]);
    test.ill.delete(stranger);
    await pollFor(test, 70);
    expect(test.statusOf(stranger).status).toBe("new");
  });

  itWhole("is asked for anew where it was served in between", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.ill.set(id, NO_SUCH_ORDER);
    test.change(id, { status: "paid" });
    await test.poll();
    await pollFor(test, 8);
    test.change(id, { status: "packed" });
    await pollFor(test, 8);
    expect(order(test, id)).toEqual(UNTOUCHED);
    await pollFor(test, 12);
    expect(order(test, id)).toEqual(REMOVED);
  });

  itWhole("stays what it is where the service has it after all", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.ill.set(id, NO_SUCH_ORDER);
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.clear();
    await pollFor(test, 12);
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
    expect(
      test.rows("SELECT * FROM missing_orders UNION ALL SELECT order_id, since, last_error FROM owed_reads"),
    ).toEqual([]);
    // The time before does not count towards the next trouble.
    test.ill.set(id, NO_SUCH_ORDER);
    test.change(id, { status: "packed" });
    await test.poll();
    expect(removedCount(test)).toBe(0);
  });

  itWhole("is not judged by a clock that jumps, and is over a restart", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.ill.set(id, NO_SUCH_ORDER);
    test.change(id, { status: "paid" });
    await test.poll();
    // Years ahead the read is due; the mock service's Date goes with this clock.
    test.clock.jump(3 * 365 * 86_400_000);
    await test.run("updates");
    expect(test.snapshots(id)).toBe(2);
    expect(order(test, id)).toEqual(UNTOUCHED);
    test.clock.jump(-4 * 365 * 86_400_000);
    await test.run("updates");
    expect(order(test, id)).toEqual(UNTOUCHED);
    await pollFor(test, 12);
    expect(order(test, id)).toEqual(REMOVED);
  });

  itWhole.each([true, false])(
    "is judged alike where each pass is a process of its own; Date: %s",
    async (dateHeader) => {
      const test = await startWithIll(3, { service: { dateHeader } });
      const [id] = test.ids as [string];
      test.ill.set(id, NO_SUCH_ORDER);
      test.change(id, { status: "paid" });
      await test.poll();
      for (let minute = 0; minute < 8; minute++) {
        await test.restart();
        await pollFor(test, 1);
        expect(order(test, id)).toEqual(UNTOUCHED);
      }
      for (let minute = 0; minute < 6; minute++) {
        await test.restart();
        await pollFor(test, 1);
      }
      expect(order(test, id)).toEqual(REMOVED);
    },
  );
});

whole.describe("a service that has lost its way", () => {
  itSome(1)<[string, FaultAction]>([
    ["JSON", NO_SUCH_ORDER],
    ["a web page", WEB_PAGE_404],
    ["410", { kind: "status", status: 410 }],
  ])(
    "removes nothing in an hour of 404 for every order, and everything is current afterwards: %s",
    async (_name, action) => {
      const test = await startWithIll(30);
      for (const id of test.ids) test.change(id, { status: "paid" }, 100);
      const rule = test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: action });
      await pollFor(test, 30);
      await test.run("reconcile");
      await pollFor(test, 30);
      expect(removedCount(test)).toBe(0);
      expect(test.rows("SELECT * FROM missing_orders")).toEqual([]);
      expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
      expect(updates(test)).toMatchObject({ waiting: 30, failing_since: expect.any(String) });
      // A few orders a pass, not all of them.
      expect(test.snapshots()).toBeLessThan(61 * 7);
      test.sandbox.faults.remove(rule);
      await pollFor(test, 2);
      expect(new Set(test.ids.map((id) => test.statusOf(id).status))).toEqual(new Set(["paid"]));
      expect(updates(test)).toEqual({ waiting: 0, failing_since: null });
    },
  );

  it("is marked where the changes, which would list it, have answered nothing for an hour", async () => {
    const test = await startWithIll(3);
    const [id, other] = test.ids as [string, string];
    test.change(other, { status: "paid" });
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, { kind: "status", status: 404 });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "status", status: 503 },
    });
    await test.run("reconcile");
    await pollFor(test, 50, 10);
    expect(removedCount(test)).toBe(0);
    await pollFor(test, 240, 10);
    expect(removedCount(test)).toBe(1);
  });

  itWhole("removes nothing by two short outages, each of which ends in the middle of a pass", async () => {
    const test = await startWithIll(6);
    for (let outage = 0; outage < 2; outage++) {
      for (const id of test.ids) test.change(id, { status: `step ${outage}` });
      test.sandbox.faults.add({ match: { path: "snapshot" }, times: 2, do: NO_SUCH_ORDER });
      await test.poll();
      expect(removedCount(test)).toBe(0);
      await pollFor(test, 12);
      expect(new Set(test.ids.map((id) => test.statusOf(id).status))).toEqual(new Set([`step ${outage}`]));
    }
  });

  itWhole("is not believed for one order where a proxy says it, for as long as it does", async () => {
    const test = await startWithIll(3);
    const [id, other] = test.ids as [string, string];
    test.ill.set(id, WEB_PAGE_404);
    test.change(id, { status: "paid" });
    await test.poll();
    await pollFor(test, 200, 4);
    expect(order(test, id)).toEqual(UNTOUCHED);
    expect(updates(test)).toEqual({ waiting: 1, failing_since: null });
    // Ever more rarely, at most an hour apart.
    expect(test.snapshots(id)).toBeLessThan(14);
    test.change(other, { status: "paid" });
    expect(await test.poll()).toMatchObject({ changed: 1 });
    test.ill.clear();
    await pollFor(test, 61, 4);
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole("has stale replicas, which do not have the newest orders either", async () => {
    const test = await startWithIll(8);
    const fresh = test.ids.slice(4);
    for (const id of fresh) test.ill.set(id, NO_SUCH_ORDER);
    for (const id of fresh.slice(0, 2)) test.change(id, { status: "paid" });
    await pollFor(test, 40);
    expect(removedCount(test)).toBe(0);
    test.ill.clear();
    await pollFor(test, 61, 4);
    expect(fresh.slice(0, 2).map((id) => test.statusOf(id).status)).toEqual(["paid", "paid"]);
    expect(updates(test)).toEqual({ waiting: 0, failing_since: null });
  });
});

describe("whoever meets a missing order", () => {
  it("leaves it to the same rule: reconcile", async () => {
    const test = await startWithIll(4);
    const [id] = test.ids as [string];
    test.sandbox.service.deleteOrder(id);
    expect(await test.run("reconcile")).toMatchObject({ error: null, counts: { checked: 4, unknown: 1 } });
    expect(order(test, id)).toEqual(UNTOUCHED);
    await pollFor(test, 1);
    expect(order(test, id)).toEqual(UNTOUCHED);
    await pollFor(test, 12);
    expect(order(test, id)).toEqual(REMOVED);
    // The three others, and the removed one among those of the last days and in its turn.
    expect(await test.run("reconcile")).toMatchObject({ counts: { checked: 5, differ: 0 } });
  });

  itWhole("does not trouble the ERP with an order that was over", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    test.change(id, { status: "delivered" });
    await test.poll();
    test.sandbox.service.deleteOrder(id);
    await test.run("reconcile");
    await pollFor(test, 13);
    expect(order(test, id)).toEqual({ is_open: 0, revision: 3, erp_revision: 2, removed: 1 });
  });
});

describe("that there is no such order", () => {
  const error = (status: number | undefined, isWebPage = false) =>
    new ServiceError("request_refused", words("x"), {
      area: "orders",
      method: "GET",
      path: "/",
      effect: "none",
      isWebPage,
      ...(status === undefined ? {} : { status }),
    });
  it("is said by 404 and 410 alone, and never by a web page", () => {
    const said = [404, 410, 400, 401, 403, 405, 500, 200, undefined].filter((status) => saysNoSuchOrder(error(status)));
    expect(said).toEqual([404, 410]);
    expect(saysNoSuchOrder(error(404, true))).toBe(false);
    expect(saysNoSuchOrder(new Error("404"))).toBe(false);
  });
});
