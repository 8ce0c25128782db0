import { describe, expect, it } from "vitest";
import { startFollowed } from "../support/followed.ts";

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
  it.each([
    ["each order once", { history: "latest" }],
    ["every change", { history: "log" }],
  ])("hide no second change that the changes list in the same words: %s", async (_words, updates) => {
    const test = await changeTwice(precision, withinMs, updates);
    await test.poll();
    await test.poll();
    expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", test.id)).toEqual([{ quantity: "7" }]);
    expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
  });

  it("hide none over a restart, and cost one request where there is none", async () => {
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

it("an order that came within its own minute is read once more, and not where the minute was over", async () => {
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

it("an order is not read that long after it, when the service may have forgotten it", async () => {
  const test = await startFollowed(1, { service: { precision: "min", updates: { lines: false } } });
  await test.poll(120_000);
  const young = test.sandbox.service.createOrder();
  await test.run("orders");
  expect(test.rows("SELECT order_id FROM repeat_reads")).toEqual([{ order_id: young }]);
  await test.poll(20 * 60_000);
  expect(test.rows("SELECT * FROM repeat_reads")).toEqual([]);
  expect(test.snapshots(young)).toBe(0);
});

it("a timestamp from the future keeps no order waiting, and none is read without end", async () => {
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
