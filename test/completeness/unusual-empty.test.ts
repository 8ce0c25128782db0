import { describe, expect, it } from "vitest";
import { acceptMetadata, listContradictions } from "../../src/completeness/check-completeness.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { addFormerBatches, confirmBodies, createOrders, expectComplete } from "../support/pull.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("completeness/unusual-empty");

/** Answers GET /orders, or the changes, with what `next` gives; undefined: as the service does. */
function answerWith(
  sandbox: TestBridge["sandbox"],
  path: "/orders" | "/orders/updates",
  next: () => object | null | undefined | 204,
): void {
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (request) => {
    const body = request.path.split("?")[0]?.endsWith(path) && request.method === "GET" ? next() : undefined;
    if (body === undefined) return handle(request);
    if (body === 204) return { status: 204, headers: {}, body: Buffer.alloc(0), delivery: { kind: "plain" } };
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, body: Buffer.from(JSON.stringify(body)), delivery: { kind: "plain" } };
  };
}

async function poll(t: TestBridge, minutes: number): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let at = 0; at < minutes; at++) {
    t.clock.advance(60_000);
    errors.push((await t.run("orders")).error);
  }
  return errors;
}

const isNull = (error: unknown) => error === null;
const UNFAMILIAR: [string, object][] = [
  ["warnings", { warnings: ["order store is unavailable"] }],
  ["an error further down", { meta: { db: { error: "timeout" } } }],
  ["a code", { code: "ER_LOCK_WAIT" }],
  ["a code below zero", { result_code: -1 }],
  ["a reason", { reason: "rate limit exceeded" }],
  ["a flag", { maintenance: true }],
  ["a number of what waits", { in_queue: 3 }],
  ["what was left out", { skipped: ["7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a11"] }],
  ["null in the place of the list", { orders: null }],
  ["a sentence", { message: "Ведутся технические работы" }],
];

describe("an empty list in another form than usual", () => {
  itSome(1)(UNFAMILIAR)("is told after ten minutes, and not before: %s", async (_name, beside) => {
    const t = await startTestBridge();
    let empty: object = { batch_id: null, orders: [] };
    answerWith(t.sandbox, "/orders", () => empty);
    expect(await poll(t, 4)).toEqual([null, null, null, null]);
    empty = { batch_id: null, orders: [], ...beside };
    const errors = await poll(t, 14);
    expect(errors.slice(0, 9).every(isNull)).toBe(true);
    expect(errors.at(-1)).toMatchObject({ code: "answer_shape", message: expect.stringContaining("$.orders") });
    expect(t.logs.filter(({ message }) => message.includes("no empty answer said before"))).not.toHaveLength(0);
    empty = { batch_id: null, orders: [] };
    expect(await poll(t, 2)).toEqual([null, null]);
  });

  itWhole.each(UNFAMILIAR.slice(0, 3))("moves no position of the changes, and is told: %s", async (_name, beside) => {
    const test = await startFollowed(1);
    let empty: object | undefined = { updates: [] };
    answerWith(test.sandbox, "/orders/updates", () => empty);
    const quietly = () =>
      test.poll().then(
        () => null,
        (error: unknown) => error,
      );
    for (let polls = 0; polls < 4; polls++) await quietly();
    const before = test.watermark();
    empty = { updates: [], ...beside };
    const errors: unknown[] = [];
    for (let polls = 0; polls < 14; polls++) errors.push(await quietly());
    expect(errors.slice(0, 9).every(isNull)).toBe(true);
    expect(errors.at(-1)).toMatchObject({ code: "answer_shape" });
    expect(test.watermark()).toBe(before);
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    empty = undefined;
    await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole(
    "is told where a gateway says 204 in its place, and orders that come meanwhile are stored afterwards",
    async () => {
      const t = await startTestBridge();
      let empty: object | undefined | 204;
      answerWith(t.sandbox, "/orders", () => empty);
      expect(await poll(t, 4)).toEqual([null, null, null, null]);
      empty = 204;
      createOrders(t, 2);
      const errors = await poll(t, 14);
      expect(errors.slice(0, 9).every(isNull)).toBe(true);
      expect(errors.at(-1)).toMatchObject({ code: "answer_shape", message: expect.stringContaining("204") });
      empty = undefined;
      expect(await poll(t, 2)).toEqual([null, null]);
      expectComplete(t);
    },
  );

  itWhole("is not 204 where the empty answers before had names, and may have been batches", async () => {
    const t = await startTestBridge();
    let empty: object | 204 = {};
    answerWith(t.sandbox, "/orders", () => empty);
    for (let batch = 1; batch <= 5; batch++) {
      empty = { batch_id: `batch-${batch}`, orders: [] };
      await poll(t, 1);
    }
    empty = 204;
    expect(await poll(t, 14)).toEqual(Array(14).fill(null));
    expect(t.logs.filter(({ message }) => message.includes("no empty answer said before"))).toHaveLength(0);
  });

  itWhole("settles no batch whose confirm is in doubt", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    let empty: object | undefined;
    answerWith(t.sandbox, "/orders", () => empty);
    await poll(t, 4);
    createOrders(t, 1);
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
    const rule = t.sandbox.faults.add({
      match: { path: "confirm" },
      times: "forever",
      do: { kind: "status", status: 422 },
    });
    await t.run("orders");
    empty = { batch_id: null, orders: [], maintenance: true };
    await poll(t, 90);
    expect(t.rows("SELECT state FROM batches")).not.toEqual([{ state: "confirmed" }]);
    t.sandbox.faults.remove(rule);
  });

  itWhole("is usual after a day of nothing else, and at once where a person says so", async () => {
    const t = await startTestBridge();
    let empty: object = { orders: [] };
    answerWith(t.sandbox, "/orders", () => empty);
    await poll(t, 4);
    empty = { orders: [], edition: "of the summer" };
    for (let hours = 0; hours < 25; hours++) {
      t.clock.advance(3_540_000);
      await poll(t, 1);
    }
    expect(await poll(t, 1)).toEqual([null]);
    empty = { orders: [], edition: "of the summer", notice: "closed on Sunday" };
    expect((await poll(t, 12)).at(-1)).not.toBeNull();
    expect(listContradictions(t.bridge.store, "orders")).toHaveLength(1);
    t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
    expect(listContradictions(t.bridge.store, "orders")).toEqual([]);
    expect(await poll(t, 12)).toEqual(Array(12).fill(null));
  });

  itWhole("is usual where orders have come in between three times", async () => {
    const t = await startTestBridge();
    let beside = {};
    let served = 0;
    answerWith(t.sandbox, "/orders", () => (served-- > 0 ? undefined : { orders: [], ...beside }));
    await poll(t, 4);
    beside = { edition: "of the summer" };
    for (let times = 0; times < 3; times++) {
      await poll(t, 1);
      served = 1;
      createOrders(t, 1);
      await t.run("orders");
    }
    expect(await poll(t, 20)).toEqual(Array(20).fill(null));
  });

  itWhole("is none where only what varies has changed: times, ids, counters, flags that come and go", async () => {
    const t = await startTestBridge();
    let n = 0;
    answerWith(t.sandbox, "/orders", () => {
      n += 1;
      return {
        orders: [],
        server_time: new Date(1_772_000_000_000 + n * 60_000).toISOString(),
        request_id: `req-${n * 7919}`,
        meta: { took_ms: n % 7, served: n, node: n % 2 === 0 ? "alpha" : "beta", last_order: n < 5 ? null : `A-${n}` },
        ...(n > 6 ? { checked_at: 1_772_000_000 + n, trace: "5d0e4c539d0b3f7f" } : {}),
        message: `No orders since ${n}:05`,
        status: "ok",
      };
    });
    const errors = await poll(t, 60);
    expect(errors).toEqual(Array(60).fill(null));
    expect(t.logs.filter(({ message }) => message.includes("no empty answer said before"))).toEqual([]);
  });
});

describe("an empty answer of another kind than usual", () => {
  itWhole.each([[null], [[]]])(
    "is told after ten minutes and for ever, until three times orders came in between: %j",
    async (other) => {
      const t = await startTestBridge();
      addFormerBatches(t);
      let empty: object | null = { orders: [] };
      let served = 0;
      answerWith(t.sandbox, "/orders", () => (served-- > 0 ? undefined : empty));
      await poll(t, 4);
      empty = other;
      const errors = await poll(t, 14);
      expect(errors.slice(0, 9).every(isNull)).toBe(true);
      expect(errors.at(-1)).toMatchObject({ code: "answer_shape", message: expect.stringContaining("$ = ") });
      for (let hours = 0; hours < 30; hours++) {
        t.clock.advance(3_540_000);
        expect(await poll(t, 1)).not.toEqual([null]);
      }
      for (let times = 0; times < 3; times++) {
        served = 1;
        createOrders(t, 1);
        await t.run("orders");
      }
      expect(await poll(t, 20)).toEqual(Array(20).fill(null));
    },
  );

  itSome(1)([[null], [[]]])("moves no position of the changes, which wait: %j", async (other) => {
    const test = await startFollowed(1);
    let empty: object | null | undefined = { updates: [] };
    answerWith(test.sandbox, "/orders/updates", () => empty);
    const quietly = () =>
      test.poll().then(
        () => null,
        (error: unknown) => error,
      );
    for (let polls = 0; polls < 4; polls++) await quietly();
    const before = test.watermark();
    empty = other;
    const errors: unknown[] = [];
    for (let polls = 0; polls < 14; polls++) errors.push(await quietly());
    expect(errors.at(-1)).toMatchObject({ code: "answer_shape" });
    expect(test.watermark()).toBe(before);
    empty = undefined;
    expect(await quietly()).toBeNull();
  });

  describe("to a request whose answer never was empty", () => {
    async function startWithChanges(options: Parameters<typeof startFollowed>[1] = {}) {
      const test = await startFollowed(2, options);
      let empty: object | null | undefined;
      answerWith(test.sandbox, "/orders/updates", () => empty);
      for (const id of test.ids) {
        test.change(id, { status: "paid" });
        await test.poll();
      }
      const poll = async (times: number) => {
        const errors: unknown[] = [];
        for (let polls = 0; polls < times; polls++)
          errors.push(
            await test.poll().then(
              () => null,
              (error: unknown) => error,
            ),
          );
        return errors;
      };
      const answer = (next: object | null | undefined): void => {
        empty = next;
      };
      return { test, poll, answer };
    }

    itSome(1)([[null], [[]]])("is told after ten minutes, until changes come again: %j", async (other) => {
      const { test, poll, answer } = await startWithChanges();
      const before = test.watermark();
      answer(other);
      const errors = await poll(14);
      expect(errors.slice(0, 9).every(isNull)).toBe(true);
      expect(errors.at(-1)).toMatchObject({ code: "answer_shape", message: expect.stringContaining("$ = ") });
      test.clock.advance(8 * 86_400_000);
      expect((await poll(1)).every(isNull)).toBe(false);
      expect(test.watermark()).toBe(before);
      const [id] = test.ids as [string];
      test.change(id, { status: "cancelled" });
      answer(undefined);
      expect(await poll(1)).toEqual([null]);
      expect(test.statusOf(id).status).toBe("cancelled");
    });

    itWhole.each<[string, Parameters<typeof startFollowed>[1], object | null]>([
      ["the boundary is excluded", { service: { updates: { boundary: "exclusive" } } }, null],
      [
        "the list itself is the answer",
        { service: { shape: { updates: [] } }, settings: { updates: { changes: "$" } } },
        [],
      ],
    ])("is how the service says nothing where %s", async (_name, options, other) => {
      const { test, poll, answer } = await startWithChanges(options);
      answer(other);
      expect((await poll(20)).every(isNull)).toBe(true);
      expect(test.logs.filter(({ message }) => message.includes("no empty answer said before"))).toEqual([]);
    });

    itWhole("is usual where all changes that were listed are older than the list", async () => {
      const { test, poll, answer } = await startWithChanges();
      test.clock.advance(8 * 86_400_000);
      answer(null);
      expect((await poll(20)).every(isNull)).toBe(true);
    });
  });

  itWhole.each([[null], [[]]])(
    "is usual where the first ones were such, and one with an empty list always: %j",
    async (first) => {
      const t = await startTestBridge();
      let empty: object | null | undefined = first;
      answerWith(t.sandbox, "/orders", () => empty);
      expect(await poll(t, 20)).toEqual(Array(20).fill(null));
      empty = undefined;
      createOrders(t, 1);
      await t.run("orders");
      empty = { orders: [] };
      expect(await poll(t, 20)).toEqual(Array(20).fill(null));
      empty = first;
      expect(await poll(t, 20)).toEqual(Array(20).fill(null));
      expectComplete(t);
    },
  );
});

whole.describe("a named batch without orders", () => {
  const FULL = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
  const orderOf = (n: number) => ({ ...FULL, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });

  /** Batches in turn, each until it is confirmed, or by turns until they are; and then `nothing`. */
  async function startQueue(
    queue: { batch_id: string; orders: object[] }[],
    nothing: () => object,
    isByTurns = false,
    renamed = (batch: string) => batch,
  ) {
    const t = await startTestBridge();
    answerWith(t.sandbox, "/orders", () => {
      if (isByTurns) queue.push(...queue.splice(0, 1));
      const [first] = queue;
      if (first === undefined) return nothing();
      first.batch_id = renamed(first.batch_id.split(".")[0] ?? "");
      return first;
    });
    const handle = t.sandbox.service.handle.bind(t.sandbox.service);
    t.sandbox.service.handle = (request) => {
      if (!request.path.endsWith("/confirm")) return handle(request);
      handle(request);
      const { batch_id } = JSON.parse(request.body.toString()) as { batch_id: string };
      const at = queue.findIndex((batch) => batch.batch_id === batch_id);
      if (at >= 0) queue.splice(at, 1);
      return { status: 200, headers: {}, body: Buffer.alloc(0), delivery: { kind: "plain" } };
    };
    return t;
  }
  const ids = (t: TestBridge) => t.rows("SELECT order_id FROM orders").length;

  it("is told after ten minutes and confirmed after an hour, where empty answers have no name", async () => {
    const queue: { batch_id: string; orders: object[] }[] = [];
    const t = await startQueue(queue, () => ({ batch_id: null, orders: [] }));
    await poll(t, 4);
    queue.push(
      { batch_id: "b1", orders: [orderOf(1)] },
      { batch_id: "b2", orders: [] },
      { batch_id: "b3", orders: [orderOf(3)] },
    );
    const errors = await poll(t, 30);
    expect(errors.slice(0, 10).every(isNull)).toBe(true);
    expect(errors.at(-1)).toMatchObject({ code: "answer_shape" });
    expect(confirmBodies(t).join()).not.toContain("b2");
    await poll(t, 35);
    expect(ids(t)).toBe(2);
    expect(confirmBodies(t).filter((body) => body?.includes("b2"))).toHaveLength(1);
    expect(await poll(t, 3)).toEqual([null, null, null]);
    expect(t.rows("SELECT count(*) AS n FROM batches WHERE state <> 'confirmed'")).toEqual([{ n: 0 }]);
  });

  itWhole("is confirmed after an hour where no other empty answer has come", async () => {
    const queue = [
      { batch_id: "b1", orders: [orderOf(1)] },
      { batch_id: "b2", orders: [] },
      { batch_id: "b3", orders: [orderOf(3)] },
    ];
    const t = await startQueue(queue, () => ({ batch_id: null, orders: [] }));
    await poll(t, 65);
    expect(ids(t)).toBe(2);
  });

  itWhole("waits one hour for all of them, and begins anew after an answer that says nothing", async () => {
    const queue: { batch_id: string; orders: object[] }[] = [];
    const t = await startQueue(queue, () => ({ batch_id: null, orders: [] }));
    await poll(t, 4);
    queue.push(
      { batch_id: "b1", orders: [] },
      { batch_id: "b2", orders: [] },
      { batch_id: "b3", orders: [orderOf(3)] },
    );
    await poll(t, 65);
    expect(ids(t)).toBe(1);
  });

  itWhole.each([2, 3, 7])("is confirmed after an hour where it comes by turns with others: %i", async (size) => {
    const queue: { batch_id: string; orders: object[] }[] = [];
    const t = await startQueue(queue, () => ({ batch_id: "last", orders: [orderOf(3)] }), true);
    for (let n = 0; n < size; n++) queue.push({ batch_id: `b${n}`, orders: [] });
    await poll(t, 60);
    expect(confirmBodies(t)).toEqual([]);
    await poll(t, 5 + 2 * size);
    expect(queue).toEqual([]);
    expect(ids(t)).toBe(1);
  });

  it("is confirmed after an hour where it is delivered again after other orders", async () => {
    const queue: { batch_id: string; orders: object[] }[] = [{ batch_id: "b1", orders: [] }];
    const t = await startQueue(queue, () => []);
    await poll(t, 2);
    queue.unshift({ batch_id: "b2", orders: [orderOf(1)] });
    await poll(t, 50);
    expect(confirmBodies(t)).toEqual(['{"batch_id":"b2"}']);
    queue.push({ batch_id: "b3", orders: [orderOf(3)] });
    await poll(t, 15);
    expect(ids(t)).toBe(2);
    expect(queue).toEqual([]);
    expect((await poll(t, 20)).every(isNull)).toBe(true);
  });

  itSome(1)([
    ["beside answers without a name", { batch_id: null, orders: [] }],
    ["beside bare lists", []],
  ])(
    "is confirmed after an hour where it has another name at each delivery, and came first: %s",
    async (_, nothing) => {
      const queue = [
        { batch_id: "b1", orders: [] },
        { batch_id: "b2", orders: [] },
        { batch_id: "b3", orders: [orderOf(3)] },
      ];
      let n = 0;
      const t = await startQueue(
        queue,
        () => nothing,
        false,
        (batch) => `${batch}.${n++}`,
      );
      expect((await poll(t, 60)).every(isNull)).toBe(true);
      expect(confirmBodies(t)).toEqual([]);
      expect((await poll(t, 5)).every(isNull)).toBe(true);
      // The other one has an hour of its own.
      expect(queue).toHaveLength(2);
      expect((await poll(t, 65)).every(isNull)).toBe(true);
      expect(queue).toEqual([]);
      expect(ids(t)).toBe(1);
      // It is known now that nothing has no name.
      await poll(t, 3);
      for (let more = 0; more < 3; more++) queue.push({ batch_id: `more${more}`, orders: [] });
      queue.push({ batch_id: "b4", orders: [orderOf(4)] });
      expect((await poll(t, 30)).at(-1)).toMatchObject({ code: "answer_shape" });
      await poll(t, 40);
      expect(queue).toEqual([]);
      expect(ids(t)).toBe(2);
    },
  );

  itWhole.each<[string, number, (n: number) => string]>([
    // It is confirmed once, which has no effect.
    ["the same", 5, () => "empty"],
    // Six of them are, which has no effect.
    ["a new one each time", 10, (n) => `poll-${n}`],
  ])("is how the service says nothing, where each empty answer has a name: %s", async (_name, confirms, nameOf) => {
    const queue: { batch_id: string; orders: object[] }[] = [];
    let n = 0;
    const t = await startQueue(queue, () => ({ batch_id: nameOf(n++), orders: [] }));
    for (let rounds = 0; rounds < 4; rounds++) {
      queue.push({ batch_id: `b${rounds}`, orders: [orderOf(rounds)] });
      expect((await poll(t, 30)).every(isNull)).toBe(true);
    }
    expect(await poll(t, 500)).toEqual(Array(500).fill(null));
    expect(confirmBodies(t)).toHaveLength(confirms);
    expect(t.rows("SELECT count(*) AS n FROM batches")).toEqual([{ n: confirms }]);
  });

  itWhole("is how the service says nothing, where the name is that of the batch that comes next", async () => {
    const queue: { batch_id: string; orders: object[] }[] = [];
    let open = 0;
    const t = await startQueue(queue, () => ({ batch_id: `b${open}`, orders: [] }));
    for (let rounds = 0; rounds < 3; rounds++) {
      await poll(t, 20);
      queue.push({ batch_id: `b${open++}`, orders: [orderOf(rounds)] });
    }
    expect((await poll(t, 100)).every(isNull)).toBe(true);
    expect(confirmBodies(t)).toHaveLength(3);
  });

  itWhole(
    "is confirmed once, and quiet, where it is the only name of all empty answers from the beginning",
    async () => {
      const t = await startQueue([], () => ({ batch_id: "empty", orders: [] }));
      expect((await poll(t, 200)).every(isNull)).toBe(true);
      expect(confirmBodies(t)).toHaveLength(1);
      expectComplete(t);
    },
  );
});
