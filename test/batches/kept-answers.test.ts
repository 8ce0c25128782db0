import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, expectComplete, orderCount } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const JSON_TYPE = "application/json";

function answerOnce({ sandbox }: TestBridge, body: string): void {
  sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: JSON_TYPE, body } });
}

/** Polls every five minutes, and follows the updates, which read what is asked for. */
async function pollFor(t: TestBridge, hours: number): Promise<void> {
  for (let at = 0; at < hours * 12; at++) {
    t.clock.advance(HOUR_MS / 12);
    await t.run("orders");
    await t.run("updates");
  }
}

const kept = ({ rows }: TestBridge) => rows("SELECT id FROM batches WHERE state = 'unread'").length;
const traces = ({ rows }: TestBridge) =>
  rows<{ reason: string; payload: string }>(
    "SELECT reason, payload FROM quarantine WHERE kind = 'batch' AND state = 'released'",
  );
const textOf = ({ sandbox }: TestBridge, id: string) => sandbox.service.newestText(id) ?? "";

describe("a kept answer that cannot be read", () => {
  it("is settled with a trace once its orders are stored, and those that are older are read", async () => {
    const t = await startTestBridge();
    const [old] = createOrders(t, 1) as [string];
    await t.run("orders");
    t.clock.advance(60_000);
    const [id, other] = createOrders(t, 2) as [string, string];
    const list = [old, id, other].map((each) => textOf(t, each)).join();
    answerOnce(t, `{"result":{"shop":"99999999-9999-4999-8999-999999999999","orders":[${list}]}}`);
    await t.run("orders");
    expect(kept(t)).toBe(1);
    await pollFor(t, 0.25);
    expect(kept(t)).toBe(0);
    expect(traces(t)).toEqual([
      { reason: expect.stringMatching(/have been stored since/), payload: expect.stringContaining(id) },
    ]);
    const read = t.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1));
    expect(read).toEqual([old]);
    expectComplete(t);
  });

  itWhole("is settled while confirms fail", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "next", redeliverAfterMs: null } } });
    const ids = createOrders(t, 1);
    answerOnce(t, `{"result":[${ids.map((id) => textOf(t, id)).join()}]}`);
    await t.run("orders");
    expect(kept(t)).toBe(1);
    t.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 500 } });
    for (let polls = 0; polls < 3; polls++) {
      createOrders(t, 1);
      t.clock.advance(HOUR_MS / 12);
      expect(await t.run("orders")).toMatchObject({ error: { code: "unavailable" } });
    }
    expect(kept(t)).toBe(0);
  });

  itWhole("waits while one of its orders is missing, and that one is asked for after an hour", async () => {
    const t = await startTestBridge({ sandbox: { options: { batchSize: 100 } } });
    const [id] = createOrders(t, 1) as [string];
    await t.run("orders");
    const [lost] = createOrders(t, 1) as [string];
    const text = textOf(t, lost);
    answerOnce(t, `{"result":[${textOf(t, id)},${text}]}`);
    await t.run("orders");
    // The service never hands it out again, and does not tell of it.
    t.sandbox.faults.add({
      match: { path: "orders" },
      times: "forever",
      do: { kind: "raw", contentType: JSON_TYPE, body: '{"orders":[]}' },
    });
    t.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "raw", contentType: JSON_TYPE, body: '{"updates":[]}' },
    });
    await pollFor(t, 0.75);
    expect([kept(t), orderCount(t)]).toEqual([1, 1]);
    await pollFor(t, 1);
    expect([kept(t), orderCount(t)]).toEqual([0, 2]);
  });

  itWhole.each([
    ["no id at all", '{"errors":[{"code":17}],"list":[{"text":"Сервис недоступен"}]}'],
    ["ids that the service does not know", '{"list":[{"request":"11111111-2222-4333-8444-555555555555"}]}'],
  ])("is settled half a day later where it names %s", async (_name, body) => {
    const t = await startTestBridge();
    createOrders(t, 2);
    await t.run("orders");
    answerOnce(t, body);
    await t.run("orders");
    await pollFor(t, 11);
    expect(kept(t)).toBe(1);
    await pollFor(t, 2);
    expect(kept(t)).toBe(0);
    expect(traces(t)).toEqual([{ reason: expect.stringContaining("cannot be read"), payload: body }]);
    expect(orderCount(t)).toBe(2);
    expect(t.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  itWhole("counts half a day by the service's own time where the program was started anew", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    answerOnce(t, '{"list":[{"text":"out of order"}]}');
    await t.run("orders");
    for (let restarts = 0; restarts < 12; restarts++) {
      expect(kept(t)).toBe(1);
      await t.restart();
      await pollFor(t, 1);
    }
    await pollFor(t, 1);
    expect(kept(t)).toBe(0);
  });

  itWhole("is one row while the same orders come with another time in each answer", async () => {
    const t = await startTestBridge();
    const ids = createOrders(t, 3);
    const list = (n: number) => ids.map((id) => `{"order_id":"${id}","served":${n}}`).join();
    for (let n = 0; n < 40; n++) {
      t.clock.advance(60_000);
      answerOnce(t, `{"at":${n},"result":[${list(n)}]}`);
      await t.run("orders");
    }
    expect(kept(t)).toBe(1);
    answerOnce(t, `{"at":0,"result":[${list(0)},{"order_id":17}]}`);
    await t.run("orders");
    expect(kept(t)).toBe(2);
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
  });

  itWhole("is read at once under a right mapping, although twenty of them held the pull", async () => {
    const t = await startTestBridge({
      sandbox: { options: { shape: { batch: ["result", "заказы"] }, batchSize: 1, handOut: "next" } },
    });
    createOrders(t, 25);
    for (let poll = 0; poll < 30; poll++) await t.run("orders");
    expect(t.rows("SELECT reason FROM holds")).toEqual([{ reason: "unread" }]);
    await t.restart({ orders: { batch: { orders: "$.result.заказы" } } });
    await t.run("orders");
    expect([kept(t), orderCount(t)]).toEqual([0, 25]);
    expect(t.rows("SELECT reason FROM holds")).toEqual([]);
  });
});
