import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import { IMPORT_TIMEOUT_MS, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { runs } from "../support/whole.ts";

const SKUS = ["A", "B", "C", "D"] as const;
const SECOND_MS = 1_000;
const RUNS = runs(2, 80);

/** What may happen: writes of the ERP, passes of the bridge, and everything that goes wrong on the way. */
type Step =
  | { do: "write"; sku: string; how: "upsert" | "replace" | "delete-insert" }
  | { do: "set back"; sku: string }
  | { do: "delete"; sku: string }
  | { do: "rollback"; sku: string }
  | { do: "rewrite" }
  | { do: "pass" }
  | { do: "compare" }
  | { do: "wait"; seconds: number }
  | { do: "lose"; what: "request" | "answer" }
  | { do: "late" }
  | { do: "answer"; status: 413 | 429 | 500 }
  | { do: "refuse"; sku: string }
  | { do: "accept" }
  | { do: "write in flight"; sku: string }
  /** A change whose push is lost, and what the ERP does next: the shortest way into every kind of doubt. */
  | { do: "lost push"; sku: string; what: "request" | "answer"; next: "nothing" | "set back" | "write" | "delete" }
  | { do: "restart" };

const sku = fc.constantFrom(...SKUS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      sku,
      how: fc.constantFrom("upsert" as const, "replace" as const, "delete-insert" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("set back" as const), sku }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), sku }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rollback" as const), sku }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "rewrite" }) },
  { weight: 8, arbitrary: fc.constant<Step>({ do: "pass" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "compare" }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 30, 90, 130) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("lose" as const),
      what: fc.constantFrom("request" as const, "answer" as const),
    }),
  },
  { weight: 5, arbitrary: fc.constant<Step>({ do: "late" }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      status: fc.constantFrom(413 as const, 429 as const, 500 as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("refuse" as const), sku }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "accept" }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("write in flight" as const), sku }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("lost push" as const),
      sku,
      what: fc.constantFrom("request" as const, "answer" as const),
      next: fc.constantFrom("nothing" as const, "set back" as const, "write" as const, "delete" as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "restart" }) },
);

/** The ERP, the line and the site, with what must hold of them. */
class World {
  readonly test: PushedFeeds;
  /** Requests that were lost on the way and may still arrive, with the last moment of it. */
  readonly lost: { request: SandboxRequest; untilMs: number }[] = [];
  readonly hooks: { inFlight: (() => void) | undefined; arrived: SandboxRequest | undefined };
  /** Every value that a sku ever had in the table, with its version; a value set back gets the new version. */
  readonly #versions = new Map<string, { quantity: number; version: number }[]>();
  #version = 0;

  constructor(test: PushedFeeds, hooks: World["hooks"]) {
    this.test = test;
    this.hooks = hooks;
  }

  async take(what: Step): Promise<void> {
    const { test, hooks } = this;
    const { erp, sandbox, clock } = test;
    switch (what.do) {
      case "write":
        return this.#write(what.sku, ++this.#version, what.how);
      case "set back":
        return this.#write(what.sku, this.#versions.get(what.sku)?.at(-2)?.quantity ?? ++this.#version, "upsert");
      case "delete":
        return void erp.prepare("DELETE FROM stock WHERE sku = ?").run(what.sku);
      case "rollback":
        return void erp.exec(
          `BEGIN; UPDATE stock SET quantity = 999999 WHERE sku = '${what.sku}'; DELETE FROM stock; ROLLBACK`,
        );
      case "rewrite":
        return void erp.exec(
          "BEGIN; CREATE TEMP TABLE c AS SELECT * FROM stock; DELETE FROM stock; INSERT INTO stock SELECT * FROM c; DROP TABLE c; COMMIT",
        );
      case "pass":
        return await this.pass();
      case "compare":
        return await test.compare();
      case "wait":
        return clock.advance(what.seconds * SECOND_MS);
      case "lose":
        return void sandbox.faults.add({
          match: { path: "import" },
          when: what.what === "answer" ? "after" : "before",
          do: { kind: "reset" },
        });
      case "late":
        return this.#arriveLate();
      case "answer":
        return void sandbox.faults.add({ match: { path: "import" }, do: { kind: "status", status: what.status } });
      case "refuse":
        return sandbox.service.setOptions({ reject: { skus: [what.sku] } });
      case "accept":
        return sandbox.service.setOptions({ reject: { skus: [] } });
      case "write in flight":
        hooks.inFlight = () => this.#write(what.sku, ++this.#version, "upsert");
        return await this.pass();
      case "lost push":
        await this.take({ do: "write", sku: what.sku, how: "upsert" });
        await this.take({ do: "lose", what: what.what });
        await this.pass();
        if (what.next !== "nothing") await this.take({ do: what.next, sku: what.sku, how: "upsert" });
        return;
      case "restart":
        await test.restart();
    }
  }

  async pass(): Promise<void> {
    const { test, hooks } = this;
    hooks.arrived = undefined;
    const entries = test.sandbox.ledger.entries.length;
    await test.run("stocks");
    // A request that was lost before it had an effect may be on its way still, until its deadline.
    const last = test.sandbox.ledger.entries.slice(entries).at(-1);
    if (hooks.arrived !== undefined && last?.faultApplied === "reset before") {
      this.lost.push({ request: hooks.arrived, untilMs: test.clock.monotonicMs() + IMPORT_TIMEOUT_MS });
    }
  }

  #arriveLate(): void {
    const { clock, sandbox } = this.test;
    const late = this.lost.shift();
    if (late !== undefined && clock.monotonicMs() < late.untilMs) sandbox.service.handle(late.request);
  }

  #write(key: string, quantity: number, how: "upsert" | "replace" | "delete-insert"): void {
    const { erp } = this.test;
    const known = this.#versions.get(key) ?? [];
    this.#versions.set(key, [...known, { quantity, version: known.length }]);
    if (how === "delete-insert") erp.prepare("DELETE FROM stock WHERE sku = ?").run(key);
    const sql =
      how === "replace"
        ? "INSERT OR REPLACE INTO stock (sku, quantity) VALUES (?, ?)"
        : "INSERT INTO stock (sku, quantity) VALUES (?, ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity";
    erp.prepare(sql).run(key, quantity);
  }

  /** Faults off; then as many minutes as everything may take. */
  async settle(): Promise<void> {
    const { sandbox, minute } = this.test;
    sandbox.faults.clear();
    sandbox.service.setOptions({ reject: { skus: [] } });
    this.hooks.inFlight = undefined;
    // Nothing else is written any more: whatever was forgotten stays forgotten. Refused records need a change.
    for (const { key } of this.test.rows<{ key: string }>(
      "SELECT k0 AS key FROM feed_outbox WHERE state = 'refused'",
    )) {
      this.#write(key, ++this.#version, "upsert");
    }
    // A hold ends with the next request that is let in, so that there has to be one.
    this.#write("LAST", ++this.#version, "upsert");
    this.test.clock.advance(31 * 60 * SECOND_MS);
    for (let passed = 0; passed < 8; passed++) await minute();
  }

  check(): void {
    const { test } = this;
    for (const key of SKUS) {
      const inTable = this.#rowOf(key);
      const onSite = test.level(key);
      if (inTable === undefined) expect([undefined, 0]).toContain(onSite);
      else expect(onSite).toBe(inTable);
      this.#checkOrder(key);
    }
    expect(test.rows("SELECT * FROM feed_outbox")).toEqual([]);
    expect(test.rows("SELECT * FROM feed_dirty")).toEqual([]);
    expect(test.holds()).toEqual([]);
    const [feed] = test.rows("SELECT live_count AS n FROM feeds WHERE name = 'stocks'");
    expect(test.rows("SELECT count(*) AS n FROM feed_sent WHERE live = 1")[0]).toEqual(feed);
  }

  /** The values that the site was given follow the order in which the table had them. */
  #checkOrder(key: string): void {
    const history = this.#versions.get(key) ?? [];
    let at = 0;
    for (const level of this.test.levels(key)) {
      if (level === 0) continue;
      const next = history.findIndex(({ quantity }, index) => index >= at && quantity === level);
      expect(
        next,
        `${key}: ${JSON.stringify(this.test.levels(key))} of ${JSON.stringify(history)}`,
      ).toBeGreaterThanOrEqual(0);
      at = next;
    }
  }

  #rowOf(key: string): number | undefined {
    return (
      this.test.erp.prepare("SELECT quantity FROM stock WHERE sku = ?").get(key) as { quantity: number } | undefined
    )?.quantity;
  }
}

describe("whatever the ERP, the line and the service do", () => {
  it(
    "ends with the table's newest values on the site, and never puts an older value over a newer one",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30 }), async (steps) => {
          const hooks: World["hooks"] = { inFlight: undefined, arrived: undefined };
          const onRequest = (request: SandboxRequest) => {
            hooks.arrived = request;
            const { inFlight } = hooks;
            hooks.inFlight = undefined;
            inFlight?.();
          };
          const settings = { imports: { stocks: { chunk: 3, guard: { from: 1_000_000 } } } };
          const test = await startFeeds({ settings, sandbox: { onRequest } });
          const world = new World(test, hooks);
          // So that a refusal is a record's fault from the start.
          await world.take({ do: "write", sku: "A", how: "upsert" });
          await world.pass();
          for (const each of steps) await world.take(each);
          await world.settle();
          world.check();
          await test.close();
        }),
        { numRuns: RUNS },
      );
    },
    60_000 + RUNS * 5_000,
  );
});
