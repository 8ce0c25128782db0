import { parseTimestamp } from "../answers/timestamp.ts";
import { SECOND_NS } from "../platform/durations.ts";

/** A batch that was just stored. */
export interface PulledBatch {
  /** Creation times of its new orders, as the service writes them. */
  createdAt: readonly (string | null)[];
  /** The answer's `Date` header. */
  date: string | undefined;
}

/**
 * Detects that everything which waited at a person's request has been pulled. Where orders come as fast as they are
 * pulled there is no last batch, so a batch of which all orders were created after the first answer is enough. Where
 * creation times are missing, or come from another clock than `Date` (an order of the first answer has a later one),
 * the first batch smaller than an earlier one is enough.
 */
export class Backlog {
  readonly #timezone: string;
  #first: { atNs: bigint | undefined } | undefined;
  #largest = 0;

  constructor(timezone: string) {
    this.#timezone = timezone;
  }

  /** Whether the backlog ends with this batch. */
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

/** One second of tolerance, because `Date` has no fractions. */
function isAfter(time: bigint | undefined, date: bigint | undefined): boolean {
  return time !== undefined && date !== undefined && time >= date + SECOND_NS;
}
