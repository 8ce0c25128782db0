import pRetry from "p-retry";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import { ServiceError } from "./service-error.ts";

/** Two more tries within a few seconds carry a request over a restart of the service; what lasts longer is for the job's backoff. */
const REPEATS_MAX = 2;
const FIRST_WAIT_MS = 300;
const WAIT_FACTOR = 3;

/**
 * Runs a request that has no effect on the service again after a passing failure. A failure that names a time to
 * wait (`Retry-After`), a refusal and an answer that was read are not repeated: they are for the job to decide.
 * @throws BridgeError `stopped` also where the wait is cut off
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
    // Its own waits follow setTimeout and Math.random, so no simulated time could pass them and no seed repeat them: the wait is
    // made below, on the clock that was handed in.
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
