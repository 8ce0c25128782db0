/*
 * A real bridge between the mock service and a PostgreSQL, with an ERP at work there, under kills, crashes of PostgreSQL and cut
 * connections: `npm run campaign:mirror [-- --kills N --crashes N --cuts N --workers N --rate ORDERS_A_MINUTE --gap MS --seed S]`. Prints what
 * is missing, differs or came twice, and what there was too little of for the campaign to mean something.
 *
 * Exit code 1: something does, or there was; 64: usage.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { installProgram } from "./install-program.ts";
import { runMirrorCampaign } from "./mirror/mirror-campaign.ts";

const SHOWN_MAX = 20;
const NUMBERS = {
  kills: 1_000,
  crashes: 100,
  cuts: 1_000,
  workers: 4,
  rate: 3_000,
  gap: 800,
  settle: 300_000,
  seed: 1,
};

const text = { type: "string" } as const;
const options = Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, text]));
const { values } = parseArgs({ options });
const numbers = { ...NUMBERS };
for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
  numbers[name] = Number(values[name] ?? NUMBERS[name]);
  if (!Number.isSafeInteger(numbers[name]) || numbers[name] < 0) {
    console.error(`--${name} takes a number`);
    process.exit(64);
  }
}
const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "erp-bridge-mirror-")));
const program = await installProgram(path.join(folder, "program"));
const { rate, gap, settle, ...sizes } = numbers;
const startedMs = performance.now();
const result = await runMirrorCampaign({
  ...sizes,
  ...{ ordersPerMinute: rate, gapMs: gap, settleMs: settle, folder: path.join(folder, "shop"), program },
  say: (line) => console.log(`  ${line}`),
});
for (const kind of ["missing", "differing", "doubled", "waiting"] as const) {
  for (const what of result[kind].slice(0, SHOWN_MAX)) console.log(`  ${kind}: ${what}`);
}
const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
console.log(
  `${sizes.kills} kills, ${sizes.crashes} crashes of PostgreSQL, ${sizes.cuts} cuts (${result.work.cutCommits} on COMMIT) in ${minutes} minutes: ` +
    `${result.orders} orders, ${result.work.requests} requests; ${result.missing.length} missing, ${result.differing.length} differing, ` +
    `${result.doubled.length} doubled requests, ${result.waiting.length} waiting (seed ${sizes.seed})`,
);
for (const what of result.lacking) console.log(`  too little was done: ${what}`);
const isBad =
  result.missing.length +
    result.differing.length +
    result.doubled.length +
    result.waiting.length +
    result.lacking.length >
  0;
if (isBad) console.log(`kept for inspection: ${folder}`);
else rmSync(folder, { recursive: true, force: true });
process.exitCode = isBad ? 1 : 0;
