import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FaultRule } from "../../src/sandbox/fault-rule.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { tempFolder } from "../support/temp.ts";
import { runs } from "../support/whole.ts";

const RUNS = runs(1, 40);

const FAULTS: FaultRule["do"][] = [
  { kind: "reset" },
  { kind: "status", status: 502 },
  { kind: "status", status: 429, headers: { "retry-after": "5" } },
  { kind: "cut", bytes: 30 },
  { kind: "html" },
];

const fault = fc
  .record({
    on: fc.constantFrom("orders" as const, "confirm" as const),
    when: fc.constantFrom("before" as const, "after" as const),
    what: fc.constantFrom(...FAULTS),
    skip: fc.nat(2),
  })
  // A refusal is taken at its word: no client could tell one that hands out orders all the same.
  .map((one) => (one.what.kind === "status" && one.what.status === 429 ? { ...one, when: "before" as const } : one));

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("orders" as const), count: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 6, arbitrary: fc.constant({ kind: "pull" as const }) },
  { weight: 4, arbitrary: fault.map((one) => ({ kind: "fault" as const, ...one })) },
  { weight: 2, arbitrary: fc.constant({ kind: "restart" as const }) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 90 }).map((seconds) => ({ kind: "time" as const, seconds })) },
);

const service = fc.record({
  handOut: fc.constantFrom("repeat" as const, "next" as const),
  redeliverAfterMs: fc.constantFrom(null, 60_000, "cycle" as const),
  batchSize: fc.integer({ min: 1, max: 4 }),
  batchOverlap: fc.constantFrom(0, 0, 2),
  confirmForm: fc.constantFrom("batch_id" as const, "order_ids" as const, "all" as const),
  confirmRepeated: fc.constantFrom(200 as const, 404 as const, 409 as const),
});

const BODIES = { batch_id: "auto", order_ids: { order_ids: "{order_ids}" }, all: {} };

/** A service that serves everything again in the end; with others, a lost batch is lost for everybody. */
function comesRound({ handOut, redeliverAfterMs, confirmForm }: SandboxOptionsPatch): boolean {
  return (
    handOut === "repeat" || (redeliverAfterMs !== null && redeliverAfterMs !== undefined) || confirmForm === undefined
  );
}

describe("whatever fails and whenever the program is killed", () => {
  it(
    "confirms nothing that is not stored, and ends with everything stored and confirmed",
    async () => {
      const folder = tempFolder("random");
      let worlds = 0;
      await fc.assert(
        fc.asyncProperty(service, fc.array(step, { minLength: 5, maxLength: 25 }), async (options, steps) => {
          const settings = { orders: { confirm: { body: BODIES[options.confirmForm] } } };
          const t = await startTestBridge({
            settings,
            sandbox: { options },
            folder: path.join(folder, String(worlds++)),
          });
          for (const one of steps) {
            if (one.kind === "orders") createOrders(t, one.count);
            else if (one.kind === "time") t.clock.advance(one.seconds * 1000);
            else if (one.kind === "restart") await t.restart();
            else if (one.kind === "pull") await t.run("orders");
            else t.sandbox.faults.add({ match: { path: one.on }, when: one.when, skip: one.skip, do: one.what });
            expectNothingLost(t);
          }
          t.sandbox.faults.clear();
          // Something to serve: where a confirm names nothing, only that tells that no answer is missing any more.
          createOrders(t, 1);
          if (!comesRound(options)) return;
          for (let minute = 0; minute < 76; minute += 4) {
            t.clock.advance(4 * 61_000);
            await t.run("orders");
            expectNothingLost(t);
          }
          expectComplete(t);
          expect(t.bridge.store.db.pragma("integrity_check", { simple: true })).toBe("ok");
          await t.bridge.stop();
        }),
        { numRuns: RUNS },
      );
    },
    60_000 + RUNS * 1_000,
  );
});
