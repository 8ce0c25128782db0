import { parseTimestamp } from "../answers/timestamp.ts";

/** A batch that was stored just now. */
export interface PulledBatch {
  /** Of its new orders, in the service's words. */
  createdAt: readonly (string | null)[];
  /** `Date` of its answer. */
  date: string | undefined;
}

const SECOND_NS = 1_000_000_000n;

/**
 * What waited at the service when a person asked for it. Where orders come as fast as they are pulled, no batch is the last one: it is
 * enough where a batch has only orders that were made after the first answer. Where their times are not known, or are none of the clock
 * of `Date` (an order in the first answer is made after it), the first batch that brings fewer than another one shows that no more were
 * waiting.
 */
export class Backlog {
  readonly #timezone: string;
  #first: { atNs: bigint | undefined } | undefined;
  #largest = 0;

  constructor(timezone: string) {
    this.#timezone = timezone;
  }

  /** Whether all that waited has come with this batch. */
  isThrough({ createdAt, date }: PulledBatch): boolean {
    const size = createdAt.length;
    const times = createdAt.map((text) => this.#instantOf(text));
    if (this.#first === undefined) {
      const atNs = this.#instantOf(date ?? null);
      this.#first = { atNs: times.some((time) => isAfter(time, atNs)) ? undefined : atNs };
      this.#largest = size;
      return false;
    }
    const { atNs } = this.#first;
    const isSmaller = size < this.#largest;
    this.#largest = Math.max(this.#largest, size);
    if (size === 0) return false;
    if (atNs === undefined || times.includes(undefined)) return isSmaller;
    return times.every((time) => isAfter(time, atNs));
  }

  #instantOf(text: string | null): bigint | undefined {
    return text === null ? undefined : parseTimestamp(text, this.#timezone)?.instantNs;
  }
}

/** `Date` has no fraction of its second. */
function isAfter(time: bigint | undefined, date: bigint | undefined): boolean {
  return time !== undefined && date !== undefined && time >= date + SECOND_NS;
}
