import { expect } from "vitest";
import { startWithRewritten } from "../support/rewritten.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;
/** More than halving a day to the millisecond takes. */
const SEARCH_MAX = 30;

const UNREADABLE = "2026-13-45T99:99:99Z";

/** The service writes a time that leads nowhere for the first `absurd` orders; what comes behind them is changed in order. */
async function startWithAbsurd(
  updates: { boundary: "inclusive" | "exclusive"; pageLimit: number },
  absurd: number,
  time = UNREADABLE,
) {
  const test = await startWithRewritten(6, { service: { updates } });
  const of = new Set(test.ids.slice(0, absurd));
  test.change(test.ids[5]!, { status: "paid" });
  await test.poll();
  test.rewrite("updates", (order) => (of.has(String(order["order_id"])) ? { ...order, updated_at: time } : order));
  return test;
}

itSome(1)([
  ["of one", { boundary: "inclusive", pageLimit: 1 }, 1],
  ["of one, behind an exclusive since", { boundary: "exclusive", pageLimit: 1 }, 1],
  ["of one, several in a row", { boundary: "inclusive", pageLimit: 1 }, 3],
  ["of two", { boundary: "inclusive", pageLimit: 2 }, 3],
] as const)("a page without a time that can be read stops nothing behind it: %s", async (_, updates, absurd) => {
  const test = await startWithAbsurd(updates, absurd);
  for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 7_001);
  await test.poll();
  expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(Array.from(test.ids, () => "paid"));
  // How far it reaches is known from then on.
  for (const ms of [MINUTE_MS, 60 * MINUTE_MS]) {
    const asked = test.sinces().length;
    test.change(test.ids[4]!, { status: `later ${ms}` }, ms);
    await test.poll();
    expect(test.statusOf(test.ids[4]!).status).toBe(`later ${ms}`);
    expect(test.sinces().length - asked).toBeLessThan(SEARCH_MAX);
  }
});

itWhole.each(["answered", "refused"])(
  "a page without a time stops nothing behind it where no clock shows how late it is, and a time of the future is %s",
  async (how) => {
    const test = await startWithAbsurd({ boundary: "exclusive", pageLimit: 1 }, 1);
    const { service } = test.sandbox;
    const { handle } = service;
    service.setOptions({ dateHeader: false, clockOffsetMs: YEAR_MS });
    test.clock.jump(-YEAR_MS);
    await test.restart();
    service.handle = (request) => {
      const since = new URLSearchParams(request.path.split("?")[1]).get("since");
      const isRefused = how === "refused" && Date.parse(since ?? "") > service.now();
      return isRefused
        ? { status: 400, headers: {}, body: Buffer.from("{}"), delivery: { kind: "plain" } }
        : handle(request);
    };
    for (const id of test.ids.slice(0, 3)) test.change(id, { status: "paid" }, 7_001);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect(test.ids.slice(0, 3).map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid"]);
  },
);

itWhole.each([
  ["of one", { boundary: "inclusive", pageLimit: 1 }, 1],
  ["of one, behind an exclusive since", { boundary: "exclusive", pageLimit: 1 }, 1],
  ["of one, several in a row", { boundary: "exclusive", pageLimit: 1 }, 3],
  ["of two", { boundary: "inclusive", pageLimit: 2 }, 3],
] as const)("a page of times from before the position stops nothing behind it: %s", async (_, updates, absurd) => {
  const test = await startWithAbsurd(updates, absurd, "2026-01-01T00:00:00.000Z");
  for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 7_001);
  await test.poll();
  expect(test.ids.slice(absurd).map((id) => test.statusOf(id).status)).toEqual(
    Array.from(test.ids.slice(absurd), () => "paid"),
  );
  const asked = test.sinces().length;
  test.change(test.ids[4]!, { status: "later" }, MINUTE_MS);
  await test.poll();
  expect(test.statusOf(test.ids[4]!).status).toBe("later");
  expect(test.sinces().length - asked).toBeLessThan(SEARCH_MAX);
  expect(test.rows("SELECT area, reason FROM holds")).toEqual([]);
});

itWhole("a page that is answered from any time on costs one more request", async () => {
  const test = await startWithAbsurd({ boundary: "inclusive", pageLimit: 1 }, 0);
  await test.poll();
  const before = test.sinces().length;
  await test.poll();
  const usual = test.sinces().length - before;
  test.sandbox.service.setOptions({ updates: { stuck: "same-page" } });
  await test.poll();
  expect(test.sinces().length - before - usual).toBeLessThanOrEqual(usual + 2);
});

itWhole("a page without a time that nothing follows costs a search once", async () => {
  const test = await startWithAbsurd({ boundary: "inclusive", pageLimit: 1 }, 1);
  test.change(test.ids[0]!, { status: "paid" });
  await test.poll();
  const asked = test.sinces().length;
  for (let polls = 0; polls < 10; polls++) await test.poll();
  expect(test.sinces().length - asked).toBeLessThan(10 * 8);
  test.change(test.ids[1]!, { status: "paid" });
  await test.poll();
  expect(test.statusOf(test.ids[1]!).status).toBe("paid");
});

itWhole.each([8, 12, 16])(
  "the position does not pass what a search has shown behind, where it breaks off after %i",
  async (most) => {
    const test = await startWithAbsurd({ boundary: "inclusive", pageLimit: 1 }, 1);
    for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 660_001);
    const { service } = test.sandbox;
    const { handle } = service;
    const position = test.watermark();
    let requests = 0;
    service.handle = (request) => {
      const isOut = request.path.includes("/orders/updates") && ++requests > most;
      return isOut
        ? { status: 429, headers: { "retry-after": "60" }, body: Buffer.from(""), delivery: { kind: "plain" } }
        : handle(request);
    };
    test.clock.advance(1_000);
    await test.run("updates");
    expect(test.watermark()).toBe(position);
    service.handle = handle;
    test.clock.advance(120_000);
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(Array.from(test.ids, () => "paid"));
  },
);

itWhole.each([
  ["beside one by one", "exclusive", 2, 1],
  ["beside one by one, repeated", "inclusive", 2, 1],
  ["alone", "inclusive", 1, 1],
  ["two on a page", "exclusive", 2, 2],
] as const)(
  "a time from the future on a short page stops nothing behind it: %s",
  async (_, boundary, pageLimit, absurd) => {
    const test = await startWithAbsurd({ boundary, pageLimit }, absurd, "2027-01-01T00:00:00.000Z");
    for (const id of [test.ids[4]!, ...test.ids.slice(0, 4)]) test.change(id, { status: "paid" }, 7_001);
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(Array.from(test.ids, () => "paid"));
    const asked = test.sinces().length;
    test.change(test.ids[4]!, { status: "later" }, MINUTE_MS);
    await test.poll();
    expect(test.statusOf(test.ids[4]!).status).toBe("later");
    expect(test.sinces().length - asked).toBeLessThan(SEARCH_MAX);
  },
);

/** No test makes so many requests, unless a pass does without a limit. */
const ENOUGH = 2_000;

/** The first record of each page, and how many pages have been served. */
type Reword = (record: Record<string, unknown>, requests: number, since: string) => Record<string, unknown>;

/** Pages of one, of which the first order's has no time; `reword` says how it is written from now on. */
async function startReworded(reword: Reword) {
  const test = await startWithAbsurd({ boundary: "inclusive", pageLimit: 1 }, 1);
  let requests = 0;
  const first = test.ids[0];
  test.rewrite("updates", (record) => {
    requests += 1;
    if (requests > ENOUGH) throw new Error("requests without a limit");
    if (record["order_id"] !== first) return record;
    return reword({ ...record, updated_at: UNREADABLE }, requests, test.sinces().at(-1) ?? "");
  });
  return test;
}

const isBehind = (test: Awaited<ReturnType<typeof startReworded>>) =>
  test.rows("SELECT 1 FROM holds WHERE area = 'updates' AND reason = 'behind'").length > 0;

itSome(1)<[string, Reword]>([
  // An id that is none, so that nothing tells that it is the same record.
  ["with each request", (record, requests) => ({ ...record, order_id: `x/${requests}` })],
  ["at every second request", (record, requests) => ({ ...record, order_id: `x/${requests % 2}` })],
])("a page that differs %s leads nowhere, and what stands behind it comes once it does not", async (_, reword) => {
  let isIll = true;
  const test = await startReworded((record, ...how) => (isIll ? reword(record, ...how) : record));
  for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 7_001);
  const position = test.watermark();
  for (let polls = 0; polls < 5; polls++) {
    const asked = test.sinces().length;
    await test.poll();
    expect(test.sinces().length - asked).toBeLessThan(10);
  }
  expect(isBehind(test)).toBe(true);
  expect(test.watermark()).toBe(position);
  isIll = false;
  await test.poll();
  await test.poll();
  expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(Array.from(test.ids, () => "paid"));
  expect(isBehind(test)).toBe(false);
});

itWhole("a page for each time that is asked for makes no pass go on without a limit", async () => {
  const test = await startReworded((record, _, since) => ({ ...record, order_id: `none after ${since}` }));
  test.change(test.ids[0]!, { status: "paid" }, 7_001);
  for (let polls = 0; polls < 2; polls++) {
    const asked = test.sinces().length;
    await test.poll();
    // The last search may begin where nearly all are spent.
    expect(test.sinces().length - asked).toBeLessThan(250);
  }
  expect(isBehind(test)).toBe(true);
});

itWhole.each([
  ["once", 1],
  ["twice", 2],
])("a page that differs %s is read past at the next poll", async (_, times) => {
  let left = times;
  const test = await startReworded((record, requests) =>
    left-- > 0 ? { ...record, order_id: `x/${requests}` } : record,
  );
  for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 7_001);
  await test.poll();
  await test.poll();
  expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(Array.from(test.ids, () => "paid"));
  expect(isBehind(test)).toBe(false);
});

itWhole("many pages without a time are read past in as many polls as the searches need", async () => {
  const test = await startWithAbsurd({ boundary: "inclusive", pageLimit: 1 }, 5);
  for (const id of test.ids.slice(0, 5)) test.change(id, { status: "paid" }, 7_001);
  test.change(test.ids[5]!, { status: "later" }, 7_001);
  let polls = 0;
  while (test.statusOf(test.ids[5]!).status !== "later" && polls < 5) {
    await test.poll();
    polls += 1;
  }
  expect(polls).toBeLessThan(3);
});

itWhole(
  "a service whose clock was set back a day is not followed to its time, where every second answer is no list of changes",
  async () => {
    const test = await startWithRewritten(3, { service: { updates: { boundary: "inclusive", pageLimit: 3 } } });
    for (const id of test.ids) test.change(id, { status: "paid" }, 7_001);
    await test.poll();
    test.sandbox.service.setOptions({ clockOffsetMs: -86_400_000 });
    let requests = 0;
    test.rewrite("updates", (record) => (requests % 2 === 0 ? record : { note: "later" }));
    const { service } = test.sandbox;
    const { handle } = service;
    service.handle = (request) => {
      if (request.path.includes("/orders/updates")) requests += 1;
      return handle(request);
    };
    for (let polls = 0; polls < 5; polls++) {
      const asked = test.sinces().length;
      await test.poll();
      expect(test.sinces().length - asked).toBeLessThan(60);
    }
  },
);
