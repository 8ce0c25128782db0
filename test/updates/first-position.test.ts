import { expect, it } from "vitest";
import { firstPosition } from "../../src/pass/first-position.ts";
import { loadWatermark } from "../../src/pass/position-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

itWhole("leaves the first position that a pull set while the first pass was reading", async () => {
  let pull: (() => Promise<unknown>) | undefined;
  const t: TestBridge = await startTestBridge({
    sandbox: {
      onAnswer: async ({ path }) => {
        if (!path.includes("/orders/updates")) return;
        const run = pull;
        pull = undefined;
        await run?.();
      },
    },
  });
  t.sandbox.service.setOptions({ dateHeader: false });
  const id = t.sandbox.service.createOrder();
  await t.run("orders");
  t.sandbox.service.changeOrder(id, { status: "paid" });
  // The service at another address has served none of what is stored.
  t.bridge.store.db.exec("UPDATE batches SET account = 'former'");
  t.sandbox.service.setOptions({ dateHeader: true });
  t.sandbox.service.createOrder();
  t.clock.advance(60_000);
  pull = () => t.run("orders");
  await t.run("updates");
  const position = loadWatermark(t.bridge.store, "updates") ?? "";
  expect(Date.parse(position)).toBe(Math.floor(t.clock.nowMs() / 1000) * 1000);
});

itWhole("sets none where an order may have changed since an answer without a Date had it", async () => {
  const t = await startTestBridge();
  t.sandbox.service.setOptions({ dateHeader: false });
  const id = t.sandbox.service.createOrder();
  await t.run("orders");
  t.sandbox.service.changeOrder(id, { status: "paid" });
  t.sandbox.service.setOptions({ dateHeader: true });
  t.sandbox.service.createOrder();
  t.clock.advance(3_600_000);
  await t.run("orders");
  expect(loadWatermark(t.bridge.store, "updates")).toBeUndefined();
  await t.run("updates");
  expect(t.rows(`SELECT status FROM orders WHERE order_id = '${id}'`)).toEqual([{ status: "paid" }]);
  expect(loadWatermark(t.bridge.store, "updates")).toBeDefined();
});

const DATE = "Mon, 02 Mar 2026 12:00:00 GMT";
it.each([
  ["Date, where this machine's clock says the same", "2026-03-02T11:59:50Z", "2026-03-02T11:00:00Z", DATE],
  ["Date, where this machine's clock is ahead", "2026-03-02T15:00:00Z", "2026-03-02T11:00:00Z", DATE],
  [
    "the last order's time, where Date is ahead of it",
    "2026-03-02T09:00:00Z",
    "2026-03-02T08:59:00Z",
    "2026-03-02T08:59:00Z",
  ],
  ["Date, where the last order's time is later still", "2026-03-02T09:00:00Z", "2026-03-02T12:00:01Z", DATE],
  ["Date, where no order has a time", "2026-03-02T09:00:00Z", null, DATE],
  [
    "the last order's time, where it names no zone",
    "2026-03-02T12:00:00Z",
    "2026-03-02 06:59:00",
    "2026-03-02 06:59:00",
  ],
  ["Date, where an order's time without a zone is of weeks ago", "2026-03-02T12:00:00Z", "2026-02-02 06:59:00", DATE],
])("begins at %s", (_, now, newest, first) => {
  expect(firstPosition(DATE, newest, { nowMs: Date.parse(now), timezone: "UTC" })).toBe(first);
});

it("finds a cancellation where times have no zone and are of one that is five hours behind", async () => {
  const service = { timestamps: "iso-naive", naiveOffsetMinutes: -300 } as const;
  const t = await startTestBridge({ sandbox: { options: service } });
  const id = t.sandbox.service.createOrder();
  await t.run("orders");
  t.clock.advance(60_000);
  t.sandbox.service.changeOrder(id, { status: "cancelled" });
  await t.run("updates");
  expect(t.rows("SELECT is_cancelled AS cancelled FROM orders")).toEqual([{ cancelled: 1 }]);
});

itWhole("finds a cancellation where the Date of every answer is three hours ahead", async () => {
  const t = await startTestBridge();
  const { service } = t.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const answer = handle(request);
    const date = new Date(t.clock.nowMs() + 3 * 3_600_000).toUTCString();
    return { ...answer, headers: { ...answer.headers, date } };
  };
  const id = service.createOrder();
  await t.run("orders");
  t.clock.advance(60_000);
  await t.run("updates");
  t.clock.advance(60_000);
  service.changeOrder(id, { status: "cancelled" });
  await t.run("updates");
  expect(t.rows("SELECT is_cancelled AS cancelled FROM orders")).toEqual([{ cancelled: 1 }]);
});
