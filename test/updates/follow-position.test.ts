import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startTestBridge } from "../support/bridge.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itWhole } from "../support/whole.ts";

const YEAR_MS = 365 * 24 * 3_600_000;

/** Every timestamp and every Date that the service has sent: where a watermark may come from. */
function isOfTheService({ sandbox }: Followed, value: string): boolean {
  const bodies = sandbox.ledger.entries.map(({ responseBody }) => responseBody ?? "");
  const dates = sandbox.ledger.entries.map(({ at }) => new Date(at).toUTCString());
  return bodies.some((body) => body.includes(value)) || dates.includes(value);
}

async function fail(test: Followed): Promise<string> {
  test.clock.advance(60_000);
  const result = await test.run("updates");
  expect(result.outcome).toBe("failed");
  return result.error?.message ?? "";
}

describe("the watermark", () => {
  it("begins as the Date header of the first pull, verbatim, also where that brought no order", async () => {
    const { rows, run, clock, sandbox } = await startTestBridge();
    await run("orders");
    const first = [{ stream: "updates", value: "Sun, 01 Mar 2026 12:00:00 GMT" }];
    expect(rows("SELECT stream, value FROM watermarks")).toEqual(first);
    clock.advance(3_600_000);
    sandbox.service.createOrder();
    await run("orders");
    expect(rows("SELECT stream, value FROM watermarks")).toEqual(first);
  });

  itWhole("waits for the first pull instead of asking for every change there ever was", async () => {
    const { run, sandbox, rows } = await startTestBridge();
    expect(await run("updates")).toMatchObject({ outcome: "idle", error: null });
    expect(sandbox.ledger.ofKind("updates")).toEqual([]);
    expect(rows("SELECT * FROM watermarks")).toEqual([]);
  });

  itWhole("asks for everything where the service tells no time at all", async () => {
    const test = await startFollowed(2, { service: { dateHeader: false } });
    expect(test.watermark()).toBeUndefined();
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    expect(test.sinces()[0]).toMatch(/^1970-01-01/);
    expect(test.statusOf(test.ids[0]!)).toEqual({ status: "paid", revision: 2 });
    expect(isOfTheService(test, test.watermark()!)).toBe(true);
  });

  itWhole.each<[string, SandboxOptionsPatch]>([
    ["seconds", { precision: "s" }],
    ["milliseconds", { precision: "ms" }],
    ["microseconds", { precision: "us" }],
    ["an offset", { precision: "us", timestamps: "iso-offset" }],
    ["no zone", { precision: "us", timestamps: "iso-naive" }],
    ["epoch seconds", { precision: "us", timestamps: "unix" }],
    ["epoch milliseconds", { precision: "us", timestamps: "unix_ms" }],
  ])("is the service's own timestamp to the last digit, with %s", async (_name, service) => {
    const test = await startFollowed(5, { service });
    // Within one millisecond, so that only the last digits tell these timestamps apart.
    test.clock.advance(1_000);
    for (const id of test.ids) test.sandbox.service.changeOrder(id, { status: "paid" });
    await test.poll();
    const timestamps = test.ids.map(
      (id) => /"updated_at":("?)([^",}]+)\1/.exec(test.sandbox.service.newestText(id)!)![2]!,
    );
    expect(test.watermark()).toBe(timestamps.at(-1));
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(test.ids.map(() => "paid"));
  });

  itWhole(
    "stays until the last page is stored, keeps what earlier pages brought, and goes on after a restart",
    async () => {
      const test = await startFollowed(30, { service: { updates: { pageLimit: 10 } } });
      const first = test.watermark();
      for (const id of test.ids) test.change(id, { status: "paid" });
      test.sandbox.faults.add({ match: { path: "updates" }, skip: 2, do: { kind: "html" } });
      await fail(test);
      expect(test.watermark()).toBe(first);
      expect(test.ids.filter((id) => test.statusOf(id).status === "paid")).toHaveLength(19);
      await test.restart();
      expect(test.watermark()).toBe(first);
      await test.poll();
      expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(test.ids.at(-1)!)!).updated_at);
      expect(test.ids.map((id) => test.statusOf(id))).toEqual(test.ids.map(() => ({ status: "paid", revision: 2 })));
      expect(test.snapshots()).toBe(30);
    },
  );

  itWhole("moves in the transaction that stores the last of its rows, or not at all", async () => {
    const test = await startFollowed(3);
    const first = test.watermark();
    for (const id of test.ids) test.change(id, { status: "paid" });
    const { db } = test.bridge.store;
    db.exec("CREATE TEMP TRIGGER no_move BEFORE UPDATE ON main.watermarks BEGIN SELECT RAISE(ABORT, 'power cut'); END");
    await fail(test);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.rows("SELECT * FROM seen_changes")).toEqual([]);
    db.exec("DROP TRIGGER no_move");
    db.exec("CREATE TEMP TRIGGER no_rows BEFORE INSERT ON main.owed_reads BEGIN SELECT RAISE(ABORT, 'power cut'); END");
    await fail(test);
    expect(test.watermark()).toBe(first);
    db.exec("DROP TRIGGER no_rows");
    await test.poll();
    expect(test.watermark()).not.toBe(first);
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid"]);
  });

  itWhole.each([
    ["years behind", -3 * YEAR_MS],
    ["years ahead", 3 * YEAR_MS],
  ])("and the requests are the same with a local clock that is %s or jumps", async (_name, offMs) => {
    const follow = async (off: number) => {
      let serviceMs = Date.UTC(2026, 2, 1, 12);
      const test = await startFollowed(3, { sandbox: { now: () => serviceMs } });
      test.clock.jump(off);
      for (const id of test.ids) {
        serviceMs += 61_000;
        test.sandbox.service.changeOrder(id, { status: "paid" });
        await test.poll();
        test.clock.jump(-off / 2);
      }
      await test.restart();
      await test.poll();
      return { since: test.sinces(), watermark: test.watermark(), states: test.ids.map((id) => test.statusOf(id)) };
    };
    expect(await follow(offMs)).toEqual(await follow(0));
  });

  itWhole("leaves out a timestamp from far in the future, and follows that order and all others on", async () => {
    const test = await startFollowed(3);
    const [a, b, c] = test.ids as [string, string, string];
    test.change(a, { status: "paid" });
    test.change(b, { status: "paid", timestamp: Date.UTC(2099, 0, 1) });
    await test.poll();
    expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(a)!).updated_at);
    test.change(c, { status: "paid" });
    await test.poll();
    test.change(b, { status: "shipped" });
    await test.poll();
    expect([a, b, c].map((id) => test.statusOf(id).status)).toEqual(["paid", "shipped", "paid"]);
    expect(test.sinces().every((since) => since < "2026-04")).toBe(true);
    expect(test.logs.filter(({ message }) => /later than the service's clock/.test(message))).toHaveLength(1);
  });

  itWhole("does not take the present for the future where only one answer long ago told the time", async () => {
    const test = await startFollowed(3, { service: { updates: { pageLimit: 2 } } });
    test.sandbox.service.setOptions({ dateHeader: false });
    for (const id of test.ids) test.change(id, { status: "paid" }, 60_000);
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid"]);
    expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(test.ids[2]!)!).updated_at);
    expect(test.logs.filter(({ message }) => /later than the service's clock/.test(message))).toEqual([]);
  });

  itWhole("says once that it lies ahead of this machine's clock where the service never tells the time", async () => {
    const test = await startFollowed(2, { service: { dateHeader: false } });
    const [a, b] = test.ids as [string, string];
    const told = () => test.logs.filter(({ message }) => /ahead of this machine's clock/.test(message));
    test.change(a, { status: "packed" });
    await test.poll();
    expect(told()).toEqual([]);
    test.change(a, { status: "paid", timestamp: test.clock.nowMs() + 20 * 3_600_000 });
    await test.poll();
    await test.poll();
    expect(told()).toHaveLength(1);
    expect(test.statusOf(a).status).toBe("paid");
    test.change(b, { status: "paid" }, 21 * 3_600_000);
    await test.poll();
    expect(test.statusOf(b).status).toBe("paid");
    expect(told()).toHaveLength(1);
  });

  itWhole("follows more changes from the future than a page holds, without moving there", async () => {
    const test = await startFollowed(25, { service: { updates: { pageLimit: 10 } } });
    for (const [index, id] of test.ids.entries()) {
      test.change(id, { status: "paid", timestamp: Date.UTC(2099, 0, 1) + index * 1_000 }, 0);
    }
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(test.ids.map(() => "paid"));
    expect(test.watermark()).toBe("Sun, 01 Mar 2026 12:00:00 GMT");
  });

  itWhole(
    "goes back with a service whose clock was set back, so that an outage right after it loses nothing",
    async () => {
      const test = await startFollowed(4, { service: { clockOffsetMs: 7_200_000 } });
      const [a, b, c, d] = test.ids as [string, string, string, string];
      test.change(a, { status: "paid" });
      await test.poll();
      test.sandbox.service.setOptions({ clockOffsetMs: 0 });
      test.change(b, { status: "paid" });
      // The first answer after a restart is what tells that the clock was set back.
      await test.restart();
      await test.poll();
      expect(test.statusOf(b).status).toBe("paid");
      expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(b)!).updated_at);
      test.change(c, { status: "paid" }, 1_800_000);
      test.change(d, { status: "paid" }, 1_800_000);
      await test.poll();
      expect([c, d].map((id) => test.statusOf(id).status)).toEqual(["paid", "paid"]);
    },
  );

  it("goes back by as long as no pass was complete, so that an outage before the clock was set back loses nothing", async () => {
    const test = await startFollowed(2, { service: { clockOffsetMs: 365 * 86_400_000 } });
    const [a, b] = test.ids as [string, string];
    test.change(a, { status: "paid" });
    await test.poll();
    test.sandbox.service.setOptions({ clockOffsetMs: 0 });
    test.change(b, { status: "paid" });
    test.clock.advance(1_800_000);
    await test.poll();
    expect(test.statusOf(b).status).toBe("paid");
  });

  itWhole("is never later than what the service had told at the time", async () => {
    const test = await startFollowed(10, { service: { precision: "us", updates: { pageLimit: 4 } } });
    for (let round = 0; round < 6; round++) {
      test.change(test.ids[round]!, { status: "paid" }, 61_000);
      test.sandbox.faults.add({ match: { path: "updates" }, skip: round % 2, times: 3, do: { kind: "html" } });
      await test.run("updates");
      test.sandbox.faults.clear();
      await test.poll();
      expect(isOfTheService(test, test.watermark()!)).toBe(true);
      expect(test.statusOf(test.ids[round]!).status).toBe("paid");
    }
  });
});

describe("times that were set back by some hours, as by another time zone", () => {
  const HOUR_MS = 3_600_000;
  const start = async (byMs: number, aheadMs = 0) => {
    const settings = { updates: { overlap: "1m" } };
    const test = await startFollowed(3, { settings, service: { dateHeader: false } });
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    test.clock.jump(aheadMs);
    test.sandbox.service.setOptions({ clockOffsetMs: -byMs - aheadMs });
    test.change(test.ids[1]!, { status: "cancelled" });
    test.sandbox.service.createOrder();
    await test.run("orders");
    return test;
  };

  it("hide no change once a new order has shown them", async () => {
    const test = await start(3 * HOUR_MS);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect(test.statusOf(test.ids[1]!).status).toBe("cancelled");
    test.change(test.ids[2]!, { status: "cancelled" });
    for (let polls = 0; polls < 25; polls++) await test.poll();
    expect(test.statusOf(test.ids[2]!).status).toBe("cancelled");
  });

  it.each([2, 7, 12, 17])(
    "hide no change that was made %i minutes after changes were last requested",
    async (minutes) => {
      const test = await start(3 * HOUR_MS);
      for (let polls = 0; polls < 20 + minutes; polls++) await test.poll();
      test.change(test.ids[2]!, { status: "cancelled" });
      for (let polls = 0; polls < 25; polls++) await test.poll();
      expect(test.statusOf(test.ids[2]!).status).toBe("cancelled");
    },
  );

  it("hide no change that was made long before the first new order", async () => {
    const test = await startFollowed(2, { settings: { updates: { overlap: "1m" } }, service: { dateHeader: false } });
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    test.sandbox.service.setOptions({ clockOffsetMs: -3 * HOUR_MS });
    test.change(test.ids[1]!, { status: "cancelled" });
    for (let polls = 0; polls < 40; polls++) await test.poll();
    test.sandbox.service.createOrder();
    await test.run("orders");
    for (let polls = 0; polls < 25; polls++) await test.poll();
    expect(test.statusOf(test.ids[1]!).status).toBe("cancelled");
  });

  it("hide no change where this machine's clock is a day ahead", async () => {
    const test = await start(12 * HOUR_MS, 24 * HOUR_MS);
    test.change(test.ids[2]!, { status: "cancelled" });
    for (let polls = 0; polls < 25; polls++) await test.poll();
    expect(test.statusOf(test.ids[2]!).status).toBe("cancelled");
  });

  it("are not seen in a new order of the present where the position lies ahead", async () => {
    const test = await startFollowed(2, { service: { dateHeader: false } });
    test.sandbox.service.setOptions({ clockOffsetMs: 40 * 60_000 });
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    expect(Date.parse(test.watermark()!)).toBeGreaterThan(test.clock.nowMs());
    test.sandbox.service.setOptions({ clockOffsetMs: 0 });
    test.sandbox.service.createOrder();
    await test.run("orders");
    expect(test.rows("SELECT * FROM meta WHERE key = 'orders_behind'")).toEqual([]);
  });

  itWhole.each([
    ["of an order that has waited for a minute", 60_000],
    ["of an order that has waited for days", 72 * HOUR_MS],
  ])("are requested again for a day, and not because %s", async (_, byMs) => {
    const test = await start(byMs);
    await test.poll();
    expect(test.rows("SELECT * FROM meta WHERE key = 'orders_behind'")).toEqual([]);
  });

  itWhole("are requested again for a day after the last of these orders", async () => {
    const test = await start(3 * HOUR_MS);
    await test.poll(25 * HOUR_MS);
    await test.poll();
    expect(test.rows("SELECT * FROM meta WHERE key = 'orders_behind'")).toEqual([]);
  });
});
