import { rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, pickOne, seededRandom } from "../../src/sandbox/random.ts";
import type { Campaign } from "./campaign.ts";
import { CUTS, type Cut, DiskImage, type DiskRecord, readDiskLog } from "./disk-image.ts";
import { addOrders, changeOrders, changeStock, furnish, recover } from "./kill-part.ts";
import { type Plant, plantMistake } from "./plant-mistake.ts";
import { type Child, Scene } from "./scene.ts";
import { findLost, findLostIn } from "./verdict.ts";

/** Operations of one start with everything to do: cuts fall on all of them, and some come after the end. */
const OPERATIONS = 220;
const EVERYTHING = ["sync", "orders", "updates", "stocks"];
/** A mistake that is planted and not found within so many cuts means that the checker is blind. */
const PLANTED_CUTS_MAX = 60;
const EIO = 5;
/** Batches beside an ERP that writes all the time, one after the other. */
const CARELESS_ROUNDS = 6;
const CARELESS_ROUND_MS = 1_500;
/** So many moments of that run are looked at, beside those at which something was accepted or the log was restarted. */
const CARELESS_IMAGES = 80;
/** After a restart of the log: its header and its first frames, two writes each. */
const AFTER_RESTART = [4, 8, 16, 32];
const LOG = 2;
const CUTS_AFTER_RESTART: readonly Cut[] = [...CUTS, "suffix", "suffix", "suffix", "suffix"];
/** An ERP that may restart the log does so only where it writes first after everything was flushed. */
const RUNS_TO_RESTART_MAX = 5;

/** What the program was before it kept the log from an ERP with synchronous=OFF. */
const PLANTED_UNKEPT: Plant = [
  [
    'db.pragma("wal_autocheckpoint = 0");\n\t\tconst [keeper, note] = [new LogKeeper(file), ',
    "const [keeper, note] = [void 0, ",
  ],
];

/** And before it kept the ERP from restarting the log, where no header is flushed before the frames behind it. */
const PLANTED_RESTART: Plant = [
  ["if (!this.#database.hasUnmoved()) {", "if (false) {"],
  ["this.#isSettled = true;\n\t\treturn true;", "this.#isSettled = true;\n\t\tthis.#advance();\n\t\treturn true;"],
];

/** better-sqlite3 opens a database that is in WAL mode already with exactly this; and nothing flushes the log besides. */
export const PLANTED_NORMAL: Plant = [
  ...PLANTED_UNKEPT,
  ['db.pragma("synchronous = FULL");', 'db.pragma("synchronous = NORMAL");'],
  ["synchronous: 2,", "synchronous: 1,"],
];

export interface PowerSizes {
  /** Whether a mistake is planted, to see whether the cuts find it. */
  planted: boolean;
  /** Real power cuts: the process killed, the image built, the program started on it. */
  cuts: number;
  /** Starts of the run that is recorded for images. */
  recorded: number;
}

function addWork(scene: Scene): void {
  addOrders(scene);
  changeOrders(scene);
  changeStock(scene);
}

/** One power cut, at one operation of a start that has everything to do. What was lost, before any recovery. */
async function cutOnce(scene: Scene): Promise<{ found: string[]; how: string }> {
  const { control, database, random } = scene;
  addWork(scene);
  rmSync(scene.logFile, { force: true });
  const image = new DiskImage(database);
  const at = integerBetween(random, 1, OPERATIONS);
  control?.reset();
  // In every fourth case the disk fails to sync once before the power goes: what it dropped then never comes back.
  const isIll = random() < 0.25;
  if (isIll) control?.failAt(integerBetween(random, 1, at), { errno: EIO, times: integerBetween(random, 1, 3) });
  else control?.killAt(at, pickOne(random, ["kill", "tear"]));
  await scene.run(EVERYTHING, { logged: true });
  for (const record of readDiskLog(scene.logFile)) image.apply(record);
  const cut = pickOne(random, CUTS);
  image.write(database, cut, random);
  return { found: findLostIn(scene), how: `${cut}, ${isIll ? "after a failed operation" : `at operation ${at}`}` };
}

/** Power cuts one after the other on one database, each followed by starts that must put everything right. */
async function cutPower(campaign: Campaign, cuts: number): Promise<void> {
  const { report, seed } = campaign;
  const scene = await Scene.start({ ...campaign.installed, folder: campaign.newFolder("power"), seed });
  const tally = report.tally(`--part power --seed ${seed}`);
  tally.note(await furnish(scene), `the start, seed ${seed}`);
  for (let number = 1; number <= cuts; number++) {
    const { found, how } = await cutOnce(scene);
    found.push(...(await recover(scene)));
    tally.note(found, `power cut ${number} (${how}), seed ${seed}`);
    if (found.length > 0) break;
  }
  const confirmed = scene.sandbox.ledger.confirmedOrderIds().size;
  tally.sum(`power cut ${cuts} times and started again: ${confirmed} orders confirmed`);
  await scene.close();
}

/** Records what a number of starts write, some of them killed, and gives it with the scene. */
async function record(scene: Scene, starts: number): Promise<{ image: DiskImage; records: DiskRecord[] }> {
  rmSync(scene.logFile, { force: true });
  scene.accepted.length = 0;
  const image = new DiskImage(scene.database);
  for (let start = 0; start < starts; start++) {
    scene.createOrders(5);
    scene.createBadOrder();
    changeOrders(scene);
    scene.control?.reset();
    if (scene.random() < 0.4) scene.control?.killAt(integerBetween(scene.random, 1, OPERATIONS));
    await scene.run(EVERYTHING, { logged: true });
  }
  return { image, records: readDiskLog(scene.logFile) };
}

/** Every image that a power cut could leave behind at any moment of a recorded run, some of each kind. */
export async function lookAtImages(
  campaign: Campaign,
  starts: number,
  program = campaign.installed.program,
): Promise<void> {
  const { report, seed, stride } = campaign;
  const folder = campaign.newFolder("images");
  const scene = await Scene.start({ ...campaign.installed, program, folder, seed: seed + 1 });
  const tally = report.tally(`--part power --seed ${seed}`);
  tally.note(await furnish(scene), `the start of the recorded run, seed ${seed}`);
  // What was accepted before the recording is on disk for good, and counts at every moment of it.
  const earlier = scene.accepted.map(({ entry }) => entry);
  const { image, records } = await record(scene, starts);
  const copy = path.join(folder, "image.db");
  const random = seededRandom(seed);
  let images = 0;
  for (const [number, step] of records.entries()) {
    image.apply(step);
    if (number % stride !== 0) continue;
    const accepted = [
      ...earlier,
      ...scene.accepted.filter(({ logBytes }) => logBytes <= step.end).map(({ entry }) => entry),
    ];
    const found = CUTS.flatMap((cut) => {
      image.write(copy, cut, random);
      images += 1;
      return findLost(copy, accepted).map((sentence) => `${cut}: ${sentence}`);
    });
    tally.note(found, `image ${number} of the recorded run, seed ${seed}`);
    if (found.length > 0) break;
  }
  tally.sum(`looked at ${images} images of ${records.length} operations`);
  await scene.close();
}

/** An ERP that gives up durability: it writes without a flush, moves the log into the database and begins it anew. */
const CARELESS_ERP = (database: string) => `
const db = new (require("better-sqlite3"))(${JSON.stringify(database)}, { timeout: 10000 });
db.pragma("synchronous = OFF");
db.exec("CREATE TABLE IF NOT EXISTS erp_own (n INTEGER PRIMARY KEY, text TEXT)");
process.stdout.write("ready");
const clock = new Int32Array(new SharedArrayBuffer(4));
for (let n = 0; ; n++) {
  db.prepare("INSERT INTO erp_own (text) VALUES (?)").run("x".repeat(n % 5000));
  if (n % 40 === 0) db.prepare("UPDATE stock SET quantity = quantity + 1 WHERE random() % 3 = 0").run();
  if (n % 3 === 0) db.pragma("wal_checkpoint(PASSIVE)");
  if (n % 50 === 49) db.exec("DELETE FROM erp_own");
  Atomics.wait(clock, 0, 0, 3);
}`;

/** The daemon beside such an ERP, with a power cut at any moment: what was lost. */
export async function lookBesideErp(campaign: Campaign, program = campaign.installed.program): Promise<string[]> {
  const { seed, stride, installed } = campaign;
  const folder = campaign.newFolder("careless");
  const settings = { schedule: "* * * * * *" };
  const scene = await Scene.start({ ...installed, program, folder, seed: seed + 2, settings });
  const found = await furnish(scene);
  const earlier = scene.accepted.map(({ entry }) => entry);
  rmSync(scene.logFile, { force: true });
  scene.accepted.length = 0;
  const image = new DiskImage(scene.database);
  const daemon = scene.start(["run"], { logged: true });
  await untilSaid(daemon, "is running");
  const erp = scene.startOther(CARELESS_ERP(scene.database));
  await untilSaid(erp, "ready");
  for (let round = 0; round < CARELESS_ROUNDS; round++) {
    // Not stock: what this process writes is not written down.
    addOrders(scene);
    changeOrders(scene);
    await sleep(CARELESS_ROUND_MS);
  }
  erp.child.kill("SIGKILL");
  const ended = await erp.exited;
  if (ended.signal !== "SIGKILL") found.push(`the ERP ended by itself: ${ended.output}`);
  daemon.child.kill("SIGTERM");
  await daemon.exited;
  const random = seededRandom(seed);
  const copy = path.join(folder, "image.db");
  const records = readDiskLog(scene.logFile);
  const confirmed = scene.accepted.filter(({ entry }) => entry.effect?.kind === "confirmed").length;
  if (confirmed < CARELESS_ROUNDS / 2) found.push(`only ${confirmed} batches were confirmed beside the ERP`);
  // Those right after something was accepted, where there is most to lose, and some of the others.
  const moments = new Set(scene.accepted.map(({ logBytes }) => records.findIndex(({ end }) => end >= logBytes)));
  const restarts = records.flatMap((each, number) => (isRestart(each) ? [number] : []));
  const afterRestart = new Set(restarts.flatMap((number) => AFTER_RESTART.map((later) => number + later)));
  const every = Math.ceil((records.length * stride) / CARELESS_IMAGES);
  for (const [number, step] of records.entries()) {
    image.apply(step);
    const isAfterRestart = afterRestart.has(number);
    if (number % every !== 0 && !moments.has(number) && !isAfterRestart) continue;
    const known = scene.accepted.filter(({ logBytes }) => logBytes <= step.end).map(({ entry }) => entry);
    for (const cut of isAfterRestart ? CUTS_AFTER_RESTART : CUTS) {
      image.write(copy, cut, random);
      found.push(...lookAt(copy, [...earlier, ...known]).map((what) => `${cut}, operation ${number}: ${what}`));
    }
    if (found.length > 0) break;
  }
  campaign.report.say(
    `  beside an ERP with synchronous=OFF: ${confirmed} batches confirmed, ${records.length} operations recorded`,
  );
  await scene.close();
  return found;
}

function lookAt(copy: string, accepted: Parameters<typeof findLost>[1]): string[] {
  try {
    return findLost(copy, accepted);
  } catch (error) {
    return [`the database cannot be read: ${String(error)}`];
  }
}

async function untilSaid({ child, output }: Child, words: string): Promise<void> {
  while (!output().includes(words)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`a program ended at once: ${output()}`);
    await sleep(20);
  }
}

function isRestart({ file, kind, offset }: DiskRecord): boolean {
  return file === LOG && kind === "write" && offset === 0;
}

async function runBesideErp(campaign: Campaign, isPlanted: boolean): Promise<void> {
  const tally = campaign.report.tally(`--part power --seed ${campaign.seed}`);
  tally.note(await lookBesideErp(campaign), `an ERP with synchronous=OFF, seed ${campaign.seed}`);
  if (!isPlanted) return;
  for (const [name, plant] of [
    ["log that nobody keeps", PLANTED_UNKEPT],
    ["log that the ERP restarts", PLANTED_RESTART],
  ] as const) {
    const program = plantMistake(campaign.installed.program, campaign.newFolder("planted-log"), plant);
    let caught: string[] = [];
    for (let run = 0; run < RUNS_TO_RESTART_MAX && caught.length === 0; run++)
      caught = await lookBesideErp(campaign, program);
    if (caught.length > 0) campaign.report.say(`  planted ${name}: caught (${caught[0]})`);
    const missed = caught.length > 0 ? [] : [`planted ${name}: not caught`];
    tally.note(missed, `the checker, seed ${campaign.seed}`);
  }
}

/** The same cuts on a program with a mistake in it: they must find it. */
async function checkTheChecker(campaign: Campaign): Promise<void> {
  const { report, seed, installed } = campaign;
  const program = plantMistake(installed.program, campaign.newFolder("planted"), PLANTED_NORMAL);
  const folder = campaign.newFolder("power-planted");
  const scene = await Scene.start({ ...installed, program, folder, seed });
  await furnish(scene);
  let caught = 0;
  for (let number = 1; number <= PLANTED_CUTS_MAX && caught === 0; number++) {
    const { found } = await cutOnce(scene);
    if (found.some((sentence) => sentence.includes("confirmed orders"))) caught = number;
    else await recover(scene);
  }
  if (caught > 0) report.say(`  planted synchronous=NORMAL: caught after ${caught} cuts`);
  const found = caught > 0 ? [] : [`planted synchronous=NORMAL: not caught in ${PLANTED_CUTS_MAX} cuts`];
  report.tally(`--part power --seed ${seed}`).note(found, `the checker, seed ${seed}`);
  await scene.close();
}

export async function runPowerPart(campaign: Campaign, sizes: PowerSizes): Promise<void> {
  const { report } = campaign;
  report.say(`power: what was not synced is gone, whole or in part (seed ${campaign.seed})`);
  if (campaign.installed.shim === undefined) return report.skip("power", "there is no gcc");
  const acts = [() => lookAtImages(campaign, sizes.recorded)];
  acts.push(() => runBesideErp(campaign, sizes.planted));
  if (sizes.cuts > 0) acts.push(() => cutPower(campaign, sizes.cuts));
  if (sizes.planted) acts.push(() => checkTheChecker(campaign));
  await campaign.each(acts, (act) => act());
}
