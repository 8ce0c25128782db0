import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/follow-limits");

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const held = (test: Followed) =>
  test.rows<{ reason: string }>("SELECT reason FROM holds WHERE area = 'updates'").map(({ reason }) => reason);
/** The gaps that were told of. */
const told = (test: Followed) =>
  test.logs.map(({ message }) => message).filter((message) => message.startsWith("The service refuses to go back"));
const statuses = (test: Followed) => test.ids.map((id) => test.statusOf(id).status);
const refusedPolls = (test: Followed) =>
  test.sandbox.ledger.ofKind("updates").filter(({ status }) => status === 400).length;

async function start(count: number, limitMs: number, service: SandboxOptionsPatch = {}): Promise<Followed> {
  const test = await startFollowed(count, {
    service: { ...service, updates: { sinceAgeMax: limitMs, ...service.updates } },
  });
  test.change(test.ids[0]!, { status: "accepted" });
  await run(test, 12 * 60_000);
  return test;
}

interface Run {
  /** Each pass is one of another process, as those of a timer that runs `sync`. */
  isByTimer?: boolean;
}

/** Orders and changes are asked for every `everyMs`, whatever comes of it. Returns how many passes over changes failed. */
async function run(
  test: Followed,
  forMs: number,
  everyMs = 6 * 60_000,
  { isByTimer = false }: Run = {},
): Promise<number> {
  let failed = 0;
  for (let ms = 0; ms < forMs; ms += everyMs) {
    test.clock.advance(everyMs);
    if (isByTimer) await test.restart();
    await test.run("orders");
    const { error } = await test.run("updates");
    if (error !== null) failed += 1;
  }
  return failed;
}

/** Changes cannot be asked for, orders can. */
async function outage(test: Followed, forMs: number): Promise<void> {
  const rule = test.sandbox.faults.add({
    match: { path: "updates" },
    times: "forever",
    do: { kind: "status", status: 503 },
  });
  await run(test, forMs, 4 * HOUR_MS);
  test.sandbox.faults.remove(rule);
}

/** No more than so many requests for changes, or whatever `path` stands in, a minute are answered. */
function limitRequests(test: Followed, perMinute: number, path = /\/updates/): void {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  let answered: number[] = [];
  service.handle = (request) => {
    if (!path.test(request.path)) return handle(request);
    const nowMs = test.clock.nowMs();
    answered = answered.filter((ms) => ms > nowMs - 60_000);
    if (answered.length < perMinute) {
      answered.push(nowMs);
      return handle(request);
    }
    return {
      ...handle(request),
      status: 429,
      headers: { "retry-after": "60" },
      body: Buffer.from('{"error":"too many"}'),
    };
  };
}

describe("a service that refuses a since of more than three days", () => {
  itWhole("is followed at once after an outage of half the limit: what was widened is left out", async () => {
    const test = await start(5, 3 * DAY_MS);
    await run(test, 2 * HOUR_MS, 10 * 60_000);
    await outage(test, 40 * HOUR_MS);
    test.change(test.ids[1]!, { status: "cancelled" });
    expect(await run(test, 12 * 60_000)).toBe(0);
    expect(statuses(test)[1]).toBe("cancelled");
    expect(held(test)).toEqual([]);
    const { length } = test.sinces();
    const before = refusedPolls(test);
    await run(test, 2 * DAY_MS, 4 * HOUR_MS);
    expect(test.sinces().length).toBeGreaterThan(length);
    expect(refusedPolls(test)).toBe(before);
  });

  itWhole(
    "is followed again after an outage of a week: what could not be asked for is found order by order",
    async () => {
      const test = await start(30, 3 * DAY_MS);
      await run(test, 2 * HOUR_MS, 10 * 60_000);
      for (const id of test.ids.slice(1, 25)) test.change(id, { status: "cancelled" });
      await outage(test, 7 * DAY_MS);
      const before = test.watermark();
      test.change(test.ids[25]!, { status: "paid" });
      const rule = test.sandbox.faults.add({
        match: { path: "snapshot" },
        times: "forever",
        do: { kind: "status", status: 503 },
      });
      await run(test, 2 * HOUR_MS, 10 * 60_000);
      expect(held(test)).toContain("cut");
      expect(test.watermark()).toBe(before);
      test.sandbox.faults.remove(rule);
      await test.restart();
      await run(test, 3 * HOUR_MS, 15 * 60_000);
      expect(told(test)).toEqual([
        expect.stringMatching(/^The service refuses to go back to .* and was asked from 2026-03-/),
      ]);
      expect(statuses(test).filter((status) => status === "cancelled")).toHaveLength(24);
      expect(statuses(test)[25]).toBe("paid");
      expect(test.watermark()).not.toBe(before);
      expect(held(test)).toEqual([]);
      test.change(test.ids[26]!, { status: "cancelled" });
      expect(await run(test, 6 * 60_000)).toBe(0);
      expect(statuses(test)[26]).toBe("cancelled");
    },
  );

  itWhole("is followed through weeks without a change: no order is read, and nothing is refused for long", async () => {
    const test = await start(5, 3 * DAY_MS);
    const before = test.watermark();
    const snapshots = test.snapshots();
    await run(test, 12 * DAY_MS, 4 * HOUR_MS);
    expect(held(test)).toEqual([]);
    expect(refusedPolls(test)).toBeLessThan(24);
    expect([test.watermark(), test.snapshots()]).toEqual([before, snapshots]);
    await test.restart();
    test.change(test.ids[2]!, { status: "cancelled" });
    expect(await run(test, HOUR_MS)).toBe(0);
    expect(statuses(test)[2]).toBe("cancelled");
    expect(test.watermark()).not.toBe(before);
    // Only what changed was read.
    expect(test.snapshots() - snapshots).toBe(1);
  });

  whole.it("that sends no time is followed through weeks without a change", async () => {
    const test = await start(8, 3 * DAY_MS, { dateHeader: false });
    await run(test, 12 * DAY_MS, 4 * HOUR_MS);
    expect(held(test)).toEqual([]);
    expect(refusedPolls(test)).toBeLessThan(40);
    const snapshots = test.snapshots();
    test.change(test.ids[1]!, { status: "cancelled" });
    expect(await run(test, HOUR_MS)).toBe(0);
    expect(statuses(test)[1]).toBe("cancelled");
    expect(held(test)).toEqual([]);
    expect(test.snapshots() - snapshots).toBeLessThan(3);
  });

  it("that sends no time is followed by a process for each pass through a day without a change", async () => {
    const test = await start(3, 5 * HOUR_MS, { dateHeader: false });
    expect(await run(test, 30 * HOUR_MS, HOUR_MS / 2, { isByTimer: true })).toBeLessThan(6);
    expect(held(test)).toEqual([]);
    test.change(test.ids[1]!, { status: "cancelled" });
    expect(await run(test, HOUR_MS, HOUR_MS / 2, { isByTimer: true })).toBe(0);
    expect(statuses(test)[1]).toBe("cancelled");
  });

  itWhole.each([
    ["four days", 4 * DAY_MS],
    ["three months", 92 * DAY_MS],
  ])("that sends no time is followed again after a stop of %s", async (_, stopMs) => {
    const test = await start(8, 3 * DAY_MS, { dateHeader: false });
    test.clock.advance(stopMs);
    await test.restart();
    test.change(test.ids[1]!, { status: "cancelled" }, 0);
    test.clock.advance(DAY_MS);
    await run(test, 2 * HOUR_MS, 10 * 60_000);
    expect(statuses(test)[1]).toBe("cancelled");
    expect(held(test)).toEqual([]);
    test.change(test.ids[2]!, { status: "paid" });
    expect(await run(test, 6 * 60_000)).toBe(0);
    expect(statuses(test)[2]).toBe("paid");
  });

  whole.it("and more than four requests a minute is followed again after an outage of a week", async () => {
    const test = await start(5, 3 * DAY_MS);
    await run(test, 2 * HOUR_MS, 10 * 60_000);
    test.change(test.ids[1]!, { status: "cancelled" });
    await outage(test, 7 * DAY_MS);
    limitRequests(test, 4);
    await run(test, 4 * HOUR_MS, 10 * 60_000);
    expect(statuses(test)[1]).toBe("cancelled");
    expect(held(test)).toEqual([]);
    expect(told(test)).toHaveLength(1);
  });

  itWhole(
    "of an hour, and is asked seldom: each pass goes on from the former one, and the search for what was skipped ends",
    async () => {
      const test = await start(12, HOUR_MS);
      test.change(test.ids[1]!, { status: "cancelled" });
      await outage(test, 8 * HOUR_MS);
      limitRequests(test, 4, /\/orders\/[\da-f]{8}-/);
      await run(test, 6 * HOUR_MS, 30 * 60_000);
      expect(statuses(test)[1]).toBe("cancelled");
      expect(held(test)).toEqual([]);
      expect(told(test)).toHaveLength(1);
    },
  );

  it("of an hour: a position that becomes as old where nothing changes fails no pass, once something is known of the limit", async () => {
    const test = await start(2, HOUR_MS, { precision: "s" });
    const rule = test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "status", status: 503 },
    });
    await run(test, 80 * 60_000, 40 * 60_000);
    test.sandbox.faults.remove(rule);
    await run(test, 2 * HOUR_MS, 20 * 60_000);
    test.change(test.ids[1]!, { status: "packed" });
    const before = refusedPolls(test);
    expect(await run(test, 2 * HOUR_MS, 150_000)).toBe(0);
    expect(refusedPolls(test) - before).toBeGreaterThan(0);
    expect(held(test)).toEqual([]);
    expect(statuses(test)).toEqual(["accepted", "packed"]);
  });

  itWhole(
    "of an hour, is followed again once it refuses what it has answered: a since becomes older with each repeat",
    async () => {
      const test = await start(2, 65 * 60_000);
      await run(test, 10 * HOUR_MS, 50 * 60_000);
      test.sandbox.service.setOptions({ updates: { sinceAgeMax: 40 * 60_000 } });
      const before = refusedPolls(test);
      await run(test, 10 * HOUR_MS, 50 * 60_000);
      // One request a pass, with its three repeats.
      expect(refusedPolls(test) - before).toBeLessThan(60);
      expect(held(test)).toEqual([]);
      test.change(test.ids[1]!, { status: "packed" });
      await run(test, 12 * 60_000);
      expect(statuses(test)).toEqual(["accepted", "packed"]);
    },
  );

  itWhole.each([
    ["a day", DAY_MS],
    ["ten years", 3650 * DAY_MS],
  ])(
    "is found where it is shorter than the service is quiet, without Date and with a clock behind by %s",
    async (_, ms) => {
      const test = await start(2, 5 * HOUR_MS, { dateHeader: false, clockOffsetMs: ms });
      await run(test, 2 * DAY_MS, 50 * 60_000);
      expect(held(test)).toEqual([]);
      test.change(test.ids[1]!, { status: "packed" });
      await run(test, 12 * 60_000);
      expect(statuses(test)).toEqual(["accepted", "packed"]);
    },
  );

  itWhole("is searched for after a start too, with a clock that is behind", async () => {
    const test = await start(2, 5 * HOUR_MS, { dateHeader: false, clockOffsetMs: DAY_MS });
    await run(test, DAY_MS, 50 * 60_000);
    const { path: database } = test.bridge.store;
    await test.restart({ database: { path: database } });
    await run(test, DAY_MS, 50 * 60_000);
    expect(held(test)).toEqual([]);
    expect(statuses(test)).toEqual(["accepted", "new"]);
  });

  itWhole.each([
    ["one order", 0],
    ["an order with every poll, and few reads", 4],
  ])(
    "ends its search where the time from which it answers is later than any that is known to have come: %s",
    async (_, perMinute) => {
      const service = { dateHeader: false, clockOffsetMs: DAY_MS, updates: { sinceAgeMax: 5 * HOUR_MS } };
      const test = await startFollowed(12, { service });
      await run(test, 12 * HOUR_MS, 3 * HOUR_MS);
      test.clock.advance(7 * HOUR_MS);
      const id = test.sandbox.service.createOrder();
      test.change(test.ids[1]!, { status: "cancelled" }, 8_000);
      const before = test.snapshots();
      if (perMinute > 0) limitRequests(test, perMinute, /\/orders\/[\da-f]{8}-/);
      for (let polls = 0; polls < 60; polls++) {
        await run(test, 90_000, 90_000);
        if (perMinute > 0) test.sandbox.service.createOrder();
      }
      expect(test.snapshots() - before).toBeLessThan(60);
      expect(statuses(test)[1]).toBe("cancelled");
      expect(test.statusOf(id).status).toBe("new");
      expect(held(test)).toEqual([]);
    },
  );

  itWhole("goes one step further with each resume", async () => {
    const test = await start(5, 3 * DAY_MS);
    await outage(test, 7 * DAY_MS);
    await run(test, 6 * 60_000);
    expect(held(test)).toContain("refused");
    for (let resumes = 0; resumes < 6 && held(test).includes("refused"); resumes++) {
      test.bridge.store.write(() => test.bridge.store.db.exec("DELETE FROM holds WHERE reason = 'refused'"));
      await test.run("updates");
    }
    expect(held(test)).not.toContain("refused");
  });
});

whole.describe("a service that names positions itself and answers few requests a minute", () => {
  itSome(1)(["cursor", "timestamp"] as const)("is followed, and looked at from before: %s", async (nextForm) => {
    const test = await startFollowed(24, {
      service: { updates: { next: ["next"], nextForm, pageLimit: 2 } },
      settings: { updates: { next: "$.next" } },
    });
    const sweptAt = () => test.rows("SELECT value FROM watermarks WHERE stream = 'sweep'");
    await run(test, 3 * 60_000, 60_000);
    limitRequests(test, 5);
    for (const id of test.ids) test.change(id, { status: "paid" });
    await run(test, 30 * 60_000, 60_000);
    expect(statuses(test)).toEqual(test.ids.map(() => "paid"));
    const swept = sweptAt();
    // More changes than so many requests show in one pass, within what a look from before takes in.
    for (const id of test.ids) test.change(id, { status: "packed" });
    await run(test, 26 * HOUR_MS, HOUR_MS);
    await run(test, 90 * 60_000, 60_000);
    expect(statuses(test)).toEqual(test.ids.map(() => "packed"));
    expect(sweptAt()).not.toEqual(swept);
    test.change(test.ids[3]!, { status: "shipped" });
    await run(test, 10 * 60_000, 60_000);
    expect(statuses(test)[3]).toBe("shipped");
  });
});

whole.describe("a service that answers few requests a minute", () => {
  const ways = [
    ["one process", { isByTimer: false }],
    ["a timer", { isByTimer: true }],
  ] as const;

  itWhole.each(ways)(
    "is followed where its pages do not show whether they are whole before it asks to wait: orders are read; by %s",
    async (_, way) => {
      const test = await startFollowed(12, { service: { updates: { pageLimit: 3 } } });
      await run(test, 3 * 60_000, 60_000);
      const timestamp = Math.floor(test.clock.nowMs());
      for (const [place, id] of test.ids.entries())
        test.change(id, { status: "paid", timestamp: timestamp + (place < 5 ? 0 : 30_000) }, 0);
      limitRequests(test, 4);
      await run(test, 2 * HOUR_MS, 90_000, way);
      expect(statuses(test)).toEqual(test.ids.map(() => "paid"));
      expect(held(test)).toEqual([]);
      expect(Date.parse(test.watermark()!)).toBe(timestamp + 30_000);
    },
  );

  it.each(ways)("is followed where it answers none that would show whether a page was cut; by %s", async (_, way) => {
    const test = await startFollowed(30, {
      service: { updates: { pageLimit: 10, keeps: "newest", order: "descending" } },
    });
    for (const id of test.ids.slice(0, 2)) {
      test.change(id, { status: "accepted" });
      await run(test, 20 * 60_000, 60_000);
    }
    const before = test.watermark();
    for (const id of test.ids) test.change(id, { status: "paid" });
    limitRequests(test, 2);
    await run(test, 2 * 90_000, 90_000, way);
    expect(statuses(test).slice(20)).toEqual(test.ids.slice(20).map(() => "paid"));
    expect(test.watermark()).toBe(before);
    await run(test, 30 * 60_000, 90_000, way);
    expect(statuses(test)).toEqual(test.ids.map(() => "paid"));
    expect(test.watermark()).not.toBe(before);
  });

  whole.it("and refuses a since of more than three days: what it skips is found order by order", async () => {
    const test = await start(30, 3 * DAY_MS, { updates: { pageLimit: 3 } });
    await run(test, 2 * HOUR_MS, 10 * 60_000);
    for (const id of test.ids.slice(1, 10)) test.change(id, { status: "cancelled" });
    await outage(test, 7 * DAY_MS);
    for (const id of test.ids.slice(10)) test.change(id, { status: "paid" });
    limitRequests(test, 8);
    await run(test, 3 * HOUR_MS, 3 * 60_000);
    expect(statuses(test).slice(1, 10)).toEqual(test.ids.slice(1, 10).map(() => "cancelled"));
    expect(statuses(test).slice(10)).toEqual(test.ids.slice(10).map(() => "paid"));
    expect(told(test)).toHaveLength(1);
  });
});

describe("a refusal that is not about the age of since", () => {
  itWhole("leaves no gap: the older since is answered once the service is well", async () => {
    const test = await start(5, 365 * DAY_MS);
    await run(test, 2 * DAY_MS, 4 * HOUR_MS);
    const rule = test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "status", status: 400 },
    });
    for (const id of test.ids) test.change(id, { status: "cancelled" });
    await run(test, HOUR_MS);
    test.sandbox.faults.remove(rule);
    const before = test.snapshots();
    await run(test, 12 * 60_000);
    expect(statuses(test)).toEqual(test.ids.map(() => "cancelled"));
    expect(held(test)).toEqual([]);
    expect(test.snapshots() - before).toBe(5);
    expect(
      test.rows("SELECT learned FROM learned_answers WHERE topic = 'changes' AND learned LIKE '%limits%'"),
    ).toEqual([]);
  });

  whole.it.each([
    ["in turn", (asked: number) => asked % 2 === 0],
    // As a balancer that deals them out by chance, the same in every run.
    ["by chance", (asked: number) => Math.imul(asked + 7, 2_654_435_761) >>> 31 === 0],
  ])(
    "and comes from one of two machines keeps nothing waiting, and no order is read for it: %s",
    async (_, isRefused) => {
      const holder: { sandbox?: Sandbox } = {};
      let asked = 0;
      const onRequest = ({ path }: { path: string }) => {
        if (path.includes("/updates") && isRefused(asked++))
          holder.sandbox?.faults.add({ match: { path: "updates" }, do: { kind: "status", status: 400 } });
      };
      const test = await startFollowed(10, { sandbox: { onRequest } });
      test.change(test.ids[0]!, { status: "accepted" });
      await run(test, 12 * 60_000);
      holder.sandbox = test.sandbox;
      let [failed, seen] = [0, 0];
      for (let hours = 0; hours < 24; hours++) {
        const status = hours % 2 === 0 ? "paid" : "packed";
        test.change(test.ids[hours % 10]!, { status });
        failed += await run(test, 12 * 60_000);
        seen += Number(statuses(test)[hours % 10] === status);
        failed += await run(test, HOUR_MS - 12 * 60_000);
      }
      expect(asked).toBeGreaterThan(240);
      expect(failed).toBeLessThan(24);
      expect(seen).toBeGreaterThan(20);
      expect(told(test)).toEqual([]);
      // Each was read once for its change, and now and then as a control.
      expect(test.snapshots()).toBeLessThan(60);
    },
  );

  itWhole("teaches nothing while orders are refused as well", async () => {
    const test = await start(2, 365 * DAY_MS);
    await run(test, 2 * DAY_MS, 4 * HOUR_MS);
    test.sandbox.faults.add({ match: { path: "updates" }, times: 3, do: { kind: "status", status: 400 } });
    test.sandbox.faults.add({ match: { path: "orders" }, times: 3, do: { kind: "status", status: 400 } });
    const { length } = test.sinces();
    await run(test, 18 * 60_000);
    expect(new Set(test.sinces().slice(length, length + 3)).size).toBe(1);
  });
});
