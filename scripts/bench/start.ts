/* How soon the daemon is ready, and what it needs while nothing happens. */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, median, print } from "./print.ts";
import { UNIT_OPTIONS } from "./unit-options.ts";

const ROUNDS = 7;
const READY = "erp-bridge is running";
/** After the first passes, and after V8 has given back what the start took. */
const IDLE_MS = 15_000;

export async function benchStart(
  launcher: string,
  port: string,
  databases: readonly { name: string; folder: string }[],
): Promise<void> {
  for (const { name, folder } of databases) {
    const config = path.join(folder, "config.yaml");
    writeFileSync(
      config,
      `service: { base_url: "http://127.0.0.1:${port}", client_id: bench, client_secret: bench }\ndatabase: { path: bridge.db }\nhttp: { listen: "off" }\n`,
      { mode: 0o600 },
    );
    const starts: number[] = [];
    let memoryMb = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const started = await start(launcher, config, round === ROUNDS - 1);
      starts.push(started.ms);
      memoryMb = started.memoryMb ?? memoryMb;
    }
    print(`start: exec to ready, ${name}`, `${median(starts).toFixed(0)} ms`, atMost(median(starts), 350, " ms"));
    print(`start: resident memory when idle, ${name}`, `${memoryMb.toFixed(0)} MB`, atMost(memoryMb, 110, " MB"));
  }
}

async function start(launcher: string, config: string, isWeighed: boolean): Promise<{ ms: number; memoryMb?: number }> {
  const from = performance.now();
  // As systemd gives it. The first start fills it.
  const env = { ...process.env, CACHE_DIRECTORY: path.join(path.dirname(config), "cache") };
  const child = spawn(process.execPath, [...UNIT_OPTIONS, launcher, "run", "--config", config], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ms = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${text}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (text.includes(READY)) resolve(performance.now() - from);
      });
    }
  });
  let memoryMb: number | undefined;
  if (isWeighed) {
    await sleep(IDLE_MS);
    const [, kb = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    memoryMb = Number(kb) / 1024;
  }
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
  return { ms, ...(memoryMb === undefined ? {} : { memoryMb }) };
}
