import { describe, expect, it } from "vitest";
import { membersOf, textOf } from "../../src/answers/json-text.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { m } from "../../src/messages/messages.ts";
import { startTestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, dumpTables, expectComplete, orderCount } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

describe("how a service hands batches out", () => {
  const ways = [
    { handOut: "repeat" as const },
    { handOut: "next" as const, redeliverAfterMs: null },
    { handOut: "next" as const, redeliverAfterMs: 60_000 },
    { handOut: "next" as const, redeliverAfterMs: "cycle" as const },
  ];

  itWhole.each(ways)(
    "drains and confirms everything in one pass: $handOut, again after $redeliverAfterMs",
    async (way) => {
      const t = await startTestBridge({ sandbox: { options: { ...way, batchSize: 10 } } });
      createOrders(t, 35);
      expect(await t.run("orders")).toMatchObject({
        outcome: "done",
        counts: { batches: 4, created: 35, confirmed: 4 },
      });
      expect(orderCount(t)).toBe(35);
      expectComplete(t);
      expect(await t.run("orders")).toMatchObject({ outcome: "idle" });
    },
  );

  itSome(1)(["string", "number", "huge-number"] as const)(
    "confirms each batch by its id as it was sent: %s",
    async (batchIdKind) => {
      const t = await startTestBridge({ sandbox: { options: { batchIdKind, batchSize: 2 } } });
      createOrders(t, 4);
      await t.run("orders");
      expectComplete(t);
      const expected = {
        string: ['"batch-1"', '"batch-2"'],
        number: ["1", "2"],
        "huge-number": ["9007199254740993", "9007199254740995"],
      };
      expect(confirmBodies(t)).toEqual(expected[batchIdKind].map((id) => `{"batch_id":${id}}`));
      expect(t.rows("SELECT service_batch_id AS id FROM batches ORDER BY id")).toEqual(
        expected[batchIdKind].map((id) => ({ id })),
      );
    },
  );

  itWhole("names the orders where batches have no id", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchIdKind: "none" } } });
    const ids = createOrders(t, 3);
    await t.run("orders");
    expectComplete(t);
    expect(confirmBodies(t)).toEqual([JSON.stringify({ order_ids: ids })]);
  });

  itWhole("confirms with the body that the configuration says", async () => {
    const t = await startTestBridge({
      settings: {
        orders: { confirm: { body: { batch: { id: "{batch_id}" }, note: "batch {batch_id}", ids: "{order_ids}" } } },
      },
      sandbox: { options: { confirmKey: ["batch", "id"] } },
    });
    const [id] = createOrders(t, 1);
    await t.run("orders");
    expectComplete(t);
    expect(confirmBodies(t)).toEqual([`{"batch":{"id":"batch-1"},"note":"batch batch-1","ids":["${id}"]}`]);
  });
});

describe("a batch that was served before", () => {
  it("is confirmed again and writes nothing", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchSize: 5 } } });
    createOrders(t, 5);
    // The service takes the confirm for nothing: it answers well and serves the same batch again.
    t.sandbox.faults.add({
      match: { path: "confirm" },
      do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
    });
    await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed"]);
    const before = dumpTables(t);
    expect(await t.run("orders")).toMatchObject({ outcome: "idle", error: null });
    expect(dumpTables(t)).toBe(before);
    expect(confirmBodies(t)).toHaveLength(2);
    expectComplete(t);
  });

  itWhole("is confirmed again in a form unknown so far, and no poll writes anything", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchSize: 1 } } });
    createOrders(t, 3);
    await t.run("orders");
    createOrders(t, 1);
    const raw = (body: string, times: number | "forever") =>
      t.sandbox.faults.add({
        match: { path: "confirm" },
        times,
        do: { kind: "raw", body, contentType: "application/json" },
      });
    raw('{"ok":true,"confirmed":1}', 1);
    await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed", "confirmed"]);
    raw('{"strange":1}', "forever");
    expect(await t.run("orders")).toMatchObject({ error: { code: "answer_unknown" } });
    const before = dumpTables(t);
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    expect(dumpTables(t)).toBe(before);
    expect(confirmBodies(t)).toHaveLength(8);
  });

  itWhole("is recognised by its content where the service writes the keys in another order every time", async () => {
    const t = await startTestBridge({ sandbox: { options: { shape: { shuffleKeys: true } } } });
    const [id] = createOrders(t, 20);
    t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
    });
    await t.run("orders");
    // The stored order moves on, and the old batch is still served.
    t.clock.advance(60_000);
    const batchText = t.sandbox.ledger.servedVersions(id!);
    expect(batchText.length).toBeGreaterThan(0);
    const before = dumpTables(t);
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    expect(dumpTables(t)).toBe(before);
    expect(t.sandbox.ledger.servedVersions(id!).length).toBeGreaterThan(batchText.length);
  });

  itWhole.each(["changes", "whole"] as const)(
    "is recognised in other letters after the order has moved on: %s",
    async (carry) => {
      const t = await startTestBridge({
        settings: { updates: { carry } },
        sandbox: { options: { updates: { carry } } },
      });
      const [id] = createOrders(t, 1);
      await t.run("orders");
      t.clock.advance(60_000);
      t.sandbox.service.changeOrder(id!, { status: "paid" });
      await t.run("updates");
      expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "paid", revision: 2 }]);
      const [first] = t.sandbox.ledger.servedVersions(id!);
      const bytes = Buffer.from(first!);
      const members = membersOf(bytes, scanJson(bytes)).map(({ key, value }) => `"${key}": ${textOf(bytes, value)}`);
      const inOtherLetters = `{ ${members.reverse().join(", ")} }`;
      t.sandbox.faults.add({
        match: { path: "orders" },
        times: "forever",
        do: { kind: "raw", body: `{"batch_id":"again","orders":[${inOtherLetters}]}`, contentType: "application/json" },
      });
      expect(await t.run("orders")).toMatchObject({ error: null });
      expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "paid", revision: 2 }]);
      expect(t.rows("SELECT * FROM owed_reads")).toEqual([]);
    },
  );

  itWhole("says so once when the service serves it for ever", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
    });
    for (let poll = 0; poll < 12; poll++) await t.run("orders");
    expect(t.logs.filter(({ message }) => message.includes("serves it again all the same"))).toHaveLength(1);
  });

  itWhole("fails where it is served again for a quarter of an hour, and is well once another one comes", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    const rule = t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "raw", body: '{"ok":true}', contentType: "application/json" },
    });
    const errors: unknown[] = [];
    for (let poll = 0; poll < 20; poll++) {
      errors.push((await t.run("orders")).error);
      t.clock.advance(60_000);
    }
    expect(errors.slice(0, 15)).toEqual(errors.slice(0, 15).map(() => null));
    expect(errors.at(-1)).toMatchObject({ code: "answer_unknown", hint: m.orders.servedAgainHint });
    t.sandbox.faults.remove(rule);
    createOrders(t, 1);
    for (let poll = 0; poll < 2; poll++) await t.run("orders");
    expect((await t.run("orders")).error).toBeNull();
    expectComplete(t);
  });

  itWhole("stores overlapping batches once", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", batchSize: 4, batchOverlap: 3 } } });
    createOrders(t, 20);
    expect(await t.run("orders")).toMatchObject({ counts: { created: 20 } });
    expectComplete(t);
    expect(t.rows("SELECT max(revision) AS revision FROM orders")).toEqual([{ revision: 1 }]);
    expect(t.rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 20 }]);
  });

  itWhole("takes what changed in between and leaves the rest alone", async () => {
    const t = await startTestBridge();
    const [first, second] = createOrders(t, 2);
    t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
    await t.run("orders");
    t.clock.advance(60_000);
    t.sandbox.service.changeOrder(first!, { status: "paid", lines: [{ sku: "Z", quantity: "2", price: "9.90" }] });
    expect(await t.run("orders")).toMatchObject({ counts: { changed: 1, confirmed: 1 } });
    expect(t.rows("SELECT status, revision FROM orders WHERE order_id = ?", first)).toEqual([
      { status: "paid", revision: 2 },
    ]);
    expect(t.rows("SELECT sku, quantity, price FROM order_lines WHERE order_id = ?", first)).toEqual([
      { sku: "Z", quantity: "2", price: "9.90" },
    ]);
    expect(t.rows("SELECT revision FROM orders WHERE order_id = ?", second)).toEqual([{ revision: 1 }]);
    expectComplete(t);
  });
});

describe("the first pull", () => {
  itWhole("begins to follow changes from the service's own time, once", async () => {
    const t = await startTestBridge({ sandbox: { options: { clockOffsetMs: -3_600_000 } } });
    await t.run("orders");
    expect(t.rows("SELECT value FROM watermarks WHERE stream = 'updates'")).toEqual([
      { value: "Sun, 01 Mar 2026 11:00:00 GMT" },
    ]);
    t.clock.advance(60_000);
    await t.run("orders");
    expect(t.rows("SELECT value FROM watermarks WHERE stream = 'updates'")).toEqual([
      { value: "Sun, 01 Mar 2026 11:00:00 GMT" },
    ]);
  });

  it("asks with the query parameters of the configuration, encoded", async () => {
    const t = await startTestBridge({ settings: { orders: { query: { shop: "Москва & Co", limit: 50 } } } });
    await t.run("orders");
    const [asked] = t.sandbox.ledger.ofKind("orders");
    expect(Object.fromEntries(new URLSearchParams(asked?.query))).toEqual({ shop: "Москва & Co", limit: "50" });
  });
});
