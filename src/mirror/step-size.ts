import { MirrorError } from "./mirror-error.ts";

const LEAST_SHARE = 1 / 4096;

/**
 * How much a step takes at a time: one that ran into its time limit is repeated with a quarter as much, and what gets on takes twice as
 * much again. The same step once more would run into the same limit for ever.
 */
export class StepSize {
  #share = 1;

  of(most: number): number {
    return Math.max(1, Math.floor(most * this.#share));
  }

  noteDone(): void {
    this.#share = Math.min(1, this.#share * 2);
  }

  noteFailed(error: unknown): void {
    if (error instanceof MirrorError && error.isTooLong) this.#share = Math.max(LEAST_SHARE, this.#share / 4);
  }
}
