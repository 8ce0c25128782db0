/* What the largest and the worst answers cost: memory, and how long nothing else could run. */

import { SHAPE_NAMES } from "./hostile-data.ts";
import { type Bench, makeDatabase, prepare, runWorker } from "./orders.ts";
import { atMost, print } from "./print.ts";
import type { Figures } from "./worker.ts";

/** Of the unit: MemoryMax. */
const MEMORY_MAX_MB = 1_024;
/** About 200 MB. */
const ORDERS = 185_000;
const CHANGES = 200_000;
/** Below service.answer_bytes_max. */
const HOSTILE_BYTES = 240_000_000;
const FRESH_FROM = 50_000_000;

export async function benchGiants(bench: Bench): Promise<Figures[]> {
  await prepare(bench.port, { from: FRESH_FROM, batches: 1, size: ORDERS });
  const giant = await runWorker(bench, "giant", await makeDatabase(bench, "giant", 0));
  show(`a batch of ${giant.orders} orders, 200 MB`, giant);
  await prepare(bench.port, { from: FRESH_FROM, batches: 1, size: 1, changes: CHANGES });
  const page = await runWorker(bench, "page", await makeDatabase(bench, "page", 0));
  show(`a page of ${page.orders} changes`, page);
  const hostile: Figures[] = [];
  for (const shape of SHAPE_NAMES) {
    await prepare(bench.port, { shape, bytes: HOSTILE_BYTES });
    const figures = await runWorker(bench, "hostile", await makeDatabase(bench, shape.replaceAll(" ", "-"), 0));
    show(`240 MB of ${shape}`, figures);
    hostile.push(figures);
  }
  return [giant, page];
}

function show(what: string, { seconds, rssMb = 0, gapMaxMs, gapP999Ms, lockMs, error }: Figures): void {
  const text = `${rssMb.toFixed(0)} MB, ${seconds.toFixed(1)} s, gap p99.9 ${gapP999Ms.toFixed(0)} ms, longest ${gapMaxMs.toFixed(0)} ms, lock ${lockMs.toFixed(0)} ms`;
  print(what, text, atMost(rssMb, MEMORY_MAX_MB, " MB"));
  if (error !== undefined) print("", error.slice(0, 120));
}
