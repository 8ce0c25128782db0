/*
 * Lets the installed daemon work for hours against the mock service, every flow once a second, with faults at random
 * times, and looks whether anything grows: `npm run campaign:soak -- --hours H [--seed S]`; fractions are hours too.
 *
 * Exit code 1: something grows, or something was lost; 64: usage.
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { FaultAction } from "../src/sandbox/fault-rule.ts";
import type { RequestKind } from "../src/sandbox/messages.ts";
import { integerBetween, pickOne } from "../src/sandbox/random.ts";
import { Campaign } from "./crash/campaign.ts";
import { changeOrders, changeStock, furnish, lastLine } from "./crash/kill-part.ts";
import { Report } from "./crash/report.ts";
import { type Child, Scene } from "./crash/scene.ts";
import { findLostIn, findUnfinished } from "./crash/verdict.ts";
import { GROWTH_MAX, type Measure, type Sample, takeSample, trendOf, watcherText } from "./soak/samples.ts";
import { untilSettled } from "./soak/settle.ts";

const HOUR_MS = 3_600_000;
const SAMPLES = 240;
const SAMPLE_EVERY_MS_MIN = 1_000;
const WORK_EVERY_MS = 1_000;
const FAULT_EVERY_MS = 7_000;
const EXIT = { ok: 0, bad: 1, usage: 64 } as const;

type When = "before" | "after";

/**
 * Faults that end by themselves within seconds; those that hold an area for minutes would only make the run idle. No
 * service says yes to what it has not done, or "wait" to what it has: such answers come on the one side only.
 */
const FAULTS: readonly (readonly [FaultAction, ...When[]])[] = [
  [{ kind: "reset" }, "before", "after"],
  [{ kind: "hang" }, "before", "after"],
  [{ kind: "cut", bytes: 20, of: "answer" }, "before", "after"],
  [{ kind: "html" }, "before", "after"],
  [{ kind: "status", status: 503 }, "before", "after"],
  [{ kind: "status", status: 429, headers: { "retry-after": "2" } }, "before"],
  [{ kind: "drip", bytesPerSecond: 50 }, "after"],
  [{ kind: "endless" }, "after"],
  [{ kind: "gzip" }, "after"],
  [{ kind: "big-headers" }, "after"],
  [{ kind: "delay", ms: 1_000 }, "after"],
];
const KINDS: readonly RequestKind[] = ["orders", "confirm", "updates", "snapshot", "import"];

/** Takes what is pending, as an ERP does; one order in ten is left for later. */
const TAKE = `
  INSERT INTO erp_orders (order_id, erp_number, seen_revision)
  SELECT order_id, 'ERP-' || order_id, revision FROM orders_pending WHERE abs(random()) % 10 > 0 LIMIT 50
  ON CONFLICT (order_id) DO UPDATE SET seen_revision = max(seen_revision, excluded.seen_revision)`;

function work(scene: Scene): void {
  scene.createOrders(integerBetween(scene.random, 0, 3));
  if (scene.random() < 0.3) changeOrders(scene);
  try {
    if (scene.random() < 0.5) changeStock(scene);
    scene.write(TAKE);
  } catch (error) {
    // The daemon held the lock for longer than this writer waits: it tries again with its next work.
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
  }
}

/** At most one on each path: a flow that waits longer after each failure would never come to the end of a growing row. */
function addFault({ sandbox, random }: Scene): void {
  const [action, ...whens] = pickOne(random, FAULTS);
  const match = { path: pickOne(random, KINDS) };
  if (sandbox.faults.list().some((rule) => rule.match?.path === match.path)) return;
  sandbox.faults.add({ match, when: pickOne(random, whens), times: integerBetween(random, 1, 3), do: action });
}

async function startScene(campaign: Campaign): Promise<{ scene: Scene; watched: string }> {
  const folder = campaign.newFolder("soak");
  const watched = `${folder}-watched.json`;
  const watcher = `${folder}-watcher.mjs`;
  writeFileSync(watcher, watcherText(watched));
  const scene = await Scene.start({
    program: campaign.installed.program,
    folder,
    seed: campaign.seed,
    settings: {
      schedule: "* * * * * *",
      service: { timeouts: { headers: "3s", total: "3s", import: "3s" } },
    },
    env: { NODE_OPTIONS: `--import=${watcher}` },
  });
  return { scene, watched };
}

function isRunning({ child }: Child): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Works, fails and samples for so long. */
async function soak(scene: Scene, daemon: Child, run: { watched: string; forMs: number }): Promise<Sample[]> {
  const paths = { database: scene.database, watched: run.watched };
  const sampleEveryMs = Math.max(SAMPLE_EVERY_MS_MIN, run.forMs / SAMPLES);
  const samples: Sample[] = [];
  const due = { work: 0, fault: FAULT_EVERY_MS, sample: sampleEveryMs };
  const startedMs = performance.now();
  for (let atMs = 0; atMs < run.forMs; atMs = performance.now() - startedMs) {
    if (!isRunning(daemon)) break;
    if (atMs >= due.work) {
      work(scene);
      due.work = atMs + WORK_EVERY_MS;
    }
    if (atMs >= due.fault) {
      addFault(scene);
      due.fault = atMs + FAULT_EVERY_MS * (0.5 + scene.random());
    }
    if (atMs >= due.sample) {
      samples.push(takeSample(daemon.child.pid ?? 0, paths, atMs));
      due.sample = atMs + sampleEveryMs;
    }
    await sleep(100);
  }
  return samples;
}

function tellTrends(samples: readonly Sample[], report: Report): string[] {
  report.say(`  ${"".padEnd(12)} ${"first".padStart(9)} ${"last".padStart(9)} ${"per hour".padStart(10)}`);
  return (Object.keys(GROWTH_MAX) as Measure[]).flatMap((measure) => {
    const trend = trendOf(samples, measure);
    if (trend === undefined) {
      report.say(`  ${measure.padEnd(12)} too few samples`);
      return [];
    }
    const { first, last, slopePerHour, isSteady } = trend;
    const cells = [first, last, slopePerHour].map((value, index) => value.toFixed(1).padStart(index === 2 ? 10 : 9));
    report.say(`  ${measure.padEnd(12)} ${cells.join(" ")}  ${isSteady ? "steady" : "GROWS"}`);
    return isSteady ? [] : [`${measure} grows from ${first.toFixed(1)} to ${last.toFixed(1)}`];
  });
}

async function main({ hours, seed }: { hours: number; seed: number }): Promise<number> {
  const report = new Report((line) => console.log(line));
  const campaign = await Campaign.begin({ seed, report });
  const { scene, watched } = await startScene(campaign);
  const tally = report.tally(`--hours ${hours} --seed ${seed}`, "campaign:soak");
  tally.note(await furnish(scene), "the start");
  const daemon = scene.start(["run"]);
  report.say(
    `soak: ${hours} h, every flow once a second, a fault about every ${FAULT_EVERY_MS / 1000} s (seed ${seed})`,
  );
  const samples = await soak(scene, daemon, { watched, forMs: hours * HOUR_MS });
  const found = tellTrends(samples, report);
  scene.sandbox.faults.clear();
  const clock = { isRunning: () => isRunning(daemon), nowMs: () => performance.now() };
  found.push(...(await untilSettled(() => findUnfinished(scene), clock)), ...findLostIn(scene));
  daemon.child.kill("SIGTERM");
  const { code, signal, output } = await daemon.exited;
  if (code !== 0) found.push(`the daemon ended with ${code ?? signal}: ${lastLine(output)}`);
  tally.note(found, `the soak, seed ${seed}`);
  const { ledger } = scene.sandbox;
  const faults = ledger.entries.filter(({ faultApplied }) => faultApplied !== null).length;
  tally.sum(
    `${ledger.entries.length} requests, ${faults} of them faulty, ${ledger.confirmedOrderIds().size} orders, ${samples.length} samples`,
  );
  await scene.close();
  campaign.end();
  return report.violations.length > 0 ? EXIT.bad : EXIT.ok;
}

const text = { type: "string" } as const;
const { values } = parseArgs({ options: { hours: text, seed: text } });
const hours = Number(values.hours ?? "1");
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
if (!(hours > 0) || !Number.isSafeInteger(seed)) {
  console.error("npm run campaign:soak -- --hours H [--seed S]");
  process.exitCode = EXIT.usage;
} else {
  process.exitCode = await main({ hours, seed });
}
