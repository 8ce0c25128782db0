/** After so many failures in a row without a success between them it is the service, not the records. */
export const FAILURES_IN_ROW_MAX = 3;

/**
 * Distinguishes a failing service from single failing records. What the service answers about one record counts
 * only if it answered well for another one in the same pass.
 *
 * @example
 * const breaker = new Breaker();
 * breaker.succeed(); // another record was answered well
 * breaker.fail(); // false: this record's own failure
 * breaker.fail(); // false
 * breaker.fail(); // true: stop asking, nothing that failed in this row counts as the records' own
 */
export class Breaker {
  readonly #max: number;
  #inRow = 0;
  #hasSucceeded = false;

  constructor(failuresInRowMax = FAILURES_IN_ROW_MAX) {
    this.#max = failuresInRowMax;
  }

  /** The service answered well for one record. */
  succeed(): void {
    this.#inRow = 0;
    this.#hasSucceeded = true;
  }

  /** The service failed for one record. Returns whether the breaker is open now. */
  fail(): boolean {
    this.#inRow += 1;
    return this.isOpen;
  }

  /** Whether so many records failed in a row that no other may be tried in this pass. */
  get isOpen(): boolean {
    return this.#inRow >= this.#max;
  }

  /** Whether any record was answered well in this pass. */
  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }
}
