import { CLOCK_OFF_MS } from "./clock-offset.ts";

/** The wall clock was set where it moved by so much beside the monotonic one. */
const SET_MS = 60_000;
/** A clock that is set more often is none; the oldest are forgotten. */
const SEGMENTS_MAX = 20;

/** A time in which the wall clock ran without being set. */
interface Segment {
  fromMs: number;
  toMs: number;
  /** Wall clock less monotonic clock. */
  offsetMs: number;
  /** The service's clock showed another time. */
  wasWrong: boolean;
}

/** Times from `fromMs` to `toMs` were written by a clock that was wrong by `-byMs`. */
export interface Correction {
  fromMs: number;
  toMs: number;
  byMs: number;
}

export interface ClockLook {
  nowMs: number;
  monotonicMs: number;
  /** How far the service's clock is from this machine's; undefined where nothing is known. */
  isRight: boolean | undefined;
}

/**
 * Which times were written by a wrong clock, once it is right: what lies in a segment in which the service's clock showed
 * another time. One without any contradiction is left alone, because a machine that slept looks the same. Pure: clocks
 * are handed in.
 */
export class ClockSegments {
  #past: Segment[] = [];
  #present: Segment | undefined;
  #isSettled = false;

  /** Undefined where there is nothing to put right: nothing is known, or nothing has changed since. */
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
    // Until the moment in which it was set, which lies between two looks.
    if (present !== undefined)
      this.#past = [...this.#past, { ...present, toMs: monotonicMs + present.offsetMs }].slice(-SEGMENTS_MAX);
    this.#isSettled = false;
    this.#present = { fromMs: nowMs, toMs: nowMs, offsetMs, wasWrong: false };
    return this.#present;
  }
}
