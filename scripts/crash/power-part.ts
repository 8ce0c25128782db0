import { rmSync } from "node:fs";
import path from "node:path";
import { integerBetween, pickOne, seededRandom } from "../../src/sandbox/random.ts";
import type { Campaign } from "./campaign.ts";
import { CUTS, DiskImage, type DiskRecord, readDiskLog } from "./disk-image.ts";
import { addOrders, changeOrders, changeStock, furnish, recover } from "./kill-part.ts";
import { type Plant, plantMistake } from "./plant-mistake.ts";
import { Scene } from "./scene.ts";
import { findLost, findLostIn } from "./verdict.ts";

/** Operations of one start with everything to do: cuts fall on all of them, and some come after the end. */
const OPERATIONS = 220;
const EVERYTHING = ["sync", "orders", "updates", "stocks"];
/** A mistake that is planted and not found within so many cuts means that the checker is blind. */
const PLANTED_CUTS_MAX = 60;
const EIO = 5;

/** better-sqlite3 opens a database that is in WAL mode already with exactly this. */
export const PLANTED_NORMAL: Plant = [
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
  if (sizes.cuts > 0) acts.push(() => cutPower(campaign, sizes.cuts));
  if (sizes.planted) acts.push(() => checkTheChecker(campaign));
  await campaign.each(acts, (act) => act());
}
