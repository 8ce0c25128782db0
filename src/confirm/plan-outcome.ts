/* What the answer to a confirm means for its batch, and for the confirms after it. */

import { m } from "../messages/messages.ts";
import { asksAllToWait, planHold, stopsPass } from "../pass/holds.ts";
import type { BridgeError } from "../platform/errors.ts";
import type { AnswerCounts, CountedOtherwise } from "../service/outcome/answer-counts.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import { ServiceError } from "../service/service-error.ts";

/** A confirm that has failed so often while pulls were answered is retried alone: the service is not down. */
export const FAILURES_OF_ONE_MAX = 3;
const TOO_LARGE = 413;
/** Not 503, with which a service asks for patience. */
const FAULTS: ReadonlySet<number> = new Set([500, 502, 504]);

/** Why the outcome is unknown: a new form of answer, or the name of a count below the size of the batch. */
export interface UnknownBecause {
  form?: AnswerForm | undefined;
  count?: string | undefined;
}

export interface Failed {
  verdict: "refused" | "retry";
  failure: BridgeError;
  /** The service itself refused the confirm and did not act on it. */
  isSaid: boolean;
  because?: UnknownBecause;
}

export type Outcome =
  | { verdict: "confirmed"; usual?: AnswerForm; counts?: AnswerCounts; excess?: CountedOtherwise | undefined }
  | Failed;

/**
 * What a failed confirm means. "Not found" after an earlier attempt means that the earlier one was accepted and its
 * answer lost. Any other refusal is final and shown; other failures are retried.
 */
export function classifyConfirmFailure(error: BridgeError, triedBefore: boolean): "confirmed" | "refused" | "retry" {
  const status = error instanceof ServiceError ? error.status : undefined;
  if (status === 404 || status === 409 || status === 410) return triedBefore ? "confirmed" : "refused";
  if (status === 400 || status === 405 || status === 422) return "refused";
  return "retry";
}

/** Whether the service refused this confirm only, did not act on it, and did not ask all requests to wait. */
export function isOwnRefusal(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || failure.status === undefined || failure.effect !== "none") return false;
  return failure.code !== "rate_limited" && failure.retryAfterMs === undefined;
}

/** 413 for a confirm that cannot be divided further. */
export function tooLargeOf(outcome: Outcome): ServiceError | undefined {
  const failure = outcome.verdict === "confirmed" ? undefined : outcome.failure;
  if (!(failure instanceof ServiceError) || failure.status !== TOO_LARGE) return undefined;
  const { area, method, path, effect, isWebPage } = failure;
  const details = { area, method, path, effect, isWebPage, status: TOO_LARGE, cause: failure };
  return new ServiceError("request_refused", m.orders.confirmTooLarge, details);
}

/**
 * Whether the service refuses the orders that the confirm names, or fails again and again because of them while it answers
 * other requests.
 */
export function isOfOrders(
  outcome: Outcome,
  { confirmAttempts }: { confirmAttempts: number },
  { isAnswered }: { isAnswered: boolean },
): boolean {
  if (outcome.verdict === "confirmed") return false;
  const { failure, isSaid } = outcome;
  if (outcome.verdict === "refused") return isSaid && !isWebPage(failure);
  const isFault = failure instanceof ServiceError && failure.status !== undefined && FAULTS.has(failure.status);
  return isFault && isAnswered && confirmAttempts >= FAILURES_OF_ONE_MAX;
}

/** Whether the service refuses this batch, or no confirm of it can be made: not its credentials, nor a proxy's web page. */
export function isOfBatch(outcome: Outcome | undefined): boolean {
  return outcome?.verdict === "refused" && !isWebPage(outcome.failure);
}

/** Whether the service answers that it has no such batch. */
export function saysNone(outcome: Outcome | undefined): boolean {
  if (outcome?.verdict !== "refused" || !(outcome.failure instanceof ServiceError)) return false;
  return outcome.failure.status === 404 || outcome.failure.status === 410;
}

/** Whether the service has answered, or the confirm has not reached it. */
export function isKnown(outcome: Outcome): boolean {
  if (outcome.verdict === "confirmed" || !(outcome.failure instanceof ServiceError)) return true;
  return outcome.failure.effect === "none";
}

/**
 * What becomes of a batch whose confirm was not accepted.
 *
 * - `unknown`: the service may have the confirm, although the answer does not say so
 * - `refused`: for good, as far as the answer says
 * - `forbidden`: the service refuses the request while it answers pulls: retried alone, for some time only
 * - `failed`: it is retried
 * @param batch.isTried it is stored, and an earlier confirm of it had an unknown outcome
 * @param batch.mayBeUnknown it is stored, and was never refused with certainty
 */
export function planFailure(
  { verdict, failure, isSaid, because }: Failed,
  batch: { isAnswered: boolean; isTried: boolean; mayBeUnknown: boolean },
): { end: "unknown" | "refused" | "forbidden" | "failed"; forbiddenMs: number } {
  const isForbidden = verdict === "retry" && isSaid && batch.isAnswered;
  const forbiddenMs = isForbidden ? (planHold(failure, "orders")?.probeAfterMs ?? 0) : 0;
  const isRefusal = isSaid && !isWebPage(failure) && (isForbidden || verdict === "refused");
  const isUnknown = batch.mayBeUnknown && (because !== undefined || (batch.isTried && isRefusal));
  if (isUnknown) return { end: "unknown", forbiddenMs };
  if (verdict === "refused") return { end: "refused", forbiddenMs };
  return { end: isForbidden ? "forbidden" : "failed", forbiddenMs };
}

/**
 * Whether a failure concerns this batch alone, which then waits by itself. Attempts that may have reached the service are
 * counted in the row, also over restarts; `unreached` counts those of this process without an answer while pulls were answered.
 */
export function isFailureOfOne(
  failure: BridgeError,
  { isAnswered, unreached, attempts }: { isAnswered: boolean; unreached: number; attempts: number },
): boolean {
  if (!isAnswered) return false;
  const tries = endsPull(failure) && (unreached === 0 || !mayHaveReached(failure)) ? 0 : attempts;
  return isWaitOfOne(failure) || Math.max(unreached, tries) >= FAILURES_OF_ONE_MAX;
}

export function mayHaveReached(failure: BridgeError): boolean {
  return !(failure instanceof ServiceError && failure.effect === "none");
}

/** Whether the service as a whole fails; after other failures, pulling goes on. */
export function endsPull(failure: BridgeError): boolean {
  return failure.code !== "timed_out" && stopsPass(failure);
}

/** The answer asks this request alone to wait, not all requests. */
function isWaitOfOne(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || asksAllToWait(failure)) return false;
  return failure.code === "rate_limited" || failure.retryAfterMs !== undefined;
}

function isWebPage(failure: BridgeError): boolean {
  return failure instanceof ServiceError && failure.isWebPage;
}
