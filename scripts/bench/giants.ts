/* What the largest and the worst answers cost: memory, and how long nothing else could run. */

import { rmSync } from "node:fs";
import type { FeedFigures } from "./feed-worker.ts";
import { ORDER_SHAPES, SHAPE_NAMES } from "./hostile-data.ts";
import { type Bench, makeDatabase, prepare, runWorker } from "./orders.ts";
import { atMost, print } from "./print.ts";
import type { SecureFigures, TurnFigures } from "./turns.ts";
import type { Figures } from "./worker.ts";

/** Of the unit: MemoryMax. */
const MEMORY_MAX_MB = 1_024;
/** About 200 MB. */
const ORDERS = 185_000;
const CHANGES = 200_000;
/** Below service.answer_bytes_max. */
const HOSTILE_BYTES = 240_000_000;
const FRESH_FROM = 50_000_000;

/** Of the service's own lag, for each of the three. */
const GAP_P999_MS = 50;
const GAP_MAX_MS = 200;
/** How long a transaction may hold the write lock. */
const LOCK_MS = 200;

export async function benchGiants(bench: Bench, firstPush: () => Promise<FeedFigures>, rows: number): Promise<void> {
  await prepare(bench.port, { from: FRESH_FROM, batches: 1, size: ORDERS });
  const giant = await runWorker(bench, "giant", await makeDatabase(bench, "giant", 0));
  show(`a batch of ${giant.orders} orders, 200 MB`, giant);
  await prepare(bench.port, { from: FRESH_FROM, batches: 1, size: 1, changes: CHANGES });
  const page = await runWorker(bench, "page", await makeDatabase(bench, "page", 0));
  show(`a page of ${page.orders} changes`, page);
  show(`a first push of ${rows} rows`, await firstPush());
}

export async function benchHostile(bench: Bench): Promise<void> {
  for (const shape of SHAPE_NAMES) await benchShape(bench, shape, "orders");
  for (const shape of ORDER_SHAPES) await benchShape(bench, shape, "updates");
  for (const shape of ORDER_SHAPES) await benchShape(bench, shape, "order");
}

const ROLES = { orders: "hostile", updates: "hostile-page", order: "hostile-order" } as const;

async function benchShape(bench: Bench, shape: string, as: keyof typeof ROLES): Promise<void> {
  const folder = await makeDatabase(bench, `${ROLES[as]}-${shape.replaceAll(" ", "-")}`, 0);
  const first = as === "orders" ? {} : { from: FRESH_FROM, batches: 1, size: 1 };
  await prepare(bench.port, { ...first, shape, bytes: HOSTILE_BYTES, as });
  const figures = await runWorker(bench, ROLES[as], folder);
  show(
    `240 MB of ${shape}${as === "orders" ? "" : `, in ${as === "order" ? "the answer for one" : "updates"}`}`,
    figures,
  );
  rmSync(folder, { recursive: true, force: true });
}

type Shown = TurnFigures & Partial<SecureFigures> & Pick<Figures, "seconds" | "rssMb" | "lockMs" | "error">;

function show(what: string, figures: Shown): void {
  const { seconds, rssMb = 0, lockMs, error } = figures;
  print(what, `${rssMb.toFixed(0)} MB, ${seconds.toFixed(1)} s`, atMost(rssMb, MEMORY_MAX_MB, " MB"));
  const { gapP999Ms, gapMaxMs, cpuP999Ms, cpuMaxMs } = figures;
  const gap = (name: string, ms: number, cpuMs: number, limit: number) =>
    print(name, `${ms.toFixed(0)} ms, of it on the processor ${cpuMs.toFixed(0)} ms`, atMost(ms, limit, " ms"));
  gap("  event loop: p99.9", gapP999Ms, cpuP999Ms, GAP_P999_MS);
  gap("  event loop: longest", gapMaxMs, cpuMaxMs, GAP_MAX_MS);
  print("  write lock: longest hold", `${lockMs.toFixed(0)} ms`, atMost(lockMs, LOCK_MS, " ms"));
  const { secures = 0, secureMedianMs = 0, secureMaxMs = 0 } = figures;
  if (secures > 0) {
    const text = `${secures} times, median ${secureMedianMs.toFixed(1)} ms, longest ${secureMaxMs.toFixed(1)} ms`;
    print("  put on disk before a request", text, atMost(secureMaxMs, GAP_MAX_MS, " ms"));
  }
  if (error !== undefined) print("", error.slice(0, 120));
}
