import { describe, expect, it } from "vitest";
import { requestRead } from "../../src/pass/position-rows.ts";
import { isoTime } from "../../src/platform/ports.ts";
import { loadReconcileState } from "../../src/reconcile/reconcile-rows.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import { loadReadsPerHour } from "../../src/updates/times/learned-rows.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itWhole, size } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ORDERS = 650;
const PER_HOUR = 600;
/** What is due takes three passes at most: a record is stored, its order is read, a hold of a minute ends. */
const SOON_MINUTES = 3;

const settings = { statuses: { path: STATUS_PATH } };

interface Due {
  what: string;
  atMs: number;
  isDone: () => boolean;
}

/** The daemon's schedule by hand: all flows each minute, and the comparison when it is due. Returns what was not done soon. */
class Shop {
  readonly test: Followed;
  readonly late: string[] = [];
  readonly #due: Due[] = [];
  #compareAtMs = 0;
  #trades = 0;

  constructor(test: Followed) {
    this.test = test;
  }

  get hour(): number {
    return Math.floor(this.test.clock.nowMs() / HOUR_MS);
  }

  /** Number of requests that were answered with 429 in each hour. */
  refusedSince(hour: number): number {
    const since = hour * HOUR_MS;
    return this.test.sandbox.ledger.entries.filter(({ at, status }) => status === 429 && at >= since).length;
  }

  async minute(runs = (test: Followed) => this.#runAll(test)): Promise<void> {
    const { test } = this;
    await runs(test);
    test.clock.advance(MINUTE_MS - (test.clock.nowMs() % MINUTE_MS) + 7);
    this.#settle();
  }

  async #runAll(test: Followed): Promise<void> {
    for (const job of ["orders", "updates", "statuses", "stocks"] as const) await test.run(job);
    if (test.clock.nowMs() >= this.#compareAtMs) {
      const result = await test.run("reconcile");
      const inMs = "dueInMs" in result ? result.dueInMs : "leftMs" in result ? result.leftMs : undefined;
      const isOver = result.outcome === "done" || result.outcome === "idle";
      this.#compareAtMs = test.clock.nowMs() + (inMs ?? (isOver ? 24 * HOUR_MS : MINUTE_MS));
    }
  }

  /** A cancellation, an article that is sold out, a status and a new order. */
  trade(): void {
    const { test } = this;
    const { service, ledger } = test.sandbox;
    const number = this.#trades++;
    const [cancelled, sent] = [test.ids[number * 2], test.ids[number * 2 + 1]] as [string, string];
    test.change(cancelled, { status: "cancelled" });
    this.#add("cancellation", () => test.statusOf(cancelled).status === "cancelled");
    test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')").run(sent);
    this.#add("status", () => ledger.effects("status").some(({ orderId }) => orderId === sent));
    const sku = `S-${number}`;
    test.bridge.store.db.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 0)").run(sku);
    this.#add("stock", () => service.imported("stocks").has(importKey(sku, "")));
    const id = service.createOrder();
    this.#add("order", () => test.rows("SELECT 1 FROM orders WHERE order_id = ?", id).length === 1);
  }

  #add(what: string, isDone: () => boolean): void {
    this.#due.push({ what, atMs: this.test.clock.nowMs(), isDone });
  }

  #settle(): void {
    const nowMs = this.test.clock.nowMs();
    for (const due of this.#due.splice(0)) {
      if (due.isDone()) continue;
      if (nowMs - due.atMs > SOON_MINUTES * MINUTE_MS) this.late.push(`${due.what} at ${isoTime(due.atMs)}`);
      else this.#due.push(due);
    }
  }
}

/** A shop whose service grants `PER_HOUR` requests an hour from now on, at the beginning of an hour. */
async function startWithQuota(): Promise<Shop> {
  const test = await startFollowed(ORDERS, { settings });
  const shop = new Shop(test);
  await test.run("stocks");
  await test.run("updates");
  test.clock.advance(HOUR_MS - (test.clock.nowMs() % HOUR_MS) + 7);
  test.sandbox.service.setOptions({ limits: { requestsPerHour: PER_HOUR } });
  return shop;
}

/** Hours of trade: four things become due every twenty minutes. */
async function trade(shop: Shop, hours: number, runs?: (test: Followed) => Promise<void>): Promise<void> {
  for (let minute = 0; minute < hours * 60; minute++) {
    if (minute % 20 === 5) shop.trade();
    await shop.minute(runs);
  }
}

/** `sync` from cron, with all that is due beside its jobs. */
async function syncAlone({ restart, bridge }: Followed): Promise<void> {
  await bridge.sync(["orders", "updates", "statuses", "stocks"], () => {}, { hasUpkeep: true });
  await restart();
}

function requestReads({ test }: Shop): void {
  const { store } = test.bridge;
  const at = isoTime(test.clock.nowMs());
  store.write(() => {
    for (const id of test.ids) requestRead(store, { orderId: id, serviceId: id }, at);
  });
}

describe("a service that grants so many requests an hour, and asks all to wait for the rest of it", () => {
  it("is asked for what is due from the second hour on, while many orders are compared", async () => {
    const shop = await startWithQuota();
    const { store } = shop.test.bridge;
    const began = shop.hour;
    await trade(shop, 1);
    expect(shop.refusedSince(began)).toBeGreaterThan(0);
    expect(loadReadsPerHour(store)).toBeLessThanOrEqual(PER_HOUR / 2);
    expect(loadReconcileState(store)).toMatchObject({ round: { phase: "open" }, finishedAt: null });
    shop.late.length = 0;
    await trade(shop, size(1, 3));
    expect(shop.refusedSince(began + 1)).toBe(0);
    expect(shop.late).toEqual([]);
    // It has gone on where it was.
    expect(loadReconcileState(store)).toMatchObject({ round: null, finishedAt: expect.any(String) });
    const read = shop.test.sandbox.ledger.ofKind("snapshot").filter(({ status }) => status === 200);
    expect(new Set(read.map(({ path }) => path)).size).toBeGreaterThanOrEqual(ORDERS);
    expect(read.length).toBeLessThan(1.2 * ORDERS);
  });

  itWhole("is asked for what is due where each pass is a process of its own", async () => {
    const shop = await startWithQuota();
    const began = shop.hour;
    await trade(shop, 1, syncAlone);
    expect(shop.refusedSince(began)).toBeGreaterThan(0);
    shop.late.length = 0;
    await trade(shop, 2, syncAlone);
    expect(shop.refusedSince(began + 1)).toBe(0);
    expect(shop.late).toEqual([]);
    expect(loadReconcileState(shop.test.bridge.store)).toMatchObject({ round: null, finishedAt: expect.any(String) });
  });

  itWhole("is asked for what is due while reads of many orders are queued", async () => {
    const shop = await startWithQuota();
    requestReads(shop);
    const began = shop.hour;
    await trade(shop, 1);
    expect(shop.refusedSince(began)).toBeGreaterThan(0);
    shop.late.length = 0;
    await trade(shop, 5);
    expect(shop.refusedSince(began + 1)).toBe(0);
    expect(shop.late).toEqual([]);
    expect(shop.test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});
