/*
 * What the mirror costs, on a PostgreSQL of its own: `npm run bench:mirror -- [ORDERS] [ROWS] [--only PART]...` (20,000 orders, 100,000 rows unless
 * said; PART: copy, update, daemon, shops):
 *
 * - the first copy of all orders, against COPY of the same rows into tables with the same indexes, in the same run;
 * - an ERP's UPDATE of all rows of `stock`, with the triggers and without;
 * - a daemon with that mirror: how soon it has what is written there, and what memory it needs more than one without;
 * - 500 shops in which nothing happens.
 *
 * Rounds take turns, and medians are shown, so that a busy machine hits both sides.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { parseConfig } from "../../src/config/load.ts";
import { type MirrorTarget, readMirrorUrl } from "../../src/config/mirror.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { initSchema } from "../../src/mirror/schema/init-schema.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { installProgram } from "../install-program.ts";
import { PostgresCluster } from "../mirror/postgres-cluster.ts";
import { type FloorOrder, FloorWriter } from "./floor.ts";
import { benchDaemon } from "./mirror-daemon.ts";
import { benchShops } from "./mirror-shops.ts";
import { orderText } from "./order-data.ts";
import { atLeast, atMost, median, print } from "./print.ts";

const ROUNDS = 3;
/** What a first copy writes. */
const COPIED = ["orders", "order_events", "erp_queue"];
const DATABASE = "bench";
const PARTS = ["copy", "update", "daemon", "shops"] as const;

const { values, positionals } = parseArgs({
  options: { only: { type: "string", multiple: true, default: [...PARTS] } },
  allowPositionals: true,
});
const [orders = 20_000, rows = 100_000] = positionals.map(Number);
const isDue = (part: (typeof PARTS)[number]) => values.only.includes(part);
const work = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bench-mirror-"));
const cluster = await PostgresCluster.start({ settings: "max_connections = 600\n" });
try {
  await cluster.query("postgres", `CREATE DATABASE ${DATABASE}`);
  const target = readMirrorUrl(cluster.url(DATABASE)) as MirrorTarget;
  await initSchema({ link: { target, authorities: [], schema: "erp_bridge", timeoutMs: 30_000 }, shop: "north" });
  await openBridge().stop();
  fill();
  if (isDue("copy")) await benchCopy();
  if (isDue("update")) await benchUpdate();
  if (isDue("daemon")) {
    await there("TRUNCATE stock, touched");
    const program = await installProgram(path.join(work, "program"));
    await benchDaemon({ program, cluster, database: DATABASE, folder: path.join(work, "shop"), shop: "north" });
  }
  if (isDue("shops")) await benchShops(cluster, DATABASE, target);
} finally {
  await cluster.close();
  rmSync(work, { recursive: true, force: true });
}

function there(sql: string): Promise<string> {
  return cluster.query(DATABASE, `SET search_path TO erp_bridge; ${sql}`);
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return (performance.now() - startedAt) / 1_000;
}

async function benchCopy(): Promise<void> {
  const copies: number[] = [];
  const floors: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await there(`TRUNCATE ${COPIED.join(", ")}, positions`);
    const bridge = openBridge();
    const before = process.cpuUsage();
    copies.push(
      await secondsOf(async () => {
        for (let outcome = "more"; outcome === "more"; ) {
          const result = await bridge.runJob("mirror");
          if (result.error !== null) throw result.error;
          outcome = result.outcome;
        }
      }),
    );
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1_000_000);
    await bridge.stop();
    const found = await there("SELECT count(*) FROM orders");
    if (found !== String(orders)) throw new Error(`${found} orders of ${orders} arrived`);
    floors.push(await secondsOfCopy());
  }
  const [copy, floor] = [median(copies), median(floors)];
  print(`first copy: ${orders} orders`, `${(orders / copy).toFixed(0)} orders/s, COPY ${(orders / floor).toFixed(0)}`);
  print("first copy: processor time of the bridge", `${((median(cpu) / orders) * 1e6).toFixed(0)} µs an order`);
  print("first copy: share of COPY", (floor / copy).toFixed(2), atLeast(floor / copy, 0.4));
}

/** What PostgreSQL itself needs for the same rows. */
async function secondsOfCopy(): Promise<number> {
  const each = COPIED.map((table) => ({ table, floor: `${table}_floor`, file: path.join(cluster.folder, table) }));
  for (const { table, floor, file } of each)
    await there(`COPY ${table} TO '${file}'; CREATE TABLE ${floor} (LIKE ${table} INCLUDING ALL)`);
  const seconds = await secondsOf(() =>
    there(each.map(({ floor, file }) => `COPY ${floor} FROM '${file}'`).join("; ")),
  );
  await there(`DROP TABLE ${each.map(({ floor }) => floor).join(", ")}`);
  return seconds;
}

/** As they would stand after a pull, written without waiting for the disk. */
function fill(): void {
  const writer = new FloorWriter(path.join(work, "shop", "bridge.db"), "OFF");
  const texts = Array.from({ length: orders }, (_, index) => JSON.parse(orderText(index)) as FloorOrder);
  writer.db.transaction(() => writer.writeOrders(texts))();
  writer.db.close();
}

async function benchUpdate(): Promise<void> {
  await there(
    `INSERT INTO stock (shop, sku, quantity) SELECT 'north', 'S-' || n, n FROM generate_series(1, ${rows}) AS n`,
  );
  const times = { on: [] as number[], off: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const triggers of ["off", "on"] as const) {
      await there(`TRUNCATE touched; ALTER TABLE stock ${triggers === "on" ? "ENABLE" : "DISABLE"} TRIGGER USER`);
      await cluster.query(DATABASE, "VACUUM erp_bridge.stock");
      times[triggers].push(await secondsOf(() => there("UPDATE stock SET quantity = quantity + 1")));
      const noted = await there("SELECT count(*) FROM touched");
      if (noted !== (triggers === "on" ? String(rows) : "0")) throw new Error(`${noted} keys of ${rows} were noted`);
    }
  }
  const [withTriggers, without] = [median(times.on), median(times.off)];
  const ratio = withTriggers / without;
  const figure = `${withTriggers.toFixed(2)} s with triggers, ${without.toFixed(2)} s without`;
  print(`UPDATE of ${rows} rows of stock`, figure);
  print("UPDATE: triggers against none", ratio.toFixed(2), atMost(ratio, 2.5));
}

function openBridge(): Bridge {
  mkdirSync(path.join(work, "shop"), { recursive: true });
  const text = `
service: { base_url: "http://127.0.0.1:9", client_id: bench, client_secret: bench }
database: { path: bridge.db }
backup: { dir: backups }
http: { listen: "off" }
mirror: { url: "${cluster.url(DATABASE)}", shop: north }
`;
  const loaded = parseConfig({ text, file: path.join(work, "shop", "config.yaml"), env: {} });
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new Bridge({ loaded, log, clock: systemClock }, "bench");
}
