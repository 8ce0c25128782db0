import path from "node:path";
import { expect } from "vitest";
import { copyDatabase } from "../../src/backup/copy-database.ts";
import { type RestoreReport, restoreDatabase } from "../../src/cli/restore-bridge.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { collectingLog, configFor, type Settings, startTestBridge, type TestBridge } from "./bridge.ts";
import { createOrders } from "./pull.ts";
import { tempFolder } from "./temp.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A bridge with a copy that can be restored. */
export interface Scene extends TestBridge {
  folder: string;
  database: string;
  copy: string;
  backUp(): Promise<void>;
  /** Stops the daemon, restores the copy, and starts the daemon again. */
  restore(between?: () => void): Promise<RestoreReport>;
}

export async function startScene(
  settings: Settings = {},
  sandbox: Parameters<typeof startTestBridge>[0] = {},
): Promise<Scene> {
  const folder = tempFolder("restore");
  const bridge = await startTestBridge({ ...sandbox, settings, folder });
  const loaded = configFor(bridge.sandbox, folder, settings);
  const database = path.join(folder, "bridge.db");
  const copy = path.join(folder, "monday.db");
  const signal = new AbortController().signal;
  return Object.assign(Object.create(bridge) as TestBridge, {
    folder,
    database,
    copy,
    backUp: async () => {
      const at = new Date(bridge.clock.nowMs()).toISOString();
      await copyDatabase({ source: database, target: copy, at, configText: "", signal });
    },
    restore: async (between = () => {}) => {
      await bridge.bridge.stop();
      between();
      const report = await restoreDatabase({
        loaded,
        file: copy,
        migrationsFolder: MIGRATIONS_FOLDER,
        clock: bridge.clock,
        log: collectingLog(bridge.logs),
        agree: async () => true,
        onStep: () => {},
      });
      await bridge.restart();
      return report!;
    },
  });
}

/** Runs all jobs until nothing is left to do. */
export async function drain(scene: Scene): Promise<void> {
  for (const job of ["orders", "updates", "stocks"] as const) {
    for (let pass = 0; pass < 5; pass++) {
      scene.clock.advance(3 * MINUTE_MS);
      const result = await scene.run(job);
      expect(result.error).toBeNull();
      if (result.outcome === "idle") break;
    }
  }
}

/** Marks all orders as taken, as the ERP does. */
export function takeAll({ bridge }: Scene): void {
  bridge.store.db.exec(
    `INSERT INTO erp_orders (order_id, erp_number, seen_revision) SELECT order_id, 'N' || number, revision FROM orders_pending WHERE true
     ON CONFLICT (order_id) DO UPDATE SET seen_revision = excluded.seen_revision`,
  );
}

export const STOCK =
  "INSERT INTO stock (sku, quantity) VALUES (?, ?) ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity";

/** A day of work: a copy in the middle, and changes of every kind after it. */
export async function liveADay(scene: Scene): Promise<{ early: string[]; late: string[] }> {
  const early = createOrders(scene, 12);
  const write = (sql: string, ...values: unknown[]) => scene.bridge.store.db.prepare(sql).run(...values);
  for (const [sku, quantity] of [
    ["A", 5],
    ["B", 7],
    ["C", 9],
  ])
    write(STOCK, sku, quantity);
  await drain(scene);
  takeAll(scene);
  await scene.backUp();
  scene.clock.advance(DAY_MS);
  const late = createOrders(scene, 8);
  scene.sandbox.service.changeOrder(early[2]!, { status: "paid" });
  write(STOCK, "A", 1);
  write("DELETE FROM stock WHERE sku = 'B'");
  write(STOCK, "D", 4.25);
  await drain(scene);
  takeAll(scene);
  return { early, late };
}
