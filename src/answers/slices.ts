/**
 * Work that can be left between any two of its steps: each `yield` is a place where others may run. What is pure stays pure,
 * because the caller decides when to go on.
 *
 * @example
 * const root = atOnce(scanInSlices(bytes)); // a small text
 * const root = await inTurns(scanInSlices(bytes), turn); // a large one
 */
export type Slices<T> = Generator<void, T, void>;

/** Records per slice in a pass over a whole answer. */
export const SLICE_RECORDS = 10_000;

/** Runs the work without pauses. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Runs the work slice by slice. `turn` lets other tasks run; an error that it throws ends the work. */
export async function inTurns<T>(work: Slices<T>, turn: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await turn();
  }
}
