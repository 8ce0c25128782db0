/* Shops in every state that the status page can show, each with a bridge of its own and a history made up for it. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Log } from "../../src/platform/ports.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";

export const SHOP_STATES = ["starting", "empty", "healthy", "attention", "ill"] as const;
export type ShopState = (typeof SHOP_STATES)[number];
export type Language = "en" | "ru";

export interface PageShop {
  url: string;
  bridge: Bridge;
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Orders of a shop in two weeks, the last day today. */
const ORDERS_BY_DAY = [31, 44, 38, 52, 61, 24, 19, 35, 47, 41, 55, 68, 27, 23];

const QUIET: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openShop(folder: string, state: ShopState, language: Language): Promise<PageShop> {
  mkdirSync(folder, { recursive: true });
  const sandbox = await startSandbox();
  const text = `
service: { base_url: "${sandbox.url}", client_id: "${sandbox.clientId}", client_secret: "${sandbox.clientSecret}", requests_per_second: 1000 }
database: { path: bridge.db }
statuses: { path: "/api/v1/1c/orders/{order_id}/status" }
imports: { prices: { path: /api/v1/import/prices } }
http: { listen: "127.0.0.1:0" }
language: ${language}
`;
  const loaded = parseConfig({ text, file: path.join(folder, "north-shop.yaml"), env: {} });
  const bridge = new Bridge({ loaded, log: QUIET, clock: systemClock, onResult: () => undefined }, "page");
  if (state !== "starting") await live(bridge, sandbox, state);
  bridge.web?.start();
  await bridge.web?.whenListening();
  return {
    url: `http://127.0.0.1:${bridge.web?.port}/`,
    bridge,
    close: async () => {
      await bridge.stop();
      await sandbox.close();
    },
  };
}

async function live(bridge: Bridge, sandbox: Sandbox, state: ShopState): Promise<void> {
  const { db } = bridge.store;
  // First, while there is nothing to compare: the service knows nothing of the history that is made up.
  await bridge.runJob("reconcile");
  if (state !== "empty") {
    bridge.store.write(() => {
      makeOrders(bridge, Date.now());
      makePasses(bridge, Date.now());
    });
    for (let n = 0; n < 3; n++) sandbox.service.createOrder();
    db.exec("INSERT INTO stock (sku, quantity) VALUES ('A-1', 4), ('A-2', 0), ('A-3', 12)");
  }
  for (const job of ["orders", "updates", "statuses", "stocks", "prices", "upkeep", "backup"] as const) {
    await bridge.runJob(job);
  }
  if (state === "attention") {
    const record = db.prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload_hash, first_seen_at, last_seen_at)
       VALUES (?, ?, 'no id', x'00', ?, ?)`,
    );
    const at = new Date().toISOString();
    for (const [kind, name] of [
      ["order", "a"],
      ["stocks", "b"],
      ["stocks", "c"],
    ])
      record.run(kind, name, at, at);
  }
  if (state === "ill") await makeIll(bridge, sandbox);
}

/** Refused credentials on the one half of the service, an unpaid subscription on the other, and an ERP that is asleep. */
async function makeIll(bridge: Bridge, sandbox: Sandbox): Promise<void> {
  const { db } = bridge.store;
  sandbox.faults.add({ match: { feed: "stocks" }, times: "forever", do: { kind: "status", status: 402 } });
  db.exec("UPDATE stock SET quantity = quantity + 1");
  await bridge.runJob("stocks");
  sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 401 } });
  await bridge.runJob("orders");
  await bridge.runJob("updates");
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  db.prepare("UPDATE holds SET since = ?").run(ago(95 * MINUTE_MS));
  db.prepare("UPDATE feed_outbox SET waiting_since = ?").run(ago(97 * MINUTE_MS));
  db.prepare("UPDATE flows SET last_success_at = ? WHERE flow IN ('orders', 'updates', 'stocks')").run(
    ago(96 * MINUTE_MS),
  );
  db.prepare("DELETE FROM runs WHERE job = 'stocks' AND finished_at > ?").run(ago(96 * MINUTE_MS));
  db.prepare("UPDATE erp_queue SET since = ?").run(ago(3 * DAY_MS));
}

function makeOrders({ store }: Bridge, nowMs: number): void {
  const order = store.db.prepare(
    `INSERT INTO orders (order_id, number, status, received_at, changed_at, payload_source, payload_hash, payload)
     VALUES (?, ?, 'new', ?, ?, 'batch', x'00', '{}')`,
  );
  const midnight = new Date(nowMs).setHours(0, 0, 0, 0);
  let number = 0;
  ORDERS_BY_DAY.forEach((count, index) => {
    const dayMs = midnight - (ORDERS_BY_DAY.length - 1 - index) * DAY_MS;
    const endMs = Math.min(dayMs + DAY_MS, nowMs);
    for (let n = 0; n < count; n++) {
      const at = new Date(dayMs + ((endMs - dayMs) * (n + 0.5)) / count).toISOString();
      order.run(randomUUID(), String(1000 + ++number), at, at);
    }
  });
  store.db.exec("DELETE FROM erp_queue");
}

/** A pass of the stock a minute, with an hour in the night without any. */
function makePasses({ store }: Bridge, nowMs: number): void {
  const run = store.db.prepare(
    "INSERT INTO runs (job, started_at, finished_at, outcome) VALUES ('stocks', ?, ?, 'idle')",
  );
  for (let minute = 26 * 60; minute > 0; minute--) {
    const at = new Date(nowMs - minute * MINUTE_MS).toISOString();
    const isPause = minute > 11 * 60 && minute < 11 * 60 + 48;
    const isSlow = minute > 5 * 60 && minute < 9 * 60 && minute % 4 !== 0;
    if (!isPause && !isSlow) run.run(at, at);
  }
}
