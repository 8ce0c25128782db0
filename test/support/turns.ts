import type { FakeClock } from "./bridge.ts";

/** Requests are ten seconds apart. */
export const SLOW = { service: { requests_per_second: 0.1 } };
/** A longer wait is one for the turn of a request. */
const TURN_MS = 5_000;

/** Runs `happens` while the next request waits for its turn, or the one after so many others. */
export function whileWaiting(clock: FakeClock, happens: () => void, { after = 0 } = {}): void {
  const { sleep } = clock;
  let waits = 0;
  clock.sleep = async (ms, signal) => {
    if (ms >= TURN_MS && waits++ === after) {
      clock.sleep = sleep;
      happens();
    }
    await sleep.call(clock, ms, signal);
  };
}
