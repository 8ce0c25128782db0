import { describe, expect, it, onTestFinished } from "vitest";
import { clearDelivery, loadDelivery, loseAgain } from "../../src/batches/delivery-rows.ts";
import { switchAccount } from "../../src/daemon/switch-account.ts";
import { loadMeta } from "../../src/database/meta.ts";
import { m } from "../../src/messages/messages.ts";
import { saveHold } from "../../src/pass/hold-rows.ts";
import { loadWatermark } from "../../src/pass/position-rows.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { loadCut, saveCut } from "../../src/updates/cuts/cut-rows.ts";
import { configFor, startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { fillStock } from "../support/pushed.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A shop at one installation of the service, and another one to move to. */
async function startShop() {
  const folder = tempFolder("switch");
  const test = await startTestBridge({ folder });
  const { clock } = test;
  const other = await startSandbox({ now: clock.nowMs });
  onTestFinished(() => other.close());
  const settingsOf = ({ url, clientId, clientSecret }: Sandbox) => ({
    service: { base_url: url, client_id: clientId, client_secret: clientSecret },
  });
  const own = {
    other,
    /** What `resume account` does, and the next start. */
    moveTo: async (to: Sandbox) => {
      const { store } = test.bridge;
      const loaded = configFor(to, folder);
      const switched = store.write(() => switchAccount(store, loaded, clock.nowMs()));
      await test.restart(settingsOf(to));
      return switched;
    },
    stockSent: ({ ledger }: Sandbox) =>
      ledger
        .ofKind("import")
        .flatMap(({ requestBody }) => (JSON.parse(requestBody ?? "{}") as { stocks: object[] }).stocks),
    poll: async (job: "updates" | "orders" | "stocks", times = 4) => {
      for (let pass = 0; pass < times; pass++) {
        clock.advance(MINUTE_MS);
        await test.run(job);
      }
    },
    status: (id: string) =>
      test.rows<{ status: string }>("SELECT status FROM orders WHERE order_id = ?", id)[0]?.status,
    position: (stream = "updates") => loadWatermark(test.bridge.store, stream),
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(test)) as typeof own & typeof test;
}

const fail = ({ faults }: Sandbox, path: "confirm" | "orders", status: number, times?: number) =>
  faults.add({ match: { path }, times: times ?? "forever", do: { kind: "status", status } });
const answer = ({ faults }: Sandbox, path: "confirm" | "orders", body: string) =>
  faults.add({ match: { path }, do: { kind: "raw", body, contentType: "application/json" } });
const quantities = (rows: object[]) => rows.map((row) => Number((row as { quantity: unknown }).quantity));

describe("an account that is moved to another address, and back", () => {
  itWhole("takes nothing that the other one accepted for accepted", async () => {
    const shop = await startShop();
    await shop.run("stocks");
    fillStock(shop.bridge.store.db, 3);
    await shop.poll("stocks", 2);
    const first = shop.stockSent(shop.sandbox).length;
    await shop.moveTo(shop.other);
    await shop.poll("stocks", 2);
    expect(shop.stockSent(shop.other)).toHaveLength(3);
    shop.bridge.store.db.exec("UPDATE stock SET quantity = 0");
    await shop.poll("stocks", 2);
    expect(quantities(shop.stockSent(shop.other)).slice(3)).toEqual([0, 0, 0]);
    await shop.moveTo(shop.sandbox);
    await shop.poll("stocks", 2);
    expect(quantities(shop.stockSent(shop.sandbox)).slice(first)).toEqual([0, 0, 0]);
    const after = shop.stockSent(shop.sandbox).length;
    await shop.poll("stocks", 3);
    expect(shop.stockSent(shop.sandbox)).toHaveLength(after);
  });

  itWhole("asks each for the changes since it was left, and for those before with a sweep", async () => {
    const shop = await startShop();
    const { service } = shop.sandbox;
    const [changed = "", touched = ""] = createOrders(shop, 4);
    await shop.poll("orders", 2);
    shop.clock.advance(HOUR_MS);
    service.changeOrder(touched, { status: "paid" });
    await shop.poll("updates");
    const left = shop.position();
    const leftAt = new Date(shop.clock.nowMs()).toISOString();
    expect(await shop.moveTo(shop.other)).toMatchObject({ leftAt: undefined, formerUrl: shop.sandbox.url });
    service.changeOrder(changed, { status: "cancelled" });
    shop.clock.advance(HOUR_MS);
    const there = shop.other.service.createOrder();
    await shop.poll("orders", 2);
    shop.clock.advance(3 * HOUR_MS);
    shop.other.service.changeOrder(there, { status: "paid" });
    await shop.poll("updates");
    expect(shop.status(there)).toBe("paid");
    expect(Date.parse(shop.position()!)).toBeGreaterThan(Date.parse(left!) + HOUR_MS);
    const leftThere = shop.position();
    expect(await shop.moveTo(shop.sandbox)).toMatchObject({ leftAt, position: left });
    expect(shop.position()).toBe(left);
    const asked = shop.sandbox.ledger.ofKind("updates").length;
    await shop.poll("updates");
    expect(shop.status(changed)).toBe("cancelled");
    const since = Math.min(
      ...shop.sandbox.ledger
        .ofKind("updates")
        .slice(asked)
        .map(({ query }) => Date.parse(new URLSearchParams(query).get("since") ?? "")),
    );
    expect(since).toBeLessThan(Date.parse(left!) - 3 * HOUR_MS);
    expect(await shop.moveTo(shop.other)).toMatchObject({ position: leftThere });
  });

  itWhole("owes a reconcile, reads what was sent to the other one, and forgets what was learned there", async () => {
    const shop = await startShop();
    const [id = ""] = createOrders(shop, 3);
    await shop.poll("orders", 2);
    await shop.poll("updates");
    await shop.poll("stocks");
    const { store } = shop.bridge;
    const learned = () => shop.bridge.store.db.prepare("SELECT topic FROM learned_answers").all();
    expect(learned()).not.toEqual([]);
    store.db.exec("REPLACE INTO meta (key, value) VALUES ('anchors', '[]')");
    store.write(() => switchAccount(store, configFor(shop.other, tempFolder("elsewhere")), shop.clock.nowMs()));
    expect([learned(), loadMeta(store, "anchors")]).toEqual([[], undefined]);
    expect(JSON.parse(loadMeta(store, "reconcile")!)).toMatchObject({ round: null, finishedAt: null });
    shop.clock.advance(HOUR_MS);
    store.db
      .prepare("INSERT INTO status_requests (order_id, status, state, answered_at) VALUES (?, 'packed', 'sent', ?)")
      .run(id, new Date(shop.clock.nowMs()).toISOString());
    shop.clock.advance(HOUR_MS);
    const back = store.write(() =>
      switchAccount(store, configFor(shop.sandbox, tempFolder("elsewhere")), shop.clock.nowMs()),
    );
    expect(back).toMatchObject({ reads: 1 });
    expect(shop.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
  });

  itWhole(
    "confirms no batch to another account than the one that served it, and to that one on the way back",
    async () => {
      const shop = await startShop();
      createOrders(shop, 2);
      fail(shop.sandbox, "confirm", 502);
      await shop.poll("orders", 2);
      expect(shop.rows("SELECT state FROM batches")).toEqual([{ state: "stored" }]);
      const confirmsOf = ({ ledger }: Sandbox) => ledger.ofKind("confirm").length;
      const before = confirmsOf(shop.sandbox);
      expect(await shop.moveTo(shop.other)).toMatchObject({ unconfirmed: 1, confirmedNow: 0 });
      fail(shop.other, "orders", 500, 4);
      await shop.poll("orders", 6);
      expect(confirmsOf(shop.other)).toBe(0);
      createOrders({ ...shop, sandbox: shop.other }, 3);
      await shop.poll("orders", 2);
      expect([confirmsOf(shop.other), confirmsOf(shop.sandbox)]).toEqual([1, before]);
      expect(shop.rows("SELECT state FROM batches ORDER BY id")).toEqual([{ state: "stored" }, { state: "confirmed" }]);
      expect(shop.rows("SELECT waiting FROM sync_status WHERE flow = 'orders'")).toEqual([{ waiting: 0 }]);
      expect(await shop.moveTo(shop.sandbox)).toMatchObject({ unconfirmed: 0, confirmedNow: 1 });
      expect(shop.rows("SELECT waiting FROM sync_status WHERE flow = 'orders'")).toEqual([{ waiting: 1 }]);
      shop.sandbox.faults.clear();
      await shop.poll("orders", 4);
      expect(confirmsOf(shop.sandbox)).toBeGreaterThan(before);
      expect(shop.rows("SELECT DISTINCT state FROM batches")).toEqual([{ state: "confirmed" }]);
    },
  );

  itWhole(
    "confirms to a new address what that serves as well, and reads there what came unread from the other",
    async () => {
      const shop = await startShop();
      fail(shop.sandbox, "confirm", 502);
      createOrders(shop, 1);
      await shop.poll("orders", 1);
      const whole = shop.sandbox.ledger
        .ofKind("orders")
        .find(({ responseBody }) => responseBody?.includes("order_id"))!;
      const unread = whole.responseBody!.replaceAll(/"([0-9a-f-]{30})/gu, '"abcdef12-1111-4222-8333-444444');
      answer(shop.sandbox, "orders", `{"list":${unread}}`);
      await shop.poll("orders", 1);
      const states = () =>
        shop.rows<{ state: string }>("SELECT state FROM batches ORDER BY id").map(({ state }) => state);
      expect(states()).toEqual(["stored", "unread"]);
      expect(await shop.moveTo(shop.other)).toMatchObject({ unconfirmed: 2 });
      createOrders({ ...shop, sandbox: shop.other }, 1);
      await shop.poll("orders", 1);
      expect(states()).toEqual(["confirmed", "unread"]);
      shop.bridge.store.db
        .prepare("UPDATE batches SET read_with = NULL, body = ? WHERE state = 'unread'")
        .run(Buffer.from(unread));
      await shop.poll("orders", 2);
      expect(states()).toEqual(["confirmed", "stored"]);
      expect(shop.other.ledger.ofKind("confirm")).toHaveLength(1);
      expect(shop.rows("SELECT order_id FROM orders")).toHaveLength(2);
    },
  );

  itWhole("ends the search for changes that the former one had left out, with its hold", async () => {
    const shop = await startShop();
    const { store } = shop.bridge;
    const cut = { since: "", size: 2, stage: "open", after: 0, again: false, isShown: true } as const;
    store.write(() => {
      saveCut(store, { ...cut, high: { text: "", ns: 0n } });
      const detail = m.updates.cutNewestFirst({ size: 2 });
      saveHold(store, { area: "updates", reason: "cut", since: "", nextProbeAt: null, detail });
    });
    await shop.moveTo(shop.other);
    expect([loadCut(shop.bridge.store), shop.rows("SELECT area, reason FROM holds")]).toEqual([undefined, []]);
  });

  it("keeps a lost answer to GET /orders for both until each has come round", async () => {
    const shop = await startShop();
    const { store } = shop.bridge;
    const mark = () => loadDelivery(store)?.openedAt;
    store.write(() => loseAgain(store, "2026-01-01T00:00:00.000Z"));
    const move = (to: Sandbox) =>
      store.write(() => switchAccount(store, configFor(to, tempFolder("elsewhere")), shop.clock.nowMs()));
    move(shop.other);
    expect(mark()).toBe("2026-01-01T00:00:00.000Z");
    store.write(() => clearDelivery(store));
    move(shop.sandbox);
    expect(mark()).toBe("2026-01-01T00:00:00.000Z");
  });

  itWhole("asks the former account nothing more, and stores nothing of it, where a daemon goes on", async () => {
    const shop = await startShop();
    const { store } = shop.bridge;
    const [id = ""] = createOrders(shop, 1);
    await shop.poll("orders", 2);
    await shop.poll("updates");
    const [before, status] = [shop.position(), shop.status(id)];
    shop.clock.advance(HOUR_MS);
    shop.sandbox.service.changeOrder(id, { status: "paid" });
    createOrders(shop, 1);
    const { client } = shop.bridge;
    const ask = client.request.bind(client);
    // While answers are under way.
    client.request = async (request) => {
      const answer = await ask(request);
      store.write(() => switchAccount(store, configFor(shop.other, tempFolder("elsewhere")), shop.clock.nowMs()));
      return answer;
    };
    const passes = [shop.run("updates"), shop.run("orders")];
    for (const pass of passes)
      expect((await pass).error).toMatchObject({ code: expect.stringMatching(/^account_changed|stopped$/u) });
    expect([shop.position(), shop.status(id)]).toEqual([before, status]);
    expect(shop.rows("SELECT order_id FROM orders")).toEqual([{ order_id: id }]);
    const asked = shop.sandbox.ledger.entries.length;
    fillStock(store.db, 1);
    for (const job of ["orders", "updates", "stocks", "reconcile"] as const)
      expect((await shop.run(job)).error).toMatchObject({ code: "account_changed" });
    expect(shop.sandbox.ledger.entries).toHaveLength(asked);
    expect(shop.rows("SELECT DISTINCT error_code FROM flows WHERE flow IN ('orders', 'stocks')")).toEqual([
      { error_code: "account_changed" },
    ]);
    await shop.moveTo(shop.other);
    expect((await shop.run("orders")).error).toBeNull();
  });

  itWhole("changes nothing where the account is the same", async () => {
    const shop = await startShop();
    const { store } = shop.bridge;
    const before = shop.rows("SELECT * FROM feeds");
    expect(
      store.write(() => switchAccount(store, configFor(shop.sandbox, tempFolder("elsewhere")), 0)),
    ).toBeUndefined();
    expect(shop.rows("SELECT * FROM feeds")).toEqual(before);
  });
});
