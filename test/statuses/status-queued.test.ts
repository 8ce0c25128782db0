import { describe, expect, it } from "vitest";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { acceptForms } from "../../src/pass/accept-forms.ts";
import { planUnseen } from "../../src/statuses/judge-status.ts";
import { acceptNewForms } from "../../src/statuses/status-rows.ts";
import { STATUS_PATH, type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const HOUR = 60;
const MINUTE_MS = 60_000;

/** A service that has accepted statuses at once, and puts them into a queue from now on, by an answer of its own. */
async function startQueue(answer = { status: 202, body: '{"queued":true}' }) {
  const bridge = await startStatusBridge({ orders: 5 });
  const { ids, ask, send, sandbox, states } = bridge;
  for (const id of ids.slice(0, 3)) ask(id, "paid");
  await send();
  expect(states()).toEqual(["sent", "sent", "sent"]);
  const handle = sandbox.service.handle.bind(sandbox.service);
  const queue: (() => void)[] = [];
  const received = () => queue.length;
  sandbox.service.handle = (asked) => {
    if (asked.method === "GET" || !asked.path.endsWith("/status")) return handle(asked);
    queue.push(() => void handle(asked));
    const headers = { "content-type": "application/json" };
    return { status: answer.status, headers, body: Buffer.from(answer.body), delivery: { kind: "plain" } };
  };
  const end = () => {
    sandbox.service.handle = handle;
    for (const carryOut of queue.splice(0)) carryOut();
  };
  /** The service has lost its queue, and sets statuses at once again. */
  const lose = () => {
    sandbox.service.handle = handle;
    queue.length = 0;
  };
  return { ...bridge, received, end, lose, sendFor: bridge.sendFor, restart: bridge.restart };
}

function conditions({ bridge, clock }: Pick<StatusBridge, "bridge" | "clock">) {
  const now = { nowMs: clock.nowMs(), isRunning: true };
  return listConditions(loadFacts(bridge.store), now, { erpReadWithinMs: 1e12 }).filter(
    ({ code }) => code === "unsettled_statuses",
  );
}

describe("a status that the service puts into a queue", () => {
  it.each([{ kind: "reset" }, { kind: "status", status: 502 }] as const)(
    "goes again as any other one where the request after an hour is not answered: %j",
    async (action) => {
      const t = await startQueue();
      const id = t.ask(t.ids[3]!, "packed");
      await t.sendFor(HOUR - 2);
      t.lose();
      t.sandbox.faults.add({ match: { path: "status" }, when: "before", times: 1, do: action });
      await t.sendFor(HOUR);
      expect(t.request(id)).toMatchObject({ state: "sent" });
      expect(t.sandbox.service.statusOf(t.ids[3]!)).toBe("packed");
    },
  );

  itWhole.each([
    { status: 202, body: '{"queued":true}' },
    { status: 200, body: '{"job":"a1"}' },
    { status: 202, body: "" },
  ])("is sent twice at most in four hours, and is sent once the order shows it: $body", async (answer) => {
    const t = await startQueue(answer);
    const id = t.ask(t.ids[3]!, "packed");
    await t.sendFor(HOUR - 2);
    expect(t.received()).toBe(1);
    expect(t.request(id)).toMatchObject({
      state: "sending",
      last_error: expect.stringContaining("not seen at the order since"),
    });
    await t.sendFor(3 * HOUR, 5);
    expect(t.received()).toBe(2);
    t.end();
    await t.sendFor(HOUR + 1, 5);
    expect(t.request(id)).toMatchObject({ state: "sent", last_error: null, new_form: null });
  });

  it("is sent at once where its order shows it, also while another one waits", async () => {
    const t = await startQueue();
    const id = t.ask(t.ids[3]!, "packed");
    t.ask(t.ids[3]!, "shipped");
    const { handle } = t.sandbox.service;
    t.sandbox.service.handle = (asked) => {
      const answer = handle(asked);
      if (t.received() > 0) t.end();
      return answer;
    };
    const at = t.clock.nowMs();
    await t.send();
    expect(t.clock.nowMs() - at).toBeLessThan(1_000);
    expect(t.request(id)).toMatchObject({ state: "sent" });
    expect(t.effects(t.ids[3]!)).toEqual(["packed", "shipped"]);
  });

  it("is looked for again as soon as its order has changed, and what waits for it leaves", async () => {
    const t = await startQueue();
    const [, , , order = ""] = t.ids;
    t.ask(order, "packed");
    t.ask(order, "shipped");
    await t.run("updates");
    await t.sendFor(40);
    const reads = () => t.sandbox.ledger.ofKind("snapshot").filter(({ path }) => path.includes(order)).length;
    const before = reads();
    await t.sendFor(2);
    expect(reads()).toBe(before);
    // Another change is no reason to send anything.
    t.sandbox.service.changeOrder(order, { lines: [{ sku: "A", quantity: "7", price: "100.00" }] });
    await t.run("updates");
    await t.sendFor(2);
    expect([t.states().slice(3), t.received()]).toEqual([["sending", "pending"], 1]);
    expect(reads()).toBeLessThanOrEqual(before + 2);
    t.end();
    await t.run("updates");
    await t.sendFor(1);
    expect(t.states().slice(3)).toEqual(["sent", "sent"]);
    expect(t.effects(order)).toEqual(["packed", "shipped"]);
  });

  itWhole("is sent three times at most, also over restarts, and the order is read ever more seldom", async () => {
    const t = await startQueue();
    t.ask(t.ids[3]!, "packed");
    for (let days = 0; days < 3; days++) {
      await t.restart({ statuses: { path: STATUS_PATH } });
      await t.sendFor(24 * HOUR, 10);
    }
    expect(t.received()).toBe(3);
    const reads = t.sandbox.ledger.ofKind("snapshot").length;
    await t.sendFor(24 * HOUR, 10);
    expect(t.sandbox.ledger.ofKind("snapshot").length - reads).toBeLessThanOrEqual(25);
    expect(t.received()).toBe(3);
  });

  itWhole("goes again at once where a word speaks against an acceptance", async () => {
    const t = await startQueue({ status: 200, body: '{"queued":false}' });
    t.ask(t.ids[3]!, "packed");
    await t.sendFor(20);
    expect(t.received()).toBeGreaterThan(1);
  });

  itWhole("is settled by a person who says that such answers are acceptances", async () => {
    const t = await startQueue();
    const id = t.ask(t.ids[3]!, "packed");
    await t.sendFor(20);
    const { store } = t.bridge;
    store.write(() => {
      acceptForms(store, [`POST ${STATUS_PATH}`]);
      acceptNewForms(store, new Date(t.clock.nowMs()).toISOString());
    });
    expect(t.request(id)).toMatchObject({ state: "sent", last_error: null });
    const next = t.ask(t.ids[4]!, "packed");
    await t.sendFor(1);
    expect(t.request(next)).toMatchObject({ state: "sent", http_status: 202 });
    expect(t.received()).toBe(2);
  });

  itWhole("is settled where the form has become usual meanwhile", async () => {
    const t = await startQueue();
    const id = t.ask(t.ids[3]!, "packed");
    await t.sendFor(20);
    const { store } = t.bridge;
    store.write(() => acceptForms(store, [`POST ${STATUS_PATH}`]));
    await t.sendFor(40);
    expect(t.request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(t.received()).toBe(1);
  });
});

describe("statuses that have left and are not settled", () => {
  it("are said after a quarter of an hour, since the first one left", async () => {
    const t = await startQueue();
    for (const order of t.ids.slice(3)) t.ask(order, "packed");
    await t.sendFor(14);
    expect(conditions(t)).toEqual([]);
    await t.sendFor(3);
    const [told, ...others] = conditions(t);
    expect(others).toEqual([]);
    expect(told).toMatchObject({ subject: "statuses", params: { count: 2 } });
    const sinceMs = Date.parse(told!.since!);
    expect(t.clock.nowMs() - sinceMs).toBeGreaterThan(15 * MINUTE_MS);
    t.end();
    await t.sendFor(HOUR, 5);
    expect(conditions(t)).toEqual([]);
  });

  itWhole("are said whatever the cause", async () => {
    const t = await startStatusBridge();
    t.ask(t.ids[0]!, "packed");
    t.sandbox.faults.add({ match: { path: "status" }, times: "forever", do: { kind: "status", status: 500 } });
    await t.sendFor(17);
    expect(conditions(t)).toMatchObject([{ params: { count: 1 } }]);
  });
});

describe("what becomes of a status that its order does not show", () => {
  const minutes = (n: number) => n * MINUTE_MS;
  it.each([
    [0, 0, { kind: "wait", ms: minutes(1), repeatMs: minutes(60) }],
    [20, 0, { kind: "wait", ms: minutes(20), repeatMs: minutes(60) }],
    [50, 0, { kind: "wait", ms: minutes(10), repeatMs: minutes(60) }],
    [60, 0, { kind: "repeat" }],
    [60, 1, { kind: "wait", ms: minutes(60), repeatMs: minutes(1440) }],
    [1440, 1, { kind: "repeat" }],
    [100_000, 2, { kind: "wait", ms: minutes(60), repeatMs: undefined }],
    [59, 0, { kind: "wait", ms: minutes(1), repeatMs: minutes(60) }, true],
    [100_000, 2, { kind: "repeat" }, true],
  ])("after %i minutes and %i repetitions", (since, repeats, plan, isOtherAccepted = false) => {
    expect(planUnseen({ sinceMs: minutes(since), repeats, isOtherAccepted })).toEqual(plan);
  });
});
