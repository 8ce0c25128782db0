/*
 * Shows the main job at work: a stand-in for the online service with live orders, the bridge on a SQLite file, and a
 * small ERP that takes orders and sells stock. On a terminal it goes on until Ctrl-C; elsewhere it ends by itself.
 * At the end the service's ledger is compared with the database; a difference is exit code 1.
 */
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseConfig } from "../src/config/load.ts";
import { Bridge } from "../src/daemon/bridge.ts";
import { systemClock } from "../src/platform/clock.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startLiveOrders } from "../src/sandbox/live-orders.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { type Sandbox, startSandbox } from "../src/sandbox/start-sandbox.ts";
import { DemoErp } from "./demo/erp.ts";
import { compare } from "./demo/summary.ts";

const FOLDER = path.resolve(process.env["ERP_BRIDGE_DEMO_DIR"] ?? "demo-data");
const SHOW_MS = 12_000;
const ORDERS_PER_MINUTE = 90;
const SETTLE_PASSES_MAX = 20;
const OPENING_STOCK = 40;

const say = (who: string, line: string) =>
  console.log(`${new Date().toISOString().slice(11, 19)}  ${who.padEnd(7)} ${line}`);

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
http: { listen: "off" }
`;

function tellSite(sandbox: Sandbox): void {
  let told = 0;
  setInterval(() => {
    const { entries } = sandbox.ledger;
    for (; told < entries.length; told++) {
      const effect = entries[told]?.effect;
      if (effect?.kind === "confirmed") say("site", `was told that ${effect.orderIds.length} orders are safe`);
      if (effect?.kind === "import")
        say("site", `shows new stock of ${effect.accepted.map(({ record }) => articleOf(record)).join(", ")}`);
    }
  }, 100).unref();
}

function articleOf(record: string): string {
  const { sku, quantity } = JSON.parse(record) as { sku: string; quantity: number };
  return `${sku}: ${quantity}`;
}

async function untilShown(): Promise<void> {
  const interrupted = new Promise<void>((resolve) => process.once("SIGINT", resolve));
  if (process.stdout.isTTY) {
    say("demo", "runs until you press Ctrl-C");
    await interrupted;
  } else {
    await Promise.race([sleep(SHOW_MS), interrupted]);
  }
}

/** Lets everything that is under way come to rest. */
async function settle(bridge: Bridge, erp: DemoErp): Promise<void> {
  for (let passes = 0; passes < SETTLE_PASSES_MAX; passes++) {
    const outcomes: string[] = [];
    await bridge.sync(["orders", "updates", "stocks"], ({ outcome }) => outcomes.push(outcome));
    const waiting = bridge.store.db.prepare("SELECT sum(waiting) AS n FROM sync_status").get() as { n: number };
    if (erp.takeOrders() === 0 && waiting.n === 0 && outcomes.every((outcome) => outcome === "idle")) return;
    await sleep(300);
  }
}

async function main(): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const random = seededRandom(7);
  const sandbox = await startSandbox({ random });
  tellSite(sandbox);
  const loaded = parseConfig({ text: CONFIG(sandbox), file: path.join(FOLDER, "config.yaml"), env: {} });
  const log = createLogger({
    level: "info",
    form: "text",
    hideSecrets: (text) => text,
    write: (line) =>
      say(
        "bridge",
        line
          .slice(15)
          .replace(/ \(job=.*\)\s*$/, "")
          .trimEnd(),
      ),
  });
  const bridge = new Bridge({ loaded, log, clock: systemClock }, "demo");
  const databasePath = bridge.store.path;
  say(
    "demo",
    `a stand-in service at ${sandbox.url}, the bridge on ${path.relative(process.cwd(), databasePath)}, a small ERP beside them`,
  );
  const erp = new DemoErp(databasePath, (line) => say("erp", line));
  // Articles that the stand-in's orders are made of, and one that nobody buys.
  for (let i = 0; i < 3; i++) sandbox.service.createOrder();
  const skus = new Set(
    sandbox.service
      .orders()
      .flatMap(({ text }) => (JSON.parse(text) as { items: { sku: string }[] }).items.map(({ sku }) => sku)),
  );
  erp.writeStock(new Map([...skus, "SHELF-WARMER"].map((sku) => [sku, OPENING_STOCK])));

  bridge.start();
  const stopOrders = startLiveOrders({ service: sandbox.service, random, perMinute: ORDERS_PER_MINUTE });
  const erpTimer = setInterval(() => erp.takeOrders(), 1_000);
  const faults = setTimeout(() => {
    say("demo", "now the answers to a confirm and to a stock import get lost on the way");
    sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
  }, SHOW_MS / 3);

  await untilShown();
  clearTimeout(faults);
  stopOrders();
  clearInterval(erpTimer);
  say("demo", "no further orders; what is under way comes to rest");
  await settle(bridge, erp);

  const rows = compare(sandbox, bridge, erp);
  await bridge.stop();
  erp.close();
  await sandbox.close();
  console.log(`\n${"".padEnd(46)} ${"service".padStart(8)} ${"database".padStart(9)}`);
  for (const { what, service, database } of rows) {
    console.log(
      `${what.padEnd(46)} ${String(service).padStart(8)} ${String(database).padStart(9)}  ${service === database ? "equal" : "DIFFERENT"}`,
    );
  }
  const isEqual = rows.every(({ service, database }) => service === database);
  console.log(
    isEqual ? "\nNothing was lost and nothing was doubled." : "\nThe database and the service's ledger differ.",
  );
  const file = path.relative(process.cwd(), databasePath);
  console.log(
    `\nThe database stays at ${file}. Try:\n  sqlite3 ${file} "SELECT seq, kind, old_status, new_status, at FROM order_events ORDER BY seq DESC LIMIT 10"`,
  );
  process.exitCode = isEqual ? 0 : 1;
}

await main();
