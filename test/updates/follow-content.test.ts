import { describe, expect, it } from "vitest";
import { requestRead } from "../../src/pass/position-rows.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Followed, servedLines, startFollowed, storedLines } from "../support/followed.ts";
import { itSome, itWhole, some } from "../support/whole.ts";

type History = "log" | "latest";
type Carry = "changes" | "whole";
/** Where a feed holds each order once, the order of a page means nothing. */
const FEEDS: [History, Carry, "ascending" | "shuffled"][] = [
  ["log", "changes", "ascending"],
  ["log", "changes", "shuffled"],
  ["log", "whole", "ascending"],
  ["log", "whole", "shuffled"],
  ["latest", "changes", "ascending"],
  ["latest", "whole", "ascending"],
];

async function startFeed(
  history: History,
  carry: Carry,
  more: SandboxOptionsPatch["updates"] = {},
  count = 1,
): Promise<Followed> {
  return await startFollowed(count, {
    service: { updates: { history, carry, ...more } },
    settings: { updates: { carry } },
  });
}

/** Polls on, through the window and the sweep behind it: nothing more may be asked or written. */
async function expectSettled(test: Followed, snapshots: number): Promise<void> {
  const before = test.dump();
  expect(test.snapshots()).toBe(snapshots);
  for (let polls = 0; polls < 4; polls++) expect(await test.poll(230_000)).toEqual({});
  await test.sweep();
  await test.poll();
  expect(test.snapshots()).toBe(snapshots);
  expect(test.dump()).toEqual(before);
  for (const id of test.ids) expect(test.statusOf(id).status).toBe(test.sandbox.service.statusOf(id));
}

describe.each(some(FEEDS, 2))("with %s history that carries %s in %s order", (history, carry, order) => {
  const whole = carry === "whole";
  const start = () => startFeed(history, carry, { order });

  it("a newer change delivered before an older one is settled by one snapshot", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    await test.poll();
    test.change(id, { status: "packed", lateByMs: 300_000 });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "packed", revision: 3 });
    await expectSettled(test, whole ? 1 : 2);
  });

  itWhole("changes under one timestamp are settled by one snapshot each, also when the status goes back", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    await test.poll();
    for (const status of ["packed", "paid", "packed"]) {
      test.change(id, { status, keepTimestamp: true });
      await test.poll();
      expect(test.statusOf(id).status).toBe(status);
    }
    expect(test.statusOf(id).revision).toBe(5);
    await expectSettled(test, whole ? 3 : 4);
  });

  itWhole("changes without a timestamp are settled by one snapshot each, also when the status goes back", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    for (const status of ["paid", "packed", "paid", "packed"]) {
      test.change(id, { status, timestampText: null });
      await test.poll();
      expect(test.statusOf(id).status).toBe(status);
    }
    expect(test.statusOf(id).revision).toBe(5);
    const before = test.dump();
    for (let polls = 0; polls < 3; polls++) expect(await test.poll()).toEqual({});
    expect(test.snapshots()).toBe(4);
    expect(test.dump()).toEqual(before);
  });

  itWhole("a status that goes back, and several changes between two polls, end at the newest", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    for (const status of ["paid", "packed", "paid"]) test.change(id, { status });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
    for (const status of ["packed", "new", "paid"]) test.change(id, { status });
    test.change(id, { lines: [{ sku: "B", quantity: "2.500", price: "10.00" }] });
    await test.poll();
    expect(storedLines(test, id)).toEqual(servedLines(test, id));
    // Three changes that do not rise are the most that any answer held: they may be as many as one holds, and the order is read once.
    const isSearched = whole && history === "log" && order !== "ascending";
    await expectSettled(test, whole ? Number(isSearched) : 2);
  });

  itWhole(
    "a state that comes back under its own old timestamp, as from a backup of the service, is settled by one snapshot",
    async () => {
      const test = await startFeed(history, carry, { order }, 2);
      const [id] = test.ids as [string];
      test.change(id, { status: "paid" });
      const timestamp = test.clock.nowMs();
      await test.poll();
      test.change(id, { status: "packed" });
      await test.poll();
      test.change(id, { status: "paid", timestamp });
      await test.poll();
      const isKnown = history === "latest";
      // A replica that lags looks the same, until it shows what came later.
      if (isKnown) {
        expect(test.statusOf(id).status).toBe("packed");
        test.change(test.ids[1]!, { status: "paid" });
        for (let polls = 0; polls < 3; polls++) await test.poll();
      }
      expect(test.statusOf(id)).toEqual({ status: "paid", revision: 4 });
      if (!isKnown) await expectSettled(test, whole ? 1 : 3);
    },
  );

  itWhole("timestamps that leave the window one by one repeat nothing", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    for (const status of ["paid", "packed", "shipped"]) {
      test.change(id, { status }, 240_000);
      await test.poll();
    }
    await expectSettled(test, whole ? 0 : 3);
  });

  itWhole("an order whose timestamp lies in the future is not frozen by it", async () => {
    const test = await start();
    const [id] = test.ids as [string];
    test.change(id, { status: "paid", timestampText: '"2099-01-01T00:00:00.000Z"' });
    await test.poll();
    test.change(id, { status: "packed" });
    await test.poll();
    test.change(id, { status: "shipped" });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "shipped", revision: 4 });
  });
});

describe("lines", () => {
  itSome(1)(["changes", "whole"] as const)("equal the service's exactly after every change: %s", async (carry) => {
    const test = await startFeed("latest", carry);
    const [id] = test.ids as [string];
    const [a, b, c] = [
      { sku: "A", quantity: "1", price: "1234567890.10" },
      { sku: "B", quantity: "0.250", price: "9007199254740993" },
      { sku: "A", quantity: "7", price: "1.00" },
    ] as const;
    for (const lines of [[a, b, c], [b, a, c], [c, a], [a, a], [], [c, b, a]]) {
      test.change(id, { lines });
      await test.poll();
      expect(storedLines(test, id)).toEqual(servedLines(test, id));
      expect(test.rows("SELECT sku FROM order_lines WHERE order_id = ? ORDER BY line_no", id)).toEqual(
        lines.map(({ sku }) => ({ sku })),
      );
    }
    expect(test.statusOf(id).revision).toBe(7);
  });
});

describe("key order and white space", () => {
  itSome(1)(some(FEEDS, 2))("are no change: %s, %s, %s", async (history, carry, order) => {
    const test = await startFeed(history, carry, { order }, 3);
    test.sandbox.service.setOptions({ shape: { shuffleKeys: true } });
    for (const id of test.ids) test.change(id, { status: "paid" });
    for (const id of test.ids) test.change(id, { status: "packed", keepTimestamp: true });
    await test.poll();
    const before = test.dump();
    const snapshots = test.snapshots();
    expect(snapshots).toBeLessThanOrEqual(3);
    for (let polls = 0; polls < 3; polls++) expect(await test.poll()).toEqual({});
    expect(test.snapshots()).toBe(snapshots);
    expect(test.dump()).toEqual(before);
    expect(test.ids.map((id) => test.statusOf(id))).toEqual(test.ids.map(() => ({ status: "packed", revision: 2 })));
  });

  itWhole("are no reason to write an order that is read once more", async () => {
    const test = await startFollowed(1, { service: { shape: { shuffleKeys: true } } });
    const [id] = test.ids as [string];
    const { store } = test.bridge;
    const readAgain = async () => {
      store.write(() => requestRead(store, { orderId: id, serviceId: id }, "2026-01-01T00:00:00.000Z"));
      await test.poll();
    };
    await readAgain();
    const before = test.dump();
    for (let reads = 0; reads < 4; reads++) await readAgain();
    expect(test.snapshots(id)).toBe(5);
    expect(test.dump()).toEqual(before);
  });
});

describe("what the ERP sees of a change", () => {
  it("is the order pending again, as changed and then as cancelled", async () => {
    const test = await startFollowed(2);
    const [id] = test.ids as [string];
    const pending = () => test.rows("SELECT order_id, why, erp_revision, seen_revision FROM orders_pending");
    const take = test.bridge.store.db.prepare(
      "INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, revision FROM orders",
    );
    take.run();
    expect(pending()).toEqual([]);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(pending()).toEqual([{ order_id: id, why: "changed", erp_revision: 2, seen_revision: 1 }]);
    test.change(id, { status: "cancelled" });
    await test.poll();
    expect(pending()).toEqual([{ order_id: id, why: "cancelled", erp_revision: 3, seen_revision: 1 }]);
    expect(test.rows("SELECT is_cancelled, is_open FROM orders WHERE order_id = ?", id)).toEqual([
      { is_cancelled: 1, is_open: 0 },
    ]);
  });

  itWhole.each(["changes", "whole"] as const)(
    "is told by events with the literals that were and are: %s",
    async (carry) => {
      const test = await startFeed("latest", carry);
      const [id] = test.ids as [string];
      test.change(id, { lines: [{ sku: "A", quantity: "0.250", price: "1.10" }], total: "1234567890.10" });
      await test.poll();
      test.change(id, { status: "paid", total: "1234567890.20" });
      await test.poll();
      test.change(id, { status: "cancelled" });
      await test.poll();
      test.change(id, {});
      await test.poll();
      const events = test.rows<Record<string, unknown> & { changes: string }>(
        "SELECT revision, kind, status_changed, lines_changed, fields_changed, old_status, new_status, changes, source FROM order_events WHERE order_id = ? AND revision > 1 ORDER BY seq",
        id,
      );
      const source = carry === "whole" ? "update" : "snapshot";
      expect(events).toMatchObject([
        { revision: 2, kind: "changed", status_changed: 0, lines_changed: 1, source },
        {
          revision: 3,
          kind: "changed",
          status_changed: 1,
          lines_changed: 0,
          fields_changed: 1,
          old_status: "new",
          new_status: "paid",
          source,
        },
        {
          revision: 4,
          kind: "cancelled",
          status_changed: 1,
          lines_changed: 0,
          fields_changed: 0,
          old_status: "paid",
          new_status: "cancelled",
        },
      ]);
      expect(events[1]!.changes).toBe(
        '{"$.status":{"was":"new","is":"paid"},"$.total":{"was":1234567890.10,"is":1234567890.20}}',
      );
      expect(test.rows("SELECT service_updated_at AS at FROM orders WHERE order_id = ?", id)).toEqual([
        { at: JSON.parse(test.sandbox.service.newestText(id)!).updated_at },
      ]);
    },
  );

  itWhole("is a revision only for content: a timestamp that moves alone makes none", async () => {
    const test = await startFollowed(1);
    const [id] = test.ids as [string];
    for (let round = 0; round < 3; round++) {
      test.change(id, {});
      await test.poll();
    }
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    expect(test.rows("SELECT kind FROM order_events WHERE order_id = ?", id)).toEqual([{ kind: "created" }]);
  });
});
