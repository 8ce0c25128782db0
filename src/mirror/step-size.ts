import { MirrorError } from "./mirror-error.ts";

const LEAST_SHARE = 1 / 4096;

/**
 * The size of a step. One that exceeded its time limit, or failed because of a value, is repeated with a quarter of the size;
 * success doubles it again. Repeated unchanged, the step would fail each time.
 */
export class StepSize {
  #share = 1;

  of(most: number): number {
    return Math.max(1, Math.floor(most * this.#share));
  }

  noteDone(): void {
    this.#share = Math.min(1, this.#share * 2);
  }

  noteFailed(error: unknown, { isOfValue = false } = {}): void {
    if (isOfValue || (error instanceof MirrorError && error.isTooLong))
      this.#share = Math.max(LEAST_SHARE, this.#share / 4);
  }
}
