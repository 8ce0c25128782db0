import pRetry from "p-retry";
import { ServiceError } from "../domain/service-error.ts";

/** Two more tries within a few seconds carry a request over a restart of the service; what lasts longer is for the job's backoff. */
const REPEATS_MAX = 2;
const FIRST_WAIT_MS = 300;

/**
 * Runs a request that has no effect on the service again after a passing failure. A failure that names a time to
 * wait (`Retry-After`), a refusal and an answer that was read are not repeated: they are for the job to decide.
 */
export function repeatSafely<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  return pRetry(ask, {
    retries: REPEATS_MAX,
    minTimeout: FIRST_WAIT_MS,
    factor: 3,
    randomize: true,
    signal,
    shouldRetry: ({ error }) =>
      error instanceof ServiceError &&
      error.retryAfterMs === undefined &&
      (error.code === "unavailable" || error.code === "unreachable"),
  });
}
