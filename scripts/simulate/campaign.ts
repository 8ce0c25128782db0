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

/** What many schedules came to. */
export interface Tally {
  schedules: number;
  failures: Failure[];
  /** Of all digests: the same seeds give the same. */
  digests: string[];
  unsafe: { schedules: number; losses: number; rescued: number; told: number; untold: number };
}

export interface Part {
  readonly from: number;
  readonly count: number;
  /** How many failures are enough. */
  readonly failuresMax: number;
  /** Where it is not the seed that decides. */
  readonly world?: WorldKind | undefined;
  /** Where only schedules that draw this are played. */
  readonly draws?: Draws | undefined;
  /** How many played schedules are enough. */
  readonly playedMax?: number | undefined;
}

/** What a worker tells after every few schedules: what came since it told last. */
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

/** Plays the schedules of one part, one after the other. */
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

/** The side of a worker: plays its share, seed by seed of every `stride`, and tells as it goes. */
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

/** What one life makes is gone with it: where there is room for much of it, little is ever copied. */
const EXEC_ARGV = [...process.execArgv, "--max-semi-space-size=32", "--single-threaded", "--always-sparkplug"];

/** Plays seeds in several processes, one a core. Resolves when all are done. */
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
