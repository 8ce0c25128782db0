import { describe, expect } from "vitest";
import { LateOrders } from "../../src/confirm/late-orders.ts";
import { orderRulesOf } from "../../src/daemon/build-jobs.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { FollowUpdates } from "../../src/updates/follow-updates.ts";
import { ReadOrders } from "../../src/updates/reads/read-orders.ts";
import { configFor } from "../support/bridge.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole, size } from "../support/whole.ts";

type Updates = NonNullable<SandboxOptionsPatch["updates"]>;

const cut = (test: Followed) =>
  test.rows<{ detail: string }>("SELECT detail FROM holds WHERE area = 'updates' AND reason = 'cut'");
const held = (test: Followed) =>
  test.rows<{ held: string | null }>("SELECT held FROM sync_status WHERE flow = 'updates'")[0]?.held ?? null;
const search = (test: Followed) => test.rows("SELECT value FROM meta WHERE key = 'cut'");
const withStatus = (test: Followed, status: string) =>
  test.ids.filter((id) => test.statusOf(id).status === status).length;

async function start(count: number, updates: Updates, settings = {}): Promise<Followed> {
  return await startFollowed(count, { service: { updates }, settings });
}

/** One pass alone, whatever waits after it. */
async function pass({ bridge, sandbox, clock }: Followed): Promise<void> {
  clock.advance(60_000);
  const loaded = configFor(sandbox, "/nowhere");
  const { updates } = loaded.config;
  const rules = orderRulesOf(loaded);
  const follow = { since: updates.since, timezone: "UTC", overlapMs: updates.overlap };
  const late = new LateOrders(bridge.context, follow);
  const options = { rules, follow, late, wideOverlapMs: updates.sweep.overlap };
  const job = new FollowUpdates(bridge.context, options, new ReadOrders(bridge.context, rules, follow));
  await job.runOnce(new AbortController().signal);
}

/** A bulk action in the back office: every order within a moment, in the order in which they were made. */
function changeAll(test: Followed, status: string, ids = test.ids): void {
  for (const id of ids) test.change(id, { status }, 20);
}

/** Some changes that are followed as they come, one by one. */
async function settleIn(test: Followed, count = 3): Promise<void> {
  for (const id of test.ids.slice(0, count)) {
    test.change(id, { status: "accepted" });
    await test.poll();
  }
}

/** Polls until the search is over; fails where it does not end. */
async function finish(test: Followed): Promise<void> {
  for (let polls = 0; polls < 30 && search(test).length > 0; polls++) await test.poll(30_000);
  expect(search(test)).toEqual([]);
}

const NEWEST_FIRST: readonly (readonly [string, Updates])[] = [
  ["newest first", { keeps: "newest", order: "descending", pageLimit: 20 }],
  ["the newest, oldest of them first", { keeps: "newest", order: "ascending", pageLimit: 20 }],
  ["the newest in any order", { keeps: "newest", order: "shuffled", pageLimit: 20 }],
  [
    "newest first, its boundary not counted in",
    { keeps: "newest", order: "descending", pageLimit: 20, boundary: "exclusive" },
  ],
  ["newest first, every change by itself", { keeps: "newest", order: "descending", pageLimit: 20, history: "log" }],
];

const RISING_FIRST = [1, 0, 2, 3, 4].map((at) => NEWEST_FIRST[at]!);

describe("a service that answers so many of the newest changes", () => {
  itWhole.each(NEWEST_FIRST)("loses none of a bulk action: %s", async (_, updates) => {
    const test = await start(60, updates);
    await settleIn(test);
    // The look back of ten minutes is over: nothing of it would be in a page.
    await test.poll(3_600_000);
    const before = test.watermark();
    changeAll(test, "cancelled");
    await pass(test);
    expect(test.watermark()).toBe(before);
    expect(held(test)).toBe("cut");
    expect(cut(test)[0]?.detail).toContain("the service answers only the newest, 20 changes a page");
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
    expect(test.watermark()).not.toBe(before);
    expect(cut(test)).toEqual([]);
    const { length } = test.sinces();
    await test.poll();
    expect(test.sinces().length - length).toBeLessThanOrEqual(2);
  });

  itSome(1)(NEWEST_FIRST)("loses none where one order shows the time of an earlier version: %s", async (_, updates) => {
    const test = await start(60, updates);
    const [odd = "", ...others] = test.ids;
    const raw = test.sandbox.service.newestText(odd)!;
    await test.poll(3_600_000);
    await settleIn(test);
    await test.poll(3_600_000);
    changeAll(test, "cancelled", others);
    // It is among the newest, whatever its record says.
    test.change(odd, { raw });
    await test.poll();
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(59);
  });

  itSome(1)(RISING_FIRST)("loses none where it goes on after a wait: %s", async (_, updates) => {
    const test = await start(60, updates);
    await settleIn(test);
    // The service asks to wait between two pages, and the next pass goes on from what is known.
    test.clock.advance(3_600_000);
    const wait = { kind: "status", status: 429, headers: { "retry-after": "1" } } as const;
    test.sandbox.faults.add({ match: { path: "updates" }, skip: 1, do: wait });
    expect(await test.run("updates")).toMatchObject({ outcome: "failed" });
    const before = test.watermark();
    changeAll(test, "cancelled");
    await pass(test);
    expect([test.watermark(), cut(test).length]).toEqual([before, 1]);
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });

  itSome(1)(RISING_FIRST)("loses none where the request that would show it has to wait: %s", async (_, updates) => {
    const test = await start(60, updates);
    await settleIn(test);
    await test.poll(3_600_000);
    await settleIn(test, 1);
    await test.poll(3_600_000);
    changeAll(test, "cancelled");
    const wait = { kind: "status", status: 429, headers: { "retry-after": "1" } } as const;
    // The first two show nothing: the page, and what comes after it.
    test.sandbox.faults.add({ match: { path: "updates" }, skip: 2, do: wait });
    const before = test.watermark();
    expect(await test.run("updates")).toMatchObject({ outcome: "failed" });
    expect(test.watermark()).toBe(before);
    await pass(test);
    expect([test.watermark(), cut(test).length]).toEqual([before, 1]);
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });

  itWhole("loses none of the first bulk action either, and says so once one is found", async () => {
    const test = await start(60, { keeps: "newest", order: "descending", pageLimit: 20 });
    changeAll(test, "cancelled");
    await pass(test);
    expect(held(test)).toBe("cut");
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
    expect(held(test)).toBeNull();
  });

  itWhole("finds what was left out of closed orders as well", async () => {
    const test = await start(60, { keeps: "newest", order: "descending", pageLimit: 20 });
    changeAll(test, "delivered");
    await test.poll();
    await finish(test);
    await test.poll(3_600_000);
    changeAll(test, "refunded");
    await test.poll();
    await finish(test);
    expect(withStatus(test, "refunded")).toBe(60);
  });

  itWhole("does not wait for an order that the service does not have any more", async () => {
    const test = await start(60, { keeps: "newest", order: "descending", pageLimit: 20 });
    const [gone = "", ...others] = test.ids;
    changeAll(test, "delivered", others);
    await test.poll();
    await finish(test);
    await test.poll(3_600_000);
    test.sandbox.service.deleteOrder(gone);
    changeAll(test, "refunded", others);
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(withStatus(test, "refunded")).toBe(59);
  });

  itWhole("goes on with the search after a restart", async () => {
    const test = await start(150, { keeps: "newest", order: "descending", pageLimit: 20 });
    await settleIn(test);
    await test.poll(3_600_000);
    const before = test.watermark();
    changeAll(test, "cancelled");
    await pass(test);
    expect(test.watermark()).toBe(before);
    await test.restart();
    expect(held(test)).toBe("cut");
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(150);
  });

  itWhole("ends the search although more and more pages are cut meanwhile", async () => {
    const test = await start(60, { keeps: "newest", order: "descending", pageLimit: 10 });
    await settleIn(test);
    await test.poll(3_600_000);
    for (const status of ["paid", "packed", "shipped", "returned"]) {
      changeAll(test, status);
      await test.poll(30_000);
    }
    await finish(test);
    expect(withStatus(test, "returned")).toBe(60);
  });
});

/** Fewer than ten, newest first: nothing in the page itself tells it from all that a quiet service has. */
const FEW: Updates = { keeps: "newest", order: "descending", pageLimit: 5 };

describe("a service that answers a few of the newest changes", () => {
  itSome(1)(["link", "total", "pages"] as const)(
    "loses none of the first bulk action where it says so: %s",
    async (counts) => {
      const test = await start(60, { ...FEW, counts });
      changeAll(test, "cancelled");
      await pass(test);
      expect(search(test)).toHaveLength(1);
      await finish(test);
      expect(withStatus(test, "cancelled")).toBe(60);
      // What it says has been seen to be true.
      await test.poll(3_600_000);
      const before = test.watermark();
      changeAll(test, "refunded");
      await pass(test);
      expect([held(test), test.watermark()]).toEqual(["cut", before]);
      await finish(test);
      expect(withStatus(test, "refunded")).toBe(60);
      expect(held(test)).toBeNull();
    },
  );

  itWhole.each([3, 5, 9])("loses none of the first bulk action where it says nothing: %i a page", async (pageLimit) => {
    const test = await start(60, { ...FEW, pageLimit });
    changeAll(test, "cancelled");
    await pass(test);
    expect(search(test)).toHaveLength(1);
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });

  itWhole(
    "loses none where the newest stand in a page as if the oldest came first, which a few do by chance",
    async () => {
      const test = await start(30, { ...FEW, order: "ascending", pageLimit: 4 });
      await settleIn(test);
      await test.poll(3_600_000);
      changeAll(test, "cancelled");
      await pass(test);
      expect(held(test)).toBe("cut");
      await finish(test);
      expect(withStatus(test, "cancelled")).toBe(30);
    },
  );

  itWhole("loses none where changes were seen that have not moved the position", async () => {
    const updates = { ...FEW, pageLimit: 2, created: true };
    const test = await startFollowed(60, { service: { precision: "s", updates } });
    const before = test.watermark();
    await test.poll();
    expect(test.watermark()).toBe(before);
    for (const id of test.ids.toReversed()) test.change(id, { status: "cancelled" });
    await pass(test);
    expect(held(test)).toBe("cut");
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });

  itWhole("loses none where every change that was known is in the page", async () => {
    const test = await start(60, FEW);
    const last = test.ids.slice(-3);
    for (const id of last) test.change(id, { status: "accepted" });
    await test.poll();
    await finish(test);
    await test.poll(3_600_000);
    changeAll(test, "cancelled");
    await test.poll();
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });

  itWhole("is asked no more once it has told all: what is beside the list counts older changes", async () => {
    const test = await start(60, { ...FEW, counts: "total" });
    await settleIn(test);
    changeAll(test, "cancelled");
    await test.poll();
    await finish(test);
    const before = test.snapshots();
    for (const id of test.ids.slice(0, 5)) {
      test.change(id, { status: "refunded" });
      await test.poll();
      expect(search(test)).toEqual([]);
    }
    expect(test.snapshots() - before).toBe(5);
  });
});

inWhole("updates/plan-cut").describe(
  "a quiet service that answers a few changes at a time, newest first, and all of them",
  () => {
    itSome(1)<[string, Updates]>([
      ["without a word", {}],
      ["with a link", { counts: "link" }],
      ["with the number of them", { counts: "total" }],
      ["with the number of pages", { counts: "pages" }],
      ["with the number of all orders", { counts: "orders" }],
    ])("is searched a bounded number of times: %s", async (_, updates) => {
      const test = await start(40, { order: "descending", pageLimit: 1_000, ...updates });
      let searches = 0;
      // Always the same few: no change that is known lies outside the page.
      for (let hour = 0; hour < size(10, 30); hour++) {
        await test.poll(3_600_000);
        changeAll(test, hour % 2 === 0 ? "packed" : "accepted", test.ids.slice(0, 4));
        await pass(test);
        if (search(test).length > 0) searches += 1;
        await finish(test);
        expect(cut(test)).toEqual([]);
      }
      expect(searches).toBeLessThanOrEqual(3);
    });
  },
);

describe("nothing is missing, and nothing is told or read", () => {
  const whole: readonly (readonly [string, Updates])[] = [
    ["oldest first, so many a page", { order: "ascending", pageLimit: 20 }],
    ["oldest first, a few a page", { order: "ascending", pageLimit: 4 }],
    ["the oldest, newest of them first", { order: "descending", pageLimit: 20 }],
    ["the oldest in any order", { order: "shuffled", pageLimit: 20 }],
    ["the oldest, boundary not counted in", { order: "descending", pageLimit: 20, boundary: "exclusive" }],
    ["everything in one page, newest first", { order: "descending", pageLimit: 100_000 }],
    ["everything in one page in any order", { order: "shuffled", pageLimit: 100_000 }],
    ["everything in one page in any order, as a log", { order: "shuffled", pageLimit: 100_000, history: "log" }],
    ["the newest first, in one page", { keeps: "newest", order: "descending", pageLimit: 200 }],
  ];
  itWhole.each(whole)("%s", async (_, updates) => {
    const test = await start(60, updates);
    await settleIn(test);
    await test.poll(3_600_000);
    for (const [status, ids] of [
      ["paid", test.ids],
      ["packed", test.ids.slice(0, 20)],
    ] as const) {
      changeAll(test, status, ids);
      test.clock.advance(2_000);
      const before = test.snapshots();
      await test.poll();
      expect(search(test)).toEqual([]);
      expect(test.snapshots() - before).toBeLessThanOrEqual(ids.length);
      await test.poll(3_600_000);
    }
    expect(cut(test)).toEqual([]);
    expect(withStatus(test, "packed")).toBe(20);
  });

  itSome(1)(whole)("where it goes on after a wait: %s", async (_, updates) => {
    const test = await start(60, updates);
    await settleIn(test);
    await test.poll(3_600_000);
    test.clock.advance(3_600_000);
    const wait = { kind: "status", status: 429, headers: { "retry-after": "1" } } as const;
    test.sandbox.faults.add({ match: { path: "updates" }, skip: 1, do: wait });
    await test.run("updates");
    changeAll(test, "paid");
    test.clock.advance(2_000);
    const [before, { length }] = [test.snapshots(), test.sinces()];
    await test.poll();
    expect([cut(test), search(test)]).toEqual([[], []]);
    expect(withStatus(test, "paid")).toBe(60);
    expect(test.snapshots() - before).toBeLessThanOrEqual(60);
    // Pages that repeat a change or two, and one that shows that nothing is missing.
    const pages = Math.ceil(60 / ((updates.pageLimit ?? 60) - 2));
    expect(test.sinces().length - length).toBeLessThanOrEqual(pages + 6);
  });

  itSome(1)(["ascending", "shuffled"] as const)("many changes of one time: %s", async (order) => {
    const test = await start(60, { order, pageLimit: 100 });
    await settleIn(test);
    await test.poll(3_600_000);
    const timestamp = test.clock.nowMs();
    for (const id of test.ids) test.sandbox.service.changeOrder(id, { status: "paid", timestamp });
    await test.poll();
    expect([cut(test), search(test)]).toEqual([[], []]);
    expect(withStatus(test, "paid")).toBe(60);
  });

  itWhole("asks no second time where a page reaches down to what is known", async () => {
    const test = await start(30, { order: "descending", pageLimit: 1_000 });
    await settleIn(test);
    const { length } = test.sinces();
    changeAll(test, "paid");
    await test.poll();
    const [first = "", ...more] = test.sinces().slice(length);
    expect(more.filter((since) => since < first)).toEqual([]);
  });
});

const BY_ID: readonly (readonly [string, Updates])[] = [
  ["by id", {}],
  ["by id, boundary not counted in", { boundary: "exclusive" }],
  ["by id, every change by itself", { history: "log" }],
  ["by id, with the number of all that are due", { counts: "total" }],
  ["by id, with the number of pages", { counts: "pages" }],
  ["by id, shown in any order", { order: "shuffled" }],
  ["by id, five a page", { pageLimit: 5 }],
];

describe("a service that answers so many changes in another order than that of their times", () => {
  itSome(1)(BY_ID)("loses none of a bulk action: %s", async (_, updates) => {
    const test = await start(60, { keeps: "first-ids", order: "ids", pageLimit: 20, ...updates });
    await settleIn(test);
    await test.poll(3_600_000);
    const before = test.watermark();
    changeAll(test, "cancelled");
    await pass(test);
    expect([held(test), test.watermark()]).toEqual(["cut", before]);
    expect(cut(test)[0]?.detail).toMatch(/in another order than that of their times, (20|5) changes a page/);
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
    expect(test.watermark()).not.toBe(before);
    expect(held(test)).toBeNull();
    const { length } = test.sinces();
    await test.poll(3_600_000);
    expect(test.sinces().length - length).toBeLessThanOrEqual(4);
    expect(search(test)).toEqual([]);
  });

  itWhole("finds two that were left out of twenty-two", async () => {
    const test = await start(40, { keeps: "first-ids", order: "ids", pageLimit: 20 });
    await settleIn(test);
    await test.poll(3_600_000);
    changeAll(test, "cancelled", test.ids.slice(3, 25));
    await test.poll();
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(22);
  });

  itWhole.each(["inclusive", "exclusive"] as const)(
    "finds one that was left out right behind the oldest: %s",
    async (boundary) => {
      const test = await startFollowed(11, {
        service: { updates: { keeps: "first-ids", order: "ids", pageLimit: 10, history: "log", boundary } },
        settings: { updates: { overlap: "0s" } },
      });
      const sorted = [...test.ids].sort();
      const last = sorted.pop() as string;
      // The page limit is known, and the boundary.
      for (const id of sorted) test.change(id, { status: "accepted" }, 1_000);
      await test.poll(3_600_000);
      await test.poll();
      // In another order than that of the ids.
      const [oldest = ""] = sorted.splice(4, 1);
      for (const id of [oldest, last, ...sorted]) test.change(id, { status: "cancelled" }, 1_000);
      await test.poll();
      await finish(test);
      expect(withStatus(test, "cancelled")).toBe(11);
    },
  );

  itWhole("finds what was left out where newer changes fill the room of the first question", async () => {
    const updates = { keeps: "first-ids", order: "ids", pageLimit: 5, history: "log" } as const;
    const test = await startFollowed(14, { service: { updates }, settings: { updates: { overlap: "0s" } } });
    await settleIn(test);
    const [first = "", second = "", third = "", ...others] = [...test.ids].sort();
    // Those of the first ids are the first and the last ones to be changed.
    for (const id of [first, second, ...others, third, first]) test.change(id, { status: "cancelled" }, 1_000);
    test.change(second, { status: "cancelled", lines: [{ sku: "A", quantity: 2 }] }, 1_000);
    await test.poll();
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(14);
  });

  itWhole.each(["total", "pages"] as const)("goes by what it counts where all have one time: %s", async (counts) => {
    const test = await start(60, { keeps: "first-ids", order: "ids", pageLimit: 20, counts });
    await settleIn(test);
    await test.poll(3_600_000);
    const before = test.watermark();
    const timestamp = test.clock.nowMs();
    for (const id of test.ids) test.sandbox.service.changeOrder(id, { status: "cancelled", timestamp });
    await pass(test);
    expect([cut(test).length, test.watermark()]).toEqual([1, before]);
    await finish(test);
    expect(withStatus(test, "cancelled")).toBe(60);
  });
});

inWhole("updates/plan-cut").describe("a small shop whose changes come in any order, and whole", () => {
  itSome(1)<[string, Updates]>([
    ["by id", { order: "ids" }],
    ["shuffled", { order: "shuffled" }],
    ["by id, boundary not counted in", { order: "ids", boundary: "exclusive" }],
    ["by id, with the number of all that are due", { order: "ids", counts: "total" }],
    ["by id, with the number of pages", { order: "ids", counts: "pages" }],
  ])("is followed without a search, with one request more at most: %s", async (_, updates) => {
    const test = await start(30, { pageLimit: 1_000, ...updates });
    await settleIn(test, 12);
    const usual = test.sinces().length;
    await test.poll();
    const quiet = test.sinces().length - usual;
    let most = 0;
    for (const [nth, id] of test.ids.entries()) {
      test.change(id, { status: "packed" });
      if (nth % 3 !== 2) continue;
      const { length } = test.sinces();
      await test.poll();
      most = Math.max(most, test.sinces().length - length);
      expect([search(test), cut(test)]).toEqual([[], []]);
    }
    expect(most).toBeLessThanOrEqual(quiet + 3);
    const { length } = test.sinces();
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(test.sinces().length - length).toBeLessThanOrEqual(5 * quiet + 5);
    expect(test.snapshots()).toBe(42);
  });
  itWhole("is searched once at most where a number counts all orders that there are", async () => {
    const test = await start(30, { pageLimit: 1_000, order: "ids", counts: "orders" });
    for (const id of test.ids.slice(0, 12)) test.change(id, { status: "accepted" });
    await test.poll();
    await finish(test);
    const before = test.snapshots();
    for (const id of test.ids.slice(0, 12)) {
      test.change(id, { status: "packed" });
      await test.poll();
      expect([search(test), cut(test)]).toEqual([[], []]);
    }
    expect(test.snapshots() - before).toBe(12);
  });
});
