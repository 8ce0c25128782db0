import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Campaign } from "./campaign.ts";
import { addOrders, changeOrders, changeStock, furnish, lastLine, recover } from "./kill-part.ts";
import { type Child, Scene } from "./scene.ts";
import { findLostIn, findUnfinished } from "./verdict.ts";

/** The longest time that the daemon's event loop may stop. */
const GAP_MAX_MS = 1_200;
const RECOVERED_WITHIN_MS = 15_000;
/** The interval of the passes. */
const POLL_MS = 1_000;
const LOOK_MS = 50;
const HELD_MS = [1_000, 30_000];
const LONG_HELD_MS = 600_000;
/** A wait of 5 s is worth a line in the daemon's log. */
const TOLD_AFTER_MS = 7_000;
/** The write-ahead log from which on `status` asks who keeps it from shrinking. */
const ALARM_BYTES = 256 * 1024 * 1024;
const FILLER_BYTES = 1_000_000;
const WRITES_MAX = 1_000;

/**
 * Loaded into the daemon with --import, beside the program: writes down the longest gap of the event loop. A histogram
 * of the loop's delay counts from the timer's own resolution.
 */
const WATCH = (file: string) => `
import { monitorEventLoopDelay } from "node:perf_hooks";
import { writeFileSync } from "node:fs";
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
setInterval(() => writeFileSync(${JSON.stringify(file)}, String(Math.round(delay.max / 1e6))), 200).unref();
// What the start itself costs is another matter.
setTimeout(() => delay.reset(), 1500).unref();
`;

interface Watched {
  scene: Scene;
  daemon: Child;
  /** The longest gap of the daemon's event loop since its start, in milliseconds. */
  gapMs: () => number;
}

async function startWatched(campaign: Campaign, name: string): Promise<Watched> {
  const folder = campaign.newFolder(name);
  const watch = `${folder}-watch.mjs`;
  const gaps = `${folder}-gaps`;
  writeFileSync(watch, WATCH(gaps));
  writeFileSync(gaps, "0");
  const scene = await Scene.start({
    program: campaign.installed.program,
    folder,
    seed: campaign.seed,
    settings: { schedule: "* * * * * *" },
    env: { NODE_OPTIONS: `--import=${watch}` },
  });
  const problems = await furnish(scene);
  if (problems.length > 0) throw new Error(`${path.basename(folder)}: ${problems.join("; ")}`);
  const daemon = scene.start(["run"]);
  while (!daemon.output().includes("is running")) await once(daemon.child.stderr ?? daemon.child, "data");
  await sleep(2_000);
  return { scene, daemon, gapMs: () => Number(readFileSync(gaps, "utf8")) };
}

function addWork(scene: Scene): void {
  addOrders(scene);
  changeOrders(scene);
  changeStock(scene);
}

async function untilDone(scene: Scene): Promise<string[]> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    const unfinished = findUnfinished(scene);
    if (unfinished.length === 0 || performance.now() > deadline)
      return unfinished.map((what) => `${RECOVERED_WITHIN_MS / 1000} s after the lock: ${what}`);
    await sleep(LOOK_MS);
  }
}

async function end({ scene, daemon }: Watched): Promise<string[]> {
  daemon.child.kill("SIGTERM");
  const { code, output } = await daemon.exited;
  const found = code === 0 ? [] : [`the daemon ended with ${code}: ${lastLine(output)}`];
  found.push(...(await recover(scene)));
  await scene.close();
  return found;
}

/** An ERP that begins to write and takes its time. */
async function holdWriteLock(campaign: Campaign, heldMs: number): Promise<void> {
  const tally = campaign.report.tally(`--part locks --seed ${campaign.seed}`);
  const watched = await startWatched(campaign, "lock");
  const { scene, daemon } = watched;
  addWork(scene);
  const erp = new Database(scene.database);
  erp.exec("BEGIN IMMEDIATE; UPDATE stock SET reserved = 0");
  const asked = scene.sandbox.ledger.entries.length;
  await sleep(heldMs);
  const polls = scene.sandbox.ledger.entries.length - asked;
  const confirmedInside = findLostIn(scene);
  erp.exec("COMMIT");
  erp.close();
  const freedMs = performance.now();
  const found = [...confirmedInside, ...(await untilDone(scene))];
  const tookMs = Math.round(performance.now() - freedMs);
  if (polls === 0 && heldMs > 2 * POLL_MS) found.push("the service was not asked while the lock was held");
  const gap = watched.gapMs();
  if (gap > GAP_MAX_MS) found.push(`the event loop stopped for ${gap} ms`);
  if (heldMs > TOLD_AFTER_MS && !daemon.output().includes("holds the database's write lock"))
    found.push("the log does not say that another program holds the lock");
  found.push(...(await end(watched)));
  tally.note(found, `a write lock held for ${heldMs / 1000} s`);
  tally.sum(
    `write lock held for ${heldMs / 1000} s: longest gap of the event loop ${gap} ms, all done ${tookMs} ms after its end`,
  );
}

/** A reader that never ends its transaction keeps the log from being used again: it grows until somebody says so. */
async function keepReaderOpen(campaign: Campaign): Promise<void> {
  const tally = campaign.report.tally(`--part locks --seed ${campaign.seed}`);
  const watched = await startWatched(campaign, "reader");
  const { scene } = watched;
  const reader = new Database(scene.database, { readonly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM orders").get();
  addWork(scene);
  const found = await untilDone(scene);
  const logBytes = growLog(scene);
  const alarmed = await scene.run(["status"]);
  if (!/open for reading/.test(alarmed.output))
    found.push(`status does not speak of the open reader: ${lastLine(alarmed.output)}`);
  if (alarmed.code !== 2) found.push(`status ends with ${alarmed.code} while a reader keeps the log from shrinking`);
  addWork(scene);
  found.push(...(await untilDone(scene)));
  reader.exec("COMMIT");
  reader.close();
  addWork(scene);
  found.push(...(await untilDone(scene)), ...findLostIn(scene));
  const gap = watched.gapMs();
  if (gap > GAP_MAX_MS) found.push(`the event loop stopped for ${gap} ms`);
  found.push(...(await end(watched)));
  tally.note(found, "a reader that stays open");
  tally.sum(
    `reader open while the log grew to ${Math.round(logBytes / 1024 / 1024)} MB: longest gap of the event loop ${gap} ms`,
  );
}

/** The ERP writes, again and again, what it wrote before. Gives the size that the log has reached. */
function growLog(scene: Scene): number {
  const erp = new Database(scene.database);
  erp.pragma("synchronous = OFF"); // the test's own speed; the bridge's connection keeps its own setting
  erp.prepare("INSERT OR IGNORE INTO products (sku, name) VALUES ('FILLER', 'filler')").run();
  // Another text each time: SQLite does not write pages that would stay as they are.
  const write = erp.prepare("UPDATE products SET description = ? WHERE sku = 'FILLER'");
  let bytes = 0;
  for (let times = 0; bytes <= ALARM_BYTES && times < WRITES_MAX; times++) {
    write.run(String.fromCharCode(97 + (times % 26)).repeat(FILLER_BYTES));
    bytes = statSync(`${scene.database}-wal`).size;
  }
  erp.close();
  return bytes;
}

export async function runLockPart(campaign: Campaign, { long }: { long: boolean }): Promise<void> {
  const { report, seed } = campaign;
  report.say(`locks: an ERP that holds the database (seed ${seed})`);
  const held = long ? [...HELD_MS, LONG_HELD_MS] : HELD_MS;
  await Promise.all([...held.map((ms) => holdWriteLock(campaign, ms)), keepReaderOpen(campaign)]);
}
