import { describe, expect, it } from "vitest";
import { acceptMetadata, listContradictions } from "../../src/completeness/check-completeness.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { confirmBodies, createOrders, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const record = {
  order_id: "7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a11",
  status: "cancelled",
  updated_at: "2026-03-01T12:00:00Z",
};

/** Beside an empty list. */
const BESIDE: [string, object][] = [
  ["records under another name", { data: [record] }],
  ["new records and a total", { new_records: [record], total: 1 }],
  ["a count", { count: 2 }],
  ["a flag and a page", { has_more: true, next_page: "/api/v1/1c/orders?page=2" }],
];

describe("an empty list whose answer says that there is something", () => {
  itSome(1)(BESIDE)("is no empty batch: %s", async (_name, beside) => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    await t.run("orders");
    createOrders(t, 1);
    const body = JSON.stringify({ orders: [], ...beside });
    const rule = t.sandbox.faults.add({
      match: { path: "orders" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    for (let polls = 0; polls < 3; polls++) {
      const { error } = await t.run("orders");
      expect(error).toMatchObject({ code: "answer_shape", message: expect.stringContaining("$.orders") });
    }
    const kept = t.rows<{ body: Buffer }>("SELECT body FROM batches WHERE state = 'unread'");
    expect(kept.map((row) => row.body.toString())).toEqual(body.includes("[{") ? [body] : []);
    t.sandbox.faults.remove(rule);
    await t.run("orders");
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
  });

  itWhole.each(BESIDE)("is no end of the changes: %s", async (_name, beside) => {
    const test = await startFollowed(1);
    await test.poll();
    const [id] = test.ids as [string];
    const before = test.watermark();
    test.change(id, { status: "paid" });
    const body = JSON.stringify({ updates: [], ...beside });
    const rule = test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    await expect(test.poll()).rejects.toMatchObject({ code: "answer_shape" });
    expect(test.watermark()).toBe(before);
    test.sandbox.faults.remove(rule);
    await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole("counts as empty once a person has said that it means nothing", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    const body = '{"orders":[],"has_more":true}';
    const rule = t.sandbox.faults.add({
      match: { path: "orders" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    expect((await t.run("orders")).error).not.toBeNull();
    expect(listContradictions(t.bridge.store, "orders")).toHaveLength(1);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect(listContradictions(t.bridge.store, "orders")).toEqual([]);
    expect((await t.run("orders")).error).toBeNull();
    t.sandbox.faults.remove(rule);
    await t.run("orders");
    expectComplete(t);
  });
});

describe("a last page of changes that says that there is more", () => {
  it("moves no position, where former ones did not say so", async () => {
    const test = await startFollowed(1);
    const [id] = test.ids as [string];
    const page = (status: string, at: string, isMore: boolean) =>
      test.sandbox.faults.add({
        match: { path: "updates" },
        times: "forever",
        do: {
          kind: "raw",
          contentType: "application/json",
          body: JSON.stringify({ updates: [{ order_id: id, status, updated_at: at }], has_more: isMore }),
        },
      });
    const at = (ms: number) => new Date(test.clock.nowMs() + ms).toISOString();
    const quiet = page("new", at(0), false);
    await test.poll();
    test.sandbox.faults.remove(quiet);
    const before = test.watermark();
    const later = at(30_000);
    test.change(id, { status: "paid" });
    const more = page("paid", later, true);
    await expect(test.poll()).rejects.toMatchObject({ code: "answer_shape" });
    expect(test.watermark()).toBe(before);
    test.sandbox.faults.remove(more);
    await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
  });
});

describe("a batch whose answer says that it is not whole", () => {
  /** Orders that came one by one, and in pairs, with their number beside them. */
  async function startCounted() {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    const serve = (batch: string, orders: readonly string[], beside: object) => {
      const records = orders.map((id) => t.sandbox.service.newestText(id)).join(",");
      const body = `{"batch_id":"${batch}","orders":[${records}],${JSON.stringify(beside).slice(1)}`;
      return t.sandbox.faults.add({
        match: { path: "orders" },
        times: "forever",
        do: { kind: "raw", contentType: "application/json", body },
      });
    };
    for (let batch = 0; batch < 3; batch++) {
      const rule = serve(`b-${batch}`, createOrders(t, 1 + (batch % 2)), {
        count: 1 + (batch % 2),
        partial: false,
        warnings: [],
      });
      await t.run("orders");
      t.sandbox.faults.remove(rule);
    }
    return { t, serve };
  }
  const isConfirmed = (t: Pick<Awaited<ReturnType<typeof startCounted>>["t"], "sandbox">) =>
    confirmBodies(t).some((body) => body?.includes("b-short"));

  itSome(1)([
    ["a count", { count: 5, partial: false }],
    ["a flag", { count: 2, partial: true }],
    ["a page of several", { count: 2, meta: { page: 1, pages: 3 } }],
    ["the first page, counted from 0", { count: 2, page: 0, total_pages: 2 }],
    ["records that were left out", { count: 2, skipped: ["ЗК-7"] }],
    ["a number of them", { count: 2, failed: 1 }],
    ["a list of those that are to come", { count: 2, deferred: ["6f1e9b7e-1c2d-4e3f-8a9b-000000000001"] }],
    ["the next link of OData", { count: 2, "@odata.nextLink": "https://shop.example/orders?$skip=2" }],
    ["the next link of HAL", { count: 2, _links: { self: { href: "/orders" }, next: { href: "/orders?page=2" } } }],
    ["the token of the next page", { count: 2, nextPageToken: "abc" }],
    ["a flag of the whole", { count: 2, complete: false }],
    ["a warning where there was none before", { count: 2, warnings: ["3 orders could not be loaded"] }],
    ["a message of what was left out", { count: 2, message: "Заказ 1003 не выгружен" }],
    ["a list of messages", { count: 2, meta: { messages: [{ text: "1 order could not be exported" }] } }],
  ])("is stored, and not confirmed until it is: %s", async (_name, beside) => {
    const { t, serve } = await startCounted();
    const ids = createOrders(t, 2);
    const rule = serve("b-short", ids, beside);
    for (let polls = 0; polls < 4; polls++) {
      const { error } = await t.run("orders");
      expect(error).toMatchObject({ code: "answer_shape", message: expect.stringContaining("holds more than") });
    }
    expect(isConfirmed(t)).toBe(false);
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 6 }]);
    t.sandbox.faults.remove(rule);
    serve("b-short", ids, { count: 2, partial: false });
    await t.run("orders");
    await t.run("orders");
    expect(isConfirmed(t)).toBe(true);
  });

  itWhole("is confirmed once a person says that the count means nothing", async () => {
    const { t, serve } = await startCounted();
    serve("b-short", createOrders(t, 2), { count: 5, partial: false });
    await t.run("orders");
    expect(isConfirmed(t)).toBe(false);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    await t.run("orders");
    await t.run("orders");
    expect(isConfirmed(t)).toBe(true);
  });

  itWhole.each([
    ["a warning from the first answer on", { warnings: ["deprecated"] }],
    ["the last page", { page: 3, pages: 3 }],
    ["the only page, counted from 0", { page: 0, pages: 1 }],
    ["the last page, counted from 0", { page: 0, last_page: 0 }],
    ["nothing left out", { skipped: [], failed: 0, notes: ["none"] }],
    ["texts that nothing was left out", { skipped: "none", warnings: ["0 orders skipped"], message: "No errors" }],
    [
      "texts in what is data of the shop",
      { shop: { description: "Missing since May" }, couriers: [{ note: "failed" }] },
    ],
  ])("is whole beside %s", async (_name, beside) => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    const records = createOrders(t, 1).map((id) => t.sandbox.service.newestText(id));
    const body = `{"batch_id":"b-1","orders":[${records.join(",")}],${JSON.stringify(beside).slice(1)}`;
    t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    await t.run("orders");
    expect(confirmBodies(t).some((text) => text?.includes("b-1"))).toBe(true);
  });

  const LOST = "order 1003 skipped: no delivery address";
  itSome(1)<[string, object, object]>([
    ["a warning from the first batch on", {}, { warnings: [LOST] }],
    ["a warning after others that mean nothing", { warnings: ["deprecated"] }, { warnings: ["deprecated", LOST] }],
    ["a message after others that mean nothing", { message: "2 orders" }, { message: LOST }],
  ])("is not confirmed beside %s, until a person says that it means nothing", async (_name, before, beside) => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    const poll = async (batch: string, more: object) => {
      const records = createOrders(t, 1).map((id) => t.sandbox.service.newestText(id));
      const body = `{"batch_id":"${batch}","orders":[${records.join(",")}],${JSON.stringify({ ...more, page: 1 }).slice(1)}`;
      t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
      const { error } = await t.run("orders");
      return { error, isConfirmed: confirmBodies(t).some((text) => text?.includes(batch)) };
    };
    if (Object.keys(before).length > 0)
      expect(await poll("b-before", before)).toEqual({ error: null, isConfirmed: true });
    const held = { error: { code: "answer_shape", message: expect.stringContaining(LOST) }, isConfirmed: false };
    expect(await poll("b-short", beside)).toMatchObject(held);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect(await poll("b-next", beside)).toEqual({ error: null, isConfirmed: true });
  });

  itWhole("is whole beside the number of all that waits, which was never that of its orders", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    const records = createOrders(t, 1).map((id) => t.sandbox.service.newestText(id));
    const body = `{"batch_id":"b-1","orders":[${records.join(",")}],"count":250,"total":250,"has_more":true}`;
    t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    await t.run("orders");
    expect(confirmBodies(t).some((text) => text?.includes("b-1"))).toBe(true);
  });
});

describe("a batch with records that hold nothing", () => {
  const MINUTE_MS = 60_000;
  const EMPTY = { code: "answer_shape", message: expect.stringContaining("Empty records") };

  async function start(confirmForm: "batch_id" | "order_ids" = "batch_id") {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm } } });
    createOrders(t, 1);
    await t.run("orders");
    let rule: number | undefined;
    /** From now on this is what waits. */
    const serve = (batch: string | null, orders: readonly string[], beside: readonly string[]) => {
      if (rule !== undefined) t.sandbox.faults.remove(rule);
      const records = [...orders.map((id) => t.sandbox.service.newestText(id)), ...beside].join(",");
      const id = batch === null ? "" : `"batch_id":"${batch}",`;
      rule = t.sandbox.faults.add({
        match: { path: "orders" },
        times: "forever",
        do: { kind: "raw", contentType: "application/json", body: `{${id}"orders":[${records}]}` },
      });
    };
    const poll = async (minutes: number) => {
      t.clock.advance(minutes * MINUTE_MS);
      return await t.run("orders");
    };
    const isConfirmed = (batch: string) => confirmBodies(t).some((body) => body?.includes(batch));
    return { t, serve, poll, isConfirmed };
  }

  itWhole.each(["null", "{ }", "[]", '""'])(
    "is stored, and not confirmed until the orders have come: %s",
    async (empty) => {
      const { t, serve, poll, isConfirmed } = await start();
      const ids = createOrders(t, 3);
      serve("b-hollow", ids.slice(0, 2), [empty]);
      for (let polls = 0; polls < 5; polls++) expect((await poll(10)).error).toMatchObject(EMPTY);
      expect(isConfirmed("b-hollow")).toBe(false);
      expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 3 }]);
      serve("b-hollow", ids, []);
      expect((await poll(1)).error).toBeNull();
      expect(isConfirmed("b-hollow")).toBe(true);
      expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 4 }]);
      const [held] = t.rows<{ state: string; reason: string }>("SELECT state, reason FROM quarantine");
      expect(held?.state).toBe("released");
      expect(held?.reason).toContain("come since without such records");
      // What holds nothing in another batch is held anew.
      serve("b-lost", createOrders(t, 1), [empty]);
      for (let polls = 0; polls < 8; polls++) await poll(10);
      expect(isConfirmed("b-lost")).toBe(true);
      expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
      serve("b-next", createOrders(t, 1), []);
      expect((await poll(1)).error).toBeNull();
      expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
    },
  );

  it("leaves none of them in quarantine once it has come without them", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    serve("b-hollow", ids.slice(0, 1), ["null", "{}"]);
    expect((await poll(1)).error).toMatchObject(EMPTY);
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }, { state: "held" }]);
    serve("b-other", createOrders(t, 1), []);
    expect((await poll(1)).error).toBeNull();
    expect(t.rows("SELECT DISTINCT state FROM quarantine")).toEqual([{ state: "held" }]);
    serve("b-hollow", ids, []);
    expect((await poll(1)).error).toBeNull();
    expect(isConfirmed("b-hollow")).toBe(true);
    expect(t.rows("SELECT DISTINCT state FROM quarantine")).toEqual([{ state: "released" }]);
  });

  itWhole("leaves in quarantine what another batch was confirmed with meanwhile", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    const ids = createOrders(t, 2);
    serve("b-hollow", ids.slice(0, 1), ["null"]);
    await poll(1);
    serve("b-lost", createOrders(t, 1), ["null"]);
    for (let polls = 0; polls < 8; polls++) await poll(10);
    expect(isConfirmed("b-lost")).toBe(true);
    serve("b-hollow", ids, []);
    expect((await poll(1)).error).toBeNull();
    expect(isConfirmed("b-hollow")).toBe(true);
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
  });

  itWhole("leaves none in quarantine once another answer comes where confirms name the orders", async () => {
    const { t, serve, poll } = await start("order_ids");
    serve(null, createOrders(t, 1), ["null"]);
    expect((await poll(1)).error).toBeNull();
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
    serve(null, createOrders(t, 1), []);
    expect((await poll(1)).error).toBeNull();
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
  });

  itWhole(
    "is confirmed after an hour of being served so, with what holds nothing in quarantine, and a restart loses no minute",
    async () => {
      const { t, serve, poll, isConfirmed } = await start();
      serve("b-hollow", createOrders(t, 2), ["null", "null"]);
      expect((await poll(1)).error).toMatchObject(EMPTY);
      expect((await poll(30)).error).toMatchObject(EMPTY);
      await t.restart();
      expect((await poll(29)).error).toMatchObject(EMPTY);
      expect(isConfirmed("b-hollow")).toBe(false);
      expect((await poll(1)).error).toBeNull();
      expect(isConfirmed("b-hollow")).toBe(true);
      expect(t.rows("SELECT kind, payload, state FROM quarantine")).toEqual([
        { kind: "order", payload: "null", state: "held" },
      ]);
      // The batch that comes again is the one that was confirmed.
      expect((await poll(1)).error).toBeNull();
    },
  );

  it("is confirmed also where each poll is a program of its own, and the clock was a year ahead", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    serve("b-hollow", createOrders(t, 2), ["null", "null"]);
    t.clock.jump(365 * 86_400_000);
    expect((await poll(1)).error).toMatchObject(EMPTY);
    t.clock.jump(-365 * 86_400_000);
    for (const minutes of [1, 30, 28]) {
      await t.restart();
      expect((await poll(minutes)).error).toMatchObject(EMPTY);
    }
    await t.restart();
    expect((await poll(2)).error).toBeNull();
    expect(isConfirmed("b-hollow")).toBe(true);
  });

  itWhole("stops no shop where each answer has one, whatever the batch is called", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    const ids: string[] = [];
    for (let polls = 0; polls < 7; polls++) {
      ids.push(...createOrders(t, 1));
      serve(`b-${polls}-`, ids, ["null"]);
      expect((await poll(10)).error === null).toBe(polls === 6);
    }
    serve("b-next", createOrders(t, 1), ["null"]);
    expect((await poll(1)).error).toBeNull();
    expect([isConfirmed("b-0-"), isConfirmed("b-6-"), isConfirmed("b-next")]).toEqual([false, true, true]);
    serve("b-whole", createOrders(t, 1), []);
    await poll(1);
    serve("b-later", createOrders(t, 1), ["null"]);
    expect((await poll(1)).error).toMatchObject(EMPTY);
    expect(isConfirmed("b-later")).toBe(false);
  });

  itWhole("waits an hour also where whole batches are served in between", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    const ids = createOrders(t, 1);
    for (let polls = 0; polls < 3; polls++) {
      serve("b-hollow", ids, ["null"]);
      expect((await poll(10)).error).toMatchObject(EMPTY);
      serve(`b-whole-${polls}`, createOrders(t, 1), []);
      expect((await poll(10)).error).toBeNull();
    }
    serve("b-hollow", ids, ["null"]);
    expect((await poll(10)).error).toBeNull();
    expect(isConfirmed("b-hollow")).toBe(true);
  });

  it("is confirmed at once where the confirm names the orders that came", async () => {
    const { t, serve, poll } = await start("order_ids");
    const [id] = createOrders(t, 1) as [string];
    serve(null, [id], ["null"]);
    expect((await poll(1)).error).toBeNull();
    expect(confirmBodies(t).at(-1)).toContain(id);
  });

  itWhole("is confirmed once a person says that nothing is missing", async () => {
    const { t, serve, poll, isConfirmed } = await start();
    serve("b-hollow", createOrders(t, 1), ["null"]);
    await poll(1);
    expect(listContradictions(t.bridge.store, "orders")).toHaveLength(1);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect((await poll(1)).error).toBeNull();
    expect(isConfirmed("b-hollow")).toBe(true);
  });
});
