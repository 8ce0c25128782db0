import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import type { ChangePatch } from "../../src/sandbox/order-draft.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { type Settings, startTestBridge, type TestBridge } from "./bridge.ts";

export interface Followed extends TestBridge {
  /** The ids of the orders pulled and confirmed at the start. */
  ids: string[];
  /** Changes an order on the service, `ms` later (a second by default). */
  change(id: string, patch: ChangePatch, ms?: number): void;
  /** Advances the clock by `ms` (a minute by default) and polls updates once. Throws the error of the pass. */
  poll(ms?: number): Promise<Record<string, number>>;
  /** The same a day later, when a wide re-poll is due. */
  sweep(): Promise<Record<string, number>>;
  watermark(): string | undefined;
  /** All requested values of `since`, decoded, oldest first. */
  sinces(): string[];
  /** How often this order, or any order, was read as a snapshot. */
  snapshots(id?: string): number;
  statusOf(id: string): { status: string; revision: number };
  /** All stored data except runs, flows, positions and holds. */
  dump(): Record<string, unknown[]>;
}

const BOOKKEEPING = new Set([
  "runs",
  "stored_messages",
  "learned_answers",
  "mirror_changes",
  "mirror_state",
  "flows",
  "watermarks",
  "holds",
  "sync_requests",
  "meta",
  "pull_mark",
  "sqlite_sequence",
]);

const WITHIN_SECOND_MS = 7;

/** A bridge and a service with `count` orders, pulled a minute ago. */
export async function startFollowed(
  count: number,
  options: { settings?: Settings; service?: SandboxOptionsPatch; sandbox?: Omit<StartOptions, "options"> } = {},
): Promise<Followed> {
  const test = await startTestBridge({
    ...(options.settings === undefined ? {} : { settings: options.settings }),
    sandbox: { ...options.sandbox, options: { batchSize: 1_000, ...options.service } },
  });
  // A timestamp at a full second may be truncated, and its order would be read again.
  test.clock.advance(WITHIN_SECOND_MS);
  const ids = Array.from({ length: count }, () => test.sandbox.service.createOrder());
  const pulled = await test.run("orders");
  if (pulled.error !== null) throw pulled.error;
  test.clock.advance(60_000);
  const { sandbox, clock, rows } = test;
  const tables = () =>
    rows<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\'",
    ).map(({ name }) => name);
  return Object.defineProperties(
    {
      ids,
      change: (id, patch, ms = 1_000) => {
        clock.advance(ms);
        sandbox.service.changeOrder(id, patch);
      },
      poll: async (ms = 60_000) => {
        clock.advance(ms);
        const result = await test.run("updates");
        if (result.error !== null) throw result.error;
        return result.counts;
      },
      sweep: async () => {
        clock.advance(26 * 3_600_000);
        // The pull provides the service's time.
        await test.run("orders");
        const result = await test.run("updates");
        if (result.error !== null) throw result.error;
        return result.counts;
      },
      watermark: () => rows<{ value: string }>("SELECT value FROM watermarks WHERE stream = 'updates'")[0]?.value,
      sinces: () => sandbox.ledger.ofKind("updates").map(({ query }) => new URLSearchParams(query).get("since") ?? ""),
      snapshots: (id) =>
        sandbox.ledger.ofKind("snapshot").filter(({ path }) => id === undefined || path.endsWith(id)).length,
      statusOf: (id) =>
        rows<{ status: string; revision: number }>("SELECT status, revision FROM orders WHERE order_id = ?", id)[0]!,
      dump: () =>
        Object.fromEntries(
          tables()
            .filter((name) => !BOOKKEEPING.has(name))
            .map((name) => [name, rows(`SELECT * FROM ${name}`)]),
        ),
    } as Followed,
    Object.getOwnPropertyDescriptors(test),
  );
}

/** The stored content, lines and line order equal those at the service. */
export function storedLines(test: TestBridge, id: string): unknown[] {
  return test.rows("SELECT line_no, sku, quantity, price FROM order_lines WHERE order_id = ? ORDER BY line_no", id);
}

export function servedLines(test: TestBridge, id: string): unknown[] {
  const literal = (text: string, key: string) => new RegExp(`"${key}":("?)([^",}]+)\\1`).exec(text)?.[2];
  const items = JSON.parse(test.sandbox.service.newestText(id)!).items as { sku: string }[];
  const texts = test.sandbox.service.newestText(id)!.split('"line_id"').slice(1);
  return items.map(({ sku }, index) => ({
    line_no: index + 1,
    sku,
    quantity: literal(texts[index]!, "quantity"),
    price: literal(texts[index]!, "price"),
  }));
}
