import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadObservations } from "../../src/probe/observations.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startFollowed } from "../support/followed.ts";
import { NO_SUCH_ORDER, startWithIll } from "../support/ill-orders.ts";
import { fillStock } from "../support/pushed.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/stale-replica");

const HOUR_MS = 3_600_000;
const YEARS_MS = 30 * 365 * 24 * HOUR_MS;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

/** A shop with a day behind it: stock and orders of the morning, and what was changed in the last hours. */
async function startShop(service: SandboxOptionsPatch = {}) {
  const test = await startWithIll(6, { settings: { statuses: { path: STATUS_PATH } }, service });
  const erp = new Database(test.bridge.store.path, { timeout: 1_000 });
  onTestFinished(() => void erp.close());
  await test.run("stocks");
  fillStock(erp, 3);
  await test.run("stocks");
  test.clock.advance(3 * HOUR_MS);
  test.change(test.ids[1]!, { status: "paid" });
  await test.poll();
  test.clock.advance(3 * HOUR_MS);
  const morning = test.ids.map((id) => test.sandbox.service.newestText(id)!);
  test.clock.advance(HOUR_MS);
  erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-1'");
  await test.run("stocks");
  const insert = erp.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, ?)");
  let sent = test.sandbox.ledger.ofKind("import").length;
  const own = {
    erp,
    morning,
    ask: (id: string, status: string) => void insert.run(id, status),
    /** The stock that was sent since the last call, by its article. */
    stockSent: () => {
      const entries = test.sandbox.ledger.ofKind("import").slice(sent);
      sent += entries.length;
      return entries.flatMap(({ requestBody }) =>
        (JSON.parse(requestBody ?? "{}") as { stocks: { sku: string }[] }).stocks.map(({ sku }) => sku),
      );
    },
    /** These orders are as they were in the morning. */
    goBack: (...at: number[]) => {
      for (const index of at) {
        test.ill.set(test.ids[index]!, raw(morning[index]!));
        test.unlisted.add(test.ids[index]!);
      }
    },
    requests: () =>
      test.rows<{ state: string; last_error: string | null }>(
        "SELECT state, last_error FROM status_requests ORDER BY id",
      ),
    /** Hours in which the service goes on working: one order is changed each time. */
    live: async (hours: number) => {
      for (let hour = 0; hour < hours; hour++) {
        test.change(test.ids[5]!, { status: ["paid", "packed", "new"][hour % 3]! });
        await test.poll(HOUR_MS);
        for (let polls = 0; polls < 4; polls++) await test.poll();
        await test.run("stocks");
      }
    },
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(test)) as typeof own & typeof test;
}

describe("a service that was restored to an earlier copy", () => {
  itWhole("is known by several orders that have gone back, and gets once more what it had accepted since", async () => {
    const shop = await startShop();
    const { ids, change, poll, run, stockSent, goBack, live, statusOf, bridge, erp } = shop;
    change(ids[0]!, { status: "paid" });
    change(ids[1]!, { status: "packed" });
    await poll();
    goBack(0, 1);
    await run("reconcile");
    stockSent();
    await live(6);
    expect(ids.slice(0, 2).map((id) => statusOf(id).status)).toEqual(["new", "paid"]);
    expect(stockSent()).toEqual(["S-1"]);
    expect(loadObservations(bridge.store)).toContainEqual(expect.objectContaining({ kind: "return", state: "new" }));
    // Another order of the same copy is no news.
    change(ids[2]!, { status: "paid" });
    await poll();
    await run("reconcile");
    await live(2);
    expect(stockSent()).toEqual([]);
    // And rows that change go as ever.
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await run("stocks");
    expect(stockSent()).toEqual(["S-2"]);
  });

  it("is known where it writes its times without a zone before any of the orders is read", async () => {
    const { ids, change, poll, run, stockSent, goBack, live, statusOf, ill, sandbox, morning } = await startShop();
    change(ids[0]!, { status: "paid" });
    change(ids[1]!, { status: "packed" });
    await poll();
    goBack(0, 1);
    sandbox.service.setOptions({ timestamps: "iso-naive" });
    for (const at of [0, 1]) ill.set(ids[at]!, raw(morning[at]!.replaceAll(/(T[\d:.]+)Z"/g, '$1"')));
    await run("reconcile");
    stockSent();
    await live(6);
    expect(ids.slice(0, 2).map((id) => statusOf(id).status)).toEqual(["new", "paid"]);
    expect(stockSent()).toEqual(["S-1"]);
  });

  itWhole(
    "is known where the changes come newest first, and only a page from before the older versions tells of the lost ones",
    async () => {
      const shop = await startShop({ updates: { order: "descending", keeps: "newest", history: "log" } });
      const { ids, change, poll, run, stockSent, goBack, live, statusOf } = shop;
      change(ids[4]!, { status: "paid" });
      // Each time it is asked from a second earlier, which must not reach the change before.
      change(ids[0]!, { status: "paid" }, 60_000);
      change(ids[1]!, { status: "packed" });
      await poll();
      for (let times = 0; times < 12; times++) change(ids[5]!, { status: `s${times}` }, 60_000);
      await poll();
      goBack(0, 1);
      await run("reconcile");
      stockSent();
      await live(2);
      expect(ids.slice(0, 2).map((id) => statusOf(id).status)).toEqual(["new", "paid"]);
      expect(stockSent()).toEqual(["S-1"]);
    },
  );

  itWhole("is known after a day where no page reaches so far back, and no status goes once more for that", async () => {
    const shop = await startShop({ updates: { order: "descending", keeps: "newest", history: "log", pageLimit: 12 } });
    const { ids, ask, poll, run, stockSent, goBack, live, statusOf, requests, clock, bridge } = shop;
    for (const id of ids.slice(0, 2)) ask(id, "packed");
    await run("statuses");
    clock.advance(60_000);
    await run("statuses");
    await poll();
    for (let times = 0; times < 14; times++) shop.change(ids[5]!, { status: `s${times}` }, 60_000);
    await poll();
    goBack(0, 1);
    await run("reconcile");
    stockSent();
    await live(20);
    expect(stockSent()).toEqual([]);
    await live(24);
    expect(ids.slice(0, 2).map((id) => statusOf(id).status)).toEqual(["new", "paid"]);
    expect(stockSent()).toEqual(["S-1"]);
    expect(loadObservations(bridge.store)).toContainEqual(expect.objectContaining({ kind: "return", state: "new" }));
    expect(requests().map(({ state }) => state)).toEqual(["sent", "sent"]);
  });

  itWhole("is known by timestamps that have gone back, whatever else the orders say", async () => {
    const shop = await startShop();
    const { ids, change, poll, run, stockSent, goBack, live } = shop;
    change(ids[0]!, {});
    change(ids[1]!, { status: "packed" });
    await poll();
    goBack(0, 1);
    await run("reconcile");
    stockSent();
    await live(6);
    expect(stockSent()).toEqual(["S-1"]);
  });

  itWhole.each([
    ["ahead", YEARS_MS],
    ["back", -YEARS_MS],
  ])("is known where this machine's clock is set %s by years between its orders", async (_, ms) => {
    const { ids, change, poll, run, stockSent, goBack, live, clock, sandbox } = await startShop();
    change(ids[0]!, { status: "paid" });
    change(ids[1]!, { status: "packed" });
    await poll();
    goBack(0);
    await run("reconcile");
    await live(6);
    clock.jump(ms);
    sandbox.service.setOptions({ clockOffsetMs: -ms });
    goBack(1);
    await run("reconcile");
    stockSent();
    await live(6);
    expect(stockSent()).toContain("S-1");
  });

  itWhole("is not believed because of one order", async () => {
    const { ids, change, poll, run, stockSent, goBack, live, statusOf, bridge } = await startShop();
    change(ids[0]!, { status: "paid" });
    await poll();
    goBack(0);
    await run("reconcile");
    stockSent();
    await live(6);
    expect(statusOf(ids[0]!).status).toBe("new");
    expect(stockSent()).toEqual([]);
    expect(loadObservations(bridge.store)).not.toContainEqual(expect.objectContaining({ kind: "return" }));
  });

  itWhole("is known by the newest orders that are missing, and not by older ones", async () => {
    const { ids, run, stockSent, live, ill, poll, sandbox, bridge, clock, erp } = await startShop();
    const isNoticed = () => loadObservations(bridge.store).some(({ kind }) => kind === "return");
    const removed = () =>
      bridge.store.db.prepare("SELECT count(*) FROM orders WHERE removed_at IS NOT NULL").pluck().get();
    for (const id of ids.slice(0, 2)) ill.set(id, NO_SUCH_ORDER);
    await run("reconcile");
    await live(3);
    expect([removed(), isNoticed()]).toEqual([2, false]);
    const newest = [sandbox.service.createOrder({ status: "new" }), sandbox.service.createOrder({ status: "new" })];
    await run("orders");
    clock.advance(2 * HOUR_MS);
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'S-2'");
    await run("stocks");
    stockSent();
    for (const id of newest) ill.set(id, NO_SUCH_ORDER);
    await run("reconcile");
    await poll();
    await live(3);
    expect([removed(), isNoticed()]).toEqual([4, true]);
    expect(stockSent()).toEqual(expect.arrayContaining(["S-1", "S-2"]));
  });

  itWhole("gets a status once more that it had accepted, where the order is as it was before", async () => {
    const { ids, ask, poll, run, goBack, live, ill, requests, sandbox, clock } = await startShop();
    const [, , id] = ids as [string, string, string];
    ask(id, "packed");
    await run("statuses");
    clock.advance(60_000);
    await run("statuses");
    await poll();
    expect(requests()).toEqual([{ state: "sent", last_error: null }]);
    goBack(2);
    await run("reconcile");
    await live(6);
    expect(requests()).toEqual([
      { state: "pending", last_error: "the service has gone back to an earlier version of the order" },
    ]);
    ill.clear();
    sandbox.service.changeOrder(id, { status: "new" });
    await run("statuses");
    await live(1);
    expect(requests()).toEqual([{ state: "sent", last_error: null }]);
    expect(sandbox.ledger.effects("status").map(({ status }) => status)).toEqual(["packed", "packed"]);
  });

  itWhole("gets no lost status after a later one that was on its way when the order went back", async () => {
    const { ids, ask, poll, run, goBack, live, ill, unlisted, requests, sandbox, clock } = await startShop();
    const [, , id] = ids as [string, string, string];
    ask(id, "packed");
    await run("statuses");
    clock.advance(60_000);
    await run("statuses");
    await poll();
    ask(id, "shipped");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 502 } });
    await run("statuses");
    sandbox.faults.clear();
    goBack(2);
    expect(requests().map(({ state }) => state)).toEqual(["sent", "sending"]);
    await run("reconcile");
    await live(6);
    expect(requests().map(({ state }) => state)).toEqual(["pending", "sending"]);
    ill.clear();
    unlisted.clear();
    clock.advance(HOUR_MS);
    for (let times = 0; times < 4; times++) await run("statuses");
    expect(requests().map(({ state }) => state)).toEqual(["sent", "sent"]);
    expect(sandbox.ledger.effects("status").map(({ status }) => status)).toEqual(["packed", "shipped"]);
  });

  itWhole(
    "keeps what made the older version, also where the times of several requests are cut to the same minute",
    async () => {
      const { ids, ask, poll, run, live, ill, unlisted, requests, sandbox, clock } = await startShop({
        precision: "min",
      });
      const [, , id] = ids as [string, string, string];
      const send = async (status: string) => {
        ask(id, status);
        await run("statuses");
        await run("statuses");
      };
      await send("accepted");
      await send("packed");
      const kept = sandbox.service.newestText(id)!;
      await poll();
      clock.advance(HOUR_MS);
      await send("shipped");
      await poll();
      ill.set(id, raw(kept));
      unlisted.add(id);
      await run("reconcile");
      await live(6);
      expect(requests().map(({ state }) => state)).toEqual(["sent", "sent", "pending"]);
    },
  );
});

whole.describe("an older answer for an order", () => {
  whole.it("counts after a day although the changes list it without a time from before it", async () => {
    const { ids, change, poll, run, goBack, live, morning, sandbox, statusOf, clock } = await startShop();
    const [id] = ids as [string];
    change(id, { status: "cancelled" });
    await poll();
    goBack(0);
    const kept = JSON.parse(morning[0]!) as { updated_at: string };
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const answered = handle(request);
      const since = new URLSearchParams(request.path.split("?")[1]).get("since");
      if (since === null || Date.parse(since) > Date.parse(kept.updated_at)) return answered;
      const { updates, ...rest } = JSON.parse(answered.body.toString()) as { updates: object[] };
      const first = { order_id: id, status: "new", updated_at: "soon" };
      return { ...answered, body: Buffer.from(JSON.stringify({ ...rest, updates: [first, ...updates] })) };
    };
    clock.advance(30 * HOUR_MS);
    await run("reconcile");
    await live(20);
    expect(statusOf(id).status).toBe("cancelled");
    await live(12);
    expect(statusOf(id).status).toBe("new");
  });

  itSome(1)(["2026-13-45T99:99:99Z", "soon"])("is not believed for a change whose time is %s", async (time) => {
    const shop = await startShop();
    const { ids, ask, poll, run, ill, morning, requests, sandbox, statusOf } = shop;
    const [, , id] = ids as [string, string, string];
    ask(id, "packed");
    await run("statuses");
    await run("statuses");
    await poll();
    const change = sandbox.service.newestText(id)!.replace(/"updated_at":"[^"]*"/, `"updated_at":"${time}"`);
    ill.set(id, raw(morning[2]!));
    sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${change}]}`) });
    await poll();
    await poll();
    expect(statusOf(id).status).toBe("packed");
    expect(requests()).toEqual([{ state: "sent", last_error: null }]);
  });

  itWhole("is not believed for a change whose time is cut, so that it may be of a later version", async () => {
    const { ids, change, poll, ill, sandbox, statusOf } = await startShop();
    const [, , id] = ids as [string, string, string];
    change(id, { status: "paid" });
    const older = sandbox.service.newestText(id)!;
    change(id, { status: "packed" });
    const record = sandbox.service.newestText(id)!;
    await poll();
    ill.set(id, raw(older));
    const cut = record.replace(/"updated_at":"([^"]{16})[^"]*"/, '"updated_at":"$1Z"');
    sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${cut}]}`) });
    await poll();
    expect(statusOf(id).status).toBe("packed");
  });
});

describe("an order that is set back between two pages of one pass", () => {
  itSome(1)([
    ["parts of orders", {}],
    ["whole orders", { carry: "whole" }],
  ] as const)("is stored as the later page has it: %s", async (_, updates) => {
    const test = await startFollowed(3, { settings: { updates }, service: { updates } });
    const [id = "", other = ""] = test.ids;
    test.change(id, { status: "packed" }, 30_000);
    test.change(other, { status: "packed" }, 30_000);
    const text = (of: string) => JSON.parse(test.sandbox.service.newestText(of)!) as { updated_at: string };
    const { updated_at } = text(other);
    for (const own of [{ ...text(id), status: "accepted", updated_at }, text(id)]) {
      const body = JSON.stringify({ updates: [own, text(other)] });
      test.sandbox.faults.add({ match: { path: "updates" }, times: 1, do: raw(body) });
    }
    await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
    await test.poll();
    await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});

itSome(1)(["changes", "whole"] as const)(
  "an order whose own older answers wait is read at once when a change says the same: %s",
  async (carry) => {
    const test = await startWithIll(2, { service: { updates: { carry } }, settings: { updates: { carry } } });
    const [id] = test.ids as [string];
    const former = test.sandbox.service.newestText(id)!;
    test.change(id, { status: "paid" });
    await test.poll();
    test.ill.set(id, raw(former.replace('"new"', '"packed"')));
    test.unlisted.add(id);
    await test.run("reconcile");
    for (let polls = 0; polls < 20; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.rows("SELECT attempts > 4 AS waits FROM owed_reads")).toEqual([{ waits: 1 }]);
    const listed = raw(`{"updates":[${former.replace('"new"', '"packed"')}]}`);
    test.unlisted.delete(id);
    test.sandbox.faults.add({ match: { path: "updates" }, do: listed });
    for (let polls = 0; polls < 2; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  },
);

itWhole(
  "an order that is answered as an earlier change named it, after a later whole one was stored, has not been set back",
  async () => {
    const test = await startWithIll(2, {
      service: { updates: { carry: "whole" } },
      settings: { updates: { carry: "whole" } },
    });
    const [id] = test.ids as [string];
    const unreadable: FaultAction = { kind: "status", status: 500 };
    // Of the same time as what is stored, so that only the order itself can tell which is the later one.
    const tied = test.sandbox.service.newestText(id)!.replace('"new"', '"paid"');
    test.ill.set(id, unreadable);
    test.sandbox.faults.add({ match: { path: "updates" }, do: raw(`{"updates":[${tied}]}`) });
    await test.poll();
    expect(test.rows("SELECT source FROM owed_reads")).toEqual([{ source: "update" }]);
    test.change(id, { status: "packed" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
    test.ill.set(id, raw(tied));
    for (let polls = 0; polls < 4; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
    test.ill.delete(id);
    for (let polls = 0; polls < 4; polls++) await test.poll(HOUR_MS);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  },
);
