/*
 * Checks the checker: plants known bugs, one after the other, in copies of the source, and lets the simulation, or a
 * direct check, find each. See docs/simulation.md.
 *
 *   npm run campaign:bugs [-- --seeds N] [--from S] [--only WORDS,WORDS] [--skip N]
 *
 * With --skip the first N of the list are left out: what an interrupted run still has to do.
 */
import { execFile, fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import type { PlantedBug } from "./bugs/bug.ts";
import { plant } from "./bugs/plant.ts";
import { PLANTED_BUGS } from "./bugs/planted.ts";
import type { Progress } from "./simulate/campaign.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const AT_ONCE = 2;
/** Milliseconds after which a run of tests that a bug makes endless is ended. */
const TESTS_MAX_MS = 20 * 60_000;
/** Of what is drawn rarely so many times as many seeds are looked through, few of which are played. */
const DRAWN_RARELY = 100;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "400" },
    from: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    skip: { type: "string", default: "0" },
  },
});

interface Finding {
  bug: string;
  found: boolean;
  /** How many seeds it took, or which check it was. */
  effort: string;
  by: string;
}

const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bugs-"));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Plays seeds in the copy until one fails that holds without the bug. */
async function simulate(copy: string, { world, draws }: PlantedBug): Promise<Omit<Finding, "bug">> {
  const from = Number(values.from);
  const count = Number(values.seeds) * (draws === undefined ? 1 : DRAWN_RARELY);
  const part = { from, count, failuresMax: 1, playedMax: Number(values.seeds), world, draws };
  let played = 0;
  for (;;) {
    const run = await playPart(copy, part);
    played += run.played;
    const effort = (seeds: number) => `${seeds} seeds${draws === undefined ? "" : `, ${played} played`}`;
    // A copy that does not even start has found nothing.
    if (run.error !== undefined) return { found: false, effort: effort(count), by: run.error };
    const { failure } = run;
    if (failure === undefined) return { found: false, effort: effort(count), by: "nobody" };
    const { seed, violation } = failure;
    const without = await playPart(ROOT, { ...part, from: seed, count: 1 });
    if (without.failure === undefined && without.error === undefined) {
      const by = `invariant ${violation.invariant}: ${violation.what.slice(0, 90)}`;
      return { found: true, effort: effort(seed - from + 1), by };
    }
    console.log(`Seed ${seed} fails without the bug too: ${violation.what.slice(0, 90)}`);
    part.count = from + count - seed - 1;
    part.playedMax = Number(values.seeds) - played;
    part.from = seed + 1;
    if (part.count <= 0 || part.playedMax <= 0) return { found: false, effort: effort(count), by: "nobody" };
  }
}

interface PartRun {
  played: number;
  failure: Progress["tally"]["failures"][number] | undefined;
  /** The last words of a run that ended with an error. */
  error: string | undefined;
}

function playPart(root: string, part: object): Promise<PartRun> {
  const child = fork(path.join(root, "scripts/simulate.ts"), ["--worker", JSON.stringify(part)], { silent: true });
  const run: PartRun = { played: 0, failure: undefined, error: undefined };
  let words = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    words += chunk.toString("utf8");
  });
  return new Promise((resolve) => {
    child.on("message", (progress) => {
      const { failures, schedules } = (progress as Progress).tally;
      run.played += schedules;
      run.failure ??= failures[0];
    });
    child.on("exit", (code) => resolve(code === 0 ? run : { ...run, error: words.slice(-300) }));
  });
}

/** Found where a test fails, and not where none is run: of the quick form, or else of the whole one. */
async function test(copy: string, file: string): Promise<Omit<Finding, "bug">> {
  const quick = await testIn(copy, file, "quick");
  return quick.found ? quick : await testIn(copy, file, "whole");
}

async function testIn(copy: string, file: string, form: "quick" | "whole"): Promise<Omit<Finding, "bug">> {
  const vitest = path.join(copy, "node_modules/vitest/vitest.mjs");
  const config = file.startsWith("test/cli/") ? "vitest.config.ts" : "scripts/bugs/vitest.config.ts";
  const report = path.join(copy, "report.json");
  const args = [vitest, "run", file, "--config", config, "--reporter=json", `--outputFile=${report}`];
  const env = { ...process.env, TESTS: form };
  rmSync(report, { force: true });
  const options = { cwd: copy, env, timeout: TESTS_MAX_MS, killSignal: "SIGKILL" } as const;
  const { stderr } = await promisify(execFile)(process.execPath, args, options).catch(
    (error: { stderr: string }) => error,
  );
  if (!existsSync(report)) return { found: false, effort: "tests", by: `${file}: ${stderr.slice(-300)}` };
  const { numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as TestReport;
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed");
  return { found: numFailedTests > 0, effort: "tests", by: `${file}: ${failed[0]?.fullName ?? "all succeed"}` };
}

interface TestReport {
  numFailedTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

async function checkDirectly(copy: string, check: string): Promise<Omit<Finding, "bug">> {
  const script = path.join(copy, "scripts/bugs/direct-checks.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [script, check]);
  return { found: stdout.trim() !== "", effort: "direct check", by: `${check}: ${stdout.trim()}` };
}

async function find(bug: PlantedBug, number: number): Promise<Finding> {
  const copy = path.join(folder, String(number));
  plant(ROOT, copy, bug);
  const { foundBy } = bug;
  const finding =
    foundBy === "simulation"
      ? await simulate(copy, bug)
      : foundBy.startsWith("test/")
        ? await test(copy, foundBy)
        : await checkDirectly(copy, foundBy);
  rmSync(copy, { recursive: true, force: true });
  return { bug: bug.name, ...finding };
}

const only = values.only.split(",");
const bugs = PLANTED_BUGS.slice(Number(values.skip)).filter(({ name }) => only.some((words) => name.includes(words)));
const findings: Finding[] = [];
let next = 0;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let number = next++; number < bugs.length; number = next++) {
      const finding = await find(bugs[number] as PlantedBug, number);
      findings.push(finding);
      const sign = finding.found ? "found    " : "NOT FOUND";
      console.log(`${sign}  ${finding.bug.padEnd(50)} ${finding.effort.padEnd(21)} ${finding.by}`);
    }
  }),
);
const missed = findings.filter(({ found }) => !found);
console.log(`${findings.length - missed.length} of ${findings.length} planted bugs found.`);
process.exitCode = missed.length === 0 ? 0 : 1;
