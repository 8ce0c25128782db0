/* What orders cost: taken in, with many stored, read by the ERP, told again and again. */
import { execFileSync, fork } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import path from "node:path";
import { BATCH_SIZE } from "./order-data.ts";
import { atLeast, atMost, median, print } from "./print.ts";
import { UNIT_OPTIONS } from "./unit-options.ts";
import type { Figures } from "./worker.ts";

const ROUNDS = 3;
/** Orders of one measured run. */
const RUN_BATCHES = 300;
const SHELL_BATCHES = 10;
const SMALL = 1_000;
const CHANGES = 10_000;
/** Numbers of orders that no other run has used. */
const FRESH_FROM = 10_000_000;

export interface Bench {
  work: string;
  worker: string;
  port: string;
  /** Stored orders in the large database. */
  stored: number;
}

interface Ways {
  product: Figures[];
  floor: Figures[];
}

export function runWorker(
  { worker, port }: Pick<Bench, "worker" | "port">,
  role: string,
  folder: string,
  count = 0,
): Promise<Figures> {
  const child = fork(worker, [role, folder, port, String(count)], { execArgv: [...UNIT_OPTIONS] });
  return new Promise((resolve, reject) => {
    child.once("message", (figures) => resolve(figures as Figures));
    child.once("exit", (code) => code !== 0 && reject(new Error(`${role} ended with ${code}`)));
  });
}

export async function prepare(port: string, wanted: object): Promise<void> {
  await fetch(`http://127.0.0.1:${port}/_bench`, { method: "POST", body: JSON.stringify(wanted) });
}

/** A database of the bridge with so many orders, of which the ERP has taken all but the newest hundred. */
export async function makeDatabase(bench: Bench, name: string, orders: number): Promise<string> {
  const folder = path.join(bench.work, name);
  mkdirSync(folder);
  await runWorker(bench, "make", folder);
  if (orders > 0) await runWorker(bench, "fill", folder, orders);
  return folder;
}

export async function benchOrders(bench: Bench, large: string): Promise<Figures[]> {
  const small = await makeDatabase(bench, "small", SMALL);
  const few = await takeIn(bench, small, 0);
  const many = await takeIn(bench, large, 1);
  const rate = (runs: readonly Figures[]) => median(runs.map(costOf)) ** -1;
  const share = rate(few.product) / rate(few.floor);
  print("ingest", `${rate(few.product).toFixed(0)} orders/s, floor ${rate(few.floor).toFixed(0)}`);
  print("ingest: share of the floor", share.toFixed(2), atLeast(share, 0.75));
  const loop = await shellRate(bench);
  const times = rate(few.product) / loop;
  print(
    "ingest: against curl, jq and sqlite3",
    `${times.toFixed(1)} times (${loop.toFixed(0)} orders/s)`,
    atLeast(times, 6),
  );
  const growth = rate(few.product) / rate(many.product);
  const floorGrowth = rate(few.floor) / rate(many.floor);
  print(
    `growth: cost at ${bench.stored} against ${SMALL}`,
    `${growth.toFixed(2)}, floor ${floorGrowth.toFixed(2)}; ratio ${(growth / floorGrowth).toFixed(2)}`,
    atMost(growth / floorGrowth, 1.2),
  );
  const waiting = await runWorker(bench, "pending", large);
  print(
    `pending: ${waiting.orders} of ${bench.stored}`,
    `${(waiting.seconds * 1000).toFixed(2)} ms`,
    atMost(waiting.seconds * 1000, 5, " ms"),
  );
  const repeated = await benchUnchanged(bench);
  return [...few.product, ...many.product, repeated];
}

const costOf = ({ seconds, orders = 1 }: Figures) => seconds / orders;

let runs = 0;

/** Product and floor in turn, each on a copy of its own, so that neither finds the other's pages. */
async function takeIn(bench: Bench, folder: string, salt: number): Promise<Ways> {
  const ways: Ways = { product: [], floor: [] };
  const folders = { product: `${folder}-product`, floor: `${folder}-floor` };
  for (const copy of Object.values(folders)) cpSync(folder, copy, { recursive: true });
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of ["product", "floor"] as const) {
      runs += 1;
      await prepare(bench.port, {
        from: FRESH_FROM * (1 + salt) + runs * RUN_BATCHES * BATCH_SIZE,
        batches: RUN_BATCHES,
      });
      const figures = await runWorker(bench, way === "product" ? "ingest" : "floor", folders[way]);
      ways[way].push({ ...figures, orders: RUN_BATCHES * BATCH_SIZE });
    }
  }
  return ways;
}

async function shellRate({ work, port }: Bench): Promise<number> {
  const file = path.join(work, "shell.db");
  const schema = `PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT PRIMARY KEY, number, status, total, payload);
    CREATE TABLE lines (order_id, line_no, sku, quantity, price, PRIMARY KEY (order_id, line_no));`;
  execFileSync("sqlite3", [file, schema]);
  const rates: number[] = [];
  for (let round = 0; round < 3; round++) {
    await prepare(port, { from: round * SHELL_BATCHES * BATCH_SIZE, batches: SHELL_BATCHES });
    const from = performance.now();
    const script = path.join(import.meta.dirname, "shell.sh");
    const stored = Number(execFileSync("sh", [script, `http://127.0.0.1:${port}`, file], { encoding: "utf8" }));
    rates.push((stored / (performance.now() - from)) * 1000);
  }
  return median(rates);
}

async function benchUnchanged(bench: Bench): Promise<Figures> {
  const folder = await makeDatabase(bench, "unchanged", CHANGES);
  await prepare(bench.port, { changes: CHANGES });
  const { orders, seconds, floorSeconds = 0, writes = 0, ...rest } = await runWorker(bench, "unchanged", folder);
  print(
    `unchanged: ${orders} repeated changes`,
    `${(seconds * 1000).toFixed(1)} ms a pass, parsing their body ${(floorSeconds * 1000).toFixed(1)} ms: ${(seconds / floorSeconds).toFixed(2)}`,
    atMost(seconds / floorSeconds, 3),
  );
  print("unchanged: rows written a pass", `${writes.toFixed(1)} (its own run and flow)`, atMost(writes, 4));
  return { seconds, ...rest };
}
