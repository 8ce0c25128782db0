import { describe, expect, it } from "vitest";
import { LOSS_MS, LOSS_POLLS } from "../../src/confirm/plan-loss.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  addFormerBatches,
  batchStates,
  confirmBodies,
  createOrders,
  dumpTables,
  expectComplete,
  expectNothingLost,
  orderCount,
} from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const watermarks = ({ rows }: TestBridge) => rows("SELECT stream, value FROM watermarks");
const answerOnce = (t: TestBridge, body: string, contentType = "application/json") =>
  t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", body, contentType } });

describe("an answer that is no batch", () => {
  itSome(1)([
    ["a web page", "<!doctype html><html><body>Войдите в сеть</body></html>", "text/html", /web page.*Войдите/],
    ["a web page under a wrong type", "\n <HTML>login</HTML>", "application/json", /web page/],
    [
      "JSON that is cut",
      '{"orders":[{"order_id":"1',
      "application/json",
      /no complete JSON \(at byte 25 of 25, record 1: the text ends\)/,
    ],
    ["nothing with 200", "", "application/json", /is empty/],
    ["an empty object", "{}", "application/json", /has no \$\.orders: an object of 0 keys was found at \$\./],
    [
      "an error in words",
      '{"error":"down for maintenance"}',
      "application/json",
      /reports an error: down for maintenance/,
    ],
    ["an error as an object", '{"error":{"code":17,"message":"x"}}', "application/json", /reports an error: .*17/],
    ["a failure", '{"success":false,"message":"later"}', "application/json", /reports an error: later/],
    [
      "an error beside an empty list",
      '{"error":"database is down","orders":[]}',
      "application/json",
      /reports an error: database is down/,
    ],
    [
      "an error beside null",
      '{"error":"database is down","orders":null}',
      "application/json",
      /reports an error: database is down/,
    ],
    ["an error in capitals beside an empty list", '{"Error":"down","orders":[]}', "application/json", /an error: down/],
    [
      "a code beside an empty list",
      '{"code":500,"message":"internal error","orders":[]}',
      "application/json",
      /reports an error: internal error/,
    ],
    ["a message beside null", '{"message":"Unauthenticated.","orders":null}', "application/json", /Unauthenticated/],
    ["two lists of one name", '{"orders":[],"orders":[]}', "application/json", /has \$\.orders more than once/],
    ["an error one level down", '{"data":{"error_text":"down"},"orders":[]}', "application/json", /an error: down/],
    ["a text", '"orders"', "application/json", /a string was found at \$/],
    [
      "an object instead of the list",
      '{"orders":{}}',
      "application/json",
      /\$\.orders of the answer is no list but an object/,
    ],
  ])("confirms nothing, keeps nothing and says what was seen: %s", async (_name, body, contentType, words) => {
    const t = await startTestBridge();
    const [id] = createOrders(t, 1);
    answerOnce(t, body, contentType);
    const before = dumpTables(t);
    expect(await t.run("orders")).toMatchObject({
      outcome: "failed",
      error: { message: expect.stringMatching(words) },
    });
    expect(confirmBodies(t)).toEqual([]);
    expect(dumpTables(t)).toBe(before);
    expect(watermarks(t)).toEqual([]);
    await t.run("orders");
    expect(t.rows("SELECT order_id FROM orders")).toEqual([{ order_id: id }]);
    expectComplete(t);
  });

  itWhole.each([
    ["the batch", {}, "batch-7", "its confirm waits until it is served without one", []],
    ["its orders", { orders: { confirm: { body: { ids: "{order_ids}" } } } }, "batch-7", "it is confirmed", ["ids"]],
    ["nothing", { orders: { confirm: { body: {} } } }, null, "its confirm waits until it comes round", []],
    ["whatever there is, without an id", {}, null, "it is confirmed", ["order_ids"]],
  ])("stores orders beside an error; where a confirm names %s, …", async (_name, settings, id, _what, named) => {
    const confirmForm: "everything" | "batch_id" = Object.hasOwn(settings, "orders") ? "everything" : "batch_id";
    const t = await startTestBridge({ settings, sandbox: { options: { handOut: "repeat", confirmForm } } });
    const ids = createOrders(t, 2);
    const records = ids.map((order) => t.sandbox.service.newestText(order));
    const head = id === null ? "" : `"batch_id":"${id}",`;
    answerOnce(t, `{"error":"replica is behind",${head}"orders":[${records.join(",")}]}`);
    expect(await t.run("orders")).toMatchObject({
      outcome: "failed",
      error: { code: "unavailable", message: "The answer reports an error: replica is behind" },
    });
    expect(orderCount(t)).toBe(2);
    // Where its orders are named, the batch is confirmed at once, and the pass goes on to the next answer.
    const keys = confirmBodies(t).map((body) => Object.keys(JSON.parse(body!) as object)[0]);
    expect(keys.slice(0, named.length || 1)).toEqual(named);
    for (let pass = 0; pass < 4; pass++) await t.run("orders");
    expectComplete(t);
    expect(t.rows("SELECT revision FROM orders")).toEqual([{ revision: 1 }, { revision: 1 }]);
  });

  itWhole("lets confirms of what is durable go on", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", batchIdKind: "none", confirmForm: "order_ids" } },
    });
    createOrders(t, 1);
    t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
    await t.run("orders");
    answerOnce(t, "<html>", "text/html");
    expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "answer_unreadable" } });
    expectComplete(t);
  });
});

describe("a batch under other names than the configuration's", () => {
  const renamed: SandboxOptionsPatch = {
    handOut: "next",
    redeliverAfterMs: null,
    shape: { batch: ["result", "заказы"], batchId: ["result", "id"] },
  };
  const right = { orders: { batch: { orders: "$.result.заказы", id: "$.result.id" } } };

  itWhole("is kept once and read first after the configuration is put right", async () => {
    const t = await startTestBridge({ sandbox: { options: renamed } });
    createOrders(t, 3);
    expect(await t.run("orders")).toMatchObject({
      error: { code: "answer_shape", message: expect.stringContaining("result") },
    });
    expect(t.rows("SELECT state, order_count, last_error FROM batches")).toEqual([
      { state: "unread", order_count: 0, last_error: expect.stringContaining("$.orders") },
    ]);
    expect(confirmBodies(t)).toEqual([]);
    expect(watermarks(t)).toEqual([]);
    t.clock.advance(3_600_000);
    await t.restart(right);
    const before = t.sandbox.ledger.entries.length;
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 3, confirmed: 1 } });
    expect(t.sandbox.ledger.entries.slice(before).map(({ kind }) => kind)).toEqual(["confirm", "orders"]);
    expect(batchStates(t)).toEqual(["confirmed"]);
    // Changes are followed from when the orders were handed out, not from when they could be read.
    expect(watermarks(t)).toEqual([{ stream: "updates", value: "Sun, 01 Mar 2026 12:00:00 GMT" }]);
    expectComplete(t);
  });

  it("is where following changes begins, also when an empty answer was understood in between", async () => {
    const t = await startTestBridge({ sandbox: { options: { ...renamed, emptyForm: "bare-list" } } });
    createOrders(t, 1);
    await t.run("orders");
    t.clock.advance(3_600_000);
    expect(await t.run("orders")).toMatchObject({ outcome: "idle" });
    expect(watermarks(t)).toEqual([{ stream: "updates", value: "Sun, 01 Mar 2026 12:00:00 GMT" }]);
  });

  itWhole("is kept once however often it is served", async () => {
    const t = await startTestBridge({ sandbox: { options: { ...renamed, handOut: "repeat" } } });
    createOrders(t, 3);
    for (let poll = 0; poll < 30; poll++) await t.run("orders");
    expect(batchStates(t)).toEqual(["unread"]);
    await t.restart(right);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole("stays kept under a configuration that is still wrong, and is not read again for nothing", async () => {
    const t = await startTestBridge({ sandbox: { options: renamed } });
    addFormerBatches(t);
    createOrders(t, 1);
    await t.run("orders");
    await t.restart({ orders: { batch: { orders: "$.result.orders" } } });
    await t.run("orders");
    expect(t.rows("SELECT state, last_error FROM batches WHERE id > 2")).toEqual([
      { state: "unread", last_error: expect.stringContaining("заказы") },
    ]);
    const before = dumpTables(t);
    await t.run("orders");
    expect(dumpTables(t)).toBe(before);
    await t.restart(right);
    await t.run("orders");
    expectNothingLost(t);
    // The processes before were not ended: their last answers may be missing, and may have had other orders under this name.
    for (let polls = 0; polls < LOSS_POLLS; polls++) await t.run("orders");
    expect(t.sandbox.ledger.ofKind("confirm")).toEqual([]);
    t.clock.advance(LOSS_MS);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole("is asked for every five minutes once twenty are kept, and all of them are read later", async () => {
    const t = await startTestBridge({ sandbox: { options: { ...renamed, batchSize: 1 } } });
    createOrders(t, 25);
    for (let poll = 0; poll < 30; poll++) await t.run("orders");
    expect(batchStates(t)).toHaveLength(20);
    expect(t.sandbox.ledger.ofKind("orders")).toHaveLength(20);
    expect(t.rows("SELECT reason FROM holds")).toEqual([{ reason: "unread" }]);
    t.clock.advance(300_000);
    for (let poll = 0; poll < 3; poll++) await t.run("orders");
    expect(batchStates(t)).toHaveLength(21);
    await t.restart(right);
    t.clock.advance(300_000);
    for (let poll = 0; poll < 2; poll++) await t.run("orders");
    expect(orderCount(t)).toBe(25);
    expect(t.rows("SELECT reason FROM holds")).toEqual([]);
    expectComplete(t);
  });

  itWhole("goes on by itself where twenty answers had another shape and the service is well again", async () => {
    const t = await startTestBridge();
    createOrders(t, 2);
    for (let minute = 0; minute < 25; minute++) {
      t.clock.advance(60_000);
      answerOnce(t, `{"result":[{"minute":${minute}}]}`);
      await t.run("orders");
    }
    expect(t.rows("SELECT reason FROM holds")).toEqual([{ reason: "unread" }]);
    expect(confirmBodies(t)).toEqual([]);
    for (let minute = 0; minute < 12; minute++) {
      t.clock.advance(300_000);
      await t.run("orders");
    }
    expect(orderCount(t)).toBe(2);
    expect(t.rows("SELECT reason FROM holds")).toEqual([]);
    expect(t.rows("SELECT count(*) AS n FROM batches WHERE state = 'confirmed'")).toEqual([{ n: 1 }]);
  });

  itWhole("needs the batch's id where somebody wrote its path, or where the confirm names it", async () => {
    for (const orders of [{ batch: { id: "$.number" } }, { confirm: { body: { id: "{batch_id}" } } }]) {
      const t = await startTestBridge({
        settings: { orders },
        sandbox: { options: { batchIdKind: "none", handOut: "next" } },
      });
      createOrders(t, 1);
      expect(await t.run("orders")).toMatchObject({
        error: { code: "answer_shape", message: expect.stringContaining("(batch id)") },
      });
      expect(batchStates(t)).toEqual(["unread"]);
      await t.restart({});
      await t.run("orders");
      expectComplete(t);
    }
  });
});

it("with two lists of one name is kept, confirmed by nothing, and its orders are stored when they are served alone", async () => {
  const t = await startTestBridge({ sandbox: { options: { handOut: "repeat" } } });
  const [first, second] = createOrders(t, 2).map((order) => t.sandbox.service.newestText(order));
  answerOnce(t, `{"batch_id":"b","orders":[${first}],"orders":[${second}]}`);
  expect(await t.run("orders")).toMatchObject({ error: { code: "answer_shape" } });
  expect(confirmBodies(t)).toEqual([]);
  expect(batchStates(t)).toEqual(["unread"]);
  for (let pass = 0; pass < 4; pass++) {
    t.clock.advance(300_000);
    await t.run("orders");
    await t.run("updates");
  }
  expectComplete(t);
});

describe("an empty answer", () => {
  itSome(1)(["list", "null", "null-parent", "204", "bare-list"] as const)(
    "is quiet and never confirmed: %s",
    async (emptyForm) => {
      const t = await startTestBridge({
        settings: { orders: { batch: { orders: "$.data.batch.orders", id: "$.data.batch.id" } } },
        sandbox: {
          options: { emptyForm, shape: { batch: ["data", "batch", "orders"], batchId: ["data", "batch", "id"] } },
        },
      });
      await t.run("orders");
      const before = dumpTables(t);
      for (let poll = 0; poll < 3; poll++)
        expect(await t.run("orders")).toMatchObject({ outcome: "idle", error: null, counts: {} });
      expect(dumpTables(t)).toBe(before);
      expect(confirmBodies(t)).toEqual([]);
      expect(t.logs.filter(({ level }) => level !== "debug")).toEqual([]);
    },
  );
});

describe("a path that every order must have", () => {
  itWhole.each([
    ["$.id", { order_id: "$.id" }],
    ["$.state", { status: "$.state" }],
    ["$.lines", { lines: "$.lines" }],
    ["$.номер", { number: "$.номер" }],
  ])("is a wrong configuration while no order has ever had it: %s", async (path, fields) => {
    const t = await startTestBridge({
      settings: { orders: { fields } },
      sandbox: { options: { handOut: "next", redeliverAfterMs: null } },
    });
    createOrders(t, 5);
    expect(await t.run("orders")).toMatchObject({
      error: { code: "answer_shape", message: expect.stringContaining(path) },
    });
    expect(orderCount(t)).toBe(0);
    expect(t.rows("SELECT * FROM quarantine")).toEqual([]);
    expect(batchStates(t)).toEqual(["unread"]);
    await t.restart({});
    await t.run("orders");
    expectComplete(t);
  });

  itWhole(
    "is a single order's fault once it has matched, and what was kept for the lack of it is read then",
    async () => {
      const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
      t.sandbox.service.createOrder({ raw: '{"order_id":"11111111-2222-4333-8444-555555555555","items":[]}' });
      expect(await t.run("orders")).toMatchObject({
        error: { code: "answer_shape", message: expect.stringContaining("$.status") },
      });
      createOrders(t, 1);
      await t.run("orders");
      await t.run("orders");
      expect(orderCount(t)).toBe(1);
      expect(t.rows("SELECT reason FROM quarantine")).toEqual([{ reason: "$.status (status) is missing" }]);
      expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
    },
  );

  it("may be absent where it is only a default that nobody wrote down", async () => {
    const t = await startTestBridge({
      sandbox: { options: { shape: { order: { number: null, currency: null, total: null } } } },
    });
    createOrders(t, 2);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 2 } });
    expect(t.rows("SELECT DISTINCT number, currency, total FROM orders")).toEqual([
      { number: null, currency: null, total: null },
    ]);
  });

  itWhole("may be absent later where somebody wrote it down and it has matched once", async () => {
    const t = await startTestBridge({ settings: { orders: { fields: { number: "$.number" } } } });
    createOrders(t, 1);
    await t.run("orders");
    t.sandbox.service.setOptions({ shape: { order: { number: null } } });
    createOrders(t, 1);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 1 } });
  });
});
