import { Breaker } from "../../pass/breaker.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import type { OutboxRow } from "../feed-outbox.ts";

/** The longest wait of a refused row. */
export const RETRY_LONGEST_MS = 12 * HOUR_MS;
/** Control rows that are tried before a service that refuses several rows in a row is put on hold. */
const CONTROLS = 3;
/** The same where it has accepted something in this pass, because there may be many bad records among the good ones. */
const CONTROLS_AFTER_ACCEPTANCE = 30;
/** After so many refused requests before the first acceptance of a pass, a control row is tried before further division. */
const REFUSED_BEFORE_CONTROL = 2;

/** The service's answer to a part of a chunk that it refused. */
export interface Refusal {
  status: number;
  words: string;
}

export type RefusedAlone<R> = Refusal & { row: R };

export type TrialStep<R> =
  | { kind: "send"; rows: readonly R[] }
  /** All parts were answered. */
  | { kind: "done" }
  /** Several refusals in a row, from different places of the outbox: the service is the cause, not a record. */
  | { kind: "trouble" };

/**
 * Finds out which records of a feed the service refuses, and whether the records are the cause. A refused chunk is divided
 * until each refused record is sent alone, in about 2·log2(n) requests. A record that is refused alone counts as the cause
 * only where another one is accepted in the same pass; several refusals in a row without an acceptance, including control
 * rows from other places, are trouble of the service.
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
export class RefusalTrial<R extends { id: number; tries: number; isOrphan?: boolean }> {
  readonly #breaker = new Breaker();
  /** The last part is sent first. */
  #parts: (readonly R[])[] = [];
  /** Rows refused alone, with nothing accepted since. */
  #suspects: RefusedAlone<R>[] = [];
  #refusedInRow = 0;
  #controls = 0;
  /** Something was refused with a status that may be about the credentials: no service is tried often with wrong ones. */
  #isDenied = false;

  /** @param unproven number of rows refused in earlier passes, with nothing accepted since */
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

  /** Whether parts of the chunk were not sent yet. */
  get hasPending(): boolean {
    return this.#parts.length > 0;
  }

  add(rows: readonly R[]): void {
    this.#parts.push(rows);
  }

  /** Sends the rows again after all other parts: their answer can only be interpreted then. */
  postpone(rows: readonly R[]): void {
    this.#parts.unshift(rows);
  }

  /** @param lastInQueue returns a row from the end of the outbox, where there is one that can be sent */
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

  /** To be called after an acceptance. Returns the rows whose refusal is proven by it. */
  accept(): RefusedAlone<R>[] {
    // Several refusals before the first acceptance: the service may have just recovered. They are tried once more.
    const isRecovery = !this.hasAccepted && this.#suspects.length > 1;
    const proven = isRecovery ? [] : this.#suspects;
    this.#breaker.succeed();
    this.#suspects = [];
    this.#refusedInRow = 0;
    this.#controls = 0;
    return proven;
  }

  /** To be called after a refusal: divides the part, or returns it where it is one row. */
  refuse(rows: readonly R[], refusal: Refusal): RefusedAlone<R>[] {
    // A request that is too large is no evidence about the service.
    const isSign = (rows.length === 1 || refusal.status !== 413) && !rows.every(({ isOrphan }) => isOrphan);
    if (isSign) this.#refusedInRow += 1;
    this.#isDenied ||= isDenial(refusal.status);
    if (rows.length <= 1) return this.refuseEach(rows.map((row) => ({ ...refusal, row })));
    this.divide(rows);
    return [];
  }

  /** Divides a part of which an unknown share was accepted. */
  divide(rows: readonly R[]): readonly (readonly R[])[] {
    const half = Math.ceil(rows.length / 2);
    // The first half is sent first, so that rows keep their priority.
    const halves = [rows.slice(half), rows.slice(0, half)];
    this.#parts.push(...halves);
    return halves;
  }

  /** To be called where each of these rows was refused by name, and no other row was accepted. */
  refuseEach(refused: readonly RefusedAlone<R>[]): RefusedAlone<R>[] {
    for (const each of refused) {
      this.#suspects.push(each);
      if (each.row.isOrphan !== true) this.#breaker.fail();
    }
    return [...refused];
  }

  /** A row from the end of the outbox, then from different places of the chunk: bad records are often adjacent. */
  async #nextControl(lastInQueue: () => Promise<R | undefined>): Promise<R | undefined> {
    const max = this.hasAccepted && !this.#isDenied ? CONTROLS_AFTER_ACCEPTANCE : CONTROLS;
    if (this.#controls >= max) return undefined;
    this.#controls += 1;
    const left = this.#parts.toReversed().flat();
    // Spread out: the end of the remaining rows, then their quarters.
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

/** Delay in milliseconds until a set-aside row is retried, if nothing else is accepted before. */
export function setAsideMs(tries: number): number {
  return backoffMs({ firstMs: 5 * MINUTE_MS, longestMs: HOUR_MS }, tries + 1);
}

/** Delay in milliseconds until a quarantined row is retried: 10 minutes, an hour, six hours, and then always twelve. */
export function retryRefusedMs(tries: number): number {
  return backoffMs({ firstMs: 10 * MINUTE_MS, longestMs: RETRY_LONGEST_MS, factor: 6 }, tries + 1);
}

/** Whether a pass is a probe of refused credentials or a refused payment. */
export function isHeldAsDenied(heldFor: readonly string[]): boolean {
  return heldFor.includes("credentials") || heldFor.includes("payment");
}

/** Statuses of permanent refusals of a record; after others the row waits. 2xx is an answer that reports an error. */
export function isOfRecord(status: number): boolean {
  return status === 400 || status === 413 || status === 422 || (status >= 200 && status < 300);
}

/** Statuses of refused credentials and refused payments: after the first one the feed is held. */
export function isDenial(status: number): boolean {
  return status === 401 || status === 402 || status === 403;
}

/** Parts of a failed request: of the 500 rows of an ordinary one, each is alone after two failures. */
const PARTS_MAX = 25;

type Sent = Pick<OutboxRow, "record" | "flightRecord" | "flightUntilMs">;

/**
 * Rows without a failed request are one part, which comes first. The rows of each failed request are sent in smaller parts,
 * apart from all others, those that failed last after the rest.
 *
 * @param outageUntilMs rows whose outcome was open until then, or for a shorter time, failed with all others: they are
 *   like rows without a failed request
 * @example
 * planParts([a, b, c, d], 0); // where the request with a and b has failed: [[c, d], [a], [b]]
 */
export function planParts<R extends Sent>(rows: readonly R[], outageUntilMs: number): R[][] {
  const failedAt = ({ flightRecord, flightUntilMs }: R) =>
    flightRecord === null || flightUntilMs === null || flightUntilMs <= outageUntilMs ? 0 : flightUntilMs;
  const groups = Map.groupBy(rows, failedAt);
  const fresh = groups.get(0);
  groups.delete(0);
  const parts = [...groups].sort(([a], [b]) => a - b).flatMap(([, some]) => inParts(some));
  return fresh === undefined ? parts : [fresh, ...parts];
}

/** Rows that have changed since come first: a service that counts only changes shows by them what it accepts. */
export function inParts<R extends Sent>(rows: readonly R[]): R[][] {
  const isSame = ({ record, flightRecord }: R) => Number(record === flightRecord);
  const all = rows.toSorted((a, b) => isSame(a) - isSame(b));
  return inChunks(all, Math.ceil(all.length / PARTS_MAX));
}

export function inChunks<R>(rows: readonly R[], size: number): R[][] {
  if (rows.length === 0) return [];
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, at) => rows.slice(at * size, (at + 1) * size));
}
