import { describe, expect, it } from "vitest";
import { hasUnstored } from "../../src/records/unstored-records.ts";
import type { Settings } from "../support/bridge.ts";
import { type Followed, servedLines, startFollowed, storedLines } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { startStatusBridge } from "../support/statuses.ts";
import { SLOW } from "../support/turns.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/take-cancellation");

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LOG = { updates: { history: "log" } } as const;

const events = (test: Pick<Followed, "rows">, id: string) =>
  test
    .rows<{ kind: string; status: string }>(
      "SELECT kind, new_status AS status FROM order_events WHERE order_id = ? AND revision > 1 ORDER BY seq",
      id,
    )
    .map(({ kind, status }) => `${kind} ${status}`);

describe("a cancellation that the service has moved on from before it was stored", () => {
  itWhole.each([
    ["parts of orders", { history: "log" }],
    ["whole orders", { history: "log", carry: "whole" }],
    ["no boundary", { history: "log", boundary: "exclusive" }],
    ["a page of one change", { history: "log", pageLimit: 1 }],
  ] as const)("is an event of its own where one poll lists both: %s", async (_, updates) => {
    const settings = "carry" in updates ? { updates: { carry: "whole" } } : {};
    const test = await startFollowed(3, { service: { updates }, settings });
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    test.change(id, { status: "refunded" }, 20_000);
    await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    const { revision } = test.statusOf(id);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    await test.sweep();
    expect(test.statusOf(id)).toEqual({ status: "refunded", revision });
    expect(test.rows("SELECT is_cancelled FROM orders WHERE order_id = ?", id)).toEqual([{ is_cancelled: 0 }]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole.each([
    ["name a zone from then on", "iso-naive", "iso-offset"],
    ["name none from then on", "iso-offset", "iso-naive"],
  ] as const)("is one where the service's times %s, and none where it was one before", async (_, before, after) => {
    const test = await startFollowed(3, { service: { timestamps: before, updates: { history: "log" } } });
    const [id = "", former = ""] = test.ids;
    test.change(former, { status: "cancelled" });
    test.change(former, { status: "refunded" }, 20_000);
    await test.poll();
    test.sandbox.service.setOptions({ timestamps: after });
    test.change(id, { status: "cancelled" });
    test.change(id, { status: "refunded" }, 20_000);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    const cancelled = (each: string) => events(test, each).filter((event) => event.startsWith("cancelled"));
    expect([id, former].map(cancelled)).toEqual([["cancelled cancelled"], ["cancelled cancelled"]]);
  });

  it("is one where the order is moved on between the list and its read", async () => {
    const test = await startFollowed(3, {});
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    test.clock.advance(1_000);
    await test.run("updates");
    test.sandbox.faults.clear();
    expect(test.statusOf(id).status).toBe("new");
    test.change(id, { status: "refunded" }, 20_000);
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
  });

  itWhole("is one where the change of it is answered by what came later", async () => {
    const test = await startFollowed(3, {});
    const [id = ""] = test.ids;
    const at = new Date(test.clock.nowMs() + 1_000).toISOString();
    test.change(id, { status: "refunded" }, 20_000);
    const body = JSON.stringify({ updates: [{ order_id: id, status: "cancelled", updated_at: at }] });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
  });

  itWhole.each([
    ["after it", ["was cancelled", "is refunded", "is cancelled"]],
    ["before it, the newest first", ["is accepted", "is cancelled", "is refunded", "was cancelled"]],
  ])("is one where a cancellation of the same time as the order is listed %s", async (_, listed) => {
    const test = await startFollowed(3, {});
    const [id = ""] = test.ids;
    const was = new Date(test.clock.nowMs() + 1_000).toISOString();
    test.change(id, { status: "refunded" }, 20_000);
    const is = new Date(test.clock.nowMs()).toISOString();
    const changes = listed.map((each) => {
      const [when, status] = each.split(" ");
      return { order_id: id, status, updated_at: when === "was" ? was : is };
    });
    const body = JSON.stringify({ updates: changes });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
  });

  itWhole(
    "is one where it is listed between an opening and a change of its own time, and a later one follows",
    async () => {
      const test = await startFollowed(3, {});
      const [id = ""] = test.ids;
      const times = [0, 500, 500, 1_000].map((ms) => new Date(test.clock.nowMs() + 1_000 + ms).toISOString());
      test.change(id, { status: "refunded" }, 20_000);
      const statuses = ["paid", "cancelled", "packed", "refunded"];
      const updates = statuses.map((status, at) => ({ order_id: id, status, updated_at: times[at] }));
      const body = JSON.stringify({ updates });
      test.sandbox.faults.add({
        match: { path: "updates" },
        times: 1,
        do: { kind: "raw", contentType: "application/json", body },
      });
      await test.poll();
      expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    },
  );

  itWhole(
    "is one where another pass reads the order while the one that has listed it asks for its next page",
    async () => {
      const test = await startFollowed(3, { settings: SLOW, service: { updates: { history: "log", pageLimit: 1 } } });
      const [id = ""] = test.ids;
      test.change(id, { status: "cancelled" });
      test.change(id, { status: "refunded" }, 20_000);
      const { sleep } = test.clock;
      const isListed = () => test.sandbox.ledger.ofKind("updates").some(({ servedIds }) => servedIds.includes(id));
      const read: Promise<unknown>[] = [];
      test.clock.sleep = async (ms, signal) => {
        if (isListed()) {
          test.clock.sleep = sleep;
          read.push(test.run("reconcile"));
          await read[0];
        }
        await sleep.call(test.clock, ms, signal);
      };
      await test.poll();
      expect(read).toHaveLength(1);
      expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    },
  );

  /** A poll lists the cancellation of an order that cannot be read. */
  async function startCancelled(settings: Settings = {}) {
    const test = await startFollowed(3, { settings });
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    const cancelled = test.sandbox.service.newestText(id)!;
    test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    test.clock.advance(1_000);
    await test.run("updates");
    expect(test.statusOf(id).status).toBe("new");
    test.change(id, { status: "refunded" }, 20_000);
    const refunded = test.sandbox.service.newestText(id)!;
    return { ...test, test, id, cancelled, refunded, pull: (...orders: string[]) => pull(test, orders) };
  }

  /** Pulls a batch of these orders. */
  async function pull(test: Followed, orders: readonly string[]) {
    const body = `{"batch_id":"later","orders":[${orders.join()}]}`;
    test.sandbox.faults.add({
      match: { path: "orders" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.run("orders");
  }

  itWhole("is one where a batch brings the later version", async () => {
    const { test, id, refunded, pull } = await startCancelled();
    await pull(refunded);
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    test.sandbox.faults.clear();
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole("is one where a batch brings a later record that cannot be stored", async () => {
    const { test, id, refunded, pull, change, sandbox } = await startCancelled();
    await pull(JSON.stringify({ ...(JSON.parse(refunded) as object), items: [] }));
    expect(events(test, id)).toEqual(["cancelled cancelled"]);
    sandbox.faults.clear();
    change(id, { status: "archived" });
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed archived"]);
  });

  itWhole("is one where it stands in a record of a batch that cannot be stored", async () => {
    const test = await startFollowed(3, {});
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    await pull(test, [JSON.stringify({ ...(JSON.parse(test.sandbox.service.newestText(id)!) as object), items: [] })]);
    test.change(id, { status: "refunded" }, 20_000);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
  });

  itWhole("is one where one batch holds both", async () => {
    const test = await startFollowed(3, {});
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    const cancelled = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "refunded" }, 20_000);
    await pull(test, [cancelled, test.sandbox.service.newestText(id)!]);
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
  });

  itWhole("is one where only what the changes were asked for another order lists both", async () => {
    const test = await startWithIll(3, { service: LOG });
    const [id = "", other = "", third = ""] = test.ids;
    const old = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    await test.poll(3 * HOUR_MS);
    test.change(third, { status: "paid" });
    await test.poll();
    // So late that following does not ask for them.
    test.change(other, { status: "cancelled", lateByMs: 2 * HOUR_MS });
    test.change(other, { status: "refunded", lateByMs: 2 * HOUR_MS }, 20_000);
    test.ill.set(id, { kind: "raw", contentType: "application/json", body: old });
    test.ill.set(other, { kind: "status", status: 500 });
    await test.run("reconcile");
    test.ill.delete(other);
    expect(test.statusOf(other).status).toBe("new");
    for (let polls = 0; polls < 8; polls++) await test.poll();
    expect(events(test, other)).toEqual(["cancelled cancelled", "changed refunded"]);
    expect(hasUnstored(test.bridge.store)).toBe(false);
  });

  itWhole("is none where the order was cancelled before, or by no later word", async () => {
    const test = await startFollowed(3, { service: LOG });
    const [id = "", other = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    await test.poll();
    test.change(id, { status: "refunded" });
    await test.poll();
    await test.sweep();
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed refunded"]);
    test.change(other, { status: "cancelled" });
    test.change(other, { status: "cancelled" });
    await test.poll();
    expect(events(test, other)).toHaveLength(1);
  });
});

describe("a cancelled order that is opened and cancelled again before that was stored", () => {
  async function startReopened(updates: object = {}, settings: Settings = {}) {
    const test = await startFollowed(3, { service: { updates: { history: "log", ...updates } }, settings });
    const [id = ""] = test.ids;
    test.change(id, { status: "cancelled" });
    await test.poll();
    return { test, id };
  }
  const REOPENED = ["cancelled cancelled", "changed accepted", "cancelled cancelled"];

  itSome(1)([
    ["parts of orders", {}],
    ["whole orders", { carry: "whole" }],
    ["a page of one change", { pageLimit: 1 }],
  ] as const)("has an event of either where one poll lists both: %s", async (_, updates) => {
    const { test, id } = await startReopened(updates, "carry" in updates ? { updates: { carry: "whole" } } : {});
    test.change(id, { status: "accepted" });
    test.change(id, { status: "cancelled" }, 20_000);
    await test.poll();
    expect(events(test, id)).toEqual(REOPENED);
    const { revision } = test.statusOf(id);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    await test.sweep();
    expect(test.statusOf(id)).toEqual({ status: "cancelled", revision });
    expect(test.rows("SELECT is_cancelled FROM orders WHERE order_id = ?", id)).toEqual([{ is_cancelled: 1 }]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole("has them where the order is cancelled between the list and its read", async () => {
    const { test, id } = await startReopened();
    test.change(id, { status: "accepted" });
    test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    test.clock.advance(1_000);
    await test.run("updates");
    test.sandbox.faults.clear();
    test.change(id, { status: "cancelled" }, 20_000);
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect(events(test, id)).toEqual(REOPENED);
  });

  itWhole("has them where the change that opens it is answered by the later cancellation", async () => {
    const { test, id } = await startReopened();
    const at = new Date(test.clock.nowMs() + 1_000).toISOString();
    test.change(id, { status: "cancelled" }, 20_000);
    const body = JSON.stringify({ updates: [{ order_id: id, status: "accepted", updated_at: at }] });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.poll();
    expect(events(test, id)).toEqual(REOPENED);
  });

  const IN_BETWEEN: [string, object, "cancelled" | "refunded"][] = [
    ["it is not later than what is stored", { status: "accepted", updated_at: "2000-01-01T00:00:00Z" }, "cancelled"],
    ["its status is a number", { status: "3" }, "cancelled"],
    ["its status is empty", { status: " " }, "cancelled"],
    ["it is moved on, not cancelled", { status: "accepted" }, "refunded"],
  ];
  itWhole.each(IN_BETWEEN)("has none of what is in between where %s", async (_, between, then) => {
    const { test, id } = await startReopened();
    const at = new Date(test.clock.nowMs() + 1_000).toISOString();
    test.change(id, { status: then }, 20_000);
    const later = { order_id: id, status: then, updated_at: new Date(test.clock.nowMs()).toISOString() };
    const body = JSON.stringify({ updates: [{ order_id: id, updated_at: at, ...between }, later] });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.poll();
    expect(events(test, id)).toEqual(["cancelled cancelled", ...(then === "cancelled" ? [] : ["changed refunded"])]);
  });
});

describe("a status that waits", () => {
  itSome(1)([
    ["a cancellation of its order and what came after it", undefined, ["cancelled", "refunded"]],
    [
      "its order, cancelled when it was asked for, as opened and cancelled again",
      "cancelled",
      ["accepted", "cancelled"],
    ],
  ] as const)("is refused where one poll lists %s", async (_, before, listed) => {
    const bridge = await startStatusBridge({ sandbox: { options: LOG } });
    const { ids, ask, send, sandbox, run, clock, sendFor, effects, request } = bridge;
    if (before !== undefined) {
      sandbox.service.changeOrder(ids[0]!, { status: before });
      clock.advance(20_000);
      await run("updates");
    }
    sandbox.faults.add({ match: { path: "status" }, times: "forever", do: { kind: "status", status: 423 } });
    const id = ask(ids[0]!, "shipped");
    await send();
    clock.advance(60_000);
    for (const status of listed) {
      sandbox.service.changeOrder(ids[0]!, { status });
      clock.advance(20_000);
    }
    await run("updates");
    sandbox.faults.clear();
    await sendFor(20);
    expect(effects()).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused" });
  });

  itWhole("is read back by a pass that stores the cancellation which its change has named, too", async () => {
    const { ids, ask, send, sandbox, run, clock, events: eventsOf } = await startStatusBridge();
    const id = ids[0]!;
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    ask(id, "packed");
    await send();
    clock.advance(20_000);
    sandbox.service.changeOrder(id, { status: "cancelled" });
    await run("updates");
    sandbox.faults.clear();
    clock.advance(20_000);
    sandbox.service.changeOrder(id, { status: "refunded" });
    clock.advance(20 * 60_000);
    await send();
    const kinds = eventsOf(id).map(({ kind, new_status }) => `${kind} ${new_status}`);
    expect(kinds.slice(-2)).toEqual(["cancelled cancelled", "changed refunded"]);
  });
});

whole.describe("a cancellation that a list names with a time ahead of the order's own", () => {
  const itemOf = (sku: string) => ({ sku, quantity: "7", price: "1.00" });

  /** The cancellation counts without its order, which cannot be read; the list is an hour ahead of it. */
  async function startAhead() {
    const test = await startWithIll(3);
    const [id = "", other = ""] = test.ids;
    test.change(id, { status: "cancelled", lines: [itemOf("own")] });
    const own = test.sandbox.service.newestText(id)!;
    test.clock.advance(HOUR_MS);
    const updated_at = new Date(test.clock.nowMs()).toISOString();
    const body = JSON.stringify({ updates: [{ order_id: id, status: "cancelled", updated_at }] });
    test.sandbox.faults.add({
      match: { path: "updates" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    test.ill.set(id, { kind: "status", status: 403 });
    for (let polls = 0; polls < 20; polls++) {
      test.change(other, { status: polls % 2 === 0 ? "paid" : "new" });
      await test.poll();
    }
    expect(test.statusOf(id).status).toBe("cancelled");
    expect(storedLines(test, id)).not.toEqual(servedLines(test, id));
    return { ...test, test, id, own };
  }

  it("keeps nothing that the order says of itself away", async () => {
    const { test, id } = await startAhead();
    test.ill.delete(id);
    for (let polls = 0; polls < 7; polls++) await test.poll(10 * MINUTE_MS);
    expect(storedLines(test, id)).toEqual(servedLines(test, id));
    expect(events(test, id)).toEqual(["cancelled cancelled", "changed cancelled"]);
  });

  itWhole("keeps no batch away that has the order as it is", async () => {
    const { test, id, own } = await startAhead();
    const body = `{"batch_id":"again","orders":[${own}]}`;
    test.sandbox.faults.add({
      match: { path: "orders" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.run("orders");
    expect(storedLines(test, id)).toEqual(servedLines(test, id));
  });

  itWhole("is undone by no answer of before it", async () => {
    const { test, id } = await startAhead();
    const before = test.sandbox.service.newestText(id)!.replace('"cancelled"', '"new"');
    test.ill.set(id, { kind: "raw", contentType: "application/json", body: before });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    const body = `{"batch_id":"again","orders":[${before}]}`;
    test.sandbox.faults.add({
      match: { path: "orders" },
      times: 1,
      do: { kind: "raw", contentType: "application/json", body },
    });
    await test.run("orders");
    expect(test.statusOf(id).status).toBe("cancelled");
  });
});
