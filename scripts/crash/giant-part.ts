import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Campaign } from "./campaign.ts";
import { lastLine } from "./kill-part.ts";
import { Scene } from "./scene.ts";
import { findLostIn } from "./verdict.ts";

const ORDERS = 50_000;
/** With it, the answer has about 200 MB. */
const TEXT_BYTES = 3_700;
/** What the systemd unit allows. */
const MEMORY_MAX_MB = 1_024;
const LOOK_MS = 25;

/** The most memory that the process has had so far; undefined once it is gone. */
function peakMb(pid: number): number | undefined {
  try {
    const kb = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kb === undefined ? undefined : Number(kb) / 1024;
  } catch {
    return undefined;
  }
}

/** One batch of 50,000 orders and 200 MB: stored, confirmed, and within the memory that the unit allows. */
export async function runGiantPart(campaign: Campaign): Promise<void> {
  const { report, seed, installed } = campaign;
  report.say(`giant: one batch of ${ORDERS} orders (seed ${seed})`);
  const scene = await Scene.start({
    program: installed.program,
    folder: campaign.newFolder("giant"),
    seed,
    sandbox: { batchSize: ORDERS },
    settings: { service: { timeouts: { headers: "5m", total: "10m" } } },
  });
  const text = JSON.stringify("x".repeat(TEXT_BYTES));
  for (let made = 0; made < ORDERS; made++) scene.sandbox.service.createOrder({ extra: { text } });
  const startedMs = performance.now();
  const { child, exited } = scene.start(["sync", "orders"]);
  let mb = 0;
  const isOver = exited.then(() => true);
  while (!(await Promise.race([isOver, sleep(LOOK_MS, false)]))) mb = Math.max(mb, peakMb(child.pid ?? 0) ?? 0);
  const { code, output } = await exited;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const found = code === 0 ? [] : [`it ended with ${code}: ${lastLine(output)}`];
  const confirmed = scene.sandbox.ledger.confirmedOrderIds().size;
  if (confirmed !== ORDERS) found.push(`${confirmed} orders are confirmed`);
  found.push(...findLostIn(scene));
  if (mb > MEMORY_MAX_MB) found.push(`it took ${Math.round(mb)} MB of memory`);
  const tally = report.tally(`--part giant --seed ${seed}`);
  tally.note(found, `a giant batch, seed ${seed}`);
  tally.sum(`${confirmed} orders stored and confirmed in ${seconds} s, peak memory ${Math.round(mb)} MB`);
  await scene.close();
}
