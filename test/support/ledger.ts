import { expect } from "vitest";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import type { Shop } from "./shop.ts";

/** Holds at any time, even during a crash: all confirmed orders are on disk, and nothing is duplicated. */
export function expectNothingLost({ sandbox, rows }: Shop): void {
  const stored = rows<{ order_id: string; payload: string }>("SELECT order_id, payload FROM orders");
  const ids = new Set(stored.map(({ order_id }) => order_id));
  expect([...sandbox.ledger.confirmedOrderIds()].filter((id) => !ids.has(id))).toEqual([]);
  expect(ids.size).toBe(stored.length);
  for (const { order_id, payload } of stored) expect(sandbox.ledger.servedVersions(order_id)).toContain(payload);
  expect(
    rows("SELECT count(*) AS n, order_id FROM order_events WHERE kind = 'created' GROUP BY order_id HAVING n <> 1"),
  ).toEqual([]);
  expect(rows("SELECT count(*) AS n FROM order_events WHERE kind = 'created'")).toEqual([{ n: stored.length }]);
  expect(rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  expect(rows("PRAGMA foreign_key_check")).toEqual([]);
}

/** Holds at the end: everything at the service is stored with its newest content, and confirmed. */
export function expectConverged(shop: Shop): void {
  expectNothingLost(shop);
  const { sandbox, rows } = shop;
  const stored = rows<{ order_id: string; status: string; payload: string }>(
    "SELECT order_id, status, payload FROM orders",
  );
  const theirs = sandbox.service.orders();
  expect(stored.map(({ order_id }) => order_id).sort()).toEqual(theirs.map(({ id }) => id).sort());
  expect(theirs.filter(({ confirmed }) => !confirmed)).toEqual([]);
  for (const { order_id, status, payload } of stored) {
    expect(status).toBe(sandbox.service.statusOf(order_id));
    expect(payload).toBe(sandbox.ledger.newest(order_id));
  }
  expect(rows("SELECT state, count(*) AS n FROM batches WHERE state <> 'confirmed' GROUP BY state")).toEqual([]);
  expect(rows("SELECT * FROM pull_mark")).toEqual([]);
  expect(rows("SELECT * FROM owed_reads")).toEqual([]);
}

/** Call when a confirm has arrived: another process can already read all orders that it covers. */
export function expectDurable({ sandbox, rows }: Shop, confirm: SandboxRequest): void {
  const body = JSON.parse(confirm.body.toString("utf8")) as { batch_id?: string; order_ids?: string[] };
  const handedOut = sandbox.ledger.effects("handed-out");
  const covered =
    body.order_ids?.map((id) => id.toLowerCase()) ??
    handedOut
      .filter(({ batchId }) => body.batch_id === undefined || batchId === JSON.stringify(body.batch_id))
      .flatMap(({ orderIds }) => orderIds);
  const stored = new Set(rows<{ order_id: string }>("SELECT order_id FROM orders").map(({ order_id }) => order_id));
  expect(covered.length).toBeGreaterThan(0);
  expect(covered.filter((id) => !stored.has(id))).toEqual([]);
}
