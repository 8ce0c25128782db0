/* A daemon with a mirror: how soon it has what an ERP writes in PostgreSQL, and what memory it needs more than without, also after a first copy. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import type { PostgresCluster } from "../mirror/postgres-cluster.ts";
import { atMost, median, print } from "./print.ts";
import { UNIT_OPTIONS } from "./unit-options.ts";

const WRITES = 60;
/** Between two writes: anywhere within the second of a schedule. */
const BETWEEN_MS = 300;
const LOOK_MS = 5;
const GIVES_UP_MS = 60_000;
const SCHEDULE_MS = 1_000;
/** After the first passes, and after V8 has given back what the start took. */
const IDLE_MS = 12_000;
const ROUNDS = 3;
const MORE_MB_MAX = 15;
const READY = "erp-bridge is running";
const MB = 1024;

interface Place {
  /** The program's launcher. */
  program: string;
  cluster: PostgresCluster;
  database: string;
  /** With a database of orders. */
  folder: string;
  shop: string;
}

export async function benchDaemon({ program, cluster, database, folder, shop }: Place): Promise<void> {
  const there = (sql: string) => cluster.query(database, `SET search_path TO erp_bridge; ${sql}`);
  const mirror = `mirror: { url: "${cluster.url(database)}", shop: ${shop} }`;
  const file = path.join(folder, "bridge.db");
  await weigh(program, folder, mirror, async () => await benchLatency(file, shop, there));
  const weights = { copied: [] as number[], with: [] as number[], without: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    await there("TRUNCATE orders, order_events, erp_queue, positions");
    const isCopied = async () => (await there("SELECT count(*) FROM positions WHERE walk IS NULL")) === "1";
    weights.copied.push(await weigh(program, folder, mirror, async () => await until(isCopied)));
    weights.with.push(await weigh(program, folder, mirror, async () => {}));
    weights.without.push(await weigh(program, folder, "", async () => {}));
  }
  const [own, without] = [median(weights.with), median(weights.without)];
  const figure = `${own.toFixed(0)} MB, ${without.toFixed(0)} MB without a mirror`;
  print("daemon: resident memory when idle", figure, atMost(own - without, MORE_MB_MAX, " MB more"));
  const copied = median(weights.copied);
  const more = atMost(copied - without, MORE_MB_MAX, " MB more");
  print("daemon: resident memory after a first copy", `${copied.toFixed(0)} MB`, more);
}

/** The resident memory of a daemon that has done this and then had nothing to do. */
async function weigh(program: string, folder: string, mirror: string, act: () => Promise<void>): Promise<number> {
  const daemon = await start(program, folder, mirror);
  try {
    await act();
    await sleep(IDLE_MS);
    return residentMb(daemon);
  } finally {
    daemon.kill("SIGTERM");
    if (daemon.exitCode === null) await once(daemon, "exit");
  }
}

/** From the answer to the ERP's COMMIT until another program reads the row in the shop's database. */
async function benchLatency(file: string, shop: string, there: (sql: string) => Promise<string>): Promise<void> {
  const db = new Database(file, { readonly: true });
  const find = db.prepare("SELECT 1 FROM stock WHERE sku = ?");
  const times: number[] = [];
  for (let write = 0; write < WRITES; write++) {
    await there(`INSERT INTO stock (shop, sku, quantity) VALUES ('${shop}', 'late-${write}', 1)`);
    const from = performance.now();
    await until(() => find.get(`late-${write}`) !== undefined);
    times.push(performance.now() - from);
    await sleep(Math.random() * BETWEEN_MS);
  }
  db.close();
  times.sort((a, b) => a - b);
  const [p50 = 0, p95 = 0] = [0.5, 0.95].map((share) => times[Math.ceil(share * times.length) - 1]);
  print("from a write in PostgreSQL to SQLite, p50", `${p50.toFixed(0)} ms`);
  print("from a write in PostgreSQL to SQLite, p95", `${p95.toFixed(0)} ms`, atMost(p95, 2 * SCHEDULE_MS + 300, " ms"));
}

async function start(program: string, folder: string, mirror: string): Promise<ChildProcess> {
  const config = path.join(folder, "config.yaml");
  writeFileSync(
    config,
    `service: { base_url: "http://127.0.0.1:9", client_id: bench, client_secret: bench }
database: { path: bridge.db }
backup: { dir: backups }
http: { listen: "off" }
${mirror}
`,
    { mode: 0o600 },
  );
  const child = spawn(process.execPath, [...UNIT_OPTIONS, program, "run", "--config", config], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${text}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (text.includes(READY)) resolve();
      });
    }
  });
  child.removeAllListeners("exit");
  return child;
}

function residentMb({ pid }: ChildProcess): number {
  const [, kb = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / MB;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const from = performance.now(); !(await isSo()); await sleep(LOOK_MS))
    if (performance.now() - from > GIVES_UP_MS) throw new Error("it did not come about");
}
