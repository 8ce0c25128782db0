/*
 * What images cost: `npm run bench:images -- [FILES] [BYTES]` (5,000 files of 100,000 bytes unless said).
 *
 * - the first push of all of them, in base64 and as forms: time, peak memory, longest turn of the event loop;
 * - the nightly comparison of all of them, unchanged, and after one of them was written anew;
 * - one file of the largest size that may be configured, sent alone.
 *
 * Each push runs in a process of its own, and so does the service. CPU times stand beside wall times, because they hardly
 * depend on what else the machine does.
 */

import { fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { requestCompare } from "../../src/feeds/feed-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { systemClock } from "../../src/platform/clock.ts";

const LARGEST_BYTES = 50_000_000;
const RECORDS = {
  base64: '{ sku: "{sku}", position: "{position}", content: "{file.base64}" }',
  multipart: '{ sku: "{sku}", position: "{position}" }',
};
type Send = keyof typeof RECORDS;

const [role = "main", ...args] = process.argv.slice(2);
if (role === "service") serve();
else if (role === "push") await push(args[0] ?? "", args[1] ?? "", args[2] as Send);
else await main(Number(role === "main" ? 5_000 : role), Number(args[0] ?? 100_000));

/** A service that takes everything and remembers nothing. */
function serve(): void {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.send?.(typeof address === "object" && address !== null ? address.port : 0);
  });
}

async function main(files: number, bytes: number): Promise<void> {
  const work = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bench-images-"));
  const service = fork(import.meta.filename, ["service"]);
  const port = String(await new Promise((resolve) => service.once("message", resolve)));
  try {
    for (const send of ["base64", "multipart"] as const) {
      const folder = path.join(work, send);
      await fill(folder, port, { send, files, bytes });
      print(`${files} files of ${bytes} B, ${send}`, await inChild(folder, port, send));
      print("  compared, none changed", await inChild(folder, port, send));
      writeFileSync(path.join(folder, "photos", "1.jpg"), imageOf(0, bytes));
      await quiet();
      print("  compared, one changed", await inChild(folder, port, send));
      const alone = path.join(work, `${send}-alone`);
      await fill(alone, port, { send, files: 1, bytes: LARGEST_BYTES });
      print(`  one file of ${LARGEST_BYTES} B`, await inChild(alone, port, send));
    }
  } finally {
    service.kill();
    rmSync(work, { recursive: true, force: true });
  }
}

function imageOf(seed: number, bytes: number): Buffer {
  const image = Buffer.alloc(bytes, `${seed} and so on `);
  image.set([0xff, 0xd8, 0xff]);
  return image;
}

/** What was just written would be waited for. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2_500));
}

function open(folder: string, port: string, send: Send): Bridge {
  const text = `
service: { base_url: "http://127.0.0.1:${port}", client_id: bench, client_secret: bench, requests_per_second: 10000 }
database: { path: ${path.join(folder, "bridge.db")} }
imports:
  images: { path: /api/v1/import/images, send: ${send}, folder: photos, bytes_max: 50MB, record: ${RECORDS[send]} }
http: { listen: "off" }
`;
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return new Bridge({ loaded, log, clock: systemClock }, "bench");
}

async function fill(
  folder: string,
  port: string,
  { send, files, bytes }: { send: Send; files: number; bytes: number },
): Promise<void> {
  mkdirSync(path.join(folder, "photos"), { recursive: true });
  await open(folder, port, send).stop();
  for (let i = 1; i <= files; i++) writeFileSync(path.join(folder, "photos", `${i}.jpg`), imageOf(i, bytes));
  const db = new Database(path.join(folder, "bridge.db"));
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${files})
    INSERT INTO images (sku, position, source) SELECT 'S-' || i, 1, i || '.jpg' FROM n`);
  db.close();
  await quiet();
}

interface Figures {
  seconds: number;
  cpuSeconds: number;
  rssMb: number;
  gapMs: number;
  sent: number;
}

function inChild(folder: string, port: string, send: Send): Promise<Figures> {
  const child = fork(import.meta.filename, ["push", folder, port, send]);
  return new Promise((resolve, reject) => {
    child.once("message", (figures) => resolve(figures as Figures));
    child.once("exit", (code) => code !== 0 && reject(new Error(`the push ended with ${code}`)));
  });
}

function print(what: string, { seconds, cpuSeconds, rssMb, gapMs, sent }: Figures): void {
  const figures = [`${seconds.toFixed(1)} s`, `CPU ${cpuSeconds.toFixed(1)} s`, `peak memory ${rssMb.toFixed(0)} MB`];
  figures.push(`longest turn of the event loop ${gapMs.toFixed(0)} ms CPU`, `${sent} sent`);
  console.log(`${what.padEnd(40)} ${figures.join(", ")}`);
}

/** What the event loop's own thread has computed: a busy machine makes every wait longer, but not this. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

async function push(folder: string, port: string, send: Send): Promise<void> {
  const bridge = open(folder, port, send);
  bridge.store.write(() => requestCompare(bridge.store, "images", m.sync.asked));
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let last = threadMs();
  let gapMs = 0;
  const timer = setInterval(() => {
    const now = threadMs();
    gapMs = Math.max(gapMs, now - last);
    last = now;
  }, 1);
  const { counts, error } = await bridge.runJob("images");
  if (error !== null) throw error;
  clearInterval(timer);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - startedAt) / 1000;
  await bridge.stop();
  const rssMb = process.resourceUsage().maxRSS / 1024;
  process.send?.({ seconds, cpuSeconds: (user + system) / 1e6, rssMb, gapMs, sent: counts["sent"] ?? 0 });
  process.disconnect();
}
