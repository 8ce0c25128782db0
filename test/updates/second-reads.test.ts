import { describe, expect, it } from "vitest";
import { loadNewestTimestamps } from "../../src/orders/order-rows.ts";
import { planSecondRead } from "../../src/orders/second-reads.ts";
import { noteLongSteps } from "../../src/probe/long-steps.ts";
import { describeObservations } from "../../src/probe/observation.ts";
import { dismissObservations, loadObservations } from "../../src/probe/observations.ts";
import { findLongSteps } from "../../src/probe/plan-long-steps.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const LINES = (quantity: string) => [{ sku: "A", quantity, price: "10.00" }];
const FORMS = [
  ["minutes", "min", 20_000],
  ["seconds", "s", 0],
] as const;

/** An order whose first change is read `within` its minute or second, and that changes once more in it. */
async function changeTwice(precision: "min" | "s", withinMs: number, updates: object = {}) {
  const test = await startFollowed(2, { service: { precision, updates: { ...updates, lines: false } } });
  const [id] = test.ids as [string];
  // On to a full minute.
  test.clock.advance(120_000 - (test.clock.nowMs() % 60_000));
  test.change(id, { lines: LINES("2") }, withinMs);
  await test.poll(0);
  expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", id)).toEqual([{ quantity: "2" }]);
  test.change(id, { lines: LINES("7") }, 0);
  return { ...test, id };
}

describe.each(FORMS)("timestamps to %s", (_name, precision, withinMs) => {
  itSome(1)([
    ["each order once", { history: "latest" }],
    ["every change", { history: "log" }],
  ])("hide no second change that the changes list in the same words: %s", async (_words, updates) => {
    const test = await changeTwice(precision, withinMs, updates);
    await test.poll();
    await test.poll();
    expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", test.id)).toEqual([{ quantity: "7" }]);
    expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
  });

  itWhole("hide none over a restart, and cost one request where there is none", async () => {
    const test = await changeTwice(precision, withinMs);
    await test.restart();
    for (let polls = 0; polls < 2; polls++) await test.poll();
    expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", test.id)).toEqual([{ quantity: "7" }]);
    const before = test.snapshots(test.id);
    const revision = test.statusOf(test.id).revision;
    for (let polls = 0; polls < 10; polls++) await test.poll();
    expect(test.snapshots(test.id)).toBe(before);
    expect(test.statusOf(test.id).revision).toBe(revision);
  });
});

itWhole("an order that came within its own minute is read once more, and not where the minute was over", async () => {
  const test = await startFollowed(1, { service: { precision: "min", updates: { lines: false } } });
  await test.poll(120_000);
  const created = test.sandbox.service.createOrder();
  test.clock.advance(90_000);
  await test.run("orders");
  const young = test.sandbox.service.createOrder();
  await test.run("orders");
  expect(test.rows("SELECT order_id FROM repeat_reads")).toEqual([{ order_id: young }]);
  test.change(young, { lines: LINES("7"), keepTimestamp: true }, 0);
  await test.poll();
  await test.poll();
  expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", young)).toEqual([{ quantity: "7" }]);
  expect(test.snapshots(created)).toBeLessThanOrEqual(1);
});

itWhole("an order is not read that long after it, when the service may have forgotten it", async () => {
  const test = await startFollowed(1, { service: { precision: "min", updates: { lines: false } } });
  await test.poll(120_000);
  const young = test.sandbox.service.createOrder();
  await test.run("orders");
  expect(test.rows("SELECT order_id FROM repeat_reads")).toEqual([{ order_id: young }]);
  await test.poll(20 * 60_000);
  expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
  expect(test.snapshots(young)).toBe(0);
});

itWhole("a timestamp from the future keeps no order waiting, and none is read without end", async () => {
  const test = await startFollowed(2, { service: { precision: "min" } });
  const [id, other] = test.ids as [string, string];
  test.change(id, { status: "paid", timestamp: Date.UTC(2150, 0, 1) });
  test.change(other, { status: "paid" });
  for (let polls = 0; polls < 4; polls++) await test.poll();
  const before = test.snapshots();
  for (let polls = 0; polls < 5; polls++) await test.poll();
  expect(test.snapshots()).toBe(before);
  expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
  for (const each of test.ids) expect(test.statusOf(each).status).toBe("paid");
});

it("changes that are listed to the minute hide no second change, although orders show the millisecond", async () => {
  const test = await startFollowed(2, { service: { updates: { lines: false } } });
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const answer = handle(request);
    if (!request.path.includes("/updates")) return answer;
    const text = answer.body.toString().replace(/("updated_at":"[^"]*T\d\d:\d\d):\d\d\.\d+Z/g, "$1:00Z");
    return { ...answer, body: Buffer.from(text) };
  };
  const [id] = test.ids as [string];
  test.clock.advance(120_000 - (test.clock.nowMs() % 60_000));
  test.change(id, { lines: LINES("2") }, 20_007);
  await test.poll(0);
  expect(quantity(test, id)).toBe("2");
  test.change(id, { lines: LINES("7") }, 5_003);
  for (let polls = 0; polls < 3; polls++) await test.poll();
  expect(quantity(test, id)).toBe("7");
  expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
});

itWhole("a single order with seconds in its time hides no second change within a minute of another one", async () => {
  const test = await startFollowed(4, { service: { precision: "min", updates: { lines: false } } });
  const [id, odd] = test.ids as [string, string];
  test.clock.advance(120_000 - (test.clock.nowMs() % 60_000));
  test.change(odd, { status: "paid", timestampText: '"2026-03-02T14:07:31.000Z"' }, 0);
  await test.poll();
  test.change(id, { lines: LINES("2") }, 20_000);
  await test.poll(0);
  test.change(id, { lines: LINES("7") }, 0);
  for (let polls = 0; polls < 2; polls++) await test.poll();
  expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", id)).toEqual([{ quantity: "7" }]);
});

const quantity = (test: Followed, id: string) =>
  test.rows<{ quantity: string }>("SELECT quantity FROM order_lines WHERE order_id = ?", id)[0]?.quantity;

describe("dates alone", () => {
  itWhole("hide no second change of the day, and cost some thirty reads where there is none", async () => {
    const test = await startFollowed(3, { service: { precision: "day", updates: { lines: false } } });
    const [id] = test.ids as [string];
    test.change(id, { lines: LINES("2") });
    await test.poll(2_000);
    expect(quantity(test, id)).toBe("2");
    test.change(id, { lines: LINES("9") }, 25_000);
    for (let polls = 0; polls < 2; polls++) await test.poll();
    expect(quantity(test, id)).toBe("9");
    test.change(id, { lines: LINES("7") }, 3_600_000);
    for (let polls = 0; polls < 70; polls++) await test.poll();
    expect(quantity(test, id)).toBe("7");
    const before = test.snapshots(id);
    for (let polls = 0; polls < 150; polls++) await test.poll(10 * 60_000);
    expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
    expect(test.snapshots(id) - before).toBeLessThan(30);
  });

  it("are told once", async () => {
    const test = await startFollowed(3, { service: { precision: "day", updates: { lines: false } } });
    for (let polls = 0; polls < 2; polls++) await test.poll();
    const { store } = test.bridge;
    const note = () =>
      store.write(() => noteLongSteps(store, findLongSteps(loadNewestTimestamps(store, 50)), "2026-03-02"));
    expect([note(), note()]).toEqual([true, false]);
    const steps = () => loadObservations(store).filter(({ kind }) => kind === "steps");
    expect(steps()).toMatchObject([{ name: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) }]);
    expect(String(describeObservations(steps()))).toContain("a second change within one may come an hour late");
    store.write(() => dismissObservations(store));
    expect([steps(), note()]).toEqual([[], false]);
  });
});

itWhole("steps of two minutes are known from the timestamps of several orders, and hide no second change", async () => {
  const test = await startFollowed(5, { service: { precision: "2min", updates: { lines: false } } });
  const [id, ...others] = test.ids as [string];
  for (const other of others) {
    test.change(other, { status: "paid" }, 120_000);
    await test.poll();
  }
  // On to a full even minute.
  test.clock.advance(240_000 - (test.clock.nowMs() % 120_000));
  test.change(id, { lines: LINES("2") }, 5_000);
  await test.poll(1_000);
  expect(quantity(test, id)).toBe("2");
  test.change(id, { lines: LINES("7") }, 72_000);
  for (let polls = 0; polls < 3; polls++) await test.poll(30_000);
  expect(quantity(test, id)).toBe("7");
});

describe("findLongSteps", () => {
  const times = (stepMin: number, count: number) =>
    Array.from({ length: count }, (_, n) => new Date(Date.UTC(2026, 2, 1, 3, n * stepMin)).toISOString());
  itSome(1)([
    ["dates", ["2026-03-02", "2026-03-02"], "2026-03-02"],
    ["none", [], undefined],
    ["half hours", times(30, 10), times(30, 1)[0]],
    ["half hours in a zone", times(30, 10).map((text) => text.replace("Z", "+05:45")), expect.any(String)],
    ["few half hours", times(30, 9), undefined],
    ["five minutes", times(5, 20), undefined],
    ["one moment of all", Array.from({ length: 20 }, () => "2026-03-02T00:00:00Z"), undefined],
    ["a time among dates", ["2026-03-02", "2026-03-02T10:00:07Z"], undefined],
    ["what is no time", ["2026-03-02", "yesterday"], undefined],
  ])("%s", (_name, texts, expected) => {
    expect(findLongSteps(texts)).toEqual(expected);
  });
});

itSome(1)([1, 50, 5_000])("%i orders that change in a day are read a bounded number of times", (orders) => {
  const DAY_MS = 86_400_000;
  const rows: { step: number; dueMs: number }[] = [];
  const waiting = (step: number) => rows.filter((row) => row.step < 5 === step < 5).length;
  let reads = 0;
  for (let nowMs = 0; nowMs < DAY_MS; nowMs += 60_000) {
    const isNew = rows.length < orders && Math.floor((nowMs / DAY_MS) * 2 * orders) >= rows.length;
    for (let added = 0; isNew && added < Math.ceil(orders / 720) && rows.length < orders; added++)
      rows.push({ step: 0, dueMs: planSecondRead({ step: 0, waiting: waiting(0), nowMs, endMs: DAY_MS }) });
    for (const row of rows.filter(({ dueMs }) => dueMs <= nowMs)) {
      reads += 1;
      row.step += 1;
      row.dueMs = planSecondRead({ step: row.step, waiting: waiting(row.step), nowMs, endMs: DAY_MS });
    }
  }
  expect(rows).toHaveLength(orders);
  expect(reads).toBeLessThan(Math.min(30 * orders, 24 * 650));
  expect(reads).toBeGreaterThanOrEqual(Math.min(20 * orders, 24 * 300));
});
