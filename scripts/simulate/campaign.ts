import { fork } from "node:child_process";
import { Coverage } from "./coverage.ts";
import { type Draws, isDrawn } from "./draws.ts";
import { runSchedule } from "./run.ts";
import { makeSchedule, type WorldKind } from "./schedule.ts";
import { Workshop } from "./workshop.ts";
import type { Violation } from "./world.ts";

export interface Failure {
  readonly seed: number;
  readonly violation: Violation;
}

/** The results of many schedules. */
export interface Tally {
  schedules: number;
  failures: Failure[];
  /** The digests of all schedules: equal seeds have equal digests. */
  digests: string[];
  unsafe: { schedules: number; losses: number; rescued: number; told: number; untold: number };
}

export interface Part {
  readonly from: number;
  readonly count: number;
  /** The campaign stops after so many failures. */
  readonly failuresMax: number;
  /** Where set, the world is not drawn from the seed. */
  readonly world?: WorldKind | undefined;
  /** Where set, only schedules that draw this are run. */
  readonly draws?: Draws | undefined;
  /** The campaign stops after so many schedules. */
  readonly playedMax?: number | undefined;
}

/** A worker's results since its last message, sent after every few schedules. */
export interface Progress {
  readonly tally: Tally;
  readonly counts: Record<string, number>;
}

export function emptyTally(): Tally {
  return {
    schedules: 0,
    failures: [],
    digests: [],
    unsafe: { schedules: 0, losses: 0, rescued: 0, told: 0, untold: 0 },
  };
}

export function addTally(to: Tally, more: Tally): void {
  to.schedules += more.schedules;
  to.failures.push(...more.failures);
  to.digests.push(...more.digests);
  for (const key of Object.keys(to.unsafe) as (keyof Tally["unsafe"])[]) to.unsafe[key] += more.unsafe[key];
}

/** Runs the schedules of one part, one after the other. */
export async function playPart(part: Part, workshop: Workshop, coverage: Coverage): Promise<Tally> {
  const tally = emptyTally();
  for (let seed = part.from; seed < part.from + part.count; seed++) {
    const schedule = makeSchedule(seed, part.world);
    if (part.draws !== undefined && !isDrawn(schedule, part.draws)) continue;
    const report = await runSchedule(schedule, workshop);
    tally.schedules += 1;
    tally.digests.push(report.digest);
    coverage.add(report.counts);
    if (report.isUnsafe) {
      const { count, rescued, told, untold } = report.losses;
      const { unsafe } = tally;
      unsafe.schedules += 1;
      unsafe.losses += count;
      unsafe.rescued += rescued;
      unsafe.told += told;
      unsafe.untold += untold;
    }
    if (report.violation !== undefined) tally.failures.push({ seed, violation: report.violation });
    if (tally.failures.length >= part.failuresMax) break;
  }
  return tally;
}

const SEEDS_PER_PART = 25;

/** Runs in a worker: its share of the seeds, one of every `stride`, with progress messages. */
export async function work(share: Part, tell: (progress: Progress) => void): Promise<void> {
  const workshop = new Workshop();
  process.once("disconnect", () => {
    workshop.close();
    process.exit(0);
  });
  try {
    let failures = 0;
    let played = 0;
    const { playedMax = Number.POSITIVE_INFINITY } = share;
    const end = share.from + share.count;
    for (
      let from = share.from;
      from < end && failures < share.failuresMax && played < playedMax;
      from += SEEDS_PER_PART
    ) {
      const coverage = new Coverage();
      const count = Math.min(SEEDS_PER_PART, end - from);
      const part = { ...share, from, count, failuresMax: share.failuresMax - failures };
      const tally = await playPart(part, workshop, coverage);
      failures += tally.failures.length;
      played += tally.schedules;
      tell({ tally, counts: coverage.toJSON() });
    }
  } finally {
    workshop.close();
  }
}

/** Objects of one life are garbage at its end: with a large young generation few of them are ever copied. */
const EXEC_ARGV = [...process.execArgv, "--max-semi-space-size=32", "--single-threaded", "--always-sparkplug"];

/** Runs seeds in several processes, one per core. Resolves when all have ended. */
export async function playAll(
  part: Part,
  options: { workers: number; script: string; onProgress: (progress: Progress) => void },
): Promise<void> {
  const { from, count } = part;
  const size = Math.ceil(count / options.workers);
  const shares = Array.from({ length: options.workers }, (_, index) => ({
    ...part,
    from: from + index * size,
    count: Math.max(0, Math.min(size, count - index * size)),
  }));
  const plays = shares.map(
    (share) =>
      new Promise<void>((resolve, reject) => {
        const child = fork(options.script, ["--worker", JSON.stringify(share)], { execArgv: EXEC_ARGV });
        child.on("message", (progress) => options.onProgress(progress as Progress));
        child.on("error", reject);
        child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
      }),
  );
  await Promise.all(plays);
}
