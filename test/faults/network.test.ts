import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import type { RequestKind } from "../../src/sandbox/messages.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { PATIENT } from "../support/program.ts";
import { createOrders, expectComplete, orderCount } from "../support/pull.ts";
import { startReceiver } from "../support/receiver.ts";
import { isWhole, itSome, itWhole, some } from "../support/whole.ts";

/** Short enough that what never ends is given up at once, long enough for an answer on a busy machine. */
const QUICK = { service: { timeouts: { headers: "150ms", total: "150ms", import: "150ms" }, answer_bytes_max: "1MB" } };
const KINDS: RequestKind[] = ["orders", "confirm", "updates", "snapshot", "import"];
const JOBS = ["orders", "updates", "stocks"] as const;
/** Longer than every hold with a probe that these faults ask for, and than rows in doubt rest. */
const PATIENCE_MS = 11 * 60_000;
const ROUNDS_MAX = 12;

const FAULTS: FaultAction[] = [
  { kind: "reset" },
  { kind: "hang" },
  { kind: "cut", bytes: 0, of: "answer" },
  { kind: "cut", bytes: 40, of: "answer" },
  { kind: "cut", bytes: 5 },
  { kind: "drip", bytesPerSecond: 20 },
  { kind: "drip", bytesPerSecond: 20, of: "answer" },
  { kind: "endless" },
  { kind: "gzip" },
  { kind: "gzip", bombBytes: 16 * 1024 * 1024 },
  { kind: "big-headers" },
  { kind: "html" },
  { kind: "status", status: 502 },
];

async function everythingOnce(t: TestBridge): Promise<void> {
  for (const job of JOBS) await t.run(job);
}

/** Orders to pull, a change to follow and stock to push. */
function addWork(t: TestBridge, round: number): void {
  for (const { id } of t.sandbox.service.orders().slice(0, 2)) {
    t.sandbox.service.changeOrder(id, { status: round % 2 === 0 ? "paid" : "packed" });
  }
  createOrders(t, 3);
  t.bridge.store.db
    .prepare("INSERT INTO stock (sku, quantity) VALUES ('A', ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity")
    .run(round);
}

function siteQuantity(t: TestBridge): number | undefined {
  const [record] = t.sandbox.service.imported("stocks").values();
  return record === undefined ? undefined : (JSON.parse(record) as { quantity: number }).quantity;
}

/** Whether something waits for another pass or for the end of a hold. */
function isUnfinished(t: TestBridge): boolean {
  const waits = ["feed_outbox", "owed_reads", "holds", "pull_mark"].some(
    (table) => t.rows(`SELECT 1 FROM ${table}`).length > 0,
  );
  return waits || t.sandbox.service.orders().some(({ confirmed }) => !confirmed);
}

async function expectConverged(t: TestBridge, quantity: number): Promise<void> {
  for (let round = 0; round === 0 || (isUnfinished(t) && round < ROUNDS_MAX); round++) {
    t.clock.advance(PATIENCE_MS);
    await everythingOnce(t);
  }
  expectComplete(t);
  const stored = t.rows<{ order_id: string; status: string }>("SELECT order_id, status FROM orders");
  expect(stored).toHaveLength(t.sandbox.service.orders().length);
  for (const { order_id, status } of stored) expect(status).toBe(t.sandbox.service.statusOf(order_id));
  expect(siteQuantity(t)).toBe(quantity);
  expect(t.rows("SELECT * FROM feed_outbox")).toEqual([]);
  expect(t.rows("SELECT * FROM owed_reads")).toEqual([]);
  expect(t.rows("SELECT * FROM holds")).toEqual([]);
}

describe("a line to the service that fails in every request, before or after the effect", PATIENT, () => {
  itSome(1)(some(FAULTS, 3))(
    "loses nothing, is named, and everything converges after it: $kind $of $bytes",
    async (action) => {
      const t = await startTestBridge({ settings: QUICK });
      addWork(t, 0);
      await everythingOnce(t);
      let round = 0;
      for (const [index, path] of KINDS.entries()) {
        // Before the effect for one fault, after it for the next: each request meets both, many times over.
        const when = (index + FAULTS.indexOf(action)) % 2 === 0 ? "before" : "after";
        addWork(t, ++round);
        t.sandbox.faults.add({ match: { path }, when, times: 2, do: action });
        const from = performance.now();
        await everythingOnce(t);
        expect(performance.now() - from, `${path} ${when}`).toBeLessThan(15_000);
        t.sandbox.faults.clear();
        t.clock.advance(PATIENCE_MS);
      }
      const told = t.logs.filter(({ level }) => level === "warn" || level === "error");
      expect(told.length).toBeGreaterThan(0);
      expect(JSON.stringify(t.logs)).not.toContain(t.sandbox.clientSecret);
      await expectConverged(t, round);
    },
  );

  itWhole("confirms nothing while the answer with the batch is cut, at whatever byte", async () => {
    const t = await startTestBridge();
    t.sandbox.service.createOrder({ lines: [{ sku: "A" }], extra: {} });
    let bytes = 0;
    for (; orderCount(t) === 0; bytes += isWhole ? 1 : 7) {
      expect(t.sandbox.ledger.ofKind("confirm"), `before byte ${bytes}`).toEqual([]);
      t.sandbox.faults.clear();
      t.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "cut", bytes, of: "answer" } });
      await t.run("orders");
    }
    expect(bytes).toBeGreaterThan(300);
    await t.run("orders");
    const [order] = t.sandbox.service.orders();
    expect(order?.confirmed).toBe(true);
    expect(t.rows("SELECT payload FROM orders")).toEqual([{ payload: order?.text }]);
  });

  itWhole("sends the newest value again where the answer to a push is cut, at whatever byte", async () => {
    const t = await startTestBridge();
    await everythingOnce(t);
    const write = t.bridge.store.db.prepare(
      "INSERT INTO stock (sku, quantity) VALUES ('A', ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity",
    );
    let isTaken = false;
    let bytes = 0;
    for (; !isTaken; bytes += isWhole ? 1 : 7) {
      write.run(bytes + 1);
      t.sandbox.faults.clear();
      t.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "cut", bytes, of: "answer" } });
      isTaken = (await t.run("stocks")).error === null;
      if (isTaken) break;
      // What was sent is in doubt; the ERP takes it back meanwhile.
      write.run(0);
      t.clock.advance(PATIENCE_MS);
      await t.run("stocks");
      expect(siteQuantity(t), `cut at byte ${bytes}`).toBe(0);
    }
    expect(bytes).toBeGreaterThan(100);
    expect(t.rows("SELECT * FROM feed_outbox")).toEqual([]);
  });
});

describe("a redirect", () => {
  itSome(1)([301, 302, 303, 307, 308])(
    "with %i is followed nowhere, and the other host hears nothing",
    async (status) => {
      const other = await startReceiver();
      const t = await startTestBridge();
      addWork(t, 0);
      await everythingOnce(t);
      for (const to of [`${other.url}/api/v1/1c/orders`, "http://example.com/", `${t.sandbox.url}/api/v1/1c/orders`]) {
        addWork(t, 1);
        t.sandbox.faults.add({ times: "forever", do: { kind: "redirect", to, status } });
        const asked = t.sandbox.ledger.entries.length;
        await everythingOnce(t);
        // One request a flow: none of them is repeated, none goes where it was sent.
        expect(t.sandbox.ledger.entries.length - asked).toBeLessThanOrEqual(JOBS.length);
        expect(t.rows("SELECT DISTINCT reason FROM holds")).toEqual([{ reason: "refused" }]);
        t.sandbox.faults.clear();
        t.clock.advance(PATIENCE_MS);
        await everythingOnce(t);
      }
      expect(other.received).toEqual([]);
      await expectConverged(t, 1);
    },
  );
});
