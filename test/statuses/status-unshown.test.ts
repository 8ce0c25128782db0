import { describe, expect, it } from "vitest";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;

/** A service that has carried out three statuses, and from now on accepts them in the same words and keeps them for later. */
async function startIdleService({ shown = "packed" }: { shown?: string } = {}) {
  const bridge = await startStatusBridge({ orders: 8 });
  const { ids, ask, send, sandbox, states, run, clock } = bridge;
  for (const id of ids.slice(0, 3)) ask(id, shown);
  await send();
  expect(states()).toEqual(["sent", "sent", "sent"]);
  const handle = sandbox.service.handle.bind(sandbox.service);
  const queue: (() => void)[] = [];
  sandbox.service.handle = (asked) => {
    const [, orderId] = /orders\/([^/]+)\/status$/.exec(asked.path) ?? [];
    if (asked.method === "GET" || orderId === undefined) return handle(asked);
    queue.push(() => void handle(asked));
    const { status } = JSON.parse(asked.body.toString("utf8")) as { status: string };
    const body = Buffer.from(JSON.stringify({ ok: true, order_id: orderId, status }));
    return { status: 200, headers: { "content-type": "application/json" }, body, delivery: { kind: "plain" } };
  };
  /** The newest of them, or all. */
  const carryOut = (count = queue.length) => {
    for (const each of queue.splice(-count)) each();
  };
  const live = async (minutes: number) => {
    for (let passed = 0; passed < minutes; passed += 5) {
      clock.advance(5 * MINUTE_MS);
      await run("updates");
      await run("statuses");
    }
  };
  return { ...bridge, received: () => queue.length, carryOut, live, conditions: () => conditionsOf(bridge) };
}

function conditionsOf({ bridge, clock }: Pick<StatusBridge, "bridge" | "clock">): { code: string; params: unknown }[] {
  const now = { nowMs: clock.nowMs(), isRunning: true };
  const conditions = listConditions(loadFacts(bridge.store), now, { erpReadWithinMs: 1e12 });
  return conditions.filter(({ code }) => code === "unshown_statuses").map(({ code, params }) => ({ code, params }));
}

describe("a status that the service accepts and does not carry out", () => {
  it("is told to the ERP after an hour, and by status from two orders on, until the orders show it", async () => {
    const service = await startIdleService();
    const { ids, ask, send, live, request, conditions, carryOut, received, states } = service;
    const first = ask(ids[3]!, "packed");
    await send();
    await live(55);
    expect(request(first)).toMatchObject({ state: "sent", http_status: 200, last_error: null, unshown_since: null });
    await live(20);
    expect(request(first)).toMatchObject({ state: "sent", http_status: 200, shown_at: null });
    expect(request(first).last_error).toMatch(
      /^accepted at .*, and the order, read again since, still has the status "new"$/,
    );
    expect(conditions()).toEqual([]);
    for (const id of ids.slice(4, 7)) ask(id, "packed");
    await send();
    await live(75);
    expect(conditions()).toEqual([{ code: "unshown_statuses", params: { count: 4 } }]);
    await live(60);
    // Nothing is sent again by itself.
    expect(received()).toBe(4);
    carryOut();
    await live(5);
    expect(conditions()).toEqual([]);
    expect(new Set(states())).toEqual(new Set(["sent"]));
    expect(request(first)).toMatchObject({ last_error: null, unshown_since: null, echo: null });
    expect(request(first)).toHaveProperty("shown_at", expect.any(String));
  });

  itWhole("is told to the ERP alone where no order has ever shown such a status", async () => {
    const { ids, ask, send, live, request, conditions } = await startIdleService({ shown: "accepted" });
    const asked = ids.slice(3, 6).map((id) => ask(id, "packed"));
    await send();
    await live(75);
    for (const id of asked) expect(request(id).last_error).toContain('still has the status "new"');
    expect(conditions()).toEqual([]);
  });

  itWhole("is told of by nobody where the service has it carried out within the hour", async () => {
    const { ids, ask, send, live, request, conditions, carryOut } = await startIdleService();
    const asked = ids.slice(3, 6).map((id) => ask(id, "packed"));
    await send();
    await live(40);
    carryOut();
    await live(60);
    for (const id of asked) expect(request(id)).toMatchObject({ state: "sent", last_error: null, unshown_since: null });
    expect(conditions()).toEqual([]);
  });

  itWhole("is dealt with by deleting its row, or by a new request that the order shows", async () => {
    const { ids, ask, send, live, conditions, carryOut, erp } = await startIdleService();
    const [one] = ids.slice(3, 6).map((id) => ask(id, "packed"));
    await send();
    await live(75);
    expect(conditions()).toMatchObject([{ params: { count: 3 } }]);
    erp.prepare("DELETE FROM status_requests WHERE id = ?").run(one);
    expect(conditions()).toMatchObject([{ params: { count: 2 } }]);
    ask(ids[4]!, "shipped");
    await send();
    carryOut(1);
    await live(5);
    expect(conditions()).toEqual([]);
  });

  itWhole("is not told of by answers that a cache has kept", async () => {
    const { ids, ask, send, live, request, conditions, sandbox } = await startIdleService();
    const asked = ids.slice(3, 6).map((id) => ask(id, "packed"));
    await send();
    const { handle } = sandbox.service;
    sandbox.service.handle = (seen) => {
      const answer = handle(seen);
      return seen.method === "GET" && /orders\/[0-9a-f-]{36}$/.test(seen.path)
        ? { ...answer, headers: { ...answer.headers, age: "60" } }
        : answer;
    };
    await live(75);
    for (const id of asked) expect(request(id)).toMatchObject({ last_error: null, unshown_since: null });
    expect(conditions()).toEqual([]);
  });
});
