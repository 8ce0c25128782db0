/** After so many failures in a row without a success between them it is the service, not the records. */
export const FAILURES_IN_ROW_MAX = 3;

/**
 * Distinguishes a service that is out of order from single records that fail. What the service says of one record means
 * something only where it answered for another one well in the same pass.
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

  /** The service answered for one record as it should. */
  succeed(): void {
    this.#inRow = 0;
    this.#hasSucceeded = true;
  }

  /** The service failed for one record. Returns whether the breaker is open now. */
  fail(): boolean {
    this.#inRow += 1;
    return this.isOpen;
  }

  /** So many failures in a row that no further record should be tried in this pass. */
  get isOpen(): boolean {
    return this.#inRow >= this.#max;
  }

  /** Some record was answered well in this pass. */
  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }
}
