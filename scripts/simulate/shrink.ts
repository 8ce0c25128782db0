import type { RunReport } from "./run.ts";
import type { Schedule } from "./schedule.ts";

/** The most runs for shortening: about a minute. */
const RUNS_MAX = 400;

/** Removes steps while the same invariant is still violated: first halves, then smaller pieces, then single steps. */
export async function shrink(
  schedule: Schedule,
  play: (schedule: Schedule) => Promise<RunReport>,
): Promise<{ schedule: Schedule; report: RunReport }> {
  let report = await play(schedule);
  const invariant = report.violation?.invariant;
  let best = schedule;
  let runs = 0;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.steps.length && runs < RUNS_MAX; ) {
      const dropped = best.steps.slice(from, from + size);
      const [next, ...rest] = best.steps.slice(from + size);
      // The following steps keep their times.
      const lostMs = dropped.reduce((sum, { after }) => sum + after, 0);
      const later = next === undefined ? [] : [{ ...next, after: next.after + lostMs }, ...rest];
      const shorter = { ...best, steps: [...best.steps.slice(0, from), ...later] };
      runs += 1;
      const tried = await play(shorter);
      if (tried.violation?.invariant === invariant) [best, report] = [shorter, tried];
      else from += size;
    }
  }
  return { schedule: best, report };
}
