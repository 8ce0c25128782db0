import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Edit, PlantedBug } from "../scripts/bugs/bug.ts";
import { patched } from "../scripts/bugs/plant.ts";
import { PLANTED_BUGS } from "../scripts/bugs/planted.ts";
import { playPart } from "../scripts/simulate/campaign.ts";
import { classesOf, hostileClasses } from "../scripts/simulate/classes.ts";
import { Configurations, readWhole } from "../scripts/simulate/configurations.ts";
import { Coverage } from "../scripts/simulate/coverage.ts";
import { nameOfScope } from "../scripts/simulate/hostile/grammar.ts";
import { DisciplineInvariants } from "../scripts/simulate/invariants/discipline.ts";
import { runSchedule } from "../scripts/simulate/run.ts";
import { makeSchedule, type Schedule, type Step } from "../scripts/simulate/schedule.ts";
import { shrink } from "../scripts/simulate/shrink.ts";
import { Versions } from "../scripts/simulate/versions.ts";
import { Workshop } from "../scripts/simulate/workshop.ts";
import type { LoadedConfig } from "../src/config/load.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { SandboxService } from "../src/sandbox/service.ts";
import { isWhole, itSome, itWhole } from "./support/whole.ts";

/** Always the same here; `npm run campaign:simulate` plays others. */
const FIRST_SEED = 20_000;
/** Ten in which the program dies at the answer to an import, which is rare. */
const RARE_SEED = 20_970;
/** So many schedules are drawn and not played, and so many played twice. */
const DRAWN = 3_000;
const TWICE = isWhole ? 12 : 1;
/** A short life, and twelve of any length. */
const FIRST_TWICE = isWhole ? 7 : FIRST_SEED;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** So many lives meet every class of what may go wrong. */
const SEEDS_OF_ALL = 700;
const SEEDS = Number(process.env["SIMULATE_SEEDS"] ?? (isWhole ? SEEDS_OF_ALL : 15));

let workshop: Workshop;
beforeAll(() => {
  workshop = new Workshop();
});
afterAll(() => workshop.close());

/** What is drawn and not counted as it happens. */
const CLOCKS = ["clock: at the start", "clock: years", "clock: hours"];

/** The classes of what a schedule of the hostile world draws, as a campaign counts them. */
function drawnIn({ steps, forms, clockMs }: Schedule): string[] {
  const ofForms = Object.entries(forms).map(([name, value]) => `form ${name}: ${String(value)}`);
  return [...ofForms, ...(clockMs === 0 ? [] : ["clock: at the start"]), ...steps.flatMap(drawnBy)];
}

function drawnBy(step: Step): string[] {
  const names = [`deed: ${step.do}`];
  if (step.do === "lie") {
    const { on, status, body, of, span, when } = step.lie;
    const length = span === "for ever" ? span : "requests" in span ? "requests" : `${span.ms / 1000} s`;
    names.push(`lie to: ${on}`, `lie status of: ${on} ${Math.floor(status / 100)}xx`, `lie body: ${body}`);
    names.push(`lie when: ${when}`, `lie span: ${length}`, `lie scope: ${nameOfScope(of)}`);
  }
  if (step.do === "value") names.push(`value: ${step.value}`, `value in: ${step.field}`);
  if (step.do === "clock") names.push(`clock: ${Math.abs(step.ms) >= YEAR_MS ? "years" : "hours"}`);
  if (step.do === "times back") names.push(`times back: ${step.minutes}`);
  if (step.do === "person" || step.do === "reload" || step.do === "odd status") names.push(`${step.do}: ${step.what}`);
  return names;
}

describe("a simulated life of a shop", () => {
  it("fails where a check of its requests does", async () => {
    vi.spyOn(DisciplineInvariants.prototype, "onSent").mockImplementation(() => {
      throw new Error("no such column");
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const { violation } = await runSchedule(makeSchedule(FIRST_SEED), workshop);
    expect(violation?.what).toContain("no such column");
  });

  it(
    "keeps every invariant, and everything that may go wrong does",
    async () => {
      const coverage = new Coverage();
      const tally = await playPart({ from: FIRST_SEED, count: SEEDS, failuresMax: 3 }, workshop, coverage);
      const rare = await playPart({ from: RARE_SEED, count: isWhole ? 10 : 1, failuresMax: 3 }, workshop, coverage);
      const again = ({ seed }: { seed: number }) => `npm run campaign:simulate -- --seed ${seed} --trace`;
      expect([...tally.failures, ...rare.failures].map((failure) => ({ ...failure, again: again(failure) }))).toEqual(
        [],
      );
      expect(tally.schedules).toBe(SEEDS);
      expect(tally.unsafe.schedules).toBeGreaterThan(0);
      if (SEEDS < SEEDS_OF_ALL) return;
      const never = classesOf("usual").filter((name) => coverage.get(name) === 0);
      expect(never).toEqual([]);
    },
    60_000 + SEEDS * 5_000,
  );

  itSome(1)(["usual", "hostile"] as const)(
    "goes the same way again with the same seed: the %s world",
    async (world) => {
      const digests = new Set<string>();
      for (let seed = FIRST_TWICE; seed < FIRST_TWICE + TWICE; seed++) {
        const first = await runSchedule(makeSchedule(seed, world), workshop);
        const second = await runSchedule(makeSchedule(seed, world), workshop);
        expect(second.lines).toEqual(first.lines);
        expect(second.digest).toBe(first.digest);
        digests.add(first.digest);
      }
      expect(digests.size).toBe(TWICE);
    },
    300_000,
  );

  itWhole(
    "leaves nothing behind in the database that the next one begins with",
    async () => {
      const seed = [20_001, 20_002, 20_003, 20_004].find((each) => !makeSchedule(each).isGuarded) ?? FIRST_SEED;
      for (const world of ["hostile", "usual"] as const) await runSchedule(makeSchedule(seed, world), workshop);
      const fresh = new Workshop();
      onTestFinished(() => fresh.close());
      const alone = await runSchedule(makeSchedule(seed), fresh);
      const afterOthers = await runSchedule(makeSchedule(seed), workshop);
      expect(afterOthers.lines).toEqual(alone.lines);
    },
    180_000,
  );

  it("draws every class of fault that the grammar has", () => {
    const drawn = new Set<string>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + DRAWN; seed++) {
      for (const name of drawnIn(makeSchedule(seed, "hostile"))) drawn.add(name);
    }
    const wanted = [...hostileClasses(), ...CLOCKS];
    expect(wanted.filter((name) => !drawn.has(name))).toEqual([]);
  });

  it("is shortened to the steps that matter where it breaks an invariant", async () => {
    const seeds = Array.from({ length: 50 }, (_, index) => FIRST_SEED + index);
    const schedule = makeSchedule(seeds.find((seed) => makeSchedule(seed).steps.length > 8) ?? FIRST_SEED);
    // Breaks where two of its steps are there, whatever else is.
    const play = async (tried: Schedule) => {
      const kept = [3, 6].every((index) => tried.steps.some(({ do: deed }) => deed === schedule.steps[index]?.do));
      const report = await runSchedule({ ...tried, steps: [] }, workshop);
      return { ...report, violation: kept ? { invariant: 1, what: "made up", atMs: 0 } : undefined };
    };
    const shortest = await shrink(schedule, play);
    expect(shortest.schedule.steps.length).toBeLessThanOrEqual(2);
    expect(shortest.report.violation?.invariant).toBe(1);
  });
});

describe("the versions of an order", () => {
  it("are as late as the version that they repeat: a status that the order had already comes no sooner", () => {
    let nowMs = 10 * DAY_MS;
    const credentials = { clientId: "id", clientSecret: "secret" };
    const service = new SandboxService({ credentials, now: () => nowMs, random: seededRandom(1), options: {} });
    const versions = new Versions(service);
    const id = service.createOrder({ status: "new" });
    versions.note(id);
    nowMs += 1_000;
    service.changeOrder(id, { status: "cancelled", lateByMs: DAY_MS });
    versions.note(id, nowMs - DAY_MS);
    nowMs += 60_000;
    versions.note(id);
    expect(versions.latenessMs(id)).toBe(DAY_MS);
    expect(versions.isStatusNew(id)).toBe(false);
    expect(versions.madeMs(id)).toBe(nowMs - 60_000);
    service.changeOrder(id, { status: "new" });
    versions.note(id);
    expect(versions.latenessMs(id)).toBe(0);
  });
});

describe("the configuration of a simulated shop", () => {
  it("is what the whole text of it says", () => {
    const configurations = new Configurations();
    const plain = ({ config, written, warnings }: LoadedConfig) => ({ config, warnings, written: [...written].sort() });
    for (let seed = 1; seed <= (isWhole ? 60 : 15); seed++) {
      const { forms } = makeSchedule(seed);
      expect(plain(configurations.for(forms, "/srv/bridge.db"))).toEqual(plain(readWhole(forms)));
    }
  });
});

describe("a patch", () => {
  const edits = (...made: Edit[]): PlantedBug => ({ name: "made up", edits: made, foundBy: "simulation" });
  const sourceOf = (text: string) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-patch-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(path.join(folder, "a.ts"), text);
    return (...made: Edit[]) => patched(folder, edits(...made)).get("a.ts");
  };

  it("fits however the lines are laid out", () => {
    const patch = sourceOf("const a = call(\n  one,\n  two,\n);\n");
    expect(patch({ file: "a.ts", find: "call(one, two)", replace: "1" })).toBe("const a = 1;\n");
  });

  it("is made in the function that it names, and nowhere else", () => {
    const text =
      "function a(): number { return 1; }\nclass B {\n  #a(): number { return 1; }\n}\nconst c = (n: number) => n;\n";
    const patch = sourceOf(text);
    expect(() => patch({ file: "a.ts", find: "return 1;", replace: "" })).toThrow("found 2 times");
    const inMethod = patch({ file: "a.ts", in: "#a", find: "return 1;", replace: "return 2;" });
    expect(inMethod).toBe(text.replace("  #a(): number { return 1; }", "  #a(): number { return 2; }"));
    expect(patch({ file: "a.ts", of: "a", does: "return 3;" })).toBe(text.replace("{ return 1; }", "{ return 3; }"));
    expect(patch({ file: "a.ts", of: "c", does: "return n + 1;" })).toContain("(n: number) => { return n + 1; }");
    expect(() => patch({ file: "a.ts", of: "d", does: "" })).toThrow("found 0 times");
  });
});

describe("the planted bugs", () => {
  it.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))("%s: still fits the source", (_name, bug) => {
    expect(patched(".", bug).size).toBeGreaterThan(0);
  });
});
