import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween } from "../../src/sandbox/random.ts";
import type { Campaign } from "./campaign.ts";
import { addOrders, changeOrders, changeStock, furnish, lastLine, recover } from "./kill-part.ts";
import { type Plant, plantMistake } from "./plant-mistake.ts";
import { type Child, type Ended, Scene } from "./scene.ts";
import { findLostIn, findUnfinished } from "./verdict.ts";

const ERRORS = { ENOSPC: 28, EIO: 5 } as const;
type ErrorName = keyof typeof ERRORS;

/** More operations than a pass of orders has; a fault that nobody meets ends the loop before. */
const OPERATIONS_MAX = 400;
/** Operations of a first start, which makes the schema. */
const FIRST_START_OPERATIONS = 290;
const FIRST_START_STRIDE = 24;
/** A failed pass waits up to 2 s, and twice as long each time; on a busy machine several fail before the disk is freed. */
const RECOVERED_WITHIN_MS = 90_000;
const LOOK_MS = 50;
const QUIET_MS = 400;
/** A failure in a run's own record, or before a pass has begun, is no line in the log; one of so many is another. */
const TOLD_AFTER_CASES = 10;
const QUIET_LOOKS_MAX = 20;
/** How long a disk stays ill once somebody has noticed. */
const ILL_MS = 300;
const ILL_AT_RANDOM_MS = 1_500;

interface Illness {
  error: ErrorName;
  times: 1 | "until freed";
}

const ILLNESSES: readonly Illness[] = [
  { error: "ENOSPC", times: "until freed" },
  { error: "EIO", times: 1 },
  { error: "ENOSPC", times: 1 },
  { error: "EIO", times: "until freed" },
];

function describe({ error, times }: Illness): string {
  return `${error} ${times === 1 ? "once" : "until there is room again"}`;
}

function hasEnded({ child }: Child): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Waits until the daemon has done everything by itself; what is unfinished where it has not. */
async function untilDone(scene: Scene, daemon: Child): Promise<string[]> {
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  for (;;) {
    if (hasEnded(daemon)) return [`the daemon ended: ${lastLine(daemon.output())}`];
    const unfinished = findUnfinished(scene);
    if (unfinished.length === 0) return [];
    if (performance.now() > deadline) return unfinished.map((what) => `not recovered by itself: ${what}`);
    await sleep(LOOK_MS);
  }
}

/**
 * Waits until nothing is written any more: a pass that ends well forgets the failures before it, and the next case is to
 * begin without them.
 */
async function untilQuiet({ control }: Scene): Promise<void> {
  for (let looks = 0, last = -1; last !== control?.operations && looks < QUIET_LOOKS_MAX; looks++) {
    last = control?.operations ?? 0;
    await sleep(QUIET_MS);
  }
}

/** Waits until the disk has failed somebody, or everything is done without. */
async function untilNoticed(scene: Scene, daemon: Child): Promise<void> {
  while (scene.control?.hits === 0 && !hasEnded(daemon) && findUnfinished(scene).length > 0) await sleep(LOOK_MS);
}

function ask(scene: Scene, jobs: readonly string[]): void {
  const at = new Date().toISOString();
  scene.write("INSERT INTO sync_requests (jobs, requested_at) VALUES (?, ?)", JSON.stringify(jobs), at);
}

async function startDaemon(scene: Scene): Promise<Child> {
  const daemon = scene.start(["run"]);
  while (!daemon.output().includes("is running") && !hasEnded(daemon)) {
    await Promise.race([once(daemon.child.stderr ?? daemon.child, "data"), daemon.exited]);
  }
  return daemon;
}

/** One case: from this operation on the disk is ill while a batch is pulled and confirmed. */
async function beIllOnce(scene: Scene, daemon: Child, illness: Illness, at: number): Promise<string[]> {
  const { control } = scene;
  addOrders(scene);
  control?.reset();
  control?.failAt(at, { errno: ERRORS[illness.error], times: illness.times === 1 ? 1 : illness.times });
  ask(scene, ["orders"]);
  const found: string[] = [];
  if (illness.times !== 1) {
    await untilNoticed(scene, daemon);
    await sleep(ILL_MS);
    found.push(...findLostIn(scene));
    control?.free();
  }
  found.push(...(await untilDone(scene, daemon)));
  await untilQuiet(scene);
  return [...found, ...findLostIn(scene)];
}

/** One daemon lives through a failure at every operation, one after the other. */
async function beIllAtEach(campaign: Campaign, illness: Illness): Promise<void> {
  const { report, seed, stride, step } = campaign;
  const scene = await Scene.start({ ...campaign.installed, folder: campaign.newFolder("disk"), seed });
  const tally = report.tally(`--part disk --seed ${seed}`);
  const name = `${describe(illness)}, seed ${seed}`;
  tally.note(await furnish(scene), `the start, seed ${seed}`);
  let daemon = await startDaemon(scene);
  // What a start does besides, such as comparing orders, is no part of a batch.
  await untilQuiet(scene);
  let cases = 0;
  for (let at = step ?? 1; at < OPERATIONS_MAX; at += stride) {
    const found = await beIllOnce(scene, daemon, illness, at);
    const wasMet = scene.control?.hits !== 0;
    // For whoever looks into it; the folder stays where something was found.
    if (found.length > 0) writeFileSync(path.join(path.dirname(scene.database), `daemon-${at}.log`), daemon.output());
    tally.note(found, `operation ${at}, ${name}`, `--part disk --seed ${seed} --step ${at}`);
    if (!wasMet || step !== undefined) break;
    cases += 1;
    if (found.length > 0 && hasEnded(daemon)) daemon = await startDaemon(scene);
  }
  const said = /the disk (of \S+ is full|reported an error)/.test(daemon.output());
  if (cases >= TOLD_AFTER_CASES && !said) tally.note(["the daemon's log says nothing about the disk"], name);
  daemon.child.kill("SIGTERM");
  const { code, signal } = await daemon.exited;
  if (code !== 0) tally.note([`the daemon ended with ${code ?? signal} when told to stop`], name);
  tally.sum(`${describe(illness)} at ${cases} operations of a batch`);
  await scene.close();
}

/** Everything at once, once a second, on a disk that is ill at any time for any time. */
async function beIllAtRandom(campaign: Campaign, rounds: number): Promise<void> {
  const { report, seed } = campaign;
  const folder = campaign.newFolder("disk-random");
  const scene = await Scene.start({ ...campaign.installed, folder, seed, settings: { schedule: "* * * * * *" } });
  const tally = report.tally(`--part disk --seed ${seed}`);
  tally.note(await furnish(scene), `the start, seed ${seed}`);
  const daemon = await startDaemon(scene);
  for (let round = 1; round <= rounds && !hasEnded(daemon); round++) {
    addOrders(scene);
    changeOrders(scene);
    changeStock(scene);
    const errno = ERRORS[scene.random() < 0.5 ? "ENOSPC" : "EIO"];
    scene.control?.failAt(integerBetween(scene.random, 1, 250), { errno, times: integerBetween(scene.random, 1, 40) });
    // Every failure makes the next wait longer: a disk that is ill for a second delays everything by some seconds.
    await untilNoticed(scene, daemon);
    await sleep(scene.random() * ILL_AT_RANDOM_MS);
    scene.control?.free();
    const found = [...(await untilDone(scene, daemon)), ...findLostIn(scene)];
    tally.note(found, `ill disk ${round} with everything under way, seed ${seed}`);
  }
  daemon.child.kill("SIGTERM");
  await daemon.exited;
  tally.sum(`any error at ${rounds} random times, everything under way`);
  await scene.close();
}

/** A start on an ill disk says so in one line, and the next one on a good disk puts everything right. */
async function startIll(campaign: Campaign): Promise<void> {
  const { report, seed } = campaign;
  const tally = report.tally(`--part disk --seed ${seed}`);
  let cases = 0;
  for (let at = 1; at <= FIRST_START_OPERATIONS; at += FIRST_START_STRIDE) {
    for (const error of ["ENOSPC", "EIO"] as const) {
      const scene = await Scene.start({ ...campaign.installed, folder: campaign.newFolder("disk-start"), seed });
      addOrders(scene);
      scene.control?.failAt(at, { errno: ERRORS[error], times: "until freed" });
      const ill = await scene.run(["sync", "orders"]);
      const found = judgeIllStart(scene, ill);
      scene.control?.free();
      found.push(...(await recover(scene)), ...findLostIn(scene));
      tally.note(found, `${error} from operation ${at} of a first start, seed ${seed}`);
      cases += 1;
      await scene.close();
    }
  }
  tally.sum(`${cases} first starts on an ill disk`);
}

function judgeIllStart(scene: Scene, { code, signal, output }: Ended): string[] {
  const found = [...scene.tooEarly];
  if (signal !== null || code === 0) found.push(`a start on an ill disk ended with ${code ?? signal}`);
  if (/\n\s+at /.test(output)) found.push("a start on an ill disk shows a stack trace");
  // 2: all was done, an order that nobody can use is in quarantine, and only the run's own record could not be written.
  if (code !== 2 && !/disk/.test(output)) found.push(`a start on an ill disk does not name it: ${lastLine(output)}`);
  const confirmed = scene.sandbox.ledger.confirmedOrderIds().size;
  if (confirmed > 0 && code !== 0) found.push(...findLostIn(scene));
  return found;
}

/** A failed commit that is taken for done: the confirm follows, and the orders are nowhere. */
const PLANTED_COMMIT: Plant = [
  [
    'this.prepare("COMMIT").run();',
    'try { this.prepare("COMMIT").run(); } catch { if (this.db.inTransaction) this.prepare("ROLLBACK").run(); }',
  ],
];
const PLANTED_STRIDE = 5;

/** The same failures on a program with a mistake in it: they must find it. */
async function checkTheChecker(campaign: Campaign): Promise<void> {
  const { report, seed, installed } = campaign;
  const program = plantMistake(installed.program, campaign.newFolder("planted"), PLANTED_COMMIT);
  const scene = await Scene.start({ ...installed, program, folder: campaign.newFolder("disk-planted"), seed });
  await furnish(scene);
  let caught = 0;
  for (let at = 1, failures = 1; at < OPERATIONS_MAX && caught === 0; at += PLANTED_STRIDE, failures++) {
    addOrders(scene);
    scene.control?.reset();
    scene.control?.failAt(at, { errno: ERRORS.EIO, times: 1 });
    await scene.run(["sync", "orders"]);
    if (findLostIn(scene).some((sentence) => sentence.includes("confirm"))) caught = failures;
    if (scene.control?.hits === 0) break;
  }
  if (caught > 0) report.say(`  planted a commit that hides its failure: caught after ${caught} failures`);
  const found = caught > 0 ? [] : ["planted a commit that hides its failure: not caught"];
  report.tally(`--part disk --seed ${seed}`).note(found, `the checker, seed ${seed}`);
  await scene.close();
}

export interface DiskSizes {
  /** Whether a mistake is planted, to see whether the failures find it. */
  planted?: boolean;
  /** Illnesses at random times. */
  rounds: number;
  /** How many kinds of illness, and whether first starts are tried too. */
  illnesses?: number;
  firstStarts?: boolean;
}

export async function runDiskPart(campaign: Campaign, sizes: DiskSizes): Promise<void> {
  const { rounds, illnesses = ILLNESSES.length, firstStarts = true, planted = false } = sizes;
  const { report } = campaign;
  report.say(`disk: writes and syncs that fail (seed ${campaign.seed})`);
  if (campaign.installed.shim === undefined) return report.skip("disk", "there is no gcc");
  const cases = ILLNESSES.slice(0, illnesses).map((illness) => () => beIllAtEach(campaign, illness));
  if (campaign.step === undefined && rounds > 0) cases.push(() => beIllAtRandom(campaign, rounds));
  if (campaign.step === undefined && firstStarts) cases.push(() => startIll(campaign));
  if (campaign.step === undefined && planted) cases.push(() => checkTheChecker(campaign));
  // They mostly wait for a daemon that waits: all at one time.
  await Promise.all(cases.map((act) => act()));
}
