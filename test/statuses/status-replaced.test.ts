import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { STATUS_PATH, type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

/** A request that was lost may arrive for so long. */
const QUIET = { service: { timeouts: { headers: "4m", total: "5m" } } };

/** Runs `happens` when the next status has come to the service, which has not answered yet. */
function whileOnItsWay({ sandbox }: StatusBridge, happens: () => void): void {
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (asked) => {
    if (asked.method === "GET" || !asked.path.endsWith("/status")) return handle(asked);
    sandbox.service.handle = handle;
    const answer = handle(asked);
    happens();
    return answer;
  };
}

const fail = ({ sandbox }: StatusBridge, action: FaultAction, times: number | "forever" = 1) =>
  sandbox.faults.add({ match: { path: "status" }, times, do: action });

const INSERT = "INSERT INTO status_requests (id, order_id, status, comment) SELECT id, order_id,";
/** How an ERP writes another request under the id of one. */
const WAYS = {
  "INSERT OR REPLACE": `REPLACE INTO status_requests (id, order_id, status) SELECT id, order_id, 'shipped' FROM status_requests`,
  "an upsert": `${INSERT} 'shipped', NULL FROM status_requests WHERE true
     ON CONFLICT (id) DO UPDATE SET status = excluded.status, state = 'pending'`,
  "an upsert of the values alone": `${INSERT} 'shipped', NULL FROM status_requests WHERE true
     ON CONFLICT (id) DO UPDATE SET status = excluded.status`,
  "DELETE and INSERT": `CREATE TEMP TABLE former AS SELECT * FROM status_requests; DELETE FROM status_requests;
     ${INSERT} 'shipped', NULL FROM former`,
};
const REPLACE = WAYS["INSERT OR REPLACE"];

describe("a row that is another request by the time at which the former one is answered", () => {
  itWhole.each(Object.entries(WAYS))("is sent itself: %s", async (_way, sql) => {
    const bridge = await startStatusBridge();
    const { ids, ask, erp, send, request, effects } = bridge;
    const id = ask(ids[0]!, "packed");
    whileOnItsWay(bridge, () => void erp.exec(sql));
    await send();
    expect(effects()).toEqual(["packed", "shipped"]);
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200, attempts: 1, status_before: "packed" });
  });

  it("is sent to its own order, where it is for another one", async () => {
    const bridge = await startStatusBridge({ orders: 2 });
    const { ids, ask, erp, send, states, effects } = bridge;
    ask(ids[0]!, "packed");
    whileOnItsWay(bridge, () => {
      erp
        .prepare("REPLACE INTO status_requests (id, order_id, status) SELECT id, ?, status FROM status_requests")
        .run(ids[1]);
    });
    await send();
    expect([effects(ids[0]), effects(ids[1]), states()]).toEqual([["packed"], ["packed"], ["sent"]]);
  });

  itWhole.each([
    ["comment", "UPDATE status_requests SET comment = 'parcel 2'"],
    ["data", `UPDATE status_requests SET data = '{"parcel":2}'`],
  ])("is sent itself where only its %s is another", async (_column, sql) => {
    const settings = { statuses: { body: { status: "{status}", comment: "{comment}", parcel: "{parcel}" } } };
    const bridge = await startStatusBridge({ settings });
    const { ids, ask, erp, send, states, posts } = bridge;
    ask(ids[0]!, "packed", { comment: "parcel 1", data: '{"parcel":1}' });
    whileOnItsWay(bridge, () => void erp.exec(sql));
    await send();
    expect(posts()).toHaveLength(2);
    expect(states()).toEqual(["sent"]);
  });

  itWhole("leaves once where it is the same request, inserted anew", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, erp, send, states, effects } = bridge;
    ask(ids[0]!, "packed");
    whileOnItsWay(bridge, () => void erp.exec(REPLACE.replace("'shipped'", "status")));
    await send();
    expect([effects(), states()]).toEqual([["packed"], ["sent"]]);
  });

  itWhole.each([
    ["is refused", { kind: "status", status: 422, body: '{"error":"no"}' }],
    ["has no place", { kind: "status", status: 404 }],
    ["is turned away", { kind: "status", status: 423 }],
    ["fails", { kind: "status", status: 500 }],
    ["is answered in a new form", { kind: "raw", contentType: "application/json", body: '{"queued":true}' }],
    ["is answered with another status", { kind: "raw", contentType: "application/json", body: '{"status":"new"}' }],
    ["gets no answer", { kind: "reset" }],
  ] satisfies [string, FaultAction][])("is sent itself where the former one %s", async (_outcome, action) => {
    const bridge = await startStatusBridge({ orders: 3 });
    const { ids, ask, erp, send, sendFor, request, effects } = bridge;
    ask(ids[1]!, "paid");
    ask(ids[2]!, "paid");
    await send();
    erp.exec("DELETE FROM status_requests");
    const id = ask(ids[0]!, "packed");
    fail(bridge, action);
    whileOnItsWay(bridge, () => void erp.exec(REPLACE));
    await send();
    expect(request(id).state).not.toBe("refused");
    await sendFor(5);
    expect(effects(ids[0])).toEqual(["shipped"]);
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200, last_error: null, attempts: 1 });
  });

  itWhole("waits until the former one can no longer arrive", async () => {
    const bridge = await startStatusBridge({ settings: QUIET });
    const { ids, ask, erp, send, sendFor, effects, states } = bridge;
    ask(ids[0]!, "packed");
    bridge.sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    whileOnItsWay(bridge, () => void erp.exec(REPLACE));
    await send();
    expect([effects(), states()]).toEqual([["packed"], ["pending"]]);
    await sendFor(6);
    expect([effects(), states()]).toEqual([["packed", "shipped"], ["sent"]]);
  });

  itWhole("begins anew where it was changed while the former one was lost", async () => {
    const bridge = await startStatusBridge({ settings: QUIET });
    const { ids, ask, erp, send, sendFor, effects, request } = bridge;
    const id = ask(ids[0]!, "packed");
    fail(bridge, { kind: "reset" });
    await send();
    expect(request(id)).toMatchObject({ state: "sending" });
    erp.exec("UPDATE status_requests SET status = 'shipped'");
    await sendFor(10);
    expect(effects()).toEqual(["shipped"]);
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200, attempts: 1, last_error: null });
  });

  itWhole("does not wait as long as the former one, which failed", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, erp, send, clock, effects, states } = bridge;
    ask(ids[0]!, "packed");
    fail(bridge, { kind: "status", status: 423 }, "forever");
    await send();
    await bridge.sendFor(20);
    bridge.sandbox.faults.clear();
    erp.exec(WAYS["an upsert"]);
    clock.advance(1_000);
    await send();
    expect([effects(), states()]).toEqual([["shipped"], ["sent"]]);
  });

  itWhole.each([
    ["INSERT OR REPLACE", REPLACE],
    ["an upsert", WAYS["an upsert"]],
  ])("is not refused because the former one was: %s", async (_way, sql) => {
    const bridge = await startStatusBridge({ orders: 2 });
    const { ids, ask, erp, send, sendFor, request } = bridge;
    const id = ask(ids[0]!, "packed");
    const no: FaultAction = { kind: "status", status: 422, body: '{"error":"no"}' };
    fail(bridge, no);
    await send();
    expect(request(id)).toMatchObject({ state: "pending", http_status: 422 });
    erp.exec(sql);
    ask(ids[1]!, "paid");
    bridge.sandbox.faults.add({ match: { path: "status", order: ids[0]! }, times: 1, do: no });
    await sendFor(1);
    expect(request(id).state).not.toBe("refused");
    await sendFor(5);
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
  });

  itWhole("has read nothing of an order that takes the place of the former one in the same row", async () => {
    const bridge = await startStatusBridge({ orders: 2 });
    const { ids, ask, erp, send, sandbox, run, clock, request, effects } = bridge;
    sandbox.service.changeOrder(ids[1]!, { status: "cancelled" });
    clock.advance(60_000);
    await run("updates");
    erp.prepare("INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, 'packed', 1)").run(ids[0]);
    const id = ask(ids[0]!, "shipped");
    erp.exec("DELETE FROM status_requests WHERE status = 'packed'; UPDATE status_requests SET known_revision = 2");
    erp.exec("UPDATE orders SET revision = 2 WHERE status = 'new'");
    whileOnItsWay(bridge, () => void erp.prepare("UPDATE status_requests SET order_id = ?").run(ids[1]));
    await send();
    expect(effects(ids[1])).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused", last_error: expect.stringContaining("cancelled") });
  });

  itWhole("is the same one where its values are nearly as long as can be sent", async () => {
    const { ids, ask, send, states, posts } = await startStatusBridge();
    ask(ids[0]!, "packed", { comment: "x".repeat(999_993) });
    await send();
    await send();
    expect([posts().length, states()]).toEqual([1, ["sent"]]);
  });

  itWhole("counts as not answered also in another process", async () => {
    const bridge = await startStatusBridge({ orders: 2 });
    const { ids, ask, erp, send, request } = bridge;
    const id = ask(ids[0]!, "packed");
    await send();
    erp.exec(WAYS["an upsert"]);
    ask(ids[1]!, "paid");
    await bridge.restart({ statuses: { path: STATUS_PATH } });
    await bridge.run("updates");
    bridge.sandbox.faults.add({
      match: { path: "status", order: ids[0]! },
      times: 1,
      do: { kind: "status", status: 422, body: '{"error":"no"}' },
    });
    await send();
    await bridge.sendFor(1);
    expect(request(id).state).not.toBe("refused");
  });
});
