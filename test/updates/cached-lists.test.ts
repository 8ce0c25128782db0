import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { readCacheSigns } from "../../src/service/cached-answer.ts";
import { startTestBridge } from "../support/bridge.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { createOrders, expectNothingLost } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const HOUR = { age: "3600", "x-cache": "HIT" };
const json = (body: string, headers: Record<string, string>): FaultAction => ({
  kind: "status",
  status: 200,
  headers: { "content-type": "application/json", ...headers },
  body,
});

/** A cache in front of both lists has what they held before. */
function cacheLists({ sandbox }: Pick<Followed, "sandbox">, headers: Record<string, string>): void {
  sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: json('{"orders":[]}', headers) });
  sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: json('{"updates":[]}', headers) });
}

async function outcomesOf(test: Followed) {
  test.clock.advance(60_000);
  return [await test.run("orders"), await test.run("updates")];
}

describe("what an answer says of a cache", () => {
  it.each<[Record<string, string>, boolean, string | undefined]>([
    [{}, false, undefined],
    [{ age: "0", "x-cache": "MISS" }, false, undefined],
    [{ age: "60", "x-cache": "HIT" }, true, undefined],
    [{ age: "61" }, true, "Age: 61"],
    [{ age: "junk" }, false, undefined],
    [{ "x-cache": "HIT from edge" }, true, "X-Cache: HIT from edge"],
    [{ "x-cache": "MISS, HIT" }, true, "X-Cache: MISS, HIT"],
    [{ "x-cache": "TCP_MEM_HIT from a1" }, true, "X-Cache: TCP_MEM_HIT from a1"],
    [{ "x-cache": "TCP_REFRESH_HIT" }, false, undefined],
    [{ "x-cache-status": "STALE" }, true, "X-Cache-Status: STALE"],
    [{ "x-cache-status": "MISS", "cache-status": "edge; hit; ttl=9" }, true, "Cache-Status: edge; hit; ttl=9"],
    [{ "cache-status": "edge; fwd=miss" }, false, undefined],
    [{ age: "20", "x-cache": "STALE" }, true, "X-Cache: STALE"],
    [{ "cf-cache-status": "STALE" }, true, "CF-Cache-Status: STALE"],
    [{ age: "5", warning: '110 - "Response is Stale"' }, true, 'Warning: 110 - "Response is Stale"'],
    [{ warning: '199 - "x", 111 - "Revalidation Failed"' }, true, 'Warning: 199 - "x", 111 - "Revalidation Failed"'],
    [{ warning: '199 - "1100"' }, false, undefined],
  ])("%j", (headers, isCached, oldBy) => {
    const { mayHaveAsked, ...signs } = readCacheSigns((name) => headers[name]);
    expect(signs).toEqual({ isCached, ...(oldBy !== undefined && { oldBy }) });
    // Only a copy that is stale by its header may follow a request to the service.
    expect(mayHaveAsked === true).toBe(/stale|11[01]\b/i.test(JSON.stringify(headers)));
  });
});

describe("a cache before the lists of orders and changes", () => {
  itWhole("is told of for as long as it answers, and moves no position", async () => {
    const test = await startFollowed(2);
    const before = test.watermark();
    test.sandbox.service.createOrder();
    test.change(test.ids[0]!, { status: "cancelled" });
    cacheLists(test, HOUR);
    for (const { outcome, error } of await outcomesOf(test)) {
      expect(outcome).toBe("failed");
      expect(error).toMatchObject({ code: "answer_unreadable", message: expect.stringContaining("Age: 3600") });
    }
    expect(test.watermark()).toBe(before);
    expect(test.rows("SELECT flow FROM flows WHERE failing_since IS NOT NULL ORDER BY flow")).toEqual([
      { flow: "orders" },
      { flow: "updates" },
    ]);
    test.sandbox.faults.clear();
    for (const { error } of await outcomesOf(test)) expect(error).toBeNull();
    expect(test.statusOf(test.ids[0]!).status).toBe("cancelled");
    expect(test.rows("SELECT order_id FROM orders")).toHaveLength(3);
  });

  it("keeps for a minute without harm", async () => {
    const test = await startFollowed(1);
    cacheLists(test, { age: "30", "x-cache": "HIT" });
    for (const { error } of await outcomesOf(test)) expect(error).toBeNull();
  });

  itWhole("may bring what was never seen: that is stored and confirmed", async () => {
    const test = await startFollowed(1);
    const id = test.sandbox.service.createOrder();
    const order = test.sandbox.service.newestText(id)!;
    test.change(test.ids[0]!, { status: "paid" });
    const change = test.sandbox.service.newestText(test.ids[0]!)!;
    test.sandbox.faults.add({ match: { path: "orders" }, do: json(`{"batch_id":"7","orders":[${order}]}`, HOUR) });
    test.sandbox.faults.add({ match: { path: "updates" }, do: json(`{"updates":[${change}]}`, HOUR) });
    const outcomes = await outcomesOf(test);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
    expect(test.rows("SELECT order_id FROM orders WHERE order_id = ?", id)).toHaveLength(1);
    expect(test.statusOf(test.ids[0]!).status).toBe("paid");
  });

  itWhole("does not show that a lost batch has come round: no confirm without a name covers it", async () => {
    const t = await startTestBridge({
      settings: { orders: { confirm: { body: {} } } },
      sandbox: { options: { confirmForm: "all", handOut: "next", redeliverAfterMs: 3_600_000, batchSize: 1 } },
    });
    createOrders(t, 3);
    t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
    await t.run("orders");
    await t.restart();
    await t.run("orders");
    const second = t.sandbox.ledger.ofKind("orders")[1]?.responseBody ?? "";
    t.sandbox.faults.add({ match: { path: "orders" }, times: 5, do: json(second, HOUR) });
    for (let polls = 0; polls < 5; polls++) {
      t.clock.advance(60_000);
      await t.run("orders");
    }
    expect(t.sandbox.ledger.ofKind("confirm")).toEqual([]);
    expectNothingLost(t);
    t.clock.advance(3_600_000);
    await t.run("orders");
    t.clock.advance(3_600_000);
    await t.run("orders");
    expectNothingLost(t);
    expect(t.sandbox.ledger.ofKind("confirm").length).toBeGreaterThan(0);
  });

  it("keeps the mark of a delivery whose answer a stale copy has taken the place of", async () => {
    const t = await startTestBridge({
      settings: { orders: { confirm: { body: {} } } },
      sandbox: { options: { confirmForm: "all", handOut: "next", redeliverAfterMs: 3_600_000, batchSize: 1 } },
    });
    createOrders(t, 3);
    const stale = json('{"orders":[]}', { warning: '111 - "Revalidation Failed"', age: "240" });
    t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: stale });
    await t.run("orders");
    await t.run("orders");
    expect(t.sandbox.ledger.ofKind("confirm")).toEqual([]);
    expectNothingLost(t);
  });
});
