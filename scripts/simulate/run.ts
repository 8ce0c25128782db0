import { hash } from "node:crypto";
import { withSimulatedDeadlines } from "./clock.ts";
import { act } from "./deeds.ts";
import { end, type Losses } from "./ending.ts";
import { isUnsafe } from "./forms.ts";
import { endQuietly } from "./hostile/quiet-day.ts";
import { checkRestore } from "./journal.ts";
import type { Schedule } from "./schedule.ts";
import type { Workshop } from "./workshop.ts";
import { type Violation, World } from "./world.ts";

export interface RunReport {
  readonly seed: number;
  readonly violation: Violation | undefined;
  /** Of every line of the trace: the same schedule has the same digest. */
  readonly digest: string;
  readonly lines: readonly string[];
  readonly counts: Record<string, number>;
  readonly isUnsafe: boolean;
  readonly losses: Losses;
}

/** Work in progress after the last step may continue for so long before the faults end. */
const AFTERMATH_MS = 30_000;
/** More bodies than are kept. */
const FILLING_TICKS = 40;

/** Runs one schedule from its first step to its end. */
export async function runSchedule(schedule: Schedule, workshop: Workshop): Promise<RunReport> {
  const database = await workshop.newDatabase(schedule);
  const { file } = database;
  const world = new World(schedule, {
    database,
    configure: (changed) => workshop.configurations.for(schedule.forms, file, changed),
  });
  let losses: Losses = { count: 0, rescued: 0, told: 0, untold: 0 };
  try {
    losses = await withSimulatedDeadlines(world.time, () => play(world, schedule));
    if (world.violation === undefined && schedule.steps.some((step) => step.do === "journal folder"))
      await loseDatabase(world, workshop);
  } finally {
    world.close();
    database.giveBack();
  }
  return {
    seed: schedule.seed,
    violation: world.violation,
    digest: hash("sha256", world.lines.join("\n"), "hex").slice(0, 16),
    lines: world.lines,
    counts: world.coverage.toJSON(),
    isUnsafe: isUnsafe(schedule.forms),
    losses,
  };
}

async function loseDatabase(world: World, workshop: Workshop): Promise<void> {
  const { file, giveBack } = workshop.newFile(world.forms);
  try {
    await checkRestore(world, file);
  } finally {
    giveBack();
  }
}

async function play(world: World, { forms, steps }: Schedule): Promise<Losses> {
  for (const [name, value] of Object.entries(forms)) world.coverage.count(`form ${name}`, String(value));
  world.begin();
  world.coverage.count("world", world.kind);
  for (const step of steps) {
    world.setPace(step.after, world.lies.areFilling ? FILLING_TICKS : undefined);
    await world.time.pass(step.after);
    if (world.violation !== undefined) break;
    if (world.life?.isBusy !== true) world.copies.copy();
    act(world, step);
  }
  world.setPace(AFTERMATH_MS);
  await world.time.pass(AFTERMATH_MS);
  if (world.violation !== undefined) return { count: 0, rescued: 0, told: 0, untold: 0 };
  if (world.kind === "hostile") return await endQuietly(world);
  return await end(world);
}
