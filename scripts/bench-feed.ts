/*
 * What a feed costs: `node scripts/bench-feed.ts [ROWS]` (1,000,000 unless said).
 *
 * - the first push of ROWS rows: time, peak memory, longest gap of the event loop;
 * - 100 changed rows in a table of ROWS against the same in one of 10,000, beside the floor of a pass with one row;
 * - ROWS/5 rows changed in one transaction, with orders pulled meanwhile;
 * - an ERP's rewrite of its whole table with the triggers against without them.
 *
 * Pushes run in a process of their own, from a bundle and with the flags of the installed program: so their memory is
 * theirs. CPU times stand beside wall times, because they hardly depend on what else the machine does.
 */
import { execFileSync, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import Database from "better-sqlite3";
import { parseConfig } from "../src/config/load.ts";
import { Bridge } from "../src/daemon.ts";
import { systemClock } from "../src/platform/clock.ts";

const root = path.join(import.meta.dirname, "..");
const BUNDLE = path.join(root, "dist", "bench-feed.mjs");
const SMALL = 10_000;
const CHANGED = 100;
const ROUNDS = 15;

// As in bin/erp-bridge.mjs.
setFlagsFromString("--optimize-for-size");

const [role = "main", ...args] = process.argv.slice(2);
if (role === "service") serve();
else if (role === "first-push") await firstPush(args[0] ?? "", args[1] ?? "");
else if (role === "burst") await burst(args[0] ?? "", args[1] ?? "");
else await main(role === "main" ? 1_000_000 : Number(role));

/** A service that takes everything and remembers nothing, in a process of its own. */
function serve(): void {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(request.method === "GET" ? '{"orders":[]}' : "{}"),
    );
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.send?.(typeof address === "object" && address !== null ? address.port : 0);
  });
}

function open(folder: string, port: string): Bridge {
  const text = `
service: { base_url: "http://127.0.0.1:${port}", client_id: bench, client_secret: bench, requests_per_second: 10000 }
database: { path: ${path.join(folder, "bridge.db")} }
http: { listen: "off" }
`;
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new Bridge({ loaded, log, clock: systemClock }, "bench");
}

async function main(rows: number): Promise<void> {
  const rolldown = path.join(root, "node_modules", ".bin", "rolldown");
  const options = ["-f", "esm", "-p", "node", "--external", "better-sqlite3", "-o", BUNDLE, "--no-codeSplitting"];
  execFileSync(rolldown, [import.meta.filename, ...options], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const work = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bench-"));
  const service = fork(import.meta.filename, ["service"]);
  const port = String(await new Promise((resolve) => service.once("message", resolve)));
  try {
    const folders = { small: path.join(work, "small"), large: path.join(work, "large") };
    const pushes = [];
    for (const [folder, count] of [
      [folders.small, SMALL],
      [folders.large, rows],
    ] as const) {
      await fill(folder, port, count);
      pushes.push(await inChild("first-push", folder, port));
    }
    const [, push] = pushes;
    if (push !== undefined) print(`first push of ${rows} rows`, describe(push));
    const small = await changed(folders.small, port, SMALL);
    const large = await changed(folders.large, port, rows);
    for (const [count, { wall, cpu }] of [
      [SMALL, small],
      [rows, large],
    ] as const) {
      print(
        `${CHANGED} changed rows of ${count}`,
        `${ms(wall.cost)}, CPU ${ms(cpu.cost)} (floor ${ms(wall.floor)}, CPU ${ms(cpu.floor)})`,
      );
    }
    print(
      "ratio",
      `${(large.wall.cost / small.wall.cost).toFixed(2)}, CPU ${(large.cpu.cost / small.cpu.cost).toFixed(2)}`,
    );
    const one = await inChild("burst", folders.large, port);
    print(
      `${Math.ceil(rows / 5)} rows changed at once`,
      `${describe(one)}; ${one.orders ?? 0} pulls of orders meanwhile, the slowest ${ms(one.orderMs ?? 0)}`,
    );
    rewrites(path.join(folders.large, "bridge.db"), rows);
  } finally {
    service.kill();
    rmSync(work, { recursive: true, force: true });
    rmSync(BUNDLE, { force: true });
  }
}

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(34)} ${figure}`);
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

function describe({ seconds, cpuSeconds, rssMb, gapMs, lockMs }: Figures): string {
  return `${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s, peak memory ${rssMb.toFixed(0)} MB, longest gap of the event loop ${gapMs.toFixed(0)} ms, longest hold of the write lock ${lockMs.toFixed(0)} ms`;
}

interface Figures {
  seconds: number;
  rssMb: number;
  gapMs: number;
  cpuSeconds: number;
  lockMs: number;
  orders?: number;
  orderMs?: number;
}

function inChild(role: string, folder: string, port: string): Promise<Figures> {
  const child = fork(BUNDLE, [role, folder, port]);
  return new Promise((resolve, reject) => {
    child.once("message", (figures) => resolve(figures as Figures));
    child.once("exit", (code) => code !== 0 && reject(new Error(`${role} ended with ${code}`)));
  });
}

async function fill(folder: string, port: string, rows: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await open(folder, port).stop();
  const db = new Database(path.join(folder, "bridge.db"));
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO stock (sku, warehouse, quantity, reserved) SELECT printf('SKU-%08d', i), 'main', 1 + i % 97, i % 3 FROM n`);
  db.close();
}

/** The longest time for which nothing else could run. */
function watchGaps(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 5);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return Math.max(longest, performance.now() - last - 5);
  };
}

function report(figures: Omit<Figures, "rssMb" | "cpuSeconds">): void {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  process.send?.({ ...figures, rssMb: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 });
}

async function firstPush(folder: string, port: string): Promise<void> {
  const bridge = open(folder, port);
  const gaps = watchGaps();
  const startedAt = performance.now();
  const result = await bridge.runJob("stocks");
  if (result.error !== null) throw result.error;
  const seconds = (performance.now() - startedAt) / 1000;
  const gapMs = gaps();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  report({ seconds, gapMs, lockMs });
  process.disconnect();
}

async function burst(folder: string, port: string): Promise<void> {
  const erp = new Database(path.join(folder, "bridge.db"));
  const { n } = erp.prepare("SELECT count(*) AS n FROM stock").get() as { n: number };
  const bridge = open(folder, port);
  await bridge.runJob("stocks");
  erp.exec(`UPDATE stock SET quantity = quantity + 1000 WHERE sku <= printf('SKU-%08d', ${Math.ceil(n / 5)})`);
  const gaps = watchGaps();
  const startedAt = performance.now();
  let isOver = false;
  const push = bridge.runJob("stocks").finally(() => {
    isOver = true;
  });
  let orders = 0;
  let orderMs = 0;
  while (!isOver) {
    const from = performance.now();
    await bridge.runJob("orders");
    orderMs = Math.max(orderMs, performance.now() - from);
    orders += 1;
    await systemClock.sleep(50);
  }
  await push;
  const seconds = (performance.now() - startedAt) / 1000;
  const gapMs = gaps();
  const lockMs = bridge.store.longestWriteMs;
  await bridge.stop();
  erp.close();
  report({ seconds, gapMs, lockMs, orders, orderMs });
  process.disconnect();
}

interface Cost {
  cost: number;
  floor: number;
}

/** The median cost in milliseconds of a pass over scattered changes, beside that of a pass over one. */
async function changed(folder: string, port: string, rows: number): Promise<{ wall: Cost; cpu: Cost }> {
  const bridge = open(folder, port);
  const erp = new Database(path.join(folder, "bridge.db"));
  await bridge.runJob("stocks");
  const change = erp.prepare("UPDATE stock SET quantity = quantity + 1 WHERE sku = printf('SKU-%08d', ?)");
  const pass = async (count: number, round: number): Promise<[wall: number, cpu: number]> => {
    erp.exec("BEGIN");
    for (let n = 0; n < count; n++) change.run(1 + ((n * 7919 + round * 104_729) % rows));
    erp.exec("COMMIT");
    const [from, cpuFrom] = [performance.now(), process.cpuUsage()];
    await bridge.runJob("stocks");
    const { user, system } = process.cpuUsage(cpuFrom);
    return [performance.now() - from, (user + system) / 1000];
  };
  const floors: [number, number][] = [];
  const costs: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(await pass(1, 1000 + round));
    costs.push(await pass(CHANGED, round));
  }
  erp.close();
  await bridge.stop();
  const of = (index: 0 | 1) => ({
    cost: median(costs.map((each) => each[index])),
    floor: median(floors.map((each) => each[index])),
  });
  return { wall: of(0), cpu: of(1) };
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Row by row, as an ERP's driver binds them, and in single statements, which are the least that a rewrite can cost. */
function rewrites(file: string, rows: number): void {
  const db = new Database(file);
  db.pragma("wal_autocheckpoint = 0");
  db.exec("CREATE TABLE IF NOT EXISTS copy AS SELECT * FROM stock");
  const source = db.prepare("SELECT sku, warehouse, quantity, reserved FROM copy").raw(true).all() as unknown[][];
  const each =
    (sql: string, change = 0) =>
    () => {
      const statement = db.prepare(sql);
      for (const [sku, warehouse, quantity, reserved] of source)
        statement.run(sku, warehouse, Number(quantity) + change, reserved);
    };
  const insert = "INSERT INTO stock (sku, warehouse, quantity, reserved) VALUES (?, ?, ?, ?)";
  const upsert = `${insert} ON CONFLICT DO UPDATE SET quantity = excluded.quantity, reserved = excluded.reserved`;
  const ways: [string, () => void][] = [
    ["row by row, upsert, equal", each(upsert)],
    ["row by row, upsert, different", each(upsert, 1)],
    ["row by row, REPLACE", each(insert.replace("INSERT", "INSERT OR REPLACE"))],
    [
      "row by row, after DELETE",
      () => [() => db.exec("DELETE FROM stock"), each(insert)].forEach((step) => void step()),
    ],
    ["one statement, REPLACE", () => db.exec("INSERT OR REPLACE INTO stock SELECT * FROM copy")],
    ["one statement, UPDATE", () => db.exec("UPDATE stock SET quantity = quantity + 1")],
    ["one statement, after DELETE", () => db.exec("DELETE FROM stock; INSERT INTO stock SELECT * FROM copy")],
  ];
  const triggers = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'erp_bridge%'")
    .all() as { name: string; sql: string }[];
  /** CPU seconds: what the ERP's own statements cost, whatever the disk does. */
  const time = (rewrite: () => void): number => {
    db.exec("DELETE FROM feed_dirty; DELETE FROM stock; INSERT INTO stock SELECT * FROM copy; DELETE FROM feed_dirty");
    db.pragma("wal_checkpoint(TRUNCATE)");
    const from = process.cpuUsage();
    db.transaction(rewrite)();
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1e6;
  };
  for (const [name, rewrite] of ways) {
    const tracked = median([time(rewrite), time(rewrite), time(rewrite)]);
    for (const trigger of triggers) db.exec(`DROP TRIGGER ${trigger.name}`);
    const plain = median([time(rewrite), time(rewrite), time(rewrite)]);
    for (const trigger of triggers) db.exec(trigger.sql);
    const perRow = ((tracked - plain) / rows) * 1e6;
    print(
      name,
      `CPU ${tracked.toFixed(2)} s with tracking, ${plain.toFixed(2)} s without: ${(tracked / plain).toFixed(2)} (${perRow.toFixed(1)} µs a row)`,
    );
  }
  db.close();
}
