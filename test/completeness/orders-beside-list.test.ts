import { describe, expect, it } from "vitest";
import { acceptMetadata } from "../../src/completeness/check-completeness.ts";
import { dismissObservations, loadObservations } from "../../src/probe/observations.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { confirmBodies, createOrders } from "../support/pull.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("completeness/orders-beside-list");

const MINUTE_MS = 60_000;
const FOREIGN = "0f8c1e2a-1111-4222-8333-000000000001";

/** Five batches of one to three orders, each whole, or fewer; `beside` is what stands beside a list. */
async function start(beside: (ids: readonly string[]) => object = () => ({}), former = 5) {
  const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
  let rule: number | undefined;
  /** From now on this is what waits. */
  const serve = (batch: string, ids: readonly string[], more: object) => {
    if (rule !== undefined) t.sandbox.faults.remove(rule);
    const records = ids.map((id) => t.sandbox.service.newestText(id)).join(",");
    const members = JSON.stringify({ batch_id: batch, ...more });
    const body = `${members.slice(0, -1)},"orders":[${records}]}`;
    rule = t.sandbox.faults.add({
      match: { path: "orders" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
  };
  const poll = async (minutes = 1) => {
    t.clock.advance(minutes * MINUTE_MS);
    return await t.run("orders");
  };
  const isConfirmed = (batch: string) => confirmBodies(t).some((body) => body?.includes(`"${batch}"`));
  for (let batch = 0; batch < former; batch++) {
    const ids = createOrders(t, 1 + (batch % 3));
    serve(`b-${batch}`, ids, beside(ids));
    expect((await poll()).error).toBeNull();
    expect(isConfirmed(`b-${batch}`)).toBe(true);
  }
  const orderCount = () => t.rows<{ n: number }>("SELECT count(*) AS n FROM orders")[0]?.n;
  return { t, serve, poll, isConfirmed, orderCount };
}

interface Sums {
  pieces: number;
  lines: number;
  money: number;
}

const NOT_WHOLE = { code: "answer_shape", message: expect.stringContaining("holds more than") };

describe("a number that was that of the records of every batch", () => {
  itWhole.each<[string, (size: number) => object]>([
    ["meta.pagination.total", (total) => ({ meta: { pagination: { total, per_page: 2 } } })],
    ["a text", (total) => ({ meta: { total: String(total) } })],
  ])("is not that of a batch of which a part is served: %s", async (_, beside) => {
    const { t, serve, poll, isConfirmed } = await start((ids) => beside(ids.length));
    const ids = createOrders(t, 5);
    serve("b-short", ids.slice(0, 2), beside(5));
    for (let polls = 0; polls < 30; polls++) expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-short")).toBe(false);
    serve("b-short", ids, beside(5));
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-short")).toBe(true);
  });

  itSome(1)<[string, (size: number) => object]>([
    ["of any name", (n) => ({ header: { amount_of_documents: n } })],
    ["x", (x) => ({ x })],
  ])("keeps a batch for an hour, however small, where its name says nothing: %s", async (_, beside) => {
    const { t, serve, poll, isConfirmed } = await start((ids) => beside(ids.length));
    const ids = createOrders(t, 5);
    serve("b-short", ids.slice(0, 2), beside(55));
    for (let polls = 0; polls < 5; polls++) expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-short")).toBe(false);
    for (let polls = 0; polls < 3; polls++) await poll(10);
    expect(isConfirmed("b-short")).toBe(true);
    expect(t.logs.map(({ message }) => message).join()).toContain("It is confirmed as it is");
    serve("b-next", ids.slice(2, 3), beside(77));
    expect((await poll()).error).toBeNull();
  });

  itWhole("is explained by what the records hold: their lines, or the sum of a number", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ lines: ids.length, pieces: String(ids.length) }));
    const [id] = createOrders(t, 1);
    const order = JSON.parse(t.sandbox.service.newestText(id!)!) as { items: { quantity: number }[] };
    const pieces = order.items.reduce((sum, { quantity }) => sum + quantity, 0);
    serve("b-lines", [id!], { lines: order.items.length, pieces: String(pieces) });
    expect(Math.max(order.items.length, pieces)).toBeGreaterThan(1);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-lines")).toBe(true);
  });

  itWhole("counts what waits where it moves while the batch is the same", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ total: ids.length }));
    const ids = createOrders(t, 10);
    serve("b-full", ids, { total: 25 });
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    serve("b-full", ids, { total: 26 });
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-full")).toBe(true);
    // And so for good.
    serve("b-next", createOrders(t, 10), { total: 16 });
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-next")).toBe(true);
  });

  itWhole("counts what waits where it moves again and again, however small the batch", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ total: ids.length }));
    const ids = createOrders(t, 2);
    for (const total of [5, 6, 7]) {
      serve("b-small", ids, { total });
      expect((await poll()).error).toMatchObject(NOT_WHOLE);
    }
    serve("b-small", ids, { total: 8 });
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-small")).toBe(true);
  });

  itWhole("counts what waits where the next batch brings the rest", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ total: ids.length }));
    const [first, second] = [createOrders(t, 10), createOrders(t, 3)];
    serve("b-first", first, { total: 13 });
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    serve("b-second", second, { total: 3 });
    expect((await poll()).error).toBeNull();
    serve("b-first", first, { total: 13 });
    expect((await poll()).error).toBeNull();
    expect([isConfirmed("b-first"), isConfirmed("b-second")]).toEqual([true, true]);
  });

  itWhole("keeps a batch that is as large as any for an hour, and is told of then", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ total: ids.length }));
    serve("b-full", createOrders(t, 11), { total: 25 });
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    await poll(30);
    await t.restart();
    expect((await poll(29)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-full")).toBe(false);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-full")).toBe(true);
    expect(t.logs.filter(({ level }) => level === "warn").map(({ message }) => message)).toContainEqual(
      expect.stringContaining("total = 25"),
    );
  });

  itWhole("says nothing where a confirm names its orders", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "order_ids" } } });
    const serve = (ids: readonly string[], total: number) =>
      t.sandbox.faults.add({
        match: { path: "orders" },
        do: {
          kind: "raw",
          contentType: "application/json",
          body: `{"total":${total},"orders":[${ids.map((id) => t.sandbox.service.newestText(id)).join(",")}]}`,
        },
      });
    for (const size of [1, 2, 1]) {
      serve(createOrders(t, size), size);
      await t.run("orders");
    }
    serve(createOrders(t, 2), 5);
    expect((await t.run("orders")).error).toBeNull();
  });
});

describe("a count beside the first batches", () => {
  itWhole.each([
    ["the very first one", 0, { total: 3 }],
    ["of a name that counts the list", 0, { count: 3 }],
    ["in a header of the batch", 0, { meta: { pagination: { total: 99 } } }],
    ["the second one", 1, { total: 3 }],
    ["the second one, and far larger", 1, { total: 3000 }],
    ["the third one", 2, { orders_total: 3 }],
  ])("keeps a batch that lacks orders until they have come: %s", async (_, former, more) => {
    const named = Object.keys(more)[0] === "orders_total" ? "orders_total" : "total";
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ [named]: ids.length }), former);
    const ids = createOrders(t, 3);
    serve("b-short", ids.slice(0, 2), more);
    // A service that trouble makes serve parts does so for hours.
    for (let polls = 0; polls < 40; polls++) expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-short")).toBe(false);
    const whole = JSON.parse(JSON.stringify(more).replace(/\d+/, "3")) as object;
    serve("b-short", ids, whole);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-short")).toBe(true);
    // And it has taught nothing wrong.
    serve("b-next", createOrders(t, 4).slice(0, 3), JSON.parse(JSON.stringify(whole).replace("3", "4")) as object);
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
  });

  itSome(1)([
    ["all orders of a shop", { total: 15_234 }, 2],
    ["a backlog of many pages", { total: 250 }, 20],
    ["what is still to come", { remaining: 7 }, 2],
    ["pages", { total_pages: 7, pages: 7 }, 2],
    ["no more than there are", { total: 2, count: 2 }, 2],
  ])("holds no batch where it is that of %s", async (_, more, size) => {
    const { t, serve, poll, isConfirmed } = await start(undefined, 0);
    serve("b-first", createOrders(t, size), more);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-first")).toBe(true);
  });

  itWhole("holds no batch where it counts the lines of the records", async () => {
    const { t, serve, poll, isConfirmed } = await start(undefined, 0);
    const ids = createOrders(t, 3);
    const read = (id: string) => JSON.parse(t.sandbox.service.newestText(id) ?? "{}") as { items: unknown[] };
    const lines = ids.reduce((sum, id) => sum + read(id).items.length, 0);
    expect(lines).toBeGreaterThan(3);
    serve("b-first", ids, { items_count: lines });
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-first")).toBe(true);
  });

  itSome(1)<[string, (orders: Sums) => object]>([
    ["the pieces", ({ pieces }) => ({ total: pieces })],
    ["the pieces, under a name that counts the list", ({ pieces }) => ({ count: pieces })],
    ["the pieces, as a text in an envelope", ({ pieces }) => ({ meta: { count: String(pieces) } })],
    ["the lines", ({ lines }) => ({ total: lines })],
    ["the money", ({ money }) => ({ total: money })],
  ])("holds no batch where it is a sum over the orders, after many with one piece: %s", async (_, beside) => {
    const { t, serve, poll, isConfirmed } = await start(undefined, 0);
    const { service } = t.sandbox;
    const create = (...quantities: number[]) =>
      service.createOrder({
        lines: quantities.map((quantity) => ({ sku: "A", quantity: String(quantity), price: "2" })),
        total: String(2 * quantities.reduce((sum, each) => sum + each, 0)),
      });
    for (let batch = 0; batch < 5; batch++) {
      const money = beside({ pieces: 1, lines: 1, money: 2 });
      serve(`b-${batch}`, [create(1)], money);
      expect((await poll()).error).toBeNull();
    }
    serve("b-many", [create(3, 4), create(2)], beside({ pieces: 9, lines: 3, money: 18 }));
    expect((await poll()).error).toBeNull();
    serve("b-weighed", [create(3), create(2.5)], beside({ pieces: 6, lines: 2, money: 11 }));
    expect((await poll()).error).toBeNull();
    expect([isConfirmed("b-many"), isConfirmed("b-weighed")]).toEqual([true, true]);
  });

  itWhole.each([
    ["it is no sum over the orders", { total: 4 }, 1],
    ["its name says what it counts", { orders_total: 9 }, 1],
    ["it was that of orders with more lines before", { total: 9 }, 3],
  ])("holds a batch that lacks orders after batches with one piece where %s", async (_, more, lines) => {
    const [name] = Object.keys(more) as [string];
    const { t, serve, poll } = await start(undefined, 0);
    const create = (quantity: string, size = 1) =>
      t.sandbox.service.createOrder({
        lines: Array.from({ length: size }, () => ({ sku: "A", quantity, price: "2" })),
      });
    for (let batch = 0; batch < 5; batch++) {
      serve(`b-${batch}`, [create("1", lines)], { [name]: 1 });
      expect((await poll()).error).toBeNull();
    }
    serve("b-short", [create("7"), create("2")], more);
    for (let polls = 0; polls < 3; polls++) expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
  });

  itWhole("holds nothing where a confirm names the orders that came", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "order_ids" } } });
    const records = createOrders(t, 2).map((id) => t.sandbox.service.newestText(id));
    for (const name of ["total", "count"]) {
      const body = `{"${name}":3,"orders":[${records.join(",")}]}`;
      t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
      expect((await t.run("orders")).error).toBeNull();
    }
  });

  itWhole("counts all that waits where it moves, and holds nothing from then on", async () => {
    const { t, serve, poll, isConfirmed } = await start(undefined, 0);
    const ids = createOrders(t, 4);
    for (const total of [30, 31, 32]) {
      serve("b-first", ids, { total });
      expect((await poll()).error).toMatchObject(NOT_WHOLE);
    }
    serve("b-first", ids, { total: 33 });
    expect((await poll()).error).toBeNull();
    serve("b-next", createOrders(t, 4), { total: 29 });
    expect((await poll()).error).toBeNull();
    expect([isConfirmed("b-first"), isConfirmed("b-next")]).toEqual([true, true]);
  });

  itWhole.each([
    ["an hour where the batch may be all that is delivered at once", 21, 60, "an hour"],
    ["ten minutes where it has a usual size besides", 20, 10, "10 minutes"],
    ["the same, by hundreds", 500, 10, "10 minutes"],
    ["a day where it is smaller", 4, 1440, "a day"],
  ])("keeps a batch for %s, and says so", async (_, size, minutes, words) => {
    const { t, serve, poll, isConfirmed } = await start(undefined, 0);
    serve("b-first", createOrders(t, size), { total: size + 3 });
    const { error } = await poll();
    expect(error).toMatchObject({ message: expect.stringContaining(`served so for ${words}, it is confirmed`) });
    for (let waited = 60; waited < minutes; waited += 60) expect((await poll(60)).error).toMatchObject(NOT_WHOLE);
    await t.restart();
    expect((await poll(Math.min(minutes, 60) - 1)).error).toMatchObject(NOT_WHOLE);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-first")).toBe(true);
    expect(t.logs.map(({ message }) => message).join()).toContain(`served for ${words} beside`);
    const { store } = t.bridge;
    const noticed = () => loadObservations(store).filter(({ kind }) => kind === "short");
    expect(noticed()).toMatchObject([{ name: expect.stringContaining(`${size}: total = ${size + 3}`) }]);
    store.write(() => dismissObservations(store));
    expect(noticed()).toEqual([]);
  });

  itWhole("keeps a batch for a day that is smaller than the service has delivered, however large", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ total: ids.length }), 0);
    const ids = createOrders(t, 25);
    serve("b-large", ids.slice(0, 13), { total: 13 });
    expect((await poll()).error).toBeNull();
    serve("b-short", ids.slice(13), { total: 13 });
    for (let hour = 0; hour < 24; hour++) expect((await poll(59)).error).toMatchObject(NOT_WHOLE);
    expect((await poll(90)).error).toBeNull();
    expect(isConfirmed("b-short")).toBe(true);
  });
});

describe("orders that an answer names beside its list", () => {
  itSome(1)<[string, (ids: readonly string[]) => object, (ids: readonly string[]) => object]>([
    ["a list of all ids", (ids) => ({ order_ids: ids }), (ids) => ({ order_ids: ids })],
    ["the same for the first time", () => ({}), (ids) => ({ order_ids: ids })],
    ["those that are to come", () => ({ deferred: [] }), (ids) => ({ deferred: ids.slice(2) })],
    ["ids under any name", () => ({}), (ids) => ({ header: { x: ids.slice(2) } })],
    ["records", () => ({}), (ids) => ({ stubs: ids.slice(2).map((order_id) => ({ order_id })) })],
  ])("are read one by one, and then the batch is confirmed: %s", async (_, whole, part) => {
    const { t, serve, poll, isConfirmed, orderCount } = await start(whole);
    const before = orderCount() ?? 0;
    const ids = createOrders(t, 9);
    serve("b-short", ids.slice(0, 2), part(ids));
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-short")).toBe(false);
    await t.run("updates");
    expect(orderCount()).toBe(before + 9);
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-short")).toBe(true);
  });

  itWhole("are waited for as long as the service cannot answer, where the place names orders", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => ({ order_ids: ids }));
    const ids = createOrders(t, 5);
    const rule = t.sandbox.faults.add({
      match: { path: "snapshot" },
      times: "forever",
      do: { kind: "status", status: 500 },
    });
    serve("b-short", ids.slice(0, 2), { order_ids: ids });
    for (let polls = 0; polls < 20; polls++) {
      expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
      await t.run("updates");
    }
    t.sandbox.faults.remove(rule);
    for (let polls = 0; polls < 10; polls++) {
      t.clock.advance(10 * MINUTE_MS);
      await t.run("updates");
    }
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-short")).toBe(true);
  });

  itWhole("are none where the service has no such order, and the place says nothing from then on", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    serve("b-else", createOrders(t, 2), { warehouses: [FOREIGN] });
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    for (let polls = 0; polls < 4; polls++) {
      await t.run("updates");
      await poll(10);
    }
    expect(isConfirmed("b-else")).toBe(true);
    serve("b-more", createOrders(t, 2), { warehouses: [FOREIGN.replace("0001", "0002")] });
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-more")).toBe(true);
  });

  itWhole("keep a batch for an hour where nothing shows that they are orders", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    t.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    serve("b-else", createOrders(t, 2), { warehouses: [FOREIGN] });
    for (let polls = 0; polls < 6; polls++) {
      expect((await poll(10)).error).toMatchObject(NOT_WHOLE);
      await t.run("updates");
    }
    expect((await poll(10)).error).toBeNull();
    expect(isConfirmed("b-else")).toBe(true);
  });

  itWhole.each([
    ["from the first answer on", { warehouses: [FOREIGN] }],
    ["one by one", { shop_id: FOREIGN, account: { id: FOREIGN } }],
  ])("are something else where they stand there %s", async (_, beside) => {
    await start(() => beside);
  });

  itWhole("are read beside an empty list too", async () => {
    const { t, serve, poll, orderCount } = await start();
    const before = orderCount() ?? 0;
    serve("b-none", [], { deferred: createOrders(t, 2) });
    await poll();
    await t.run("updates");
    expect(orderCount()).toBe(before + 2);
  });

  itWhole("are read beside a list of changes too, those that are stored included", async () => {
    const test = await startFollowed(2);
    await test.poll();
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    const [other] = createOrders(test, 1);
    const rule = test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: {
        kind: "raw",
        contentType: "application/json",
        body: JSON.stringify({ updates: [], deferred: [id], ids: [id, other] }),
      },
    });
    await test.poll();
    await test.poll();
    test.sandbox.faults.remove(rule);
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 3 }]);
  });
});

whole.describe("the number of a page beside a batch", () => {
  const beside = (waiting: number, size = 10) => ({ page: 1, total_pages: Math.ceil(waiting / size) });

  it("counts all that waits where the next batch brings the rest, and holds nothing from then on", async () => {
    const { t, serve, poll, isConfirmed, orderCount } = await start((ids) => beside(ids.length));
    const ids = createOrders(t, 25);
    serve("b-first", ids.slice(0, 10), beside(25));
    for (let polls = 0; polls < 5; polls++) expect((await poll(2)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-first")).toBe(false);
    expect((await poll(2)).error).toBeNull();
    serve("b-second", ids.slice(10, 20), beside(15));
    expect((await poll()).error).toBeNull();
    serve("b-third", ids.slice(20), beside(5));
    expect((await poll()).error).toBeNull();
    // One page alone changes nothing of that.
    serve("b-fourth", createOrders(t, 10), beside(35));
    expect((await poll()).error).toBeNull();
    expect(["b-first", "b-second", "b-third", "b-fourth"].map(isConfirmed)).toEqual([true, true, true, true]);
    expect(orderCount()).toBe(9 + 25 + 10);
  });

  itWhole("says nothing once a person has said so, also after a batch of one page", async () => {
    const { t, serve, poll, isConfirmed } = await start((ids) => beside(ids.length));
    serve("b-first", createOrders(t, 2), beside(25));
    expect((await poll()).error).toMatchObject(NOT_WHOLE);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect((await poll()).error).toBeNull();
    serve("b-second", createOrders(t, 2), beside(2));
    expect((await poll()).error).toBeNull();
    serve("b-third", createOrders(t, 2), beside(25));
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-third")).toBe(true);
  });

  itWhole.each<[string, object]>([
    ["a flag of a part", { partial: true }],
    ["records that were left out", { skipped: ["ЗК-7"] }],
    ["a link that is not asked", { _links: { next: { href: "https://shop.example/pages/2" } } }],
  ])("ends by a person alone where the answer says that more belongs to the batch: %s", async (_, more) => {
    const { t, serve, poll, isConfirmed } = await start();
    serve("b-part", createOrders(t, 12), more);
    for (let hour = 0; hour < 50; hour++) expect((await poll(59)).error).toMatchObject(NOT_WHOLE);
    expect(isConfirmed("b-part")).toBe(false);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect((await poll()).error).toBeNull();
    expect(isConfirmed("b-part")).toBe(true);
  });
});
