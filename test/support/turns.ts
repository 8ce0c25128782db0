import type { FakeClock } from "./bridge.ts";

/** Between two requests lie ten seconds. */
export const SLOW = { service: { requests_per_second: 0.1 } };
/** Whoever waits for so long waits for a request's turn. */
const TURN_MS = 5_000;

/** The next request waits for its turn; what `happens` meanwhile. */
export function whileWaiting(clock: FakeClock, happens: () => void): void {
  const { sleep } = clock;
  clock.sleep = async (ms, signal) => {
    if (ms >= TURN_MS) {
      clock.sleep = sleep;
      happens();
    }
    await sleep.call(clock, ms, signal);
  };
}
