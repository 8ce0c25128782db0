/*
 * Plays many random lives of a shop against the real jobs and the real database, and checks the invariants all the
 * while. See docs/simulation.md.
 *
 *   npm run campaign:simulate -- [--seeds N] [--from S] [--workers N]    a campaign
 *   npm run campaign:simulate -- --seed S [--trace] [--no-shrink]        one schedule again
 *
 * With `--world usual` or `--world hostile` all seeds are of that world; `--failures N` ends a worker after so many.
 */
import { hash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { addTally, emptyTally, type Failure, playAll, work } from "./simulate/campaign.ts";
import { classesOf } from "./simulate/classes.ts";
import { Coverage } from "./simulate/coverage.ts";
import { type RunReport, runSchedule } from "./simulate/run.ts";
import { makeSchedule, type Schedule, type WorldKind } from "./simulate/schedule.ts";
import { shrink } from "./simulate/shrink.ts";
import { Workshop } from "./simulate/workshop.ts";

// So that what stands in memory is removed on the way out.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "500" },
    from: { type: "string" },
    workers: { type: "string", default: "2" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    "no-shrink": { type: "boolean", default: false },
    world: { type: "string" },
    failures: { type: "string", default: "5" },
    worker: { type: "string" },
  },
});

const world = values.world as WorldKind | undefined;

if (values.worker !== undefined) {
  await work(JSON.parse(values.worker), (progress) => process.send?.(progress));
  process.disconnect?.();
} else if (values.seed !== undefined) {
  process.exitCode = await playOne(Number(values.seed));
} else {
  // Without a first seed every campaign is another one; it is printed, so that it can be played again.
  const from = values.from === undefined ? Math.floor(Math.random() * 1e9) : Number(values.from);
  process.exitCode = await playMany(from, Number(values.seeds), Number(values.workers));
}

async function playOne(seed: number): Promise<number> {
  const workshop = new Workshop();
  try {
    const schedule = makeSchedule(seed, world);
    const report = await runSchedule(schedule, workshop);
    if (values.trace) console.log(report.lines.join("\n"));
    if (report.violation === undefined) {
      console.log(`Seed ${seed}: every invariant holds. Trace ${report.digest}, ${report.lines.length} lines.`);
      return 0;
    }
    tell(report);
    if (!values["no-shrink"]) await tellShortest(schedule, workshop);
    return 1;
  } finally {
    workshop.close();
  }
}

function tell({ seed, violation, digest }: RunReport): void {
  console.log(
    `Seed ${seed}: invariant ${violation?.invariant} is broken after ${(violation?.atMs ?? 0) / 1000} s: ${violation?.what}`,
  );
  console.log(
    `  trace ${digest}; again: npm run campaign:simulate -- --seed ${seed}${world === undefined ? "" : ` --world ${world}`} --trace`,
  );
}

async function tellShortest(schedule: Schedule, workshop: Workshop): Promise<void> {
  const shortest = await shrink(schedule, (each) => runSchedule(each, workshop));
  console.log(`  shortened from ${schedule.steps.length} to ${shortest.schedule.steps.length} steps:`);
  console.log(`  ${JSON.stringify(shortest.schedule.forms)}`);
  for (const step of shortest.schedule.steps) console.log(`  ${JSON.stringify(step)}`);
  console.log(`  ${shortest.report.violation?.what}`);
}

async function playMany(from: number, count: number, workers: number): Promise<number> {
  const tally = emptyTally();
  const coverage = new Coverage();
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  console.log(`Schedules ${from} to ${from + count - 1}, ${workers} workers.`);
  await playAll(
    { from, count, failuresMax: Number(values.failures), world },
    {
      workers,
      script: fileURLToPath(import.meta.url),
      onProgress: (progress) => {
        addTally(tally, progress.tally);
        coverage.add(progress.counts);
        if (process.stderr.isTTY) process.stderr.write(`\r${tally.schedules} of ${count}, ${seconds().toFixed(0)} s `);
      },
    },
  );
  tellShares(coverage, tally.schedules);
  const { unsafe } = tally;
  const traces = hash("sha256", tally.digests.toSorted().join(), "hex").slice(0, 16);
  console.log(
    `Unsafe readings: ${unsafe.schedules} schedules, ${unsafe.losses} losses: ${unsafe.rescued} rescued by the next change ` +
      `of the order, ${unsafe.told} told of by a failed pull or a hold, ${unsafe.untold} that nothing can tell of.`,
  );
  console.log(
    `${tally.schedules} schedules in ${seconds().toFixed(1)} s (${(tally.schedules / seconds()).toFixed(1)} a second), ` +
      `traces ${traces}, ${tally.failures.length} failed.`,
  );
  await tellFailures(tally.failures);
  return tally.failures.length === 0 ? 0 : 1;
}

/** How often everything happened, with its share of what happened of its kind; what never did stands at the end. */
function tellShares(coverage: Coverage, schedules: number): void {
  const counts = Object.entries(coverage.toJSON());
  const kindOf = (key: string) => key.slice(0, key.indexOf(":"));
  const sums = new Map<string, number>();
  for (const [key, times] of counts) sums.set(kindOf(key), (sums.get(kindOf(key)) ?? 0) + times);
  for (const [key, times] of counts) {
    const share = (100 * times) / (sums.get(kindOf(key)) ?? times);
    console.log(`${String(times).padStart(9)} ${share.toFixed(1).padStart(5)} %  ${key}`);
  }
  const never = classesOf(world).filter((key) => coverage.get(key) === 0);
  for (const key of never) console.log(`${"0".padStart(9)}   0.0 %  ${key}`);
  if (never.length > 0) console.log(`${never.length} classes of faults never came in ${schedules} schedules.`);
}

async function tellFailures(failures: readonly Failure[]): Promise<void> {
  if (values["no-shrink"]) {
    for (const { seed, violation } of failures) console.log(`  ${seed}: ${violation.invariant}: ${violation.what}`);
    return;
  }
  for (const { seed } of failures) await playOne(seed);
}
