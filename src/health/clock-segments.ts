import { CLOCK_OFF_MS } from "./clock-offset.ts";

/** The wall clock was set where it moved by so much against the monotonic clock. */
const SET_MS = 60_000;
/** A clock that is set more often is useless; the oldest segments are dropped. */
const SEGMENTS_MAX = 20;

/** A period in which the wall clock was not set. */
interface Segment {
  fromMs: number;
  toMs: number;
  /** Wall clock minus monotonic clock. */
  offsetMs: number;
  /** The service's clock differed during it. */
  wasWrong: boolean;
}

/** Times from `fromMs` to `toMs` came from a wrong clock; adding `byMs` corrects them. */
export interface Correction {
  fromMs: number;
  toMs: number;
  byMs: number;
}

export interface ClockLook {
  nowMs: number;
  monotonicMs: number;
  /** Whether this clock agrees with the service's; undefined where the service's is unknown. */
  isRight: boolean | undefined;
}

/**
 * Determines, once the clock is right, which times a wrong clock wrote: those of segments during which the service's
 * clock differed. A segment without a comparison is left alone, because a machine that slept looks the same. Pure:
 * clocks are handed in.
 */
export class ClockSegments {
  #past: Segment[] = [];
  #present: Segment | undefined;
  #isSettled = false;

  /** Undefined where there is nothing to correct: the service's time is unknown, or nothing has changed since. */
  look({ nowMs, monotonicMs, isRight }: ClockLook): Correction[] | undefined {
    const present = this.#segmentAt(nowMs, nowMs - monotonicMs, monotonicMs);
    if (isRight === false) present.wasWrong = true;
    if (isRight !== true || this.#isSettled) return undefined;
    this.#isSettled = true;
    const wrong = this.#past.filter(
      ({ wasWrong, offsetMs }) => wasWrong && Math.abs(present.offsetMs - offsetMs) >= CLOCK_OFF_MS,
    );
    this.#past = [];
    return wrong.map(({ fromMs, toMs, offsetMs }) => ({ fromMs, toMs, byMs: present.offsetMs - offsetMs }));
  }

  #segmentAt(nowMs: number, offsetMs: number, monotonicMs: number): Segment {
    const present = this.#present;
    if (present !== undefined && Math.abs(offsetMs - present.offsetMs) < SET_MS) {
      present.toMs = nowMs;
      return present;
    }
    // Ends the segment where the clock was set, which is between two looks.
    if (present !== undefined)
      this.#past = [...this.#past, { ...present, toMs: monotonicMs + present.offsetMs }].slice(-SEGMENTS_MAX);
    this.#isSettled = false;
    this.#present = { fromMs: nowMs, toMs: nowMs, offsetMs, wasWrong: false };
    return this.#present;
  }
}
