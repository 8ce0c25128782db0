/*
 * Runs the tests that draw random values again and again, with another seed each time; `npm test` draws the same in every run:
 *
 *   npm run campaign:properties -- --rounds N [--seed S] [FILE …]
 *
 * A seed that fails is printed: `SEED=S npx vitest run FILE` repeats it. Exit code 1: some failed; 64: usage.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const EXIT = { ok: 0, bad: 1, usage: 64 } as const;
const SHOWN_LINES_MAX = 20;

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: "string", default: "10" }, seed: { type: "string", default: String(Date.now() % 1e9) } },
  });
  const [rounds, seed] = [Number(values.rounds), Number(values.seed)];
  if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed))
    throw new Error("--rounds and --seed are whole numbers.");
  return { rounds, seed, files: positionals };
}

const filesWithProperties = () =>
  execFileSync("grep", ["-rl", 'from "fast-check"', "test", "--include=*.test.ts"], { encoding: "utf8" })
    .trim()
    .split("\n");

function main(): number {
  let given: ReturnType<typeof readArguments>;
  try {
    given = readArguments();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return EXIT.usage;
  }
  const files = given.files.length > 0 ? given.files : filesWithProperties();
  let failures = 0;
  for (let round = 0; round < given.rounds; round++) {
    const seed = given.seed + round;
    const { status, stdout } = spawnSync("vitest", ["run", ...files], {
      encoding: "utf8",
      env: { ...process.env, SEED: String(seed), NO_COLOR: "1" },
    });
    if (status === 0) continue;
    failures += 1;
    const lines = stdout.split("\n").filter((line) => /FAIL|Counterexample|Error:/.test(line));
    console.log([`seed ${seed} fails:`, ...lines.slice(0, SHOWN_LINES_MAX)].join("\n"));
  }
  console.log(`${given.rounds} rounds of ${files.length} files from seed ${given.seed} on: ${failures} failed`);
  return failures === 0 ? EXIT.ok : EXIT.bad;
}

process.exitCode = main();
