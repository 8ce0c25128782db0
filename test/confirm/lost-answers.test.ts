import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import type { SandboxResponse } from "../../src/sandbox/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  addFormerBatches,
  batchStates,
  confirmBodies,
  createOrders,
  expectComplete,
  expectNothingLost,
} from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const OLD = "0f8c1e2a-0000-4000-8000-00000000000a";
const NEW = "0f8c1e2a-0000-4000-8000-00000000000b";
const MINUTE_MS = 60_000;

/** A service whose batches all have the same name, as one that was restored and counts them from the beginning again. */
interface OneName {
  /** What a GET hands out from now on; empty: nothing. */
  handsOut: string | undefined;
  /** The answer to the next GET is lost on the way. */
  losesNext: boolean;
  /** What becomes of confirms. */
  confirms: "lost" | "accepted";
  /** Bodies of the confirms that were accepted. */
  accepted: string[];
}

function asOneName({ sandbox }: TestBridge): OneName {
  const service: OneName = { handsOut: OLD, losesNext: false, confirms: "lost", accepted: [] };
  const answer = (status: number, body: string): SandboxResponse => ({
    status,
    headers: { "content-type": "application/json", date: new Date(Date.UTC(2026, 2, 1)).toUTCString() },
    body: Buffer.from(body),
    delivery: { kind: "plain" },
  });
  const lost: SandboxResponse = { status: 0, headers: {}, body: Buffer.alloc(0), delivery: { kind: "reset" } };
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (request) => {
    if (request.path.startsWith("/api/v1/1c/orders/confirm")) {
      if (service.confirms === "lost") return lost;
      service.accepted.push(request.body.toString());
      return answer(200, '{"ok":true}');
    }
    if (request.method !== "GET" || !/\/orders$/.test(request.path.split("?")[0] ?? "")) return handle(request);
    if (service.losesNext) {
      service.losesNext = false;
      return lost;
    }
    const orders =
      service.handsOut === undefined
        ? []
        : [{ order_id: service.handsOut, status: "new", updated_at: "2026-03-01T10:00:00Z", items: [] }];
    return answer(200, JSON.stringify(orders.length === 0 ? { orders } : { batch_id: 7, orders }));
  };
  return service;
}

/** A batch is stored, its confirm is lost, and so is the answer of the next GET. */
async function startWithLoss(
  change: (service: OneName) => void = () => {},
): Promise<TestBridge & { service: OneName }> {
  const t = await startTestBridge();
  addFormerBatches(t);
  const service = asOneName(t);
  await t.run("orders");
  expect(batchStates(t)).toEqual(["stored"]);
  service.confirms = "accepted";
  service.losesNext = true;
  service.handsOut = NEW;
  change(service);
  return Object.assign(t, { service });
}

const noteOf = (t: TestBridge) =>
  t.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'unanswered'")[0]?.value;

/** As after a kill: the note of the GETs stays. */
async function restartKilled(t: TestBridge, note = noteOf(t)): Promise<void> {
  await t.restart();
  t.bridge.store.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('unanswered', ?)").run(note);
}

describe("a confirm that waits when an answer of GET /orders is lost", () => {
  it("leaves once what was lost is served again and stored", async () => {
    const t = await startWithLoss();
    expect(await t.run("orders")).toMatchObject({ outcome: "failed" });
    expect(t.service.accepted).toEqual([]);
    await t.run("orders");
    expect(t.service.accepted).toEqual(['{"batch_id":7}']);
    expect(t.rows("SELECT order_id FROM orders ORDER BY order_id")).toEqual([{ order_id: OLD }, { order_id: NEW }]);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
  });

  itWhole("leaves after ten polls over an hour that serve nothing of that name", async () => {
    const t = await startWithLoss();
    await t.run("orders");
    t.service.handsOut = undefined;
    for (let poll = 0; poll < 9; poll++) {
      t.clock.advance(10 * MINUTE_MS);
      await t.run("orders");
      expect(batchStates(t)).toEqual(["stored"]);
    }
    expect(t.service.accepted).toEqual([]);
    await t.run("orders");
    expect(t.service.accepted).toEqual(['{"batch_id":7}']);
    expect(batchStates(t)).toEqual(["confirmed"]);
  });

  itWhole("leaves where each poll is a program of its own", async () => {
    const t = await startWithLoss();
    await t.run("orders");
    t.service.handsOut = undefined;
    for (let poll = 0; poll < 10; poll++) {
      t.clock.advance(10 * MINUTE_MS);
      await t.restart();
      await t.run("orders");
    }
    expect(batchStates(t)).toEqual(["confirmed"]);
  });

  itWhole("waits also where the program was killed before the answer was stored", async () => {
    const t = await startWithLoss((service) => {
      service.losesNext = false;
      service.confirms = "lost";
    });
    // The second batch of the name is asked for, and nothing of it is left but the note of the GET.
    t.service.handsOut = undefined;
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    let note: string | undefined;
    service.handle = (request) => {
      if (request.method === "GET") note = noteOf(t);
      return handle(request);
    };
    await t.run("orders");
    await restartKilled(t, note);
    t.service.confirms = "accepted";
    await t.run("orders");
    expect(t.service.accepted).toEqual([]);
    t.service.handsOut = NEW;
    await t.run("orders");
    expect(t.service.accepted).toEqual(['{"batch_id":7}']);
  });

  itWhole("waits also where it was refused before, and its hourly turn has come", async () => {
    const t = await startWithLoss();
    t.bridge.store.db.prepare("UPDATE batches SET state = 'refused', last_error = 'no'").run();
    t.clock.advance(59 * MINUTE_MS);
    await t.run("orders");
    t.service.handsOut = undefined;
    t.clock.advance(5 * MINUTE_MS);
    await t.run("orders");
    expect(t.service.accepted).toEqual([]);
  });

  itWhole("waits for ten polls more where its orders are served under another name", async () => {
    const t = await startWithLoss();
    await t.run("orders");
    t.service.handsOut = undefined;
    for (let poll = 0; poll < 9; poll++) await t.run("orders");
    t.clock.advance(61 * MINUTE_MS);
    const { handle } = t.sandbox.service;
    t.sandbox.service.handle = (request) => {
      const response = handle(request);
      if (!/\/orders$/.test(request.path.split("?")[0] ?? "")) return response;
      const order = { order_id: OLD, status: "new", updated_at: "2026-03-01T10:00:00Z", items: [] };
      return { ...response, body: Buffer.from(JSON.stringify({ batch_id: 8, orders: [order] })) };
    };
    await t.run("orders");
    t.sandbox.service.handle = handle;
    for (let poll = 0; poll < 9; poll++) await t.run("orders");
    expect(t.service.accepted).toEqual(['{"batch_id":8}']);
    await t.run("orders");
    expect(t.service.accepted).toEqual(['{"batch_id":8}', '{"batch_id":7}']);
  });
});

describe("an answer of GET /orders that is lost in ordinary operation", () => {
  itWhole("is not assumed where the program was killed after it had stored the last one", async () => {
    const t = await startWithLoss((service) => {
      service.losesNext = false;
      service.confirms = "lost";
    });
    await t.run("orders");
    expect(batchStates(t)).toEqual(["stored", "stored"]);
    await restartKilled(t);
    t.service.confirms = "accepted";
    t.service.handsOut = undefined;
    await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
  });

  it("is not assumed where the program was killed after an empty answer", async () => {
    const t = await startWithLoss((service) => {
      service.losesNext = false;
      service.confirms = "lost";
      service.handsOut = undefined;
    });
    await t.run("orders");
    expect(batchStates(t)).toEqual(["stored"]);
    await restartKilled(t);
    t.service.confirms = "accepted";
    await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed"]);
  });

  it("delays no confirm longer than the batch's next hand-out", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat" } } });
    addFormerBatches(t);
    createOrders(t, 2);
    t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "reset" } });
    await t.run("orders");
    t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
    await t.run("orders");
    expect(batchStates(t)).toEqual(["stored"]);
    await t.run("orders");
    expectComplete(t);
  });

  itWhole.each([
    ["because the batch has no name", "none", {}],
    ["whatever the batch is called", "string", { orders: { confirm: { body: { order_ids: "{order_ids}" } } } }],
  ] as const)(
    "holds back nothing of what comes after it, and no confirm that names its orders %s",
    async (_, batchIdKind, settings) => {
      const t = await startTestBridge({
        settings,
        sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchIdKind, confirmForm: "order_ids" } },
      });
      createOrders(t, 2);
      t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "reset" } });
      await t.run("orders");
      t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
      await t.run("orders");
      createOrders(t, 1);
      await t.run("orders");
      expectNothingLost(t);
      expect(batchStates(t)).toEqual(["confirmed", "confirmed"]);
      expect(confirmBodies(t)).toHaveLength(3);
    },
  );
});

describe("a confirm that is due when the service was set back", () => {
  const idOf = (n: number) => `0f8c1e2a-0000-4000-8000-0000000001${10 + n}`;

  /** Batches a, b and c are stored; the confirms of b and c were answered with 503. Then the service is set back. */
  async function startSetBack(): Promise<
    TestBridge & {
      confirmed: string[];
      /** @param other its status, and another order beside it */
      serve: (name: string, n: number, other?: { status?: string; more?: number }) => Promise<void>;
      /** Whether confirms are answered with 503. */
      setDown: (isDown: boolean) => void;
      /** A poll whose answer is lost. */
      lose: () => Promise<void>;
    }
  > {
    const t = await startTestBridge();
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    const confirmed: string[] = [];
    let [served, isDown]: [object | "lost", boolean] = [{ orders: [] }, false];
    const answer = (status: number, body: object): SandboxResponse => ({
      status,
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(body)),
      delivery: { kind: "plain" },
    });
    service.handle = (request) => {
      if (request.path.endsWith("/orders"))
        return served === "lost" ? { ...answer(0, {}), delivery: { kind: "reset" } } : answer(200, served);
      if (!request.path.endsWith("/confirm")) return handle(request);
      if (isDown) return answer(503, { error: "maintenance" });
      confirmed.push((JSON.parse(request.body.toString()) as { batch_id: string }).batch_id);
      served = { orders: [] };
      return answer(200, { ok: true });
    };
    const serve = async (
      name: string,
      n: number,
      { status = "new", more }: { status?: string; more?: number } = {},
    ) => {
      const others = more === undefined ? [] : [{ order_id: idOf(more), status: "new", items: [] }];
      served = { batch_id: name, orders: [{ order_id: idOf(n), status, items: [] }, ...others] };
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
    };
    await serve("z", 0);
    await serve("a", 1);
    isDown = true;
    await serve("b", 2);
    await serve("c", 3);
    isDown = false;
    confirmed.length = 0;
    // In time for neither: a failed confirm waits before it is sent again.
    t.clock.advance(10 * MINUTE_MS);
    const setDown = (is: boolean) => {
      isDown = is;
    };
    const lose = async () => {
      served = "lost";
      t.clock.advance(MINUTE_MS);
      await t.run("orders");
      served = { orders: [] };
    };
    return Object.assign(t, { confirmed, serve, setDown, lose });
  }

  itWhole.each([
    ["serves a confirmed batch again", "a", 1, ["a"]],
    ["serves another batch under the name of a confirmed one", "a", 7, ["a"]],
    ["serves another batch under the name of a due one", "b", 7, ["b", "b"]],
  ])("waits where it %s", async (_, name, n, confirms) => {
    const t = await startSetBack();
    await t.serve(name, n);
    await t.serve(name, n);
    expect(new Set(t.confirmed)).toEqual(new Set(confirms));
    await t.serve("c", 8);
    expect(t.confirmed).toContain("c");
    expect(t.rows("SELECT order_id FROM orders WHERE order_id = ?", idOf(8))).toHaveLength(1);
  });

  itWhole("waits also after a restart, and leaves where the service has served it no more for an hour", async () => {
    const t = await startSetBack();
    await t.serve("a", 1);
    await t.restart();
    for (let poll = 0; poll < 9; poll++) await t.serve("d", 9);
    expect(t.confirmed).not.toContain("c");
    t.clock.advance(60 * MINUTE_MS);
    await t.serve("e", 10);
    expect(t.confirmed).toContain("c");
  });

  itWhole("waits also where it became due after the first sign, or was served before the last one", async () => {
    const t = await startSetBack();
    await t.serve("a", 1);
    t.setDown(true);
    await t.serve("c", 3);
    await t.serve("d", 9);
    await t.serve("a", 1);
    t.setDown(false);
    t.clock.advance(10 * MINUTE_MS);
    t.confirmed.length = 0;
    await t.serve("z", 0);
    expect(t.confirmed).not.toContain("c");
    expect(t.confirmed).not.toContain("d");
    await t.serve("d", 9);
    expect(t.confirmed).toContain("d");
  });

  it("of a name that other orders had waits where an answer is missing, which may have had it as well", async () => {
    const t = await startSetBack();
    await t.serve("today", 3);
    expect(t.confirmed).toContain("today");
    t.confirmed.length = 0;
    await t.lose();
    await t.serve("today", 4);
    await t.serve("tomorrow", 5);
    expect(t.confirmed).toEqual(["tomorrow"]);
    await t.restart();
    await t.serve("today", 4);
    // It has not failed, and whoever waits for new orders learns of it all the same.
    expect(loadFacts(t.bridge.store).openConfirms).toMatchObject({ count: 1 });
    for (let poll = 0; poll < 9; poll++) await t.serve("tomorrow", 5);
    expect(new Set(t.confirmed)).toEqual(new Set(["tomorrow"]));
    t.clock.advance(60 * MINUTE_MS);
    await t.serve("later", 6);
    expect(t.confirmed).toContain("today");
  });

  it("of a name leaves where it is served again and again as long as it is not confirmed", async () => {
    const t = await startSetBack();
    await t.serve("today", 3);
    await t.serve("c", 3);
    t.confirmed.length = 0;
    await t.lose();
    for (let poll = 0; poll < 5; poll++) await t.serve("today", 4);
    expect(t.confirmed).not.toContain("today");
    await t.restart();
    for (let poll = 0; poll < 6; poll++) await t.serve("today", 4);
    expect(t.confirmed).toContain("today");
  });

  itWhole.each([
    ["the same orders", 3, 0, 1],
    ["other orders long after the loss", 4, 61, 1],
  ])("of a name leaves where it comes with %s", async (_, n, minutes, confirms) => {
    const t = await startSetBack();
    await t.serve("today", 3);
    t.confirmed.length = 0;
    await t.lose();
    for (let poll = 0; poll < 10; poll++) await t.serve("tomorrow", 5);
    t.clock.advance(minutes * MINUTE_MS);
    t.confirmed.length = 0;
    await t.serve("today", n);
    expect(t.confirmed.filter((name) => name === "today")).toHaveLength(confirms);
  });

  itWhole("of a name leaves where it comes again with an order that has changed, and one more", async () => {
    const t = await startSetBack();
    await t.serve("today", 3);
    t.confirmed.length = 0;
    await t.lose();
    await t.serve("today", 3, { status: "paid", more: 4 });
    expect(t.confirmed).toContain("today");
    expect(t.rows("SELECT order_id FROM orders WHERE order_id = ?", idOf(4))).toHaveLength(1);
  });

  it("leaves where the service serves the next one", async () => {
    const t = await startSetBack();
    await t.serve("d", 9);
    expect(t.confirmed.toSorted()).toEqual(["b", "c", "d"]);
  });
});
