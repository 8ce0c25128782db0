import { expect } from "vitest";
import type { TestBridge } from "./bridge.ts";

/** Tables of runs and positions: all others must not change when the same input is processed again. */
const BOOKS = new Set(["runs", "stored_messages", "flows", "watermarks", "holds", "pull_mark", "sqlite_sequence"]);

const OTHERS: Readonly<Record<string, string>> = {
  // The fields beside lists are learned once from each kind of answer, and cover no orders.
  learned_answers: "WHERE topic <> 'list'",
  // Where confirms name their batch, the open delivery is stored here.
  meta: "WHERE key NOT IN ('unanswered', 'asked')",
};

/** All rows of all tables except those of {@link BOOKS}, as text. */
export function dumpTables({ rows }: Pick<TestBridge, "rows">): string {
  const tables = rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  const dumped = tables
    .filter(({ name }) => !BOOKS.has(name))
    .map(({ name }) => [name, rows(`SELECT * FROM "${name}" ${OTHERS[name] ?? ""}`)] as const);
  return JSON.stringify(dumped, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** The bodies of all received confirms, as text. */
export function confirmBodies({ sandbox }: Pick<TestBridge, "sandbox">): (string | null)[] {
  return sandbox.ledger.ofKind("confirm").map(({ requestBody }) => requestBody);
}

export function batchStates({ rows }: Pick<TestBridge, "rows">): string[] {
  const sql = "SELECT state FROM batches WHERE fingerprint NOT LIKE 'former:%' ORDER BY id";
  return rows<{ state: string }>(sql).map(({ state }) => state);
}

/** Two batches of before, with two names: a name tells a batch from others. Not in {@link batchStates}. */
export function addFormerBatches({ bridge }: Pick<TestBridge, "bridge">): void {
  bridge.store.db.exec(`INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, confirmed_at)
    SELECT 'former:' || value, '"former-' || value || '"', '2026-02-01T00:00:00.000Z', 1, 'confirmed', '2026-02-01T00:00:00.000Z'
    FROM json_each('[1, 2]')`);
}

/** The number of stored orders. */
export function orderCount({ rows }: Pick<TestBridge, "rows">): number {
  return rows<{ n: number }>("SELECT count(*) AS n FROM orders")[0]?.n ?? 0;
}

/** The first invariant: all orders covered by an accepted confirm are stored as last served, or in quarantine. */
export function expectNothingLost({ rows, sandbox }: Pick<TestBridge, "rows" | "sandbox">): void {
  const stored = new Map(
    rows<{ order_id: string; payload: string }>("SELECT order_id, payload FROM orders").map((row) => [
      row.order_id,
      row.payload,
    ]),
  );
  const quarantined = new Set(
    rows<{ payload: string }>("SELECT payload FROM quarantine").map(({ payload }) => payload),
  );
  for (const id of sandbox.ledger.confirmedOrderIds()) {
    const newest = sandbox.ledger.newest(id);
    const isKept = newest !== undefined && (stored.get(id) === newest || quarantined.has(newest));
    expect(isKept, `order ${id} was confirmed and is neither stored as served nor quarantined`).toBe(true);
  }
}

/** Liveness: everything at the service is stored with its newest content, and everything is confirmed. */
export function expectComplete(bridge: Pick<TestBridge, "rows" | "sandbox">): void {
  expectNothingLost(bridge);
  const orders = bridge.sandbox.service.orders().filter(({ deleted }) => !deleted);
  expect(orders.filter(({ confirmed }) => !confirmed)).toEqual([]);
  expect(bridge.rows("SELECT count(*) AS n FROM batches WHERE state <> 'confirmed'")).toEqual([{ n: 0 }]);
}

export function createOrders({ sandbox }: Pick<TestBridge, "sandbox">, count: number): string[] {
  return Array.from({ length: count }, () => sandbox.service.createOrder());
}
