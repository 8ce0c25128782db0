import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { patched } from "../scripts/bugs/plant.ts";
import { PLANTED_BUGS } from "../scripts/bugs/planted.ts";
import { playPart } from "../scripts/simulate/campaign.ts";
import { Coverage } from "../scripts/simulate/coverage.ts";
import { runSchedule } from "../scripts/simulate/run.ts";
import { makeSchedule, type Schedule } from "../scripts/simulate/schedule.ts";
import { shrink } from "../scripts/simulate/shrink.ts";
import { Workshop } from "../scripts/simulate/workshop.ts";

/** Always the same here; `npm run simulate` plays others. */
const FIRST_SEED = 20_000;
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
  resumed: ["shape", "tie", "hand-out lost"],
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

  it("goes the same way again with the same seed", async () => {
    const [first, second] = [
      await runSchedule(makeSchedule(7), workshop),
      await runSchedule(makeSchedule(7), workshop),
    ];
    expect(second.lines).toEqual(first.lines);
    expect(second.digest).toBe(first.digest);
    expect((await runSchedule(makeSchedule(8), workshop)).digest).not.toBe(first.digest);
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
