/*
 * Shows the main job at work: a mock service with live orders, the bridge on a SQLite file, and a small ERP that takes orders
 * and sells stock. Two answers are lost on purpose. On a terminal with room for it one picture changes in place; elsewhere a few lines are
 * printed. It ends by itself, with `--stay` at Ctrl-C, and compares the service's ledger with the database: a difference is
 * exit code 1.
 */
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { parseConfig } from "../src/config/load.ts";
import { Bridge } from "../src/daemon/bridge.ts";
import { systemClock } from "../src/platform/clock.ts";
import { startLiveOrders } from "../src/sandbox/live-orders.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { type Sandbox, startSandbox } from "../src/sandbox/start-sandbox.ts";
import { DemoErp } from "./demo/erp.ts";
import { lookAt } from "./demo/look.ts";
import { drawComparison, drawScene, drawVerdict, Screen, sceneLine, stepLine } from "./demo/screen.ts";
import { Story } from "./demo/story.ts";
import { compare } from "./demo/summary.ts";

const FOLDER = path.resolve(process.env["ERP_BRIDGE_DEMO_DIR"] ?? "demo-data");
const SHOW_S = 12;
const LOSE_AFTER_S = 4;
/** How often the picture changes; elsewhere, how often a line tells how things stand. */
const PICTURE_MS = 250;
const LINE_MS = 4_000;
const ORDERS_PER_MINUTE = 90;
const SETTLE_PASSES_MAX = 20;
const OPENING_STOCK = 400;

const CONFIG = (sandbox: Sandbox) => `
service:
  base_url: ${sandbox.url}
  client_id: ${sandbox.clientId}
  client_secret: ${sandbox.clientSecret}
  requests_per_second: 200
  timeouts: { import: 2s }
database: { path: bridge.db }
orders: { schedule: "* * * * * *" }
updates: { schedule: "* * * * * *" }
imports: { stocks: { schedule: "* * * * * *" } }
http: { listen: "127.0.0.1:0" }
`;
const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Runs until everything that is under way has come to rest. */
async function settle(bridge: Bridge, erp: DemoErp): Promise<void> {
  for (let passes = 0; passes < SETTLE_PASSES_MAX; passes++) {
    const outcomes: string[] = [];
    await bridge.sync(["orders", "updates", "stocks"], ({ outcome }) => outcomes.push(outcome));
    const waiting = bridge.store.db.prepare<[], number>("SELECT sum(waiting) FROM sync_status").pluck().get();
    if (erp.ingestOrders() === 0 && waiting === 0 && outcomes.every((outcome) => outcome === "idle")) return;
    await sleep(300);
  }
}

function loseAnswers(sandbox: Sandbox): void {
  sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
  sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
}

/** Articles that the mock service's orders are made of, and one that nobody buys. */
function firstArticles(sandbox: Sandbox): string[] {
  for (let i = 0; i < 3; i++) sandbox.service.createOrder();
  const skus = sandbox.service.orders().flatMap(({ text }) => {
    const { items } = JSON.parse(text) as { items: { sku: string }[] };
    return items.map(({ sku }) => sku);
  });
  return [...new Set([...skus, "SHELF-WARMER"])];
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { stay: { type: "boolean", default: false } } });
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const random = seededRandom(7);
  const story = new Story();
  const steps: Parameters<typeof drawScene>[0]["steps"] = [];
  const screen = Screen.fits(process.stdout) ? new Screen() : undefined;
  const sandbox = await startSandbox({
    random,
    onEntry: (entry) => {
      for (const step of story.follow(entry)) {
        steps.push({ ...step, at: new Date().toTimeString().slice(0, 8) });
        if (screen === undefined) console.log(stepLine(step));
      }
    },
  });
  const loaded = parseConfig({ text: CONFIG(sandbox), file: path.join(FOLDER, "config.yaml"), env: {} });
  const bridge = new Bridge({ loaded, log: QUIET, clock: systemClock }, "demo");
  const database = path.relative(process.cwd(), bridge.store.path);
  const erp = new DemoErp(bridge.store.path);
  erp.writeStock(new Map(firstArticles(sandbox).map((sku) => [sku, OPENING_STOCK])));
  bridge.start();
  await bridge.web?.whenListening();

  const startedAt = performance.now();
  const look = () => {
    const elapsedS = Math.floor((performance.now() - startedAt) / 1000);
    return lookAt({ sandbox, bridge, erp, steps, elapsedS, lengthS: values.stay ? undefined : SHOW_S });
  };
  if (screen === undefined) {
    console.log(`A mock service at ${sandbox.url}, the bridge on ${database}, a small ERP beside them.`);
    console.log(`The status page: ${look().pageUrl}`);
  }
  const show = () => (screen === undefined ? console.log(sceneLine(look())) : screen.draw(drawScene(look())));
  const timers = [
    setInterval(show, screen === undefined ? LINE_MS : PICTURE_MS),
    setInterval(() => erp.ingestOrders(), 1_000),
  ];
  const stopOrders = startLiveOrders({ service: sandbox.service, random, perMinute: ORDERS_PER_MINUTE });
  const losing = setTimeout(() => loseAnswers(sandbox), LOSE_AFTER_S * 1000);

  const interrupted = new Promise<void>((resolve) => process.once("SIGINT", resolve));
  await (values.stay ? interrupted : Promise.race([sleep(SHOW_S * 1000), interrupted]));
  clearTimeout(losing);
  stopOrders();
  await settle(bridge, erp);
  for (const timer of timers) clearInterval(timer);
  show();

  const rows = compare(sandbox, bridge, erp);
  await bridge.stop();
  erp.close();
  await sandbox.close();
  const isEqual = rows.every(({ service, database }) => service === database);
  console.log(["", ...drawComparison(rows), "", drawVerdict(isEqual), ""].join("\n"));
  console.log(`The database stays at ${database}. Try:`);
  console.log(
    `  sqlite3 ${database} "SELECT seq, kind, old_status, new_status, at FROM order_events ORDER BY seq DESC LIMIT 10"`,
  );
  process.exitCode = isEqual ? 0 : 1;
}

await main();
