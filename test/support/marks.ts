import { execFileSync } from "node:child_process";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { Store } from "../../src/database/store.ts";
import { saveNewOrder } from "../../src/orders/order-rows.ts";
import { openNewStore } from "./new-store.ts";

/** An order new to the ERP; a second one is beside it. */
export const ID = "0f0e0d0c-0b0a-4908-8706-050403020100";
export const OTHER = "1f0e0d0c-0b0a-4908-8706-050403020100";
export const UPPER = ID.toUpperCase();
/** The ERP's SQLite is often older than the bridge's. */
export const CLI = "/usr/bin/sqlite3";

export interface MarkedShop {
  store: Store;
  /** Runs SQL as the ERP would; throws SQLite's error. */
  erp(sql: string): void;
  /** Changes the order again. */
  change(id?: string): void;
  pending(): string[];
  blocked(): string[];
}

/** Two orders that are new to the ERP. */
export function openShop(writer: "better-sqlite3" | "sqlite3"): MarkedShop {
  const { file, store } = openNewStore();
  const db = new Database(file);
  onTestFinished(() => void db.close());
  store.write(() => [ID, OTHER].forEach((id) => void saveNewOrder(store, orderOf(id))));
  const list = (view: string) =>
    (
      store.db.prepare(`SELECT order_id, revision, seen_revision FROM ${view}`).all() as {
        order_id: string;
        revision: number;
        seen_revision: number;
      }[]
    )
      .filter(({ order_id }) => order_id !== OTHER)
      .map(({ revision, seen_revision }) => `revision ${revision}, seen ${seen_revision}`);
  return {
    store,
    erp: (sql) => (writer === "sqlite3" ? runCli(file, sql) : void db.exec(sql)),
    change: (id = ID) =>
      store.write(() =>
        store.db
          .prepare(
            "UPDATE orders SET revision = revision + 1, erp_revision = revision + 1, changed_at = ? WHERE order_id = ?",
          )
          .run("2026-03-02T00:00:00.000Z", id),
      ),
    pending: () => list("orders_pending"),
    blocked: () => list("orders_blocked"),
  };
}

function runCli(file: string, sql: string): void {
  try {
    execFileSync(CLI, ["-bail", file, sql], { stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Error(String((error as { stderr: Buffer }).stderr));
  }
}

function orderOf(orderId: string) {
  const values = { number: "A-1", status: "new", createdAt: null, updatedAt: null, currency: null, total: "1.00" };
  const line = { sku: "s", name: null, quantity: "1", price: "1.00", payload: "{}" };
  return {
    orderId,
    serviceId: orderId,
    source: "batch" as const,
    hash: Buffer.alloc(32),
    contentHash: Buffer.alloc(32),
    text: "{}",
    values: { ...values, lines: [line] },
    isCancelled: false,
    isOpen: true,
    at: "2026-03-01T00:00:00.000Z",
  };
}

/** The statement in the README. */
export const upsert = (revision: number | string, id = ID) => `
  INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES ('${id}', 'E-1', ${revision})
  ON CONFLICT (order_id) DO UPDATE SET erp_number = excluded.erp_number,
    seen_revision = max(seen_revision, excluded.seen_revision)`;
export const block = `INSERT INTO erp_orders (order_id, state, error) VALUES ('${ID}', 'blocked', 'no such article')
  ON CONFLICT (order_id) DO UPDATE SET state = excluded.state, error = excluded.error`;
