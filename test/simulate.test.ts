import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { patched } from "../scripts/bugs/plant.ts";
import { PLANTED_BUGS } from "../scripts/bugs/planted.ts";
import { playPart } from "../scripts/simulate/campaign.ts";
import { Coverage } from "../scripts/simulate/coverage.ts";
import { BODIES } from "../scripts/simulate/hostile/grammar.ts";
import { EXTREMES, FIELDS } from "../scripts/simulate/hostile/values.ts";
import { runSchedule } from "../scripts/simulate/run.ts";
import { makeSchedule, type Schedule, type Step } from "../scripts/simulate/schedule.ts";
import { shrink } from "../scripts/simulate/shrink.ts";
import { Workshop } from "../scripts/simulate/workshop.ts";

/** Always the same here; `npm run simulate` plays others. */
const FIRST_SEED = 20_000;
/** So many schedules are drawn and not played, and so many played twice. */
const DRAWN = 3_000;
const TWICE = 12;
const YEAR_MS = 365 * 86_400_000;
const SEEDS = Number(process.env["SIMULATE_SEEDS"] ?? 500);

let workshop: Workshop;
beforeAll(() => {
  workshop = new Workshop();
});
afterAll(() => workshop.close());

/** What must have happened at least once in so many schedules, or the simulation no longer looks there. */
const KINDS: Record<string, readonly (string | number)[]> = {
  fate: [
    ...["refused", "no connection", "reset before", "reset after", "silence before", "silence after", "late", "slow"],
    ...["cut", "short", "drip", "html before", "html after", "gzip", "big headers", "redirect", "empty object"],
    ...["renamed", "status before", "status after"],
  ],
  "fate of": ["orders", "confirm", "updates", "snapshot", "status", "import"],
  status: [
    ...[301, 302, 307, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429],
    ...[500, 501, 502, 503, 504, 507, 520],
  ],
  "retry-after": ["30", "0", "-5", "soon", "date", "epoch", "999999999999", "3"],
  crash: [
    ...["idle", "before commit", "in commit", "after commit", "with the machine"],
    ...["request of orders", "request of confirm", "request of updates", "request of import"],
    ...["answer to orders", "answer to confirm", "answer to updates", "answer to import"],
  ],
  deed: [
    ...[
      "orders",
      "bad order",
      "change",
      "burst",
      "race",
      "delete",
      "write",
      "set back",
      "remove",
      "odd value",
      "rewrite",
    ],
    ...["rollback", "lock", "take", "ask", "net", "crash", "stop", "night", "clock", "service clock", "switch"],
  ],
  stamp: ["now", "tied", "late", "very late", "future", "missing"],
  "bad order": ["no id", "no uuid", "wrong types", "no status"],
  switch: [
    ...["orders refused", "imports refused", "unpaid", "record refused", "all records refused", "small bodies"],
    ...["few requests", "same page", "empty feed", "no date"],
  ],
  hold: ["credentials", "payment", "rate limit", "refused"],
  resumed: ["tie", "hand-out lost"],
  watermark: ["first", "moved", "set back"],
  "form handOut": ["repeat", "next"],
  "form redeliver": ["60000", "cycle", "null"],
  "form batchId": ["string", "number", "huge-number", "none"],
  "form confirm": ["batch_id", "order_ids", "all", "everything"],
  "form confirmRepeated": [200, 404, 409, 410],
  "form empty": ["list", "null", "null-parent", "204", "bare-list"],
  "form twice": ["no", "equal", "older"],
  "form stamps": ["iso-z", "iso-offset", "iso-naive", "unix", "unix_ms"],
  "form precision": ["s", "ms", "us"],
  "form boundary": ["inclusive", "exclusive"],
  "form page": [2, 3, 5, 10, 100],
  "form carry": ["changes", "whole"],
  "form history": ["latest", "log"],
  "form next": ["none", "stamp", "cursor"],
  "form since": ["iso", "unix", "unix_ms"],
  "form importAnswer": ["counts", "success", "empty", "text"],
  "form rejectHow": ["422", "per-record", "success-false"],
  "form whole": ["true", "false"],
};

/** What the grammar of the hostile world can say, each of which must be drawn. */
const CLASSES: Record<string, readonly (string | number)[]> = {
  lie: KINDS["fate of"]?.flatMap((on) => [2, 3, 4, 5].map((hundred) => `${on} ${hundred}xx`)) ?? [],
  body: BODIES,
  scope: ["all", "half", "one"],
  span: ["requests", "20 s", "180 s", "660 s", "1500 s", "3600 s", "21600 s", "for ever"],
  when: ["before", "after"],
  value: Object.keys(EXTREMES),
  field: [...new Set(FIELDS)],
  clock: ["at the start", "years", "hours"],
  person: ["resume", "approve", "retry", "sync"],
  reload: ["wrong secret", "other template", "small chunks", "other overlap"],
  deed: [...(KINDS["deed"] ?? []), "lie", "value", "mend", "page", "flood", "person", "reload", "wait"],
};

function classesOf(step: Step): string[] {
  const names = [`deed: ${step.do}`];
  if (step.do === "lie") {
    const { on, status, body, of, span, when } = step.lie;
    const length = span === "for ever" ? span : "requests" in span ? "requests" : `${span.ms / 1000} s`;
    names.push(`lie: ${on} ${Math.floor(status / 100)}xx`, `body: ${body}`, `when: ${when}`, `span: ${length}`);
    names.push(`scope: ${typeof of === "object" ? "one" : of}`);
  }
  if (step.do === "value") names.push(`value: ${step.value}`, `field: ${step.field}`);
  if (step.do === "clock") names.push(`clock: ${Math.abs(step.ms) >= YEAR_MS ? "years" : "hours"}`);
  if (step.do === "person" || step.do === "reload") names.push(`${step.do}: ${step.what}`);
  return names;
}

describe("a simulated life of a shop", () => {
  it(
    "keeps every invariant, and everything that may go wrong does",
    async () => {
      const coverage = new Coverage();
      const tally = await playPart({ from: FIRST_SEED, count: SEEDS, failuresMax: 3 }, workshop, coverage);
      const again = ({ seed }: { seed: number }) => `npm run simulate -- --seed ${seed} --trace`;
      expect(tally.failures.map((failure) => ({ ...failure, again: again(failure) }))).toEqual([]);
      expect(tally.schedules).toBe(SEEDS);
      const never = Object.entries(KINDS).flatMap(([kind, names]) =>
        names.filter((name) => coverage.get(kind, name) === 0).map((name) => `${kind}: ${name}`),
      );
      expect(never).toEqual([]);
      expect(tally.unsafe.schedules).toBeGreaterThan(0);
    },
    SEEDS * 5_000,
  );

  it.each(["usual", "hostile"] as const)(
    "goes the same way again with the same seed: the %s world",
    async (world) => {
      const digests = new Set<string>();
      for (let seed = 7; seed < 7 + TWICE; seed++) {
        const first = await runSchedule(makeSchedule(seed, world), workshop);
        const second = await runSchedule(makeSchedule(seed, world), workshop);
        expect(second.lines).toEqual(first.lines);
        expect(second.digest).toBe(first.digest);
        digests.add(first.digest);
      }
      expect(digests.size).toBe(TWICE);
    },
    120_000,
  );

  it("draws every class of fault that the grammar has", () => {
    const drawn = new Set<string>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + DRAWN; seed++) {
      const schedule = makeSchedule(seed, "hostile");
      if (schedule.clockMs !== 0) drawn.add("clock: at the start");
      for (const step of schedule.steps) for (const name of classesOf(step)) drawn.add(name);
    }
    const wanted = Object.entries(CLASSES).flatMap(([kind, names]) => names.map((name) => `${kind}: ${name}`));
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

describe("the planted bugs", () => {
  it.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))("%s: still fits the source", (_name, bug) => {
    expect(patched(".", bug).size).toBeGreaterThan(0);
  });
});
