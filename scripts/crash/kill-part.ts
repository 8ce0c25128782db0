import { setTimeout as sleep } from "node:timers/promises";
import { LOSS_MS, LOSS_POLLS } from "../../src/confirm/plan-loss.ts";
import { integerBetween, pickOne } from "../../src/sandbox/random.ts";
import type { Campaign } from "./campaign.ts";
import { type Ended, Scene } from "./scene.ts";
import { findLostIn, findUnfinished } from "./verdict.ts";

/** Orders of a batch, one of which nobody can use. */
const ORDERS = 8;
/** No pass has so many operations: beyond this the loop itself is broken. */
const OPERATIONS_MAX = 2_000;
const RECOVERIES_MAX = 6;
const RANDOM_KILL_WITHIN_MS = 1_600;

/** How the service hands batches out, and the confirm that goes with it. */
const STYLES = {
  /** The same batch until it is confirmed by its id. */
  repeat: { sandbox: {}, settings: {} },
  /** The following batch each time; a confirm covers whatever was handed out. */
  next: {
    sandbox: { handOut: "next", redeliverAfterMs: "cycle", batchIdKind: "none", confirmForm: "all" },
    settings: { orders: { confirm: { body: {} } } },
  },
} as const;

/** What is killed at each of its operations. */
interface Target {
  name: string;
  style: (typeof STYLES)[keyof typeof STYLES];
  /** What there is to do before each kill. */
  prepare: (scene: Scene) => void | Promise<void>;
  /** The pass that is killed. */
  args: readonly string[];
  /** Where not every operation is worth a case of its own: of every so many, one. */
  stride?: number;
}

const PULL = { prepare: addOrders, args: ["sync", "orders"] };
const TARGETS: readonly Target[] = [
  { name: "a batch (pull and confirm)", style: STYLES.repeat, ...PULL },
  {
    name: "a recovery after a crash",
    style: STYLES.repeat,
    prepare: async (scene) => {
      addOrders(scene);
      changeStock(scene);
      scene.control?.reset();
      scene.control?.killAt(integerBetween(scene.random, 1, 120), pickOne(scene.random, ["kill", "tear"]));
      await scene.run(["sync", "orders", "stocks"]);
    },
    args: ["sync", "orders", "stocks"],
  },
  { name: "a push", style: STYLES.repeat, prepare: changeStock, args: ["sync", "stocks"] },
  { name: "a batch whose confirm names nothing", style: STYLES.next, ...PULL, stride: 2 },
  {
    name: "a pass that follows changes",
    style: STYLES.repeat,
    prepare: changeOrders,
    args: ["sync", "updates"],
    stride: 4,
  },
];

export function addOrders(scene: Scene): void {
  scene.createOrders(ORDERS - 1);
  scene.createBadOrder();
}

export function changeOrders(scene: Scene): void {
  const orders = scene.sandbox.service.orders().filter(({ id }) => !scene.badIds.has(id));
  for (let changed = 0; changed < ORDERS; changed++) {
    const { id } = pickOne(scene.random, orders);
    scene.sandbox.service.changeOrder(id, { status: pickOne(scene.random, ["paid", "packed", "shipped"]) });
  }
}

export function changeStock(scene: Scene): void {
  for (let changed = 0; changed < ORDERS; changed++) {
    scene.write(
      "INSERT INTO stock (sku, quantity) VALUES (?, ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity",
      `SKU-${integerBetween(scene.random, 1, 2 * ORDERS)}`,
      integerBetween(scene.random, 0, 99),
    );
  }
}

/** Starts the program again and again, unharmed, until nothing is owed; what is still wrong then. */
export async function recover(scene: Scene): Promise<string[]> {
  let problems: string[] = [];
  for (let starts = 0; starts < RECOVERIES_MAX; starts++) {
    scene.control?.reset();
    const ended = await scene.run(["sync", "orders", "updates", "stocks"]);
    problems = isFine(ended)
      ? []
      : [`the recovery ended with ${ended.code ?? ended.signal}: ${lastLine(ended.output)}`];
    // Rows in doubt rest until their request has certainly ended: that time is let pass at once.
    scene.write("UPDATE feed_outbox SET doubt_until_ms = 0 WHERE doubt_until_ms IS NOT NULL");
    // The same of a confirm that covers everything.
    scene.write("DELETE FROM meta WHERE key = 'open_confirm'");
    // And of confirms that wait for the batches of lost answers.
    const hourAgo = new Date(Date.now() - LOSS_MS).toISOString();
    scene.write(
      `UPDATE meta SET value = json_set(value, '$.loss.since', ?, '$.loss.at', ?, '$.loss.polls', ${LOSS_POLLS})
       WHERE key = 'unanswered' AND json_extract(value, '$.loss') IS NOT NULL`,
      hourAgo,
      hourAgo,
    );
    if (problems.length === 0 && findUnfinished(scene).length === 0) break;
  }
  return [...problems, ...findUnfinished(scene), ...findLostIn(scene)];
}

/** 2 is attention: the order that nobody can use is in quarantine. */
function isFine({ code }: Ended): boolean {
  return code === 0 || code === 2;
}

export function lastLine(output: string): string {
  return output.trim().split("\n").at(-1) ?? "";
}

/** A database with some orders and some stock in it, everything done. */
export async function furnish(scene: Scene): Promise<string[]> {
  addOrders(scene);
  const first = await scene.run(["sync"]);
  if (!isFine(first)) return [`the first start ended with ${first.code ?? first.signal}: ${lastLine(first.output)}`];
  changeStock(scene);
  return await recover(scene);
}

/** SIGKILL at every operation on the database's files, one pass after the other, until a pass has fewer of them. */
async function killAtEach(campaign: Campaign, target: Target): Promise<void> {
  const { report, seed, stride, step } = campaign;
  const scene = await Scene.start({
    ...campaign.installed,
    folder: campaign.newFolder("kill"),
    seed,
    sandbox: target.style.sandbox,
    settings: target.style.settings,
  });
  const replay = `--part kill --seed ${seed}`;
  const tally = report.tally(replay);
  tally.note(await furnish(scene), `the start, seed ${seed}`);
  let kills = 0;
  for (let at = step ?? 1; at < OPERATIONS_MAX; at += stride * (target.stride ?? 1)) {
    await target.prepare(scene);
    scene.control?.reset();
    scene.control?.killAt(at, pickOne(scene.random, ["kill", "tear"]));
    const ended = await scene.run(target.args);
    const survived = ended.signal !== "SIGKILL";
    const found = survived && !isFine(ended) ? [`ended with ${ended.code}: ${lastLine(ended.output)}`] : [];
    found.push(...findLostIn(scene), ...(await recover(scene)));
    tally.note(found, `operation ${at} of ${target.name}, seed ${seed}`, `${replay} --step ${at}`);
    if (survived) break;
    kills += 1;
    if (step !== undefined) break;
  }
  const confirmed = scene.sandbox.ledger.confirmedOrderIds().size;
  tally.sum(`killed at ${kills} operations of ${target.name}: ${confirmed} orders confirmed`);
  await scene.close();
}

/** SIGKILL at any time of a daemon that is busy with everything. */
async function killAtRandom(campaign: Campaign, rounds: number): Promise<void> {
  const { report, seed } = campaign;
  const scene = await Scene.start({
    ...campaign.installed,
    folder: campaign.newFolder("kill-random"),
    seed,
    settings: { schedule: "* * * * * *" },
  });
  const tally = report.tally(`--part kill --seed ${seed}`);
  tally.note(await furnish(scene), `the start, seed ${seed}`);
  for (let round = 1; round <= rounds; round++) {
    const daemon = scene.start(["run"]);
    addOrders(scene);
    const lifeMs = scene.random() * RANDOM_KILL_WITHIN_MS;
    await sleep(lifeMs / 2);
    changeOrders(scene);
    changeStock(scene);
    await sleep(lifeMs / 2);
    daemon.child.kill("SIGKILL");
    await daemon.exited;
    tally.note(findLostIn(scene), `kill ${round} at a random time, seed ${seed}`);
  }
  tally.note(await recover(scene), `the recovery from random kills, seed ${seed}`);
  const confirmed = scene.sandbox.ledger.confirmedOrderIds().size;
  tally.sum(`killed ${rounds} times at random: ${confirmed} orders confirmed`);
  await scene.close();
}

export interface KillSizes {
  /** Kills at random times. */
  rounds: number;
  /** How many of the targets, the most important first. */
  targets?: number;
}

export async function runKillPart(campaign: Campaign, { rounds, targets = TARGETS.length }: KillSizes): Promise<void> {
  const { report } = campaign;
  report.say(`kill: SIGKILL of the program (seed ${campaign.seed})`);
  if (campaign.installed.shim === undefined) report.skip("kill at each operation", "there is no gcc");
  else await campaign.each(TARGETS.slice(0, targets), (target) => killAtEach(campaign, target));
  if (campaign.step === undefined && rounds > 0) await killAtRandom(campaign, rounds);
}
