/*
 * How a feed of changes is followed by the timestamps in it: where a pass begins, which page comes next, when it ends, and
 * which position may be kept. All of it is pure; `read-pages.ts` asks, `store-pass.ts` stores.
 */
import {
  beforeSetBack,
  beforeUnit,
  formatTimestamp,
  parseTimestamp,
  readTimestamp,
  type ServedTimestamp,
} from "../answers/timestamp.ts";
import {
  doubtNs,
  ISO_FORM,
  isZoneUnclear,
  OFFSET_MAX_NS,
  type TimestampForm,
  unitNs,
} from "../answers/timestamp-form.ts";
import { type Learned, learnPageForm } from "./learn-form.ts";

/** How `since` is written in requests. */
export type SinceForm = "iso" | "unix" | "unix_ms";

export interface FollowRules {
  since: SinceForm;
  timezone: string;
  overlapMs: number;
}

/** The point from which a page is asked. */
export interface Asked {
  since: string;
  /** Exactly the instant that `since` names. */
  ns: bigint;
  /** A change with exactly this timestamp has been seen in this pass: an inclusive service must repeat it. */
  isKnownTimestamp: boolean;
  /** The timestamp that was not repeated last; it is not missed a second time, or a pass would go to and fro for ever. */
  missedNs?: bigint | undefined;
}

/** A timestamp as it was sent. `high` in a pass: the largest one so far that is not from the future. */
export interface High {
  text: string;
  ns: bigint;
}

const MS_NS = 1_000_000n;
const SECOND_NS = 1_000_000_000n;
const HOUR_MS = 3_600_000;
/** A position that lies further ahead of this machine's clock shows that one of the two is wrong. */
export const AHEAD_MS = HOUR_MS;
/** Fewer changes of one timestamp than this are an ordinary bulk edit, not a page limit. */
const TIE_MIN = 10;

/**
 * The first `since` of a pass: the watermark less the overlap, never later than the service's own clock. Without a
 * watermark everything is asked for: too much is only slow.
 * @param serviceNow the `Date` header of the service's last answer, where there was one.
 */
export function planFirstAsk(
  from: { watermark: string | undefined; serviceNow: string | undefined; form: TimestampForm | undefined },
  rules: FollowRules,
): Asked {
  const [watermark, now] = [
    readTimestamp(from.watermark ?? null, rules.timezone),
    readTimestamp(from.serviceNow ?? null, "UTC"),
  ];
  const isAhead = watermark !== undefined && now !== undefined && now.instantNs < watermark.instantNs;
  const position = isAhead ? now : watermark;
  let ns = position?.instantNs ?? 0n;
  const own = ownForm(from.watermark, rules.timezone);
  const form = from.form ?? own;
  // A position of another form does not compare with what is asked: it may lie as far away as two zones do.
  ns -= BigInt(rules.overlapMs) * MS_NS + doubtNs(own, form);
  // What came within the overlap may be timestamped with the beginning of its minute.
  if (position !== undefined) ns = beforeUnit(ns, position);
  // What came after the position in its own unit has its timestamp, and a service may leave out the boundary.
  if (position !== undefined && ns === position.instantNs) ns -= 1n;
  const isLocal = rules.since === "iso" && form?.kind === "iso" && form.zone === "";
  return askAt(isLocal ? beforeSetBack(ns, now?.instantNs, rules.timezone) : ns, form, rules);
}

/** The `since` from which a change with this timestamp is in the answer, whether the service counts its own boundary in or not. */
export function planAskBefore(ns: bigint, form: TimestampForm | undefined, rules: FollowRules): Asked {
  return askAt(ns - unitOf(form, rules), form, rules);
}

/** The `since` from which the changes behind this timestamp are in the answer, and the timestamp itself is not. */
export function planAskBehind(
  ns: bigint,
  { form, boundary }: Pick<Learned, "form" | "boundary">,
  rules: FollowRules,
): Asked {
  return askAt(boundary === "exclusive" ? ns : ns + unitOf(form, rules), form, rules);
}

/**
 * How far before the watermark a sweep looks, or undefined where none is due. A sweep that was missed, because the
 * machine was off, is made up for, and looks back to the last one.
 * @param sweptAt the service's time at the last sweep.
 */
export function planSweep(
  sweptAt: string | undefined,
  serviceNow: string | undefined,
  sweep: { sweepOverlapMs: number; overlapMs: number; isWanted: boolean },
): number | undefined {
  const last = instantOf(sweptAt, "UTC");
  const now = instantOf(serviceNow, "UTC");
  const sinceMs = last === undefined || now === undefined ? 0 : Number((now - last) / MS_NS);
  // An hour of grace, so that the schedule's own sweep is not doubled.
  const isDue = sinceMs > Math.max(sweep.sweepOverlapMs, HOUR_MS) + HOUR_MS;
  if (!sweep.isWanted && !isDue) return undefined;
  return Math.max(sweep.sweepOverlapMs, sweep.overlapMs, isDue ? sinceMs + sweep.overlapMs : 0);
}

/**
 * Whether a position is a token of the service's own, which goes back as it is. Digits may be one as well as a time:
 * they count as a time only where the service's timestamps are such digits too.
 */
export function isToken(position: string, form: TimestampForm | undefined, timezone: string): boolean {
  const kind = parseTimestamp(position, timezone)?.form.kind;
  return kind === undefined || (kind.startsWith("unix") && kind !== form?.kind);
}

/** The larger of `high` and the largest of `timestamps` that the service's own clock allows. */
export function raiseHigh(
  high: High | undefined,
  timestamps: readonly (ServedTimestamp | undefined)[],
  serviceNow: string | undefined,
): { high: High | undefined; future: number } {
  // Of a page of hundreds of thousands nothing is made for each: that would be felt by all others.
  let highest: ServedTimestamp | undefined;
  let future = 0;
  const now = instantOf(serviceNow, "UTC");
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (isFuture(timestamp.instantNs, now)) future += 1;
    else if (highest === undefined || timestamp.instantNs > highest.instantNs) highest = timestamp;
  }
  const isRaised = highest !== undefined && (high === undefined || highest.instantNs > high.ns);
  return { high: isRaised ? highOf(highest) : high, future };
}

function highOf(timestamp: ServedTimestamp | undefined): High | undefined {
  return timestamp === undefined ? undefined : { text: timestamp.text, ns: timestamp.instantNs };
}

/**
 * Whether a position is of another form than the times that are served now, and another one is not: that one takes its place, also where it
 * reads as an earlier time. Not where it is earlier in any zone, as where a bound ended a sweep: following would go back to there.
 */
export function isOfFormerForm(
  watermark: string | undefined,
  position: string,
  { form, timezone }: { form: TimestampForm | undefined; timezone: string },
): boolean {
  const [before, after] = [ownForm(watermark, timezone), ownForm(position, timezone)];
  const isOther = isZoneUnclear(before, form) && after !== undefined && !isZoneUnclear(after, form);
  return isOther && (instantOf(position, timezone) ?? 0n) >= (instantOf(watermark, timezone) ?? 0n) - OFFSET_MAX_NS;
}

export interface Page {
  /** The timestamps of the page's changes; undefined where a change has none that can be read. */
  timestamps: readonly (ServedTimestamp | undefined)[];
  /** How many of its changes this pass had not seen. */
  fresh: number;
}

export interface PageState {
  asked: Asked;
  high: High | undefined;
  learned: Learned;
  /** Most changes in one page of this pass, this one included. */
  pageMax: number;
}

export type PageVerdict =
  | { next: "done" }
  | { next: "ask"; asked: Asked }
  /** The page may have been cut within what `since` can distinguish: what is left of that cannot be reached. */
  | { next: "step over"; asked: Asked; timestamp: string; isFull: boolean }
  /** A page as full as pages get, and no timestamp in it by which the next could be asked. */
  | { next: "no timestamps" };

/**
 * Decides how a pass goes on after a page, and what the page taught.
 *
 * The next page is asked from the largest timestamp seen, so that an inclusive service repeats the changes of that timestamp
 * and brings the rest of them. An exclusive one would skip the rest of a timestamp that its page limit cut in two: it is
 * recognised by the missing repetition, and asked one unit below from then on, which to it means the same. Where a
 * page that may be cut leads no further, the pass steps over one unit, so that later changes are never kept waiting.
 */
export function planNextPage(
  pass: PageState,
  page: Page,
  rules: FollowRules,
): { learned: Learned; verdict: PageVerdict } {
  const { asked, high } = pass;
  const { isRepeated, isAtOrAfter, farthest, onward } = lookOver(page.timestamps, asked.ns, high?.ns);
  const isMissed = asked.isKnownTimestamp && !isRepeated;
  const learned: Learned = {
    ...pass.learned,
    boundary: isRepeated ? "inclusive" : isMissed ? "exclusive" : pass.learned.boundary,
    pageMax: Math.max(pass.learned.pageMax, page.timestamps.length),
    form: learnPageForm(pass.learned.form, page.timestamps, {
      fromNs: asked.ns - OFFSET_MAX_NS,
      toNs: high?.ns ?? -1n,
    }),
  };
  const unit = unitOf(learned.form, rules);
  const isFull = page.timestamps.length >= Math.max(TIE_MIN, pass.learned.pageMax);
  const verdict = (): PageVerdict => {
    // Either the service is exclusive, and the rest of this timestamp was skipped, or its change has moved on meanwhile.
    if (isMissed) return { next: "ask", asked: { ...askAt(asked.ns - unit, learned.form, rules), missedNs: asked.ns } };
    const from = (timestamp: High) => askAfter(timestamp, { ...learned, unit, missedNs: asked.missedNs }, rules);
    // The page's own largest timestamp, not the pass's: a page that was asked again must not skip what it was cut at.
    if (farthest === undefined)
      return page.timestamps.length > 0 && isFull ? { next: "no timestamps" } : { next: "done" };
    if (page.fresh > 0 && onward !== undefined && from(onward).ns > asked.ns)
      return { next: "ask", asked: from(onward) };
    // Also a page of one: services with a page limit of 1 exist, and any may come to have it.
    const mayBeCut = page.timestamps.length >= pass.pageMax && isAtOrAfter;
    if (!mayBeCut) return { next: "done" };
    // Of a few changes that stand on every page only the times beyond what is followed already lead on; a page full of old
    // times, or of the future, leads to its own largest.
    const last = onward ?? (page.timestamps.length < TIE_MIN ? undefined : farthest);
    if (last === undefined) return { next: "done" };
    const beyond = from(last);
    if (beyond.ns > asked.ns) return { next: "ask", asked: beyond };
    const past = { ...askAt(asked.ns + unit, learned.form, rules), missedNs: asked.missedNs };
    return past.ns > asked.ns ? { next: "step over", asked: past, timestamp: last.text, isFull } : { next: "done" };
  };
  return { learned, verdict: verdict() };
}

/**
 * Whether `candidate` may become the watermark: where it is later. Back it goes only where the service's clock was set
 * back so far that the overlap no longer covers it: from a position in the future, all changes of an outage would be
 * left out.
 */
export function mayMove(
  candidate: string,
  watermark: string | undefined,
  serviceNow: string | undefined,
  rules: FollowRules,
): boolean {
  if (isLater(candidate, watermark, rules)) return true;
  return candidate !== watermark && isSetBack(watermark, serviceNow, rules);
}

/** Whether a position comes after another: later in time, or another token where positions are no times. */
export function isLater(
  position: string,
  than: string | undefined,
  { timezone }: Pick<FollowRules, "timezone">,
): boolean {
  if (than === undefined) return true;
  const after = instantOf(position, timezone);
  const before = instantOf(than, timezone);
  if (after === undefined || before === undefined) return position !== than;
  return after > before;
}

/** Whether the watermark lies in the service's future by more than the overlap. */
export function isSetBack(watermark: string | undefined, serviceNow: string | undefined, rules: FollowRules): boolean {
  const mark = instantOf(watermark, rules.timezone);
  const now = instantOf(serviceNow, "UTC");
  return mark !== undefined && now !== undefined && mark - BigInt(rules.overlapMs) * MS_NS > now + SECOND_NS;
}

/** Whether a position is a time that the service's own clock has not reached. */
export function isFromFuture(position: string, serviceNow: string | undefined, timezone: string): boolean {
  const ns = instantOf(position, timezone);
  return ns !== undefined && isFuture(ns, instantOf(serviceNow, "UTC"));
}

/** Whether a position that is a time lies so far ahead of a clock that one of the two must be wrong. */
export function liesAhead(
  position: string | undefined,
  nowMs: number,
  form: TimestampForm | undefined,
  { timezone }: Pick<FollowRules, "timezone">,
): boolean {
  if (position === undefined || isToken(position, form, timezone)) return false;
  const ns = instantOf(position, timezone);
  return ns !== undefined && ns > BigInt(Math.floor(nowMs) + AHEAD_MS) * MS_NS;
}

function isFuture(ns: bigint, now: bigint | undefined): boolean {
  // The Date header has whole seconds, so a timestamp of its own second is not from the future.
  return now !== undefined && ns > now + SECOND_NS;
}

/** Of equal ones the last, as it was written there. */
interface Seen {
  /** A change bears the very timestamp that was asked from. */
  isRepeated: boolean;
  /** None is from before it. */
  isAtOrAfter: boolean;
  farthest: High | undefined;
  /** The largest that is no later than what the position may reach. */
  onward: High | undefined;
}

/** In one go: a page may hold as many changes as an answer may have values. */
function lookOver(
  timestamps: readonly (ServedTimestamp | undefined)[],
  askedNs: bigint,
  highNs: bigint | undefined,
): Seen {
  let [isRepeated, isAtOrAfter] = [false, true];
  let farthest: ServedTimestamp | undefined;
  let onward: ServedTimestamp | undefined;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    const { instantNs } = timestamp;
    if (instantNs === askedNs) isRepeated = true;
    else if (instantNs < askedNs) isAtOrAfter = false;
    if (farthest === undefined || instantNs >= farthest.instantNs) farthest = timestamp;
    if (highNs === undefined || instantNs > highNs) continue;
    if (onward === undefined || instantNs >= onward.instantNs) onward = timestamp;
  }
  return { isRepeated, isAtOrAfter, farthest: highOf(farthest), onward: highOf(onward) };
}

/** From a timestamp that was seen, so that both kinds of service bring the rest of it. */
function askAfter(
  timestamp: High,
  how: { boundary: Learned["boundary"]; form: TimestampForm | undefined; unit: bigint; missedNs: bigint | undefined },
  rules: FollowRules,
): Asked {
  const { missedNs } = how;
  const asked = askAt(timestamp.ns, how.form, rules);
  if (asked.ns !== timestamp.ns) return { ...asked, missedNs };
  if (how.boundary === "exclusive") return { ...askAt(timestamp.ns - how.unit, how.form, rules), missedNs };
  const since = rules.since === "iso" ? timestamp.text : asked.since;
  return { since, ns: asked.ns, isKnownTimestamp: asked.ns !== missedNs, missedNs };
}

/** An instant in the form that the service accepts, floored: a position is never rounded up. */
export function askAt(instantNs: bigint, form: TimestampForm | undefined, rules: FollowRules): Asked {
  const ns = instantNs < 0n ? 0n : instantNs;
  if (rules.since === "unix")
    return { since: String(ns / SECOND_NS), ns: ns - (ns % SECOND_NS), isKnownTimestamp: false };
  if (rules.since === "unix_ms") return { since: String(ns / MS_NS), ns: ns - (ns % MS_NS), isKnownTimestamp: false };
  const since = formatTimestamp(ns, form ?? ISO_FORM, rules.timezone);
  // Read back, because a form may cut off more than its own unit where the zone's day begins elsewhere.
  return { since, ns: instantOf(since, rules.timezone) ?? ns, isKnownTimestamp: false };
}

export function instantOf(text: string | null | undefined, timezone: string): bigint | undefined {
  return text === null || text === undefined ? undefined : parseTimestamp(text, timezone)?.instantNs;
}

/** The form of a position of the service's own; an HTTP date is only the form of its headers. */
function ownForm(text: string | undefined, timezone: string): TimestampForm | undefined {
  const form = text === undefined ? undefined : parseTimestamp(text, timezone)?.form;
  return form?.kind === "http" ? undefined : form;
}

/** One unit of the precision in which `since` can distinguish positions. */
function unitOf(form: TimestampForm | undefined, rules: FollowRules): bigint {
  if (rules.since === "unix") return SECOND_NS;
  if (rules.since === "unix_ms") return MS_NS;
  return unitNs(form ?? ISO_FORM);
}
