/* What a feed costs: its first push, few changes among many rows, many at once, rows without triggers. */
import { fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import type { FeedFigures } from "./feed-worker.ts";
import { atMost, median, print } from "./print.ts";
import { benchRewrites } from "./rewrites.ts";
import { UNIT_OPTIONS } from "./unit-options.ts";

const SMALL = 10_000;
const ROUNDS = 3;

export interface FeedBench {
  work: string;
  /** The worker of the orders, which makes empty databases. */
  makeEmpty: (name: string) => Promise<string>;
  feedWorker: string;
  port: string;
  rows: number;
}

export async function benchFeeds(bench: FeedBench): Promise<FeedFigures[]> {
  const { rows } = bench;
  const small = await makeStock(bench, "stock-small", SMALL);
  const pushes: FeedFigures[] = [];
  const floors: FeedFigures[] = [];
  let large = "";
  for (let round = 0; round < ROUNDS; round++) {
    large = await makeStock(bench, `stock-${round}`, rows);
    floors.push(await runFeed(bench, "push-floor", large));
    pushes.push(await runFeed(bench, "push", large));
  }
  const ratio = median(pushes.map(({ seconds }, index) => seconds / (floors[index]?.seconds ?? 1)));
  const seconds = median(pushes.map((push) => push.seconds));
  const memory = Math.max(...pushes.map(({ rssMb }) => rssMb));
  const peak = `${memory.toFixed(0)} MB`;
  print(`first push of ${rows} rows: memory`, peak, atMost(memory, 200, " MB"));
  print(
    `first push of ${rows} rows: time`,
    `${seconds.toFixed(1)} s, ${ratio.toFixed(1)} times reading and posting alone`,
  );
  await runFeed(bench, "push", small);
  const few = await runFeed(bench, "changed", small);
  const many = await runFeed(bench, "changed", large);
  const cost = (many.passMs ?? 0) / (few.passMs ?? 1);
  const figures = `${(many.passMs ?? 0).toFixed(1)} ms against ${(few.passMs ?? 0).toFixed(1)} ms: ${cost.toFixed(2)}`;
  print(`100 changed of ${rows} against of ${SMALL}`, figures, atMost(cost, 1.5));
  const burst = await runFeed(bench, "burst", large);
  print(
    `${Math.ceil(rows / 5)} changed at once`,
    `${burst.seconds.toFixed(1)} s; ${burst.orders} pulls of orders meanwhile, the slowest ${(burst.orderMs ?? 0).toFixed(0)} ms`,
  );
  const scanned = await benchScan(bench);
  benchRewrites(path.join(large, "bridge.db"), rows);
  return [...pushes, few, many, burst, scanned];
}

/** The same rows behind a view, which no trigger can watch. */
async function benchScan(bench: FeedBench): Promise<FeedFigures> {
  const folder = await makeStock(bench, "stock-view", bench.rows);
  const db = new Database(path.join(folder, "bridge.db"));
  db.exec("CREATE VIEW for_sale AS SELECT * FROM stock");
  db.close();
  const figures = await runFeed(bench, "scan", folder, '{ table: "for_sale", chunk: 10000 }');
  const cpu = ((figures.passCpuMs ?? 0) / 1000).toFixed(1);
  print(`a pass over a view of ${bench.rows} rows, unchanged`, `${figures.seconds.toFixed(1)} s, CPU ${cpu} s`);
  return figures;
}

/** The first push of so many rows alone. */
export async function benchFirstPush(bench: FeedBench): Promise<FeedFigures> {
  return await runFeed(bench, "push", await makeStock(bench, "first-push", bench.rows));
}

async function makeStock({ makeEmpty }: FeedBench, name: string, rows: number): Promise<string> {
  const folder = await makeEmpty(name);
  mkdirSync(folder, { recursive: true });
  const db = new Database(path.join(folder, "bridge.db"));
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO stock (sku, warehouse, quantity, reserved) SELECT printf('SKU-%08d', i), 'main', 1 + i % 97, i % 3 FROM n`);
  db.close();
  return folder;
}

function runFeed(bench: FeedBench, role: string, folder: string, settings = "{}"): Promise<FeedFigures> {
  const child = fork(bench.feedWorker, [role, folder, bench.port, settings], { execArgv: [...UNIT_OPTIONS] });
  return new Promise((resolve, reject) => {
    child.once("message", (figures) => resolve(figures as FeedFigures));
    child.once("exit", (code) => code !== 0 && reject(new Error(`${role} ended with ${code}`)));
  });
}
