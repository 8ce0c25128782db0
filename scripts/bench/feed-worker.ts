/*
 * Passes over the stock feed, in a process of their own, from a bundle and with the flags of the installed program: so
 * their time and memory are theirs. `node WORKER ROLE FOLDER PORT`; figures go to the parent.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { Agent } from "undici";
import { parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { median } from "./print.ts";
import { type SecureFigures, type TurnFigures, Turns, watchSecure } from "./turns.ts";

export interface FeedFigures extends TurnFigures, Partial<SecureFigures> {
  seconds: number;
  cpuSeconds: number;
  rssMb: number;
  lockMs: number;
  /** Of single passes, in milliseconds of CPU. */
  passCpuMs?: number;
  passMs?: number;
  orders?: number;
  orderMs?: number;
}

const CHANGED = 100;
const ROUNDS = 15;
const CHUNK = 500;

const [role, folder = "", port = "", settings = "{}"] = process.argv.slice(2);
const file = path.join(folder, "bridge.db");
const roles: Record<string, () => Promise<Partial<FeedFigures>>> = {
  push: firstPush,
  "push-floor": pushFloor,
  changed,
  burst,
  scan,
};
const run = roles[role ?? ""];
if (run === undefined) throw new Error(`unknown role ${role}`);
const turns = new Turns();
turns.start();
const from = performance.now();
void measured(run).then((figures) => {
  process.send?.(figures);
  process.disconnect();
});

async function measured(role: () => Promise<Partial<FeedFigures>>): Promise<FeedFigures> {
  const own = await role();
  const { user, system } = process.cpuUsage();
  return {
    seconds: (performance.now() - from) / 1000,
    cpuSeconds: (user + system) / 1e6,
    rssMb: peakMemoryMb(),
    ...turns.stop(),
    lockMs: 0,
    ...own,
  };
}

/** Not `resourceUsage().maxRSS`, which a child takes over from the process that forked it. */
function peakMemoryMb(): number {
  const [, kb = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kb) / 1024;
}

function open(): Bridge {
  const text = `
service: { base_url: "http://127.0.0.1:${port}", client_id: bench, client_secret: bench, requests_per_second: 10000 }
database: { path: "${file}" }
imports: { stocks: ${settings} }
http: { listen: "off" }
`;
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new Bridge({ loaded, log, clock: systemClock }, "bench");
}

async function pass(bridge: Bridge): Promise<void> {
  const result = await bridge.runJob("stocks");
  if (result.error !== null) throw result.error;
}

async function firstPush(): Promise<Partial<FeedFigures>> {
  const bridge = open();
  const secured = watchSecure(bridge.store);
  turns.start();
  const startedAt = performance.now();
  await pass(bridge);
  const seconds = (performance.now() - startedAt) / 1000;
  const gaps = turns.stop();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { seconds, lockMs, ...gaps, ...secured() };
}

/** Reads, serialises and posts: nothing is compared, and nothing is kept of what was sent. */
async function pushFloor(): Promise<Partial<FeedFigures>> {
  const db = new Database(file, { readonly: true });
  const agent = new Agent({ connections: 1 });
  const post = async (stocks: readonly object[]) => {
    const answer = await agent.request({
      origin: `http://127.0.0.1:${port}`,
      path: "/api/v1/import/stocks",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ stocks }),
    });
    await answer.body.dump();
  };
  let chunk: object[] = [];
  const rows = db.prepare("SELECT sku, warehouse, quantity - reserved AS quantity FROM stock").iterate();
  for (const row of rows as IterableIterator<object>) {
    chunk.push(row);
    if (chunk.length < CHUNK) continue;
    await post(chunk);
    chunk = [];
  }
  if (chunk.length > 0) await post(chunk);
  await agent.close();
  db.close();
  return {};
}

/** The median cost of a pass over scattered changes. */
async function changed(): Promise<Partial<FeedFigures>> {
  const erp = new Database(file);
  const { n: rows } = erp.prepare("SELECT count(*) AS n FROM stock").get() as { n: number };
  const bridge = open();
  await pass(bridge);
  const change = erp.prepare("UPDATE stock SET quantity = quantity + 1 WHERE sku = printf('SKU-%08d', ?)");
  const walls: number[] = [];
  const cpus: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    erp.transaction(() => {
      for (let n = 0; n < CHANGED; n++) change.run(1 + ((n * 7919 + round * 104_729) % rows));
    })();
    const [startedAt, cpuFrom] = [performance.now(), process.cpuUsage()];
    await pass(bridge);
    const { user, system } = process.cpuUsage(cpuFrom);
    walls.push(performance.now() - startedAt);
    cpus.push((user + system) / 1000);
  }
  erp.close();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { passMs: median(walls), passCpuMs: median(cpus), lockMs };
}

/** A fifth of the table changes at once, and orders are pulled meanwhile. */
async function burst(): Promise<Partial<FeedFigures>> {
  const erp = new Database(file);
  const { n } = erp.prepare("SELECT count(*) AS n FROM stock").get() as { n: number };
  const bridge = open();
  await pass(bridge);
  erp.exec(`UPDATE stock SET quantity = quantity + 1000 WHERE sku <= printf('SKU-%08d', ${Math.ceil(n / 5)})`);
  turns.start();
  const startedAt = performance.now();
  let isOver = false;
  const push = pass(bridge).finally(() => {
    isOver = true;
  });
  let orders = 0;
  let orderMs = 0;
  while (!isOver) {
    const askedAt = performance.now();
    await bridge.runJob("orders");
    orderMs = Math.max(orderMs, performance.now() - askedAt);
    orders += 1;
    await systemClock.sleep(50);
  }
  await push;
  const seconds = (performance.now() - startedAt) / 1000;
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  erp.close();
  return { seconds, lockMs, orders, orderMs };
}

/** Rows that no trigger watches, nothing changed: what each run of the schedule costs. */
async function scan(): Promise<Partial<FeedFigures>> {
  const bridge = open();
  await pass(bridge);
  await pass(bridge);
  turns.start();
  const cpuFrom = process.cpuUsage();
  const startedAt = performance.now();
  await pass(bridge);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuFrom);
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { seconds, passCpuMs: (user + system) / 1000, lockMs };
}
