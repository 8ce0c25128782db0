import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { runs } from "../support/whole.ts";

const RUNS = runs(1, 25);
const ORDERS = 3;
const STATUSES = ["new", "accepted", "packed", "shipped", "cancelled"] as const;
/** Illegal ones are refused; the rest form a graph with ways back. */
const transitions = {
  new: ["accepted", "cancelled"],
  accepted: ["packed", "new", "cancelled"],
  packed: ["shipped", "accepted"],
  shipped: ["packed"],
};

const ACTIONS: FaultAction[] = [
  { kind: "reset" },
  { kind: "html" },
  { kind: "cut", bytes: 3 },
  { kind: "status", status: 500 },
  { kind: "status", status: 401 },
  { kind: "status", status: 404 },
  { kind: "status", status: 429, headers: { "retry-after": "30" } },
  { kind: "status", status: 503, headers: { "retry-after": "60" } },
];

const order = fc.nat(ORDERS - 1);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      order,
      status: fc.constantFrom(...STATUSES, "nonsense"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("ask nobody" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("somebody sets" as const), order, status: fc.constantFrom(...STATUSES) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("somebody edits" as const), order }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("fault" as const),
      path: fc.constantFrom("status" as const, "status" as const, "snapshot" as const),
      when: fc.constantFrom("before" as const, "after" as const),
      times: fc.integer({ min: 1, max: 4 }),
      action: fc.constantFrom(...ACTIONS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("run" as const),
      jobs: fc.subarray(["statuses", "updates", "orders"] as const, { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart in the middle" as const), turns: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 600_000 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface World extends StatusBridge {
  asked: { id: number; orderId: string }[];
  /** Orders that somebody else has touched. */
  touched: Set<string>;
}

async function take(world: World, { step: next }: { step: Step }): Promise<void> {
  const { ids, sandbox, clock } = world;
  switch (next.kind) {
    case "ask": {
      const orderId = ids[next.order]!;
      // The comment names the request, so that the ledger tells whose effect it was.
      const id = world.ask(orderId, next.status, { comment: `request ${world.asked.length + 1}` });
      world.asked.push({ id, orderId });
      return;
    }
    case "ask nobody": {
      const orderId = "00000000-0000-4000-8000-000000000000";
      world.asked.push({
        id: world.ask(orderId, "accepted", { comment: `request ${world.asked.length + 1}` }),
        orderId,
      });
      return;
    }
    case "somebody sets":
      sandbox.service.changeOrder(ids[next.order]!, { status: next.status });
      world.touched.add(ids[next.order]!);
      return;
    case "somebody edits":
      sandbox.service.changeOrder(ids[next.order]!, { lines: [{ sku: `sku ${clock.nowMs()}` }] });
      world.touched.add(ids[next.order]!);
      return;
    case "fault": {
      // A refusal is taken at its word: a service that refuses and acts all the same is not survivable.
      const isRefusal = next.action.kind === "status" && next.action.status < 500;
      // So is a read that says that there is no such order; comparing with the service would find it again.
      if (next.path === "snapshot" && next.action.kind === "status" && next.action.status === 404) return;
      const when = isRefusal ? "before" : next.when;
      sandbox.faults.add({ match: { path: next.path }, when, times: next.times, do: next.action });
      return;
    }
    case "run":
      await Promise.all(next.jobs.map((job) => world.run(job)));
      return;
    case "restart":
      await world.restart();
      return;
    case "restart in the middle": {
      const running = world.run("statuses");
      for (let turn = 0; turn < next.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      await world.restart();
      await running;
      return;
    }
    case "time":
      clock.advance(next.ms);
  }
}

/** Beyond the numbers of what the steps ask for. */
const OTHERS = 1_000;

/** After all faults: enough passes, with time for every hold and every quiet time to end. */
async function comeToRest(world: World): Promise<void> {
  world.sandbox.faults.clear();
  const isOpen = () => world.rows("SELECT 1 FROM status_requests WHERE state IN ('pending', 'sending')").length > 0;
  // An illegal status is refused once another one was accepted meanwhile.
  for (let passes = 0; passes < 6 || (isOpen() && passes < 120); passes++) {
    world.clock.advance((passes < 12 ? 11 : 61) * 60_000);
    const other = isOpen() ? world.sandbox.service.createOrder({ status: "new" }) : undefined;
    await world.run("orders");
    if (other !== undefined) world.ask(other, "accepted", { comment: `request ${OTHERS + passes}` });
    for (const job of ["updates", "statuses", "updates"] as const) await world.run(job);
  }
}

function effectsByRequest({ sandbox }: World): { request: number; orderId: string }[] {
  return sandbox.ledger.ofKind("status").flatMap(({ effect, requestBody }) => {
    if (effect?.kind !== "status") return [];
    const { comment } = JSON.parse(requestBody ?? "{}") as { comment: string };
    return [{ request: Number(comment.replace("request ", "")), orderId: effect.orderId }];
  });
}

function expectEachOnce(world: World): void {
  const effects = effectsByRequest(world);
  const numbers = effects.map(({ request }) => request);
  expect(new Set(numbers).size).toBe(numbers.length);
  for (const id of world.ids) {
    const own = effects.filter(({ orderId }) => orderId === id).map(({ request }) => request);
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
  for (const [index, { id }] of world.asked.entries()) {
    const { state, attempts, last_error, http_status } = world.request(id);
    const count = numbers.filter((request) => request === index + 1).length;
    expect(["sent", "refused"]).toContain(state);
    if (state === "sent" && http_status !== null) expect(count).toBe(1);
    if (attempts === 0) expect(count).toBe(0);
    if (state === "refused" && !last_error?.startsWith("changed meanwhile")) expect(count).toBe(0);
  }
}

describe("statuses under any interleaving of faults, jobs, restarts and other people's changes", () => {
  it(
    "are each sent at most once, in their order, and settled in the end",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          const bridge = await startStatusBridge({
            orders: ORDERS,
            settings: { statuses: { body: { status: "{status}", comment: "{comment}" } } },
            sandbox: { options: { status: { transitions } } },
          });
          const world: World = Object.defineProperties(
            { asked: [], touched: new Set() },
            Object.getOwnPropertyDescriptors(bridge),
          ) as unknown as World;
          try {
            for (const next of steps) await take(world, { step: next });
            await comeToRest(world);
            expectEachOnce(world);
            for (const id of world.ids) expect(world.order(id).status).toBe(world.sandbox.service.statusOf(id));
            // Nothing but our own statuses happened to these: the ERP need not see them again.
            const pending = new Set(world.pending().map(({ order_id }) => order_id));
            expect(world.ids.filter((id) => pending.has(id) && !world.touched.has(id))).toEqual([]);
            expect(world.rows("SELECT count(*) AS n FROM status_requests WHERE echo = 'owed'")).toEqual([{ n: 0 }]);
          } finally {
            await bridge.bridge.stop();
            await bridge.sandbox.close();
          }
        }),
        { numRuns: RUNS },
      );
    },
    60_000 + RUNS * 10_000,
  );
});
