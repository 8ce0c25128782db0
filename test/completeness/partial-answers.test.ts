import { describe, expect, it } from "vitest";
import { readHeadMetadata } from "../../src/completeness/head-metadata.ts";
import { requestRead } from "../../src/pass/position-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { confirmBodies, createOrders, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

interface Head {
  status?: number;
  headers?: Record<string, string>;
}

/** Answers lists with this head, and with this body where one is given; undoes it where called. */
function withHead(test: Pick<TestBridge, "sandbox">, head: Head, body?: (text: string) => string): () => void {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const response = handle(request);
    const isList = request.method === "GET" && /\/orders(?:\/updates)?(?:\?|$)/.test(request.path);
    if (!isList || response.status !== 200) return response;
    const text = response.body.toString("utf8");
    return {
      ...response,
      status: head.status ?? 200,
      headers: { ...response.headers, ...(text.includes("order_id") ? head.headers : {}) },
      body: body === undefined ? response.body : Buffer.from(body(text)),
    };
  };
  return () => {
    service.handle = handle;
  };
}

const PARTS: [string, Head][] = [
  ["206", { status: 206 }],
  ["Content-Range", { headers: { "content-range": "orders 0-1/5" } }],
  ["a link to the next page", { headers: { link: '<https://shop.example/orders?page=2>; rel="next"' } }],
  ["X-Truncated", { headers: { "x-truncated": "true" } }],
];

describe("an answer whose head says that it is a part", () => {
  itSome(1)(PARTS)("is stored, and its batch not confirmed until it comes whole: %s", async (_, head) => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    createOrders(t, 1);
    for (let polls = 0; polls < 2; polls++) await t.run("orders");
    const confirms = confirmBodies(t).length;
    createOrders(t, 2);
    const undo = withHead(t, head);
    for (let polls = 0; polls < 3; polls++)
      expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
    expect(confirmBodies(t)).toHaveLength(confirms);
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 3 }]);
    undo();
    for (let polls = 0; polls < 3; polls++) await t.run("orders");
    expectComplete(t);
  });

  itWhole("tells a number of records that was that of each batch before", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } });
    for (let batch = 0; batch < 3; batch++) {
      createOrders(t, 1);
      const undo = withHead(t, { headers: { "x-total-count": "1" } });
      await t.run("orders");
      undo();
      await t.run("orders");
    }
    const confirms = confirmBodies(t).length;
    createOrders(t, 2);
    withHead(t, { headers: { "x-total-count": "5" } });
    expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
    expect(confirmBodies(t)).toHaveLength(confirms);
  });
});

describe("an answer whose head says that it is a part, and that is read later", () => {
  const OPTIONS = { handOut: "repeat", confirmForm: "batch_id" } as const;

  itSome(1)(PARTS)("is no whole batch because the configuration did not fit it: %s", async (_, head) => {
    const misfit = { orders: { batch: { orders: "$.items" } } };
    const t = await startTestBridge({ settings: misfit, sandbox: { options: OPTIONS } });
    createOrders(t, 2);
    withHead(t, head);
    expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
    expect(t.rows("SELECT state FROM batches")).toEqual([{ state: "unread" }]);
    await t.restart({});
    t.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 500 } });
    await t.run("orders");
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
    expect(confirmBodies(t)).toEqual([]);
  });

  itWhole("is no whole batch because the program died while it was stored", async () => {
    const t = await startTestBridge({ sandbox: { options: { ...OPTIONS, batchSize: 500 } } });
    createOrders(t, 500);
    withHead(t, { status: 206 });
    const { store } = t.bridge;
    const write = store.write.bind(store);
    const stored = () => t.rows<{ n: number }>("SELECT count(*) AS n FROM orders")[0]?.n ?? 0;
    store.write = (fn) => {
      if (stored() > 0) throw new Error("the process is gone");
      return write(fn);
    };
    await t.run("orders");
    expect(t.rows("SELECT state FROM batches")).toEqual([{ state: "unread" }]);
    await t.restart();
    t.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 500 } });
    await t.run("orders");
    expect(stored()).toBe(500);
    expect(confirmBodies(t)).toEqual([]);
  });
});

describe("an order that is answered with a part of it", () => {
  it("is not stored, and read again", async () => {
    const test = await startFollowed(1);
    const [id] = test.ids as [string];
    const payload = () => test.rows<{ payload: string }>("SELECT payload FROM orders")[0]?.payload;
    const before = payload();
    const cut = JSON.stringify({ order_id: id, status: "paid", updated_at: "2026-03-01T12:30:00Z", lines: [] });
    const rule = test.sandbox.faults.add({
      match: { path: "snapshot" },
      times: "forever",
      do: { kind: "raw", status: 206, contentType: "application/json", body: cut },
    });
    const { store } = test.bridge;
    store.write(() => requestRead(store, { orderId: id, serviceId: id }, "2026-03-01T12:00:00.000Z"));
    await test.poll().catch(() => undefined);
    expect(test.snapshots(id)).toBeGreaterThan(0);
    expect(payload()).toBe(before);
    expect(test.rows("SELECT order_id AS id FROM owed_reads")).toEqual([{ id }]);
    test.sandbox.faults.remove(rule);
    test.change(id, { status: "paid" });
    await test.poll(3_600_000);
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([]);
  });
});

describe("an empty list", () => {
  itSome(1)([201, 202, 203, 206, 226])("says nothing of what there is where it comes with %i", async (status) => {
    const test = await startFollowed(1);
    withHead(test, { status }, () => '{"orders":[],"updates":[]}');
    for (const job of ["orders", "updates"] as const)
      expect((await test.run(job)).error).toMatchObject({ code: "answer_shape" });
  });

  itWhole("is one with 200, and with 204 and no body", async () => {
    const test = await startFollowed(1);
    const undo = withHead(test, {}, () => '{"orders":[],"updates":[]}');
    expect((await test.run("orders")).error).toBeNull();
    undo();
    withHead(test, { status: 204 }, () => "");
    for (const job of ["orders", "updates"] as const) expect((await test.run(job)).error).toBeNull();
  });
});

describe("the head of an answer", () => {
  it.each<[string, Parameters<typeof readHeadMetadata>[0], string[]]>([
    ["says nothing with 200", { status: 200 }, []],
    ["says nothing with 204", { status: 204 }, []],
    [
      "names a former page only",
      { status: 200, listHeaders: { link: "<a>; rel=prev" } },
      ["more false", "omitted false"],
    ],
    [
      "names the next page",
      { status: 200, listHeaders: { link: "<a>; rel=prev, <b>; rel=next" } },
      ["more true", "omitted true"],
    ],
    ["counts", { status: 200, listHeaders: { "x-total-count": "5" } }, ["count true"]],
    ["counts nothing that is no number", { status: 200, listHeaders: { "x-total-count": "many" } }, []],
    ["says that there is no more", { status: 200, listHeaders: { "x-has-more": "false" } }, ["more false"]],
  ])("%s", (_, head, expected) => {
    expect(readHeadMetadata(head).map(({ kind, says }) => `${kind} ${says}`)).toEqual(expected);
  });
});
