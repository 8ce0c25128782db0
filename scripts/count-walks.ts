/*
 * How many files of `src` three things pass through: an order from the poll to `orders_pending`, a row of stock from the
 * trigger to its acknowledgement, and `status` from its start to its answer. For the first two, a pass runs with one new
 * record and the engine reports which functions were called; for the third, which files were loaded.
 *
 *   node scripts/count-walks.ts [--list]
 *
 * Ends with 1 where one of them passes through more files than it may.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { loadConfig } from "../src/config/load.ts";
import { Bridge } from "../src/daemon/bridge.ts";
import type { FlowName } from "../src/pass/job-names.ts";
import { systemClock } from "../src/platform/clock.ts";
import { type Sandbox, startSandbox } from "../src/sandbox/start-sandbox.ts";

const SOURCE = new URL("../src/", import.meta.url).href;
/** Whether an answer is whole, what its records are, what is kept of a batch, and its confirm are rooms beside that of the pull. */
const ORDER_ROOMS = ["orders/", "records/", "completeness/", "batches/", "confirm/"];
/** What a reader can follow: of the room of the walk, and for `status` in all. */
const FILES_MAX = { order: 14, row: 14, status: 70 };
const SANDBOX = new URL("../src/sandbox/", import.meta.url).href;

/** The files of `src` in which a function was called while `walk` ran, the mock service aside. */
async function filesCalled(session: Session, walk: () => Promise<void>): Promise<string[]> {
  await session.post("Profiler.takePreciseCoverage");
  await walk();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url.startsWith(SOURCE) && !url.startsWith(SANDBOX))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(SOURCE.length))
    .sort();
}

function configText(sandbox: Sandbox, folder: string): string {
  return stringify({
    service: { base_url: sandbox.url, client_id: sandbox.clientId, client_secret: sandbox.clientSecret },
    database: { path: path.join(folder, "bridge.db") },
    http: { listen: "off" },
  });
}

/** The files of `src` that the command loads. */
function filesLoaded(folder: string, ...command: string[]): string[] {
  const list = path.join(folder, "loaded.txt");
  const hook = path.join(folder, "hook.mjs");
  writeFileSync(
    hook,
    `import { appendFileSync } from "node:fs"; import { registerHooks } from "node:module";
     registerHooks({ load(url, context, next) { if (url.startsWith(${JSON.stringify(SOURCE)})) appendFileSync(${JSON.stringify(list)}, url.slice(${SOURCE.length}) + "\\n"); return next(url, context); } });`,
  );
  writeFileSync(list, "");
  const main = fileURLToPath(new URL("../bin/erp-bridge.mjs", SOURCE));
  try {
    execFileSync(process.execPath, ["--import", pathToFileURL(hook).href, main, ...command], { stdio: "ignore" });
  } catch {
    // What `status` says of a daemon that does not run is of no interest here.
  }
  return [...new Set(readFileSync(list, "utf8").split("\n"))].filter((file) => file !== "").sort();
}

/** Of the files those of the walk's own room first, then the rooms beside it; what every pass shares is the same for each walk. */
function print(
  walk: string,
  files: readonly string[],
  { rooms: [room = "", ...beside] = [], filesMax }: { rooms?: readonly string[]; filesMax: number },
): void {
  const sizeOf = (name: string) => files.filter((file) => file.startsWith(name)).length;
  const others = beside.map((name) => `${sizeOf(name)} of ${name}, `).join("");
  console.log(`${sizeOf(room)} files${room === "" ? "" : ` of ${room}, ${others}${files.length} in all`}: ${walk}`);
  if (values.list) console.log(files.map((name) => `    ${name}`).join("\n"));
  if (sizeOf(room) > filesMax) process.exitCode = 1;
}

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const folder = mkdtempSync(path.join(os.tmpdir(), "walks-"));
const sandbox = await startSandbox();
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const file = path.join(folder, "config.yaml");
writeFileSync(file, configText(sandbox, folder), { mode: 0o600 });
const loaded = loadConfig({ file, env: {} });
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bridge = new Bridge({ loaded, log: silent, clock: systemClock }, "walks");
const run = async (job: FlowName) => {
  const { outcome, error } = await bridge.runJob(job);
  if (outcome !== "done" && outcome !== "idle") throw new Error(`${job} ended as ${outcome}: ${error}`);
};

try {
  const { db } = bridge.store;
  // What is only done once, at a first pass or at the first record of a kind, belongs to no walk.
  for (let round = 0; round < 2; round++) {
    sandbox.service.createOrder();
    db.exec(`INSERT INTO stock (sku, quantity) VALUES ('warm-${round}', 1)`);
    await run("orders");
    await run("stocks");
  }
  sandbox.service.createOrder();
  const order = await filesCalled(session, () => run("orders"));
  db.exec("UPDATE stock SET quantity = 2 WHERE sku = 'warm-1'");
  const row = await filesCalled(session, () => run("stocks"));
  const pending = db.prepare<[], number>("SELECT count(*) FROM orders_pending").pluck().get();
  const sent = db
    .prepare<[], string>("SELECT sent FROM stock_sent WHERE sku = 'warm-1' AND state = 'sent'")
    .pluck()
    .get();
  if (pending !== 3 || sent?.includes("2") !== true)
    throw new Error(`${pending} orders are pending, ${sent} was sent.`);
  // As it is asked most often: all is well.
  for (const job of ["updates", "reconcile"] as const) await run(job);
  const beside = filesLoaded(folder, "status", "--config", file);
  await bridge.stop();
  print("an order, from the poll to orders_pending", order, { rooms: ORDER_ROOMS, filesMax: FILES_MAX.order });
  print("a row of stock, from the trigger to its acknowledgement", row, { rooms: ["feeds/"], filesMax: FILES_MAX.row });
  print("status beside a daemon, from its start to its answer", beside, { filesMax: FILES_MAX.status });
  print("status without a daemon, which checks the configuration", filesLoaded(folder, "status", "--config", file), {
    filesMax: Number.POSITIVE_INFINITY,
  });
} finally {
  await sandbox.close();
  session.disconnect();
  rmSync(folder, { recursive: true, force: true });
}
