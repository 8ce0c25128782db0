/*
 * What is measured runs here, in a process of its own, from a bundle and with the flags of the installed program: so its
 * time, its memory and the gaps of its event loop are its own. `node WORKER ROLE FOLDER PORT`; figures go to the parent.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type FloorOrder, FloorWriter, runFloor } from "./floor.ts";
import { orderText } from "./order-data.ts";
import { median } from "./print.ts";
import { type SecureFigures, type TurnFigures, Turns, watchSecure } from "./turns.ts";

/** Orders that the ERP has not taken. */
const PENDING = 100;
const ROUNDS = 15;
const FILLED_AT_ONCE = 5_000;

export interface Figures extends TurnFigures, Partial<SecureFigures> {
  orders?: number;
  seconds: number;
  cpuSeconds: number;
  lockMs: number;
  /** Of what the role compares with, in the same process. */
  floorSeconds?: number;
  writes?: number;
  /** The most memory that the process had. */
  rssMb?: number;
  error?: string;
}

const [role, folder = "", port = "", count = "0"] = process.argv.slice(2);
const file = path.join(folder, "bridge.db");
const roles: Record<string, () => Promise<Figures>> = {
  make: async () => {
    await open().stop();
    return await measured(async () => ({}));
  },
  ingest: () => measured(ingest),
  floor: () => measured(async () => ({ orders: await runFloor(file, port) })),
  fill: () => measured(async () => fill(Number(count))),
  pending: () => measured(async () => pending()),
  unchanged: () => measured(unchanged),
  giant: () => measured(giant),
  page: () => measured(page),
  hostile: () => measured((turns) => hostile(turns, "orders")),
  "hostile-page": () => measured((turns) => hostile(turns, "updates")),
  "hostile-order": () => measured((turns) => hostile(turns, "reconcile")),
};
const run = roles[role ?? ""];
if (run === undefined) throw new Error(`unknown role ${role}`);
void run().then((figures) => {
  process.send?.(figures);
  process.disconnect();
});

function open(): Bridge {
  const text = `
service: { base_url: "http://127.0.0.1:${port}", client_id: bench, client_secret: bench, requests_per_second: 10000 }
database: { path: "${file}" }
updates: { carry: whole, overlap: 1h }
http: { listen: "off" }
`;
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new Bridge({ loaded, log, clock: systemClock }, "bench");
}

async function measured(work: (turns: Turns) => Promise<Partial<Figures>>): Promise<Figures> {
  const turns = new Turns();
  turns.start();
  const cpu = process.cpuUsage();
  const from = performance.now();
  const own = await work(turns);
  const seconds = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    seconds,
    cpuSeconds: (user + system) / 1e6,
    ...turns.stop(),
    lockMs: 0,
    ...own,
  };
}

/** From the service to confirmed, until nothing is left; with the log moved into the database, as the floor does. */
async function ingest(): Promise<Partial<Figures>> {
  const bridge = open();
  const from = performance.now();
  const result = await bridge.runJob("orders");
  if (result.error !== null) throw result.error;
  bridge.store.db.pragma("wal_checkpoint(TRUNCATE)");
  const seconds = (performance.now() - from) / 1000;
  const lockMs = bridge.store.longestWriteMs;
  const { n } = bridge.store.db
    .prepare("SELECT sum(order_count) AS n FROM batches WHERE state = 'confirmed'")
    .get() as {
    n: number;
  };
  await bridge.stop();
  return { orders: n, seconds, lockMs };
}

/** Stored and taken orders, written by hand without waiting for the disk. */
function fill(orders: number): Partial<Figures> {
  const writer = new FloorWriter(file, "OFF");
  const take = writer.db.prepare(
    "INSERT INTO erp_orders (order_id, erp_number, seen_revision) SELECT order_id, number, 1 FROM orders WHERE order_key = ?",
  );
  for (let from = 0; from < orders; from += FILLED_AT_ONCE) {
    const some = Array.from(
      { length: Math.min(FILLED_AT_ONCE, orders - from) },
      (_, index) => JSON.parse(orderText(from + index)) as FloorOrder,
    );
    writer.db.transaction(() => {
      writer.writeOrders(some);
      for (let key = from + 1; key <= Math.min(from + some.length, orders - PENDING); key++) take.run(key);
    })();
  }
  writer.db.pragma("wal_checkpoint(TRUNCATE)");
  writer.db.close();
  return { orders };
}

function pending(): Partial<Figures> {
  const db = new Database(file, { readonly: true });
  const times: number[] = [];
  let orders = 0;
  for (let round = 0; round < 51; round++) {
    const from = performance.now();
    orders = db.prepare("SELECT * FROM orders_pending").all().length;
    times.push((performance.now() - from) / 1000);
  }
  db.close();
  return { orders, seconds: times.sort((a, b) => a - b)[25] ?? 0 };
}

/** One batch of everything there is. */
async function giant(turns: Turns): Promise<Partial<Figures>> {
  const bridge = open();
  const secured = watchSecure(bridge.store);
  turns.start();
  const result = await bridge.runJob("orders");
  const gaps = turns.stop();
  if (result.error !== null) throw result.error;
  const { created = 0 } = result.counts;
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { orders: created, lockMs, rssMb: peakMemoryMb(), ...gaps, ...secured() };
}

/** One page of all changes there are. */
async function page(turns: Turns): Promise<Partial<Figures>> {
  const bridge = open();
  const pulled = await bridge.runJob("orders");
  if (pulled.error !== null) throw pulled.error;
  const secured = watchSecure(bridge.store);
  turns.start();
  const result = await bridge.runJob("updates");
  const gaps = turns.stop();
  if (result.error !== null) throw result.error;
  const { created = 0, changed = 0, rescued = 0 } = result.counts;
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { orders: created + changed + rescued, lockMs, rssMb: peakMemoryMb(), ...gaps, ...secured() };
}

/** An answer that nobody can want. */
async function hostile(turns: Turns, job: "orders" | "updates" | "reconcile"): Promise<Partial<Figures>> {
  const bridge = open();
  // Changes are followed, and orders are compared, once one is there.
  if (job !== "orders") await bridge.runJob("orders");
  turns.start();
  const { error, counts } = await bridge.runJob(job);
  const gaps = turns.stop();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  return { ...gaps, lockMs, rssMb: peakMemoryMb(), error: error?.message ?? JSON.stringify(counts) };
}

/** Not `resourceUsage().maxRSS`, which a child takes over from the process that forked it. */
function peakMemoryMb(): number {
  const [, kb = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kb) / 1024;
}

/** Changes that were seen before, asked again; beside parsing the very body that the service sends. */
async function unchanged(turns: Turns): Promise<Partial<Figures>> {
  const bridge = open();
  const { db } = bridge.store;
  const pass = async () => {
    const result = await bridge.runJob("updates");
    if (result.error !== null) throw result.error;
  };
  // Changes are followed once orders were pulled; the first two passes store what the changes say.
  const pulled = await bridge.runJob("orders");
  if (pulled.error !== null) throw pulled.error;
  await pass();
  await pass();
  const tables = [
    "orders",
    "order_line_rows",
    "order_event_rows",
    "quarantine",
    "owed_reads",
    "seen_changes",
    "erp_queue",
  ];
  const countWrites = () => {
    const { n } = db.prepare("SELECT total_changes() AS n").get() as { n: number };
    const { r } = db.prepare("SELECT count(*) AS r FROM runs").get() as { r: number };
    return {
      n,
      r,
      rows: tables.map((table) => JSON.stringify(db.prepare(`SELECT count(*) AS n FROM ${table}`).get())),
    };
  };
  const before = countWrites();
  const asked = await fetch(`http://127.0.0.1:${port}/api/v1/1c/orders/updates?since=0`);
  const body = await asked.text();
  const times: number[] = [];
  const floors: number[] = [];
  turns.start();
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now();
    await pass();
    times.push((performance.now() - from) / 1000);
  }
  // The gaps that the floor makes, and what it leaves to be collected, are not the bridge's.
  const gaps = turns.stop();
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now();
    JSON.parse(body);
    floors.push((performance.now() - from) / 1000);
  }
  const after = countWrites();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  // What a pass books for itself: its run, its flow, its position.
  const writes = JSON.stringify(after.rows) === JSON.stringify(before.rows) ? after.n - before.n : -1;
  const orders = (JSON.parse(body) as { updates: unknown[] }).updates.length;
  return { ...gaps, orders, lockMs, writes: writes / ROUNDS, seconds: median(times), floorSeconds: median(floors) };
}
