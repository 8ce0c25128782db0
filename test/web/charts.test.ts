import { describe, expect, it, onTestFinished } from "vitest";
import { ChartLoader } from "../../src/web/charts.ts";
import { startTestBridge } from "../support/bridge.ts";

const HOUR_MS = 3_600_000;

/** The zone of the machine, for the running test. */
function liveIn(zone: string): void {
  const former = process.env["TZ"];
  process.env["TZ"] = zone;
  onTestFinished(() => {
    if (former === undefined) delete process.env["TZ"];
    else process.env["TZ"] = former;
  });
}

async function hourlyOrders(fromMs: number, hours: number) {
  const t = await startTestBridge();
  const insert = t.bridge.store.db.prepare(
    `INSERT INTO orders (order_id, received_at, changed_at, payload_source, payload_hash, payload)
     VALUES (?, ?, '', 'batch', x'00', '{}')`,
  );
  const add = (hour: number) => {
    const id = `00000000-0000-4000-8000-${String(hour).padStart(12, "0")}`;
    insert.run(id, new Date(fromMs + hour * HOUR_MS).toISOString());
  };
  for (let hour = 0; hour < hours; hour++) add(hour);
  return { store: t.bridge.store, add };
}

describe("orders by day", () => {
  it("are those of the owner's days, also where a day has 23 hours", async () => {
    liveIn("Europe/Berlin");
    const fromMs = new Date(2026, 2, 27).getTime();
    const { store } = await hourlyOrders(fromMs, 3 * 24);
    const { days } = new ChartLoader(store).load(new Date(2026, 2, 30, 12).getTime());
    expect(days).toHaveLength(14);
    const told = days.slice(-5).map(({ date, count }) => [date.getDate(), count]);
    expect(told).toEqual([
      [26, 0],
      [27, 24],
      [28, 24],
      [29, 23],
      [30, 1],
    ]);
  });

  it("grow with what comes in, and go on at midnight", async () => {
    const fromMs = new Date(2026, 5, 1).getTime();
    const { store, add } = await hourlyOrders(fromMs, 20);
    const loader = new ChartLoader(store);
    const lastTwo = (hour: number) => {
      return loader
        .load(fromMs + hour * HOUR_MS)
        .days.slice(-2)
        .map(({ count }) => count);
    };
    expect(lastTwo(20)).toEqual([0, 20]);
    for (let hour = 20; hour < 24; hour++) add(hour);
    expect(lastTwo(23.5)).toEqual([0, 24]);
    expect(lastTwo(24)).toEqual([24, 0]);
    add(24);
    add(25);
    expect(lastTwo(26)).toEqual([24, 2]);
  });

  it("are none in an empty shop, as is the age of the stock on its site", async () => {
    const t = await startTestBridge();
    const { days, hours } = new ChartLoader(t.bridge.store).load(t.clock.nowMs());
    expect(days.every(({ count }) => count === 0)).toBe(true);
    expect(hours).toHaveLength(24);
    expect(hours.every(({ ageS }) => ageS === null)).toBe(true);
  });
});
