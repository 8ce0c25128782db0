import { formatStamp, parseStamp, type StampForm, unitNs } from "./stamp.ts";

/** How `since` is written in requests. */
export type SinceForm = "iso" | "unix" | "unix_ms";

/** What is known about the service's updates answers; learned, kept, and never needed for correctness. */
export interface Learned {
  /** Whether a change with exactly the stamp of `since` is in the answer. */
  boundary: "inclusive" | "exclusive" | undefined;
  /** Most changes seen in one answer: what the page limit may be. */
  pageMax: number;
  /** How the service writes its own stamps. */
  form: StampForm | undefined;
}

export interface FollowRules {
  since: SinceForm;
  timezone: string;
  overlapMs: number;
}

const MS_NS = 1_000_000n;
/** The `Date` header has whole seconds: a stamp of the same second is not from the future. */
const DATE_PRECISION_NS = 1_000_000_000n;
/** Where the service has sent no stamp of its own yet. */
const DEFAULT_FORM: StampForm = { kind: "iso", precision: "second", fraction: 0, point: ".", zone: "Z", separator: "T" };
/** Fewer changes of one stamp than this are an ordinary bulk edit, not a page limit. */
const TIE_MIN = 10;

/**
 * The first `since` of a pass: the watermark less the overlap, never later than the service's own clock. Without a
 * readable watermark everything is asked for: too much is only slow.
 * @param serviceNow the `Date` header of the last answer, where there was one.
 */
export function planFirstSince(
  watermark: string | undefined,
  serviceNow: string | undefined,
  rules: FollowRules,
  learned: Pick<Learned, "form">,
): { since: string; verbatim: boolean } {
  const mark = watermark === undefined ? undefined : parseStamp(watermark, rules.timezone);
  // A position that is no time is the service's own token: it is sent back as it is.
  if (watermark !== undefined && mark === undefined) return { since: watermark, verbatim: true };
  const now = serviceNow === undefined ? undefined : parseStamp(serviceNow, "UTC");
  let from = mark?.instantNs ?? 0n;
  if (now !== undefined && now.instantNs < from) from = now.instantNs;
  from -= BigInt(rules.overlapMs) * MS_NS;
  if (from < 0n) from = 0n;
  const ownForm = mark !== undefined && mark.form.kind !== "http" ? mark.form : undefined;
  return { since: writeSince(from, learned.form ?? ownForm, rules), verbatim: false };
}

/** An instant in the form the service wants, floored: a position is never rounded up. */
export function writeSince(instantNs: bigint, form: StampForm | undefined, rules: Pick<FollowRules, "since" | "timezone">): string {
  if (rules.since === "unix") return String(instantNs / 1_000_000_000n);
  if (rules.since === "unix_ms") return String(instantNs / MS_NS);
  return formatStamp(instantNs, form ?? DEFAULT_FORM, rules.timezone);
}

export interface PageChange {
  /** Whether this pass has seen exactly this record before. */
  isNew: boolean;
  stamp: string | null;
}

export interface PassState {
  /** Largest stamp so far that is not from the future, verbatim. */
  high: string | undefined;
  highNs: bigint | undefined;
  /** Instant of the `since` of the last request, where it was asked in a stamp's form. */
  askedNs: bigint | undefined;
  /** That instant lies one unit below `high`, because the boundary is exclusive. */
  askedBelow: boolean;
  learned: Learned;
}

export type PageVerdict =
  | { next: "done" }
  | { next: "ask"; since: string; askedNs: bigint; askedBelow: boolean }
  /** A full page carries one stamp: what else carries it cannot be reached. Go past it, and say so. */
  | { next: "step over"; since: string; askedNs: bigint; stamp: string; count: number };

/**
 * Decides how a pass goes on after a page, from what the page holds.
 *
 * The next request starts from the largest stamp seen, so that an inclusive service repeats the changes of that stamp
 * and brings the rest of them. A service whose boundary is exclusive would skip the rest of a stamp that a page limit
 * cut in two; it is recognised by the missing repetition and from then on asked one unit below. A pass ends when a
 * page brings nothing that it has not seen.
 */
export function planNextPage(state: PassState, page: readonly PageChange[], rules: FollowRules): { state: PassState; verdict: PageVerdict } {
  const serviceForm = state.learned.form;
  const fresh = page.filter((change) => change.isNew).length;
  const stamps = page.map((change) => instantOf(change.stamp, rules)).filter((ns) => ns !== undefined);
  const learned: Learned = {
    form: serviceForm,
    pageMax: Math.max(state.learned.pageMax, page.length),
    boundary: learnBoundary(state, stamps),
  };
  const next: PassState = { ...state, learned };
  const high = state.highNs;
  if (high === undefined || state.high === undefined) return { state: next, verdict: { next: "done" } };
  const unit = unitOf(state.high, rules);
  const below = learned.boundary === "exclusive";
  const since = (ns: bigint) => writeSince(ns, formOf(state.high, rules) ?? serviceForm, rules);
  if (fresh > 0) {
    const askNs = below ? high - unit : high;
    // The same question again would bring the same page: only a tie that fills a page can do that.
    if (askNs !== state.askedNs) return { state: next, verdict: { next: "ask", since: since(askNs), askedNs: askNs, askedBelow: below } };
  }
  const boundaryWasLearned = below && state.learned.boundary !== "exclusive" && !state.askedBelow && state.askedNs === high;
  if (boundaryWasLearned) {
    const askNs = high - unit;
    return { state: next, verdict: { next: "ask", since: since(askNs), askedNs: askNs, askedBelow: true } };
  }
  const tied = stamps.length >= TIE_MIN && stamps.length === page.length && stamps.every((ns) => ns === high);
  if (tied && page.length >= learned.pageMax) {
    const askNs = below ? high : high + unit;
    if (askNs !== state.askedNs) {
      return { state: next, verdict: { next: "step over", since: since(askNs), askedNs: askNs, stamp: state.high, count: page.length } };
    }
  }
  return { state: next, verdict: { next: "done" } };
}

/** The largest of `stamps` that the service's clock allows, verbatim, together with what was largest before. */
export function raiseHigh(
  state: Pick<PassState, "high" | "highNs">,
  stamps: readonly (string | null)[],
  serviceNow: string | undefined,
  rules: Pick<FollowRules, "timezone">,
): { high: string | undefined; highNs: bigint | undefined; future: number } {
  const now = serviceNow === undefined ? undefined : parseStamp(serviceNow, "UTC")?.instantNs;
  let { high, highNs } = state;
  let future = 0;
  for (const text of stamps) {
    if (text === null) continue;
    const stamp = parseStamp(text, rules.timezone);
    if (stamp === undefined) continue;
    if (now !== undefined && stamp.instantNs > now + DATE_PRECISION_NS) {
      future += 1;
      continue;
    }
    if (highNs === undefined || stamp.instantNs > highNs) {
      high = text;
      highNs = stamp.instantNs;
    }
  }
  return { high, highNs, future };
}

/** Whether `candidate` lies after `watermark`; a watermark that is no time is replaced only by another token. */
export function isLater(candidate: string, watermark: string | undefined, timezone: string): boolean {
  if (watermark === undefined) return true;
  const after = parseStamp(candidate, timezone);
  const before = parseStamp(watermark, timezone);
  if (after === undefined || before === undefined) return candidate !== watermark;
  return after.instantNs > before.instantNs;
}

function learnBoundary(state: PassState, stamps: readonly bigint[]): Learned["boundary"] {
  if (state.learned.boundary === "inclusive" || state.askedNs === undefined || state.askedBelow) return state.learned.boundary;
  // Asked from a stamp that is known to exist: an inclusive service must repeat it.
  if (state.askedNs !== state.highNs && !stamps.some((ns) => ns === state.askedNs)) return state.learned.boundary;
  return stamps.some((ns) => ns === state.askedNs) ? "inclusive" : "exclusive";
}

function instantOf(text: string | null, rules: Pick<FollowRules, "timezone">): bigint | undefined {
  return text === null ? undefined : parseStamp(text, rules.timezone)?.instantNs;
}

function formOf(text: string | undefined, rules: Pick<FollowRules, "timezone">): StampForm | undefined {
  const form = text === undefined ? undefined : parseStamp(text, rules.timezone)?.form;
  return form?.kind === "http" ? undefined : form;
}

/** One unit of the precision in which positions are compared: of the stamp, or of the coarser `since` form. */
function unitOf(text: string, rules: FollowRules): bigint {
  if (rules.since === "unix") return 1_000_000_000n;
  if (rules.since === "unix_ms") return MS_NS;
  const stamp = parseStamp(text, rules.timezone);
  return stamp === undefined ? 1_000_000_000n : unitNs(stamp.form);
}
