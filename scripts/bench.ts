/*
 * What the bridge costs, as ratios against floors that are measured in the same run: `npm run bench [-- PART…] [--stored N] [--rows N]`.
 * Parts: orders, giants, hostile, start, feeds; all of them unless named. `--stored`: orders in the large database (1,000,000); `--rows`: rows in a feed's table. Medians of
 * several rounds; the rounds of a figure and of its floor take turns, so that a busy machine hits both.
 */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { bundleOf, CHILDREN } from "../rolldown.config.ts";
import { benchFeeds, benchFirstPush } from "./bench/feeds.ts";
import { benchGiants, benchHostile } from "./bench/giants.ts";
import { type Bench, benchOrders, makeDatabase, prepare } from "./bench/orders.ts";
import { atMost, print } from "./bench/print.ts";
import { benchStart } from "./bench/start.ts";
import type { Figures } from "./bench/worker.ts";
import { installProgram, writeBundle } from "./install-program.ts";

const PARTS = ["orders", "giants", "hostile", "start", "feeds"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stored: { type: "string", default: "1000000" }, rows: { type: "string", default: "1000000" } },
});
const unknown = positionals.find((part) => !PARTS.includes(part));
if (unknown !== undefined) {
  console.error(`There is no part ${unknown}. Parts: ${PARTS.join(", ")}`);
  process.exit(64);
}
const isWanted = (part: string) => positionals.length === 0 || positionals.includes(part);

const work = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bench-"));
const service = fork(path.join(import.meta.dirname, "bench", "service.ts"));
try {
  const port = String(await new Promise((resolve) => service.once("message", resolve)));
  const launcher = await installProgram(path.join(work, "program"));
  const worker = path.join(work, "program", "bench", "worker.cjs");
  await writeBundle(bundleOf({ worker: "scripts/bench/worker.ts", ...CHILDREN }, path.dirname(worker)));
  const bench: Bench = { work, worker, port, stored: Number(values.stored) };
  if (isWanted("orders") || isWanted("start")) {
    const large = await makeDatabase(bench, "large", bench.stored);
    if (isWanted("orders")) printGaps("orders", await benchOrders(bench, large));
    if (isWanted("start")) {
      const empty = await makeDatabase(bench, "empty", 0);
      // What the figures of orders left at the service would be work for the program that is to be idle.
      await prepare(port, {});
      await benchStart(launcher, port, [
        { name: "empty database", folder: empty },
        { name: `${bench.stored} orders`, folder: large },
      ]);
    }
  }
  const feedWorker = path.join(work, "program", "bench-feeds", "worker.cjs");
  await writeBundle(bundleOf({ worker: "scripts/bench/feed-worker.ts", ...CHILDREN }, path.dirname(feedWorker)));
  const makeEmpty = (name: string) => makeDatabase(bench, name, 0);
  const feeds = { work, makeEmpty, feedWorker, port, rows: Number(values.rows) };
  if (isWanted("giants")) await benchGiants(bench, () => benchFirstPush(feeds), feeds.rows);
  if (isWanted("hostile")) await benchHostile(bench);
  if (isWanted("feeds")) printGaps("feeds", await benchFeeds(feeds));
} finally {
  service.kill();
  rmSync(work, { recursive: true, force: true });
}

/** Over everything that was measured: how long nothing else could run, and how long an ERP had to wait to write. */
function printGaps(part: string, runs: readonly Pick<Figures, "gapP999Ms" | "gapMaxMs" | "lockMs">[]): void {
  const p999 = Math.max(...runs.map(({ gapP999Ms }) => gapP999Ms));
  const max = Math.max(...runs.map(({ gapMaxMs }) => gapMaxMs));
  const lock = Math.max(...runs.map(({ lockMs }) => lockMs));
  print(
    "event loop: longest gap, p99.9",
    `${p999.toFixed(0)} ms (longest ${max.toFixed(0)} ms)`,
    atMost(p999, 50, " ms"),
  );
  print(`write lock, ${part}: longest hold`, `${lock.toFixed(0)} ms`, atMost(lock, 500, " ms"));
}
