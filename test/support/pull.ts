import { expect } from "vitest";
import type { TestBridge } from "./bridge.ts";

/** Bookkeeping of runs and positions: whatever else is written for the same input twice is a fault. */
const BOOKS = new Set(["runs", "stored_messages", "flows", "watermarks", "holds", "pull_mark", "sqlite_sequence"]);

const OTHERS: Readonly<Record<string, string>> = {
  // What stands beside lists is learned once from each kind of answer, and covers nothing.
  learned_answers: "WHERE topic <> 'list'",
  // The place of a mark where confirms name their batch.
  meta: "WHERE key <> 'unanswered'",
};

/** Every row of every table but the books, as text. */
export function dumpTables({ rows }: Pick<TestBridge, "rows">): string {
  const tables = rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  const dumped = tables
    .filter(({ name }) => !BOOKS.has(name))
    .map(({ name }) => [name, rows(`SELECT * FROM "${name}" ${OTHERS[name] ?? ""}`)] as const);
  return JSON.stringify(dumped, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** The bodies of all confirms that arrived, as text. */
export function confirmBodies({ sandbox }: Pick<TestBridge, "sandbox">): (string | null)[] {
  return sandbox.ledger.ofKind("confirm").map(({ requestBody }) => requestBody);
}

export function batchStates({ rows }: Pick<TestBridge, "rows">): string[] {
  return rows<{ state: string }>("SELECT state FROM batches ORDER BY id").map(({ state }) => state);
}

/** How many orders are stored. */
export function orderCount({ rows }: Pick<TestBridge, "rows">): number {
  return rows<{ n: number }>("SELECT count(*) AS n FROM orders")[0]?.n ?? 0;
}

/** The first invariant: what an accepted confirm covered is stored as it was served last, or kept in quarantine. */
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

/** Liveness: everything the service has is stored at its newest, and everything is confirmed. */
export function expectComplete(bridge: Pick<TestBridge, "rows" | "sandbox">): void {
  expectNothingLost(bridge);
  const orders = bridge.sandbox.service.orders().filter(({ deleted }) => !deleted);
  expect(orders.filter(({ confirmed }) => !confirmed)).toEqual([]);
  expect(bridge.rows("SELECT count(*) AS n FROM batches WHERE state <> 'confirmed'")).toEqual([{ n: 0 }]);
}

export function createOrders({ sandbox }: Pick<TestBridge, "sandbox">, count: number): string[] {
  return Array.from({ length: count }, () => sandbox.service.createOrder());
}
