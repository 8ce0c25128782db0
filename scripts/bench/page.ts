/*
 * Measures what health, metrics and the status page cost beside a large database: `npm run bench:page -- [ORDERS] [PENDING]`,
 * a million orders and 100 of them not taken by the ERP unless said otherwise. Every order came in a batch of its own, which
 * is the most that there can be.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import os from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Log } from "../../src/platform/ports.ts";

const PATHS = ["/health", "/metrics", "/"];
const ROUND_MS = 10_000;
const BETWEEN_MS = 10;
const DAYS = 60;
const RESOLUTION_MS = 5;
const QUIET: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function fill({ store }: Bridge, orders: number, pending: number): void {
  const { db } = store;
  const at = (table: string) =>
    `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('-%f seconds', ${DAYS * 86_400}.0 * (1 - ${table} / ${orders}.0)))`;
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${orders})`;
  store.write(() => {
    db.exec(
      `${numbers} INSERT INTO orders (order_id, number, status, received_at, changed_at, payload_source, payload_hash, payload)
       SELECT lower(printf('%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2),
           substr(hex(randomblob(2)), 2), hex(randomblob(6)))),
         i, 'new', ${at("i")}, ${at("i")}, 'batch', x'00', printf('%.700c', 'x') FROM n`,
    );
    db.exec(
      `${numbers} INSERT INTO batches (fingerprint, received_at, order_count, state, confirmed_at)
       SELECT i, ${at("i")}, 1, 'confirmed', ${at("i")} FROM n`,
    );
    db.prepare("DELETE FROM erp_queue WHERE order_key <= ?").run(orders - pending);
    db.exec(
      `WITH RECURSIVE n (i) AS (SELECT 43200 UNION ALL SELECT i - 1 FROM n WHERE i > 0)
       INSERT INTO runs (job, started_at, finished_at, outcome)
       SELECT job, at, at, 'idle' FROM (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('-%d minutes', i)) AS at FROM n),
         (SELECT 'orders' AS job UNION ALL SELECT 'updates' UNION ALL SELECT 'stocks')`,
    );
  });
  db.pragma("wal_checkpoint(TRUNCATE)");
}

function ask(port: number, target: string): Promise<{ ms: number; bytes: number }> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: target, agent: false }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ ms: performance.now() - startedAt, bytes }));
    });
    sent.on("error", reject).end();
  });
}

/** As hard as one asker can, for ten seconds. */
async function press(port: number): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (const endMs = performance.now() + ROUND_MS; performance.now() < endMs; ) {
    times.push((await ask(port, PATHS[times.length % PATHS.length] ?? "/")).ms);
    await wait(BETWEEN_MS);
  }
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const quantile = (share: number) => times[Math.floor(share * (times.length - 1))]?.toFixed(1);
  const stop = Math.max(0, delay.max / 1e6 - RESOLUTION_MS).toFixed(1);
  console.log(
    `${times.length} answers in 10 s: median ${quantile(0.5)} ms, 99 of 100 below ${quantile(0.99)} ms, longest ${quantile(1)} ms`,
  );
  const busyMs = ((user + system) / 1000 / times.length).toFixed(2);
  console.log(`longest stop of the event loop: ${stop} ms; processor time of an answer, asking included: ${busyMs} ms`);
}

async function main(): Promise<void> {
  const orders = Number(process.argv[2] ?? 1_000_000);
  const pending = Number(process.argv[3] ?? 100);
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bench-"));
  const text = `
service: { base_url: "http://127.0.0.1:1", client_id: bench, client_secret: bench-secret }
database: { path: bridge.db }
http: { listen: "127.0.0.1:0" }
`;
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const bridge = new Bridge({ loaded, log: QUIET, clock: systemClock }, "bench");
  try {
    fill(bridge, orders, pending);
    bridge.web?.start();
    await bridge.web?.whenListening();
    const port = bridge.web?.port ?? 0;
    console.log(`${orders} orders in ${orders} batches, ${pending} not taken by the ERP`);
    for (const target of PATHS) {
      const { ms, bytes } = await ask(port, target);
      console.log(`${target.padEnd(9)} first ${ms.toFixed(1)} ms, ${bytes} bytes`);
      await wait(5_000);
      console.log(`${target.padEnd(9)} again ${(await ask(port, target)).ms.toFixed(1)} ms`);
    }
    await press(port);
  } finally {
    await bridge.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
