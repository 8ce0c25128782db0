/**
 * Work that can be left between any two of its steps: each `yield` is a place where others may run. What is pure stays pure,
 * because the caller decides when to go on.
 *
 * @example
 * const root = atOnce(scanInSlices(bytes)); // a small text
 * const root = await inTurns(scanInSlices(bytes), turn); // a large one
 */
export type Slices<T> = Generator<void, T, void>;

/** Records after which a walk over all of an answer lets others run. */
export const SLICE_RECORDS = 10_000;

/** Does all of it now. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does it slice by slice. `turn` lets others run; what it throws ends the work. */
export async function inTurns<T>(work: Slices<T>, turn: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await turn();
  }
}
