import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { compileMapping, LINE_FIELDS, ORDER_FIELDS } from "../../src/records/order-mapping.ts";
import { KnownPages } from "../../src/updates/pages/change-page.ts";
import { ChangeCollector } from "../../src/updates/pages/collect-changes.ts";
import { startTestBridge } from "../support/bridge.ts";
import { inWhole, itWhole, size } from "../support/whole.ts";

const whole = inWhole("updates/change-page");

const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `$.${name}`]));
const mapping = compileMapping({
  source: "update",
  fields: named(ORDER_FIELDS) as never,
  line: named(LINE_FIELDS) as never,
  isWritten: () => false,
  whole: false,
});
const rules = { mapping, changes: parsePath("$.updates"), next: null, timezone: "UTC" };

const change = (n: number, status = "new") => ({
  order_id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  status,
  updated_at: "2026-03-01T12:00:00Z",
});
const answerOf = (updates: readonly unknown[]) => ({
  status: 200,
  date: undefined,
  contentType: "application/json",
  body: Buffer.from(JSON.stringify({ updates })),
});

const context = { clock: systemClock, client: { hideSecrets: (text: string) => text } };
const { signal } = new AbortController();

async function readBy(step: number, updates: readonly unknown[]) {
  const answer = answerOf(updates);
  const page = await new KnownPages(rules, context).open(answer, signal);
  const read = [];
  for (let from = 0; from < page.elements.length; from += step)
    read.push(...atOnce(page.read(answer.body, from, step)));
  return { read, timestamps: page.timestamps };
}

describe("a page of changes", () => {
  it("reads the same in steps as in one go, and tells equal changes apart", async () => {
    const updates = [change(1), change(2), change(1), "no order", change(1), { ...change(3), updated_at: null }];
    const whole = await readBy(updates.length, updates);
    for (const step of [1, 2, 4]) expect(await readBy(step, updates)).toEqual(whole);
    const keys = whole.read.map(({ key }) => key);
    expect(keys[3]).toBeUndefined();
    expect(new Set([keys[0], keys[2], keys[4]]).size).toBe(3);
    expect(whole.timestamps.map((timestamp) => timestamp?.text)).toEqual([
      ...Array<string>(3).fill("2026-03-01T12:00:00Z"),
      undefined,
      "2026-03-01T12:00:00Z",
      undefined,
    ]);
  });

  it("is read anew where its head states something else beside the same bytes", async () => {
    const pages = new KnownPages(rules, context);
    const part = await pages.open({ ...answerOf([]), status: 203 }, signal);
    pages.beginPass();
    const whole = await pages.open(answerOf([]), signal);
    expect([part, whole].map(({ metadata }) => metadata.fields.length)).toEqual([1, 0]);
    expect(await pages.open({ ...answerOf([]), listHeaders: { "x-truncated": "true" } }, signal)).not.toBe(whole);
  });

  it("is known again to the byte, goes on where reading was broken off, and is forgotten after a pass without it", async () => {
    const pages = new KnownPages(rules, context);
    const answer = answerOf([change(1), change(2), change(3)]);
    const page = await pages.open(answer, signal);
    atOnce(page.read(answer.body, 0, 2));
    expect(await pages.open(answerOf([change(1), change(2), change(3)]), signal)).toBe(page);
    expect(atOnce(page.read(answer.body, 0, 3)).map(({ record }) => record.ok && record.orderId.at(-1))).toEqual([
      "1",
      "2",
      "3",
    ]);
    expect(await pages.open(answerOf([change(1), change(2), change(3, "paid")]), signal)).not.toBe(page);
    expect(await pages.open(answer, signal)).toBe(page);
    pages.beginPass();
    expect(await pages.open(answer, signal)).toBe(page);
    pages.beginPass();
    pages.beginPass();
    expect(await pages.open(answer, signal)).not.toBe(page);
  });

  itWhole("is read anew each time where a pass holds more than may be kept", async () => {
    const pages = new KnownPages(rules, context);
    const large = answerOf(Array.from({ length: 15_000 }, (_, n) => change(n)));
    const further = answerOf(Array.from({ length: 6_000 }, (_, n) => change(n)));
    const [first, second] = [await pages.open(large, signal), await pages.open(further, signal)];
    expect(await pages.open(large, signal)).toBe(first);
    expect(await pages.open(further, signal)).not.toBe(second);
  });
});

whole.describe("a page of more changes than may wait", () => {
  it("is handed out in bounded parts while it is read, each order once, and only its timestamps stay", async () => {
    const { bridge } = await startTestBridge();
    const { store } = bridge;
    const count = size(12_000, 25_000);
    const answer = answerOf(Array.from({ length: count }, (_, n) => change(n)));
    const page = await new KnownPages(rules, context).open(answer, signal);
    const collector = new ChangeCollector(store, systemClock);
    const parts: number[] = [];
    const orders = new Set<string>();
    const take = (isWhole: boolean) => {
      const news = atOnce(collector.applyChange(isWhole));
      parts.push(news.length);
      for (const { record } of news) if (record.ok) orders.add(record.orderId);
    };
    const served = { body: answer.body, isBeyond: false, isCancelled: () => false };
    const fresh = await collector.addPage({ ...served, changes: page }, signal, async () => take(false));
    take(true);
    expect(fresh).toBe(count);
    expect(orders.size).toBe(count);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(count);
    expect(Math.max(...parts)).toBeLessThanOrEqual(10_100);
    expect(page.timestamps).toHaveLength(count);
    expect(new Set(page.timestamps.map((timestamp) => timestamp?.form)).size).toBe(1);
    // The same page once more in this pass brings nothing.
    const again = await new KnownPages(rules, context).open(answer, signal);
    await collector.addPage({ ...served, changes: again }, signal, async () => take(false));
    take(true);
    expect(parts.at(-1)).toBe(0);
  });
});
