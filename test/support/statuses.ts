import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { RunResult } from "../../src/daemon/run-job.ts";
import type { LedgerEntry } from "../../src/sandbox/ledger.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { mergeSettings, type Settings, startTestBridge, type TestBridge } from "./bridge.ts";

export const STATUS_PATH = "/api/v1/1c/orders/{order_id}/status";

export interface RequestRow {
  id: number;
  state: string;
  status_before: string | null;
  attempts: number;
  http_status: number | null;
  answered_at: string | null;
  last_error: string | null;
  unshown_since: string | null;
  echo: string | null;
}

/** A bridge that sends statuses, with orders that it has pulled and the ERP has taken. */
export interface StatusBridge extends TestBridge {
  ids: string[];
  /** A connection of the ERP's own. */
  erp: Database.Database;
  /** Requests a status as an ERP would. */
  ask(orderId: string, status: unknown, more?: { comment?: unknown; data?: unknown }): number;
  send(): Promise<RunResult>;
  /** Runs passes for so many minutes, one per minute by default. */
  sendFor(minutes: number, everyMinutes?: number): Promise<void>;
  request(id: number): RequestRow;
  states(): string[];
  /** The statuses that the service has set, in order. */
  effects(orderId?: string): string[];
  posts(): LedgerEntry[];
  take(): void;
  pending(): { order_id: string; why: string; revision: number }[];
  order(orderId: string): { status: string; revision: number; erp_revision: number; is_cancelled: number };
  events(orderId: string): { kind: string; source: string; old_status: string | null; new_status: string | null }[];
}

export async function startStatusBridge(
  options: { settings?: Settings; sandbox?: StartOptions; orders?: number; encoding?: string } = {},
): Promise<StatusBridge> {
  const settings = mergeSettings({ statuses: { path: STATUS_PATH } }, options.settings ?? {});
  const bridge = await startTestBridge({
    settings,
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
  });
  const { sandbox, rows, run, clock } = bridge;
  const ids = Array.from({ length: options.orders ?? 1 }, () => sandbox.service.createOrder({ status: "new" }));
  await run("orders");
  const erp = new Database(bridge.bridge.store.path, { timeout: 1_000 });
  onTestFinished(() => void erp.close());
  const take = () =>
    void erp
      .prepare(
        `INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, revision FROM orders_pending WHERE true
         ON CONFLICT (order_id) DO UPDATE SET seen_revision = max(seen_revision, excluded.seen_revision)`,
      )
      .run();
  take();
  clock.advance(60_000);
  const insert = erp.prepare("INSERT INTO status_requests (order_id, status, comment, data) VALUES (?, ?, ?, ?)");
  const helpers = {
    ids,
    erp,
    ask: (orderId: string, status: unknown, more: { comment?: unknown; data?: unknown } = {}) =>
      Number(insert.run(orderId, status, more.comment ?? null, more.data ?? null).lastInsertRowid),
    send: () => bridge.run("statuses"),
    sendFor: async (minutes: number, everyMinutes = 1) => {
      for (let passed = 0; passed < minutes; passed += everyMinutes) {
        clock.advance(everyMinutes * 60_000);
        await bridge.run("statuses");
      }
    },
    request: (id: number) => rows<RequestRow>("SELECT * FROM status_requests WHERE id = ?", id)[0]!,
    states: () => rows<{ state: string }>("SELECT state FROM status_requests ORDER BY id").map(({ state }) => state),
    effects: (orderId?: string) =>
      sandbox.ledger
        .effects("status")
        .filter((effect) => orderId === undefined || effect.orderId === orderId)
        .map(({ status }) => status),
    posts: () => sandbox.ledger.ofKind("status"),
    take,
    pending: () =>
      rows<{ order_id: string; why: string; revision: number }>("SELECT order_id, why, revision FROM orders_pending"),
    order: (orderId: string) =>
      rows<{ status: string; revision: number; erp_revision: number; is_cancelled: number }>(
        "SELECT status, revision, erp_revision, is_cancelled FROM orders WHERE order_id = ?",
        orderId,
      )[0]!,
    events: (orderId: string) =>
      rows<{ kind: string; source: string; old_status: string | null; new_status: string | null }>(
        "SELECT kind, source, old_status, new_status FROM order_events WHERE order_id = ? ORDER BY seq",
        orderId,
      ),
  };
  return Object.defineProperties(helpers, Object.getOwnPropertyDescriptors(bridge)) as StatusBridge;
}
