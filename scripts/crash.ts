/*
 * Crashes the installed program on purpose, and lets the ledger of the mock service judge whether anything that was
 * confirmed is lost: `npm run campaign:crash -- [--part kill|power|disk|locks|giant] [--seed S] [--step N] [--stride N] [--long]`.
 *
 * - kill: SIGKILL at every write of a batch, a push, a recovery, and at random times;
 * - power: what was not synced is gone, whole or in part;
 * - disk: writes and syncs that fail, once and until there is room again;
 * - locks: an ERP that holds the write lock, a reader that stays open; `--long` adds ten minutes;
 * - giant: a batch of 50,000 orders and 200 MB, within the memory that the unit allows.
 *
 * Exit code 1: something was lost; 2: a part could not be done here (no gcc); 64: usage. Without arguments up to a
 * quarter of an hour on two free cores; `--stride 10` tries every tenth operation only.
 */
import { parseArgs } from "node:util";
import { Campaign } from "./crash/campaign.ts";
import { runDiskPart } from "./crash/disk-part.ts";
import { runGiantPart } from "./crash/giant-part.ts";
import { runKillPart } from "./crash/kill-part.ts";
import { runLockPart } from "./crash/lock-part.ts";
import { runPowerPart } from "./crash/power-part.ts";
import { Report } from "./crash/report.ts";

const PARTS = {
  kill: (campaign: Campaign) => runKillPart(campaign, { rounds: 30 }),
  power: (campaign: Campaign) => runPowerPart(campaign, { cuts: 50, recorded: 8, planted: true }),
  disk: (campaign: Campaign) => runDiskPart(campaign, { rounds: 12, planted: true }),
  locks: (campaign: Campaign, long: boolean) => runLockPart(campaign, { long }),
  giant: (campaign: Campaign) => runGiantPart(campaign),
};
type Part = keyof typeof PARTS;

const EXIT = { ok: 0, lost: 1, skipped: 2, usage: 64 } as const;

interface Options {
  parts: Part[];
  seed: number;
  step: number | undefined;
  stride: number;
  long: boolean;
}

function readOptions(): Options {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: { part: text, seed: text, step: text, stride: text, long: { type: "boolean" } },
  });
  const whole = (name: "seed" | "step" | "stride") => {
    const value = values[name];
    if (value === undefined) return undefined;
    if (!/^\d{1,9}$/.test(value)) throw new TypeError(`--${name}: a whole number, not ${value}`);
    return Number(value);
  };
  const { part } = values;
  if (part !== undefined && !Object.hasOwn(PARTS, part))
    throw new TypeError(`--part: one of ${Object.keys(PARTS).join(", ")}, not ${part}`);
  return {
    parts: part === undefined ? (Object.keys(PARTS) as Part[]) : [part as Part],
    seed: whole("seed") ?? Math.floor(Math.random() * 1_000_000),
    step: whole("step"),
    stride: Math.max(1, whole("stride") ?? 1),
    long: values.long === true,
  };
}

async function main({ parts, long, ...options }: Options): Promise<number> {
  const report = new Report((line) => console.log(line));
  const startedMs = performance.now();
  const campaign = await Campaign.begin({ ...options, report });
  // Ill disks are mostly waited for, kills and cuts keep both cores busy; gaps of the event loop are measured alone.
  for (const together of [["kill", "disk"], ["power"], ["locks"], ["giant"]] as const)
    await Promise.all(together.filter((part) => parts.includes(part)).map((part) => PARTS[part](campaign, long)));
  campaign.end();
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  console.log(
    `total: ${report.cases} cases in ${seconds} s, seed ${options.seed}: ${report.violations.length} violations` +
      (report.skipped.length > 0 ? `; skipped: ${report.skipped.join(", ")}` : ""),
  );
  if (report.violations.length > 0) return EXIT.lost;
  return report.skipped.length > 0 ? EXIT.skipped : EXIT.ok;
}

let options: Options | undefined;
try {
  options = readOptions();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = EXIT.usage;
}
if (options !== undefined) process.exitCode = await main(options);
