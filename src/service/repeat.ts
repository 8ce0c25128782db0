import pRetry from "p-retry";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import { ServiceError } from "./service-error.ts";

/** Two retries within a few seconds cover a restart of the service; longer outages are left to the job's backoff. */
const REPEATS_MAX = 2;
const FIRST_WAIT_MS = 300;
const WAIT_FACTOR = 3;

/**
 * Runs a request without side effects, and retries it after a temporary failure. Not retried are failures with
 * `Retry-After`, refusals and unreadable answers: the job decides about them.
 * @throws BridgeError `stopped`, also where the wait is aborted
 */
export async function repeatSafely<T>(clock: Clock, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  try {
    return await repeat(clock, signal, ask);
  } catch (error) {
    if (!signal.aborted || !(error instanceof Error) || error.name !== "AbortError") throw error;
    throw new BridgeError("stopped", m.service.stoppedAsking, { cause: error });
  }
}

function repeat<T>(clock: Clock, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  return pRetry(ask, {
    retries: REPEATS_MAX,
    // p-retry's own waits use setTimeout and Math.random, which a simulated clock and seed cannot control; so the wait is
    // below, on the injected clock.
    minTimeout: 0,
    maxTimeout: 0,
    signal,
    shouldRetry: async ({ error, retriesConsumed }) => {
      if (!(error instanceof ServiceError) || error.retryAfterMs !== undefined) return false;
      if (error.code !== "unavailable" && error.code !== "unreachable") return false;
      await clock.sleep(FIRST_WAIT_MS * WAIT_FACTOR ** retriesConsumed * (1 + clock.random()), signal);
      return true;
    },
  });
}
