import { Breaker } from "../pass/breaker.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Rows from other places that are tried before a service that refuses several in a row is held. */
const CONTROLS = 3;
/** The same where it has accepted something in this pass: there may be many bad records among the good ones. */
const CONTROLS_AFTER_ACCEPTANCE = 30;
/** So many requests refused before the first acceptance of a pass: a row from elsewhere is tried before it is divided further. */
const REFUSED_BEFORE_CONTROL = 2;

/** The service's answer to a part of a chunk that it did not take. */
export interface Refusal {
  status: number;
  words: string;
}

export type RefusedAlone<R> = Refusal & { row: R };

export type TrialStep<R> =
  | { kind: "send"; rows: readonly R[] }
  /** Every part was answered. */
  | { kind: "done" }
  /** Several refusals in a row, from several places: the service is out of order, and no record is blamed. */
  | { kind: "trouble" };

/**
 * Finds out which records of a feed the service refuses, and whether that says anything of them. A refused chunk is
 * divided until each refused record stands alone, in about 2·log2(n) requests. A record that is refused alone is blamed
 * only where another one is accepted in the same pass; several in a row without an acceptance, with rows from other
 * places among them, are the service's own trouble.
 *
 * @example
 * const trial = new RefusalTrial<Row>(0);
 * trial.add([a, b]);
 * await trial.next(last); // { kind: "send", rows: [a, b] }
 * trial.refuse([a, b], answer); // []: divided
 * await trial.next(last); // { kind: "send", rows: [a] }
 * trial.refuse([a], answer); // [a]: set aside
 * await trial.next(last); // { kind: "send", rows: [b] }
 * trial.accept(); // [a]: the refusal was about `a`
 */
export class RefusalTrial<R extends { id: number; tries: number }> {
  readonly #breaker = new Breaker();
  /** The last part goes first. */
  #parts: (readonly R[])[] = [];
  /** Refused alone, and nothing was accepted since. */
  #suspects: RefusedAlone<R>[] = [];
  #refusedInRow = 0;
  #controls = 0;

  /** @param unproven rows that were refused in earlier passes, with nothing accepted since. */
  constructor(unproven: number) {
    for (let earlier = 0; earlier < unproven && !this.#breaker.isOpen; earlier++) this.#breaker.fail();
  }

  /** Whether something was accepted in this pass. */
  get hasAccepted(): boolean {
    return this.#breaker.hasSucceeded;
  }

  /** Refused alone since the last acceptance. */
  get suspects(): readonly RefusedAlone<R>[] {
    return this.#suspects;
  }

  /** Rows of the chunk that were not tried alone. */
  get hasPending(): boolean {
    return this.#parts.length > 0;
  }

  add(rows: readonly R[]): void {
    this.#parts.push(rows);
  }

  /** An answer counts only after others were answered. */
  postpone(rows: readonly R[]): void {
    this.#parts.unshift(rows);
  }

  /** @param lastInQueue a row from the far end of what waits, where there is one that can be sent. */
  async next(lastInQueue: () => Promise<R | undefined>): Promise<TrialStep<R>> {
    const isStuck = !this.hasAccepted && this.#refusedInRow >= REFUSED_BEFORE_CONTROL;
    if (this.#breaker.isOpen || isStuck) {
      const control = await this.#nextControl(lastInQueue);
      if (control !== undefined) return { kind: "send", rows: [control] };
      if (this.#breaker.isOpen) return { kind: "trouble" };
    }
    const rows = this.#parts.pop();
    return rows === undefined ? { kind: "done" } : { kind: "send", rows };
  }

  /** Records were accepted. Returns those whose refusal is proven by it. */
  accept(): RefusedAlone<R>[] {
    // Several before the first acceptance: perhaps the service is well again only now. They are tried once more.
    const isRecovery = !this.hasAccepted && this.#suspects.length > 1;
    const proven = isRecovery ? [] : this.#suspects;
    this.#breaker.succeed();
    this.#suspects = [];
    this.#refusedInRow = 0;
    this.#controls = 0;
    return proven;
  }

  /** A part was refused: it is divided, or returned where it is one row. */
  refuse(rows: readonly R[], refusal: Refusal): RefusedAlone<R>[] {
    // A record that is too large is no evidence about the service.
    if (rows.length === 1 || refusal.status !== 413) this.#refusedInRow += 1;
    if (rows.length <= 1) return this.refuseEach(rows.map((row) => ({ ...refusal, row })));
    this.divide(rows);
    return [];
  }

  /** Some of the rows were accepted; which is unknown. */
  divide(rows: readonly R[]): readonly (readonly R[])[] {
    const half = Math.ceil(rows.length / 2);
    // The first half goes first, so that rows keep their order of urgency.
    const halves = [rows.slice(half), rows.slice(0, half)];
    this.#parts.push(...halves);
    return halves;
  }

  /** Each of these rows was refused by name, and none beside them was accepted. */
  refuseEach(refused: readonly RefusedAlone<R>[]): RefusedAlone<R>[] {
    for (const each of refused) {
      this.#suspects.push(each);
      this.#breaker.fail();
    }
    return [...refused];
  }

  /** The far end of the queue, then places all over the chunk: bad records often lie side by side. */
  async #nextControl(lastInQueue: () => Promise<R | undefined>): Promise<R | undefined> {
    if (this.#controls >= (this.hasAccepted ? CONTROLS_AFTER_ACCEPTANCE : CONTROLS)) return undefined;
    this.#controls += 1;
    const left = this.#parts.toReversed().flat();
    // Far apart: the end, then quarters of what is left, whatever those are by now.
    const nearby = left.at(Math.floor((left.length * (this.#controls % 4)) / 4) - 1);
    const control = (this.#controls === 1 ? await lastInQueue() : undefined) ?? nearby;
    if (control === undefined) return undefined;
    const pending = left.find(({ id }) => id === control.id);
    this.#parts = this.#parts
      .map((part) => part.filter(({ id }) => id !== control.id))
      .filter((part) => part.length > 0);
    return pending ?? control;
  }
}

export function wordsOf({ status, words }: Refusal): string {
  return words === "" ? String(status) : `${status}: ${words}`;
}

/** When a row that was refused alone, with nothing to prove it, is tried again if nothing else is accepted before. */
export function setAsideMs(tries: number): number {
  return Math.min(HOUR_MS, 5 * MINUTE_MS * 2 ** Math.min(tries, 10));
}

/** When a quarantined row is tried again by itself: after 10 minutes, an hour, six hours, and then every twelve. */
export function retryRefusedMs(tries: number): number {
  return Math.min(12 * HOUR_MS, 10 * MINUTE_MS * 6 ** Math.min(tries, 10));
}

/** Statuses that speak of a record for good; what others refuse waits. 2xx is an answer that reports an error. */
export function isOfRecord(status: number): boolean {
  return status === 400 || status === 413 || status === 422 || (status >= 200 && status < 300);
}
