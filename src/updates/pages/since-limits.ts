/*
 * How far back a service may be asked. Some refuse a `since` that is older than some days; a position that nothing has moved for
 * longer, or one widened by an outage, would then be refused for ever. What was refused and what was answered is kept, the next
 * request begins later, step by step, and a wider one is not sent again until what was learned has expired. Pure, but for
 * `isLastingFault`.
 */

import type { JobContext } from "../../pass/job.ts";
import { areOrdersAnswered, hasFailedFor } from "../../pass/runs.ts";
import { MINUTE_MS, MS_NS } from "../../platform/durations.ts";
import { ServiceError } from "../../service/service-error.ts";
import type { Learned } from "../times/learn-form.ts";
import { type Asked, askAt, askNoEarlier, type FollowRules, instantOf, planAskBefore, planFirstAsk } from "./follow.ts";

const REFUSED_POSITION: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/** So long every pass has failed before a failure counts as one of the question. */
const FAULT_LASTS_MS = 15 * MINUTE_MS;

/**
 * Whether the service has failed so for a while, and answers for orders meanwhile: at an old `since` for the size of its answer, or at a
 * record in it. 503 asks for patience.
 */
export function isLastingFault(
  error: unknown,
  { store, clock }: Pick<JobContext, "store" | "clock">,
): error is ServiceError {
  if (!(error instanceof ServiceError) || error.target !== "collection" || error.retryAfterMs !== undefined)
    return false;
  const { code, status = 0 } = error;
  if (code !== "timed_out" && (status < 500 || status === 503)) return false;
  return hasFailedFor(store, "updates", { nowMs: clock.nowMs(), forMs: FAULT_LASTS_MS }) && areOrdersAnswered(store);
}

/** The service does not take this `since`, whatever it answers to others. */
export function isPositionRefused(error: unknown): boolean {
  return error instanceof ServiceError && (error.isOfQuestion || REFUSED_POSITION.has(error.status ?? 0));
}

/** Ages are those of `since` at the service's time, in milliseconds. */
export interface SinceLimits {
  /** The smallest age that was refused; undefined where the service has not sent its time. */
  refusedMs?: number | undefined;
  /** The latest `since` that was refused, as a Unix time: it does not become younger. */
  refusedUpToMs: number;
  /** The largest age that was answered since then. */
  answeredMs?: number | undefined;
  /** The service's time at the last refusal. */
  atMs?: number | undefined;
  /** A later `since` was answered in the same pass in which this one was refused: nothing else is amiss. */
  isProven: boolean;
  /** So it was in a second pass, which a limit of requests broke off: the older one is not asked for once more before the gap is searched. */
  isCertain?: boolean | undefined;
}

/** The service's time is known to the second: the age that was refused last is met again a little smaller, and would be asked for ever. */
const TIME_STEP_NS = 1_000n * MS_NS;
/** A service may lift its limit, or have refused everything for a while: after so long it is asked once more. */
const LIMITS_VALID_MS = 7 * 86_400_000;
/** Where even a `since` of a few minutes ago is refused, it is not its age. */
const AGE_MIN_MS = 2 * 60_000;
/** Further narrower requests of one pass; what remains is left to the probes of the hold. */
export const NARROWED_MAX = 3;

/** Of this pass, for {@link planSince}. */
export interface SinceWanted {
  position: string | undefined;
  serviceNow: string | undefined;
  /** The same, or the least that it can be where the service sends none: by it ages are measured. */
  leastNow: string | undefined;
  /** The timestamp of the newest order: where nothing is known of the service's time, nothing later is known to be in the past. */
  newest: string | undefined;
  /** Where the gap ends that is searched: what was answered there is asked for again, and the gap stays the same. */
  gapTo?: string | undefined;
  /** The service's time up to which no change is missing, but for those of a gap that is searched; 0: none is known. */
  coveredNs?: bigint;
  learned: Pick<Learned, "form" | "limits">;
}

/**
 * The first `since` of a pass: as far back as is wanted, or the oldest of what follows that is not known to be refused: without what
 * was widened, without the overlap, from where changes are covered, from the largest age known to be answered, or else half of the one refused last.
 *
 * @example
 * // 3 days are the limit, and the position is 4 days old: each line is refused before the next is tried.
 * // 4 d + sweep, 4 d + overlap, 4 d, 2 d (answered). From then on: 2 d before now.
 */
export function planSince(
  { position, serviceNow, leastNow, newest, gapTo, coveredNs = 0n, learned }: SinceWanted,
  rules: FollowRules & { plainOverlapMs: number },
): { asked: Asked; isNarrowed: boolean } {
  const { form } = learned;
  const limits = validLimits(learned.limits, leastNow);
  const from = (overlapMs: number) => planFirstAsk({ watermark: position, serviceNow, form }, { ...rules, overlapMs });
  const widest = from(rules.overlapMs);
  if (limits === undefined || !isRefused(widest, limits, leastNow)) return { asked: widest, isNarrowed: false };
  const nowNs = instantOf(leastNow, "UTC");
  const answeredMs = limits.answeredMs ?? Number.POSITIVE_INFINITY;
  const ages = [answeredMs, Math.min(answeredMs, (limits.refusedMs ?? 0) / 2)].filter(Number.isFinite);
  // The least that the service's time can be lies before what is asked: it says nothing of the time.
  const isTimeUnknown = nowNs === undefined || (serviceNow === undefined && nowNs < widest.ns);
  const written = [gapTo, newest].map((text) => instantOf(text, rules.timezone));
  const fromWritten = written
    .filter((ns) => ns !== undefined)
    .map((ns) => askAt(ns, form, rules))
    .sort(byTime);
  // Without a position everything was asked for, and what is older than the newest order that is stored is found by reading them.
  const usefulNs = position === undefined ? (fromWritten[0]?.ns ?? 0n) : 0n;
  // Behind it a gap would begin; a time that the service has not reached yet is none of its own.
  const isCovered = coveredNs > 0n && nowNs !== undefined && coveredNs <= nowNs;
  const behind = [BigInt(rules.plainOverlapMs) * MS_NS, 0n].map((ns) => planAskBefore(coveredNs - ns, form, rules));
  const narrower = [
    from(rules.plainOverlapMs),
    from(0),
    ...(isCovered ? behind : []),
    ...(nowNs === undefined
      ? []
      : ages.map((age) => askNoEarlier(nowNs - BigInt(Math.round(age)) * MS_NS, form, rules))),
    ...(isTimeUnknown || position === undefined ? fromWritten : []),
  ].filter(({ ns }) => ns > widest.ns && ns >= usefulNs);
  const oldestFirst = narrower.sort(byTime);
  const open = oldestFirst.find(({ ns }) => !isRefused({ ns: ns - TIME_STEP_NS }, limits, leastNow));
  return { asked: open ?? oldestFirst.at(-1) ?? widest, isNarrowed: true };
}

function byTime(a: Asked, b: Asked): number {
  return a.ns < b.ns ? -1 : 1;
}

/** Whether such a `since` is known to be refused. */
export function isRefused(
  asked: Pick<Asked, "ns">,
  limits: SinceLimits | undefined,
  serviceNow: string | undefined,
): boolean {
  const valid = validLimits(limits, serviceNow);
  if (valid === undefined) return false;
  const age = ageOf(asked, serviceNow);
  if (age !== undefined && valid.refusedMs !== undefined) return age >= valid.refusedMs;
  return asked.ns <= BigInt(valid.refusedUpToMs) * MS_NS;
}

/** Whether such a `since` is known to be answered. */
export function isAnswered(
  asked: Pick<Asked, "ns">,
  limits: SinceLimits | undefined,
  serviceNow: string | undefined,
): boolean {
  const age = ageOf(asked, serviceNow);
  return age !== undefined && limits?.answeredMs !== undefined && age <= limits.answeredMs;
}

/**
 * After a refusal. Undefined where `since` was so young that its age cannot be the reason: then everything is tried anew.
 * @param answeredMs the largest age that this process was answered: more than is kept, where that would not have been worth a write
 */
export function noteRefused(
  limits: SinceLimits | undefined,
  asked: Pick<Asked, "ns">,
  serviceNow: string | undefined,
  answeredMs: number | undefined,
): SinceLimits | undefined {
  const before = validLimits(limits, serviceNow);
  const age = ageOf(asked, serviceNow);
  if (isYoung(asked, serviceNow)) return undefined;
  const refusedMs = age === undefined ? before?.refusedMs : Math.min(age, before?.refusedMs ?? age);
  const ages = [before?.answeredMs ?? 0, answeredMs ?? 0].filter((ms) => ms > 0 && ms < (refusedMs ?? 0));
  const answered = ages.length > 0 ? Math.max(...ages) : undefined;
  return {
    refusedMs,
    // Up to the next whole one: what was refused is refused again.
    refusedUpToMs: Math.max(Number((asked.ns + MS_NS - 1n) / MS_NS), before?.refusedUpToMs ?? 0),
    ...(answered !== undefined && { answeredMs: answered }),
    atMs: msOf(serviceNow) ?? before?.atMs,
    isProven: before?.isProven === true,
    isCertain: before?.isCertain,
  };
}

/** Whether such a `since` cannot be refused for its age. */
export function isYoung(asked: Pick<Asked, "ns">, serviceNow: string | undefined): boolean {
  const age = ageOf(asked, serviceNow);
  return age !== undefined && age <= AGE_MIN_MS;
}

/** After an answer. Undefined where it was given to what had been refused: there is no such limit, or none any more. */
export function noteAnswered(
  limits: SinceLimits | undefined,
  asked: Pick<Asked, "ns">,
  serviceNow: string | undefined,
): SinceLimits | undefined {
  if (limits === undefined || isRefused(asked, limits, serviceNow)) return undefined;
  const age = ageOf(asked, serviceNow);
  // Nothing is written for every poll.
  if (age === undefined || age <= (limits.answeredMs ?? 0) * 1.25) return limits;
  return { ...limits, answeredMs: age };
}

/** How old such a `since` is; undefined where the service has not sent its time. */
export function ageOf({ ns }: Pick<Asked, "ns">, serviceNow: string | undefined): number | undefined {
  const nowMs = msOf(serviceNow);
  return nowMs === undefined ? undefined : Math.max(0, nowMs - Number(ns / MS_NS));
}

function validLimits(limits: SinceLimits | undefined, serviceNow: string | undefined): SinceLimits | undefined {
  const nowMs = msOf(serviceNow);
  if (limits?.atMs === undefined || nowMs === undefined) return limits;
  return Math.abs(nowMs - limits.atMs) < LIMITS_VALID_MS ? limits : undefined;
}

function msOf(serviceNow: string | undefined): number | undefined {
  const ns = instantOf(serviceNow, "UTC");
  return ns === undefined ? undefined : Number(ns / MS_NS);
}
