/*
 * Follows a feed of changes by timestamps: where a pass starts, which page comes next, when it ends, and which position
 * may be saved. Pure; `read-pages.ts` sends the requests, `store-pass.ts` saves.
 */

import {
  beforeSetBack,
  beforeUnit,
  formatTimestamp,
  parseTimestamp,
  readTimestamp,
  type ServedTimestamp,
} from "../../answers/timestamp.ts";
import {
  ISO_FORM,
  isZoneUnclear,
  namesZone,
  OFFSET_MAX_NS,
  type TimestampForm,
  uncertaintyNs,
  unitNs,
} from "../../answers/timestamp-form.ts";
import { HOUR_MS, MS_NS, SECOND_NS } from "../../platform/durations.ts";
import { type Learned, learnPageForm } from "../times/learn-form.ts";

/** Format of `since` in requests. */
export type SinceForm = "iso" | "unix" | "unix_ms";

export interface FollowRules {
  since: SinceForm;
  timezone: string;
  overlapMs: number;
  /** How long ago the last complete pass began: where the service's clock was set back, no position shows how far that came. */
  lastPassAgoMs?: number;
}

/** The starting point of a page. */
export interface Asked {
  since: string;
  /** The instant of `since`. */
  ns: bigint;
  /** This pass has seen a change with exactly this timestamp, so an inclusive service must repeat it. */
  isKnownTimestamp: boolean;
  /** The last timestamp that was not repeated; it is not checked again, or a pass could alternate for ever. */
  missedNs?: bigint | undefined;
}

/** A timestamp as sent. In a pass, `high` is the largest one that is not in the future. */
export interface High {
  text: string;
  ns: bigint;
}

/** If a position is further ahead of this machine's clock, one of the two is wrong. */
export const AHEAD_MS = HOUR_MS;
/** Fewer changes with one timestamp are an ordinary bulk edit, not a page limit. */
const TIE_MIN = 10;

/**
 * The first `since` of a pass: the watermark less the overlap, never later than the service's clock. Without a
 * watermark everything is requested, which is only slow.
 * @param serviceNow the `Date` header of the service's last answer, where it had one
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
  // A position in another form cannot be compared exactly: the two may differ by their zones.
  const lookBackMs = rules.overlapMs + (isAhead ? (rules.lastPassAgoMs ?? 0) : 0);
  ns -= BigInt(lookBackMs) * MS_NS + uncertaintyNs(own, form);
  // Changes within the overlap may have the timestamp of the beginning of their minute.
  if (position !== undefined) ns = beforeUnit(ns, position);
  // Later changes in the position's own unit have its timestamp, and the service may exclude the boundary.
  if (position !== undefined && ns === position.instantNs) ns -= 1n;
  const isLocal = rules.since === "iso" && form !== undefined && !namesZone(form);
  return askAt(isLocal ? beforeSetBack(ns, now?.instantNs, rules.timezone) : ns, form, rules);
}

/** The `since` whose answer includes changes with this timestamp, whether the service includes its boundary or not. */
export function planAskBefore(ns: bigint, form: TimestampForm | undefined, rules: FollowRules): Asked {
  return askAt(ns - unitOf(form, rules), form, rules);
}

/** The `since` whose answer has the changes after this timestamp, but not those with it. */
export function planAskBehind(
  ns: bigint,
  { form, boundary }: Pick<Learned, "form" | "boundary">,
  rules: FollowRules,
): Asked {
  return askAt(boundary === "exclusive" ? ns : ns + unitOf(form, rules), form, rules);
}

/**
 * How far before the watermark a wide re-poll starts (ms), or undefined where none is due. A re-poll that was missed
 * while the machine was off is made up for, from the time of the last one.
 * @param repolledAt the service's time at the last wide re-poll
 */
export function planWideRepoll(
  repolledAt: string | undefined,
  serviceNow: string | undefined,
  repoll: { wideOverlapMs: number; overlapMs: number; isWanted: boolean },
): number | undefined {
  const last = instantOf(repolledAt, "UTC");
  const now = instantOf(serviceNow, "UTC");
  const sinceMs = last === undefined || now === undefined ? 0 : Number((now - last) / MS_NS);
  // One hour of grace, so that the scheduled re-poll is not doubled.
  const isDue = sinceMs > Math.max(repoll.wideOverlapMs, HOUR_MS) + HOUR_MS;
  if (!repoll.isWanted && !isDue) return undefined;
  return Math.max(repoll.wideOverlapMs, repoll.overlapMs, isDue ? sinceMs + repoll.overlapMs : 0);
}

/**
 * Whether a position is a token of the service, to be sent back unchanged. Digits count as a time only if the service's
 * timestamps are such digits too.
 */
export function isToken(position: string, form: TimestampForm | undefined, timezone: string): boolean {
  const kind = parseTimestamp(position, timezone)?.form.kind;
  return kind === undefined || (/^\d+(?:\.\d+)?$/.test(position) && kind !== form?.kind);
}

/** The larger of `high` and the largest of `timestamps` that is not in the future by the service's clock. */
export function raiseHigh(
  high: High | undefined,
  timestamps: readonly (ServedTimestamp | undefined)[],
  serviceNow: string | undefined,
): { high: High | undefined; future: number } {
  // Without objects per timestamp: a page may have hundreds of thousands.
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
 * Whether the watermark has another form than the timestamps served now, and `position` has their form. It then
 * replaces the watermark, even if it reads as earlier. Not if it is earlier in any zone, as when a limit ended a wide
 * re-poll: following would return to there.
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
  /** Timestamps of the page's changes; undefined where one has none that can be read. */
  timestamps: readonly (ServedTimestamp | undefined)[];
  /** How many of its changes are new to this pass. */
  fresh: number;
}

export interface PageState {
  asked: Asked;
  high: High | undefined;
  learned: Learned;
  /** Most changes on one page of this pass, including this one. */
  pageMax: number;
}

export type PageVerdict =
  | { next: "done" }
  | { next: "ask"; asked: Asked }
  /** The page may have been cut within one unit of `since`: the rest cannot be requested. */
  | { next: "step over"; asked: Asked; timestamp: string; isFull: boolean }
  /** A full page without a timestamp from which the next could be requested. */
  | { next: "no timestamps" };

/**
 * Decides how a pass continues after a page, and what is learned from the page.
 *
 * The next page starts at the largest timestamp seen, so that an inclusive service repeats its changes and adds the
 * rest of them. An exclusive service would skip the rest of a timestamp that its page limit cut in two: it is
 * recognised by the missing repetition, and from then on asked from one unit earlier, with the same effect. Where a
 * page that may be cut leads no further, the pass steps over one unit, so that later changes are not blocked.
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
    // The service is exclusive and skipped the rest of this timestamp, or the repeated order has changed meanwhile.
    if (isMissed) return { next: "ask", asked: { ...askAt(asked.ns - unit, learned.form, rules), missedNs: asked.ns } };
    const from = (timestamp: High) => askAfter(timestamp, { ...learned, unit, missedNs: asked.missedNs }, rules);
    // The page's largest timestamp, not the pass's: a repeated page must not skip what it was cut at.
    if (farthest === undefined)
      return page.timestamps.length > 0 && isFull ? { next: "no timestamps" } : { next: "done" };
    if (page.fresh > 0 && onward !== undefined && from(onward).ns > asked.ns)
      return { next: "ask", asked: from(onward) };
    // Even a page of one: some services have a page limit of 1.
    const mayBeCut = page.timestamps.length >= pass.pageMax && isAtOrAfter;
    if (!mayBeCut) return { next: "done" };
    // A few changes that are on every page lead on only if their times are beyond what was followed. A page full of old
    // times, or of future ones, leads to its own largest.
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
 * Whether `candidate` may become the watermark: where it is later and not in the future, which it may be only since
 * the service's clock was set back. Also an earlier one where that clock was set back by more than the overlap: a
 * watermark in the future would skip all changes until then.
 */
export function mayMove(
  candidate: string,
  watermark: string | undefined,
  serviceNow: string | undefined,
  rules: FollowRules,
): boolean {
  if (isFromFuture(candidate, serviceNow, rules.timezone)) return false;
  if (isLater(candidate, watermark, rules)) return true;
  return candidate !== watermark && isSetBack(watermark, serviceNow, rules);
}

/** Whether a position is later than another; different tokens, which are no times, count as later. */
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

/** Whether the watermark is in the service's future by more than the overlap. */
export function isSetBack(watermark: string | undefined, serviceNow: string | undefined, rules: FollowRules): boolean {
  const mark = instantOf(watermark, rules.timezone);
  const now = instantOf(serviceNow, "UTC");
  return mark !== undefined && now !== undefined && mark - BigInt(rules.overlapMs) * MS_NS > now + SECOND_NS;
}

/** Whether a position is a time in the service's future. */
export function isFromFuture(position: string, serviceNow: string | undefined, timezone: string): boolean {
  const ns = instantOf(position, timezone);
  return ns !== undefined && isFuture(ns, instantOf(serviceNow, "UTC"));
}

/** Whether a position is a time so far ahead of a clock that one of the two must be wrong. */
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
  // `Date` has whole seconds, so a timestamp within its second is not in the future.
  return now !== undefined && ns > now + SECOND_NS;
}

/** Of equal timestamps the last one. */
interface Seen {
  /** A change has exactly the timestamp that was requested. */
  isRepeated: boolean;
  /** No change is from before it. */
  isAtOrAfter: boolean;
  farthest: High | undefined;
  /** The largest that the position may reach. */
  onward: High | undefined;
}

/** One walk: a page may have as many changes as an answer may have values. */
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

/** The next `since` after a timestamp that was seen: both kinds of services add the rest of it. */
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

/** An instant in the form that the service accepts, rounded down, never up. */
export function askAt(instantNs: bigint, form: TimestampForm | undefined, rules: FollowRules): Asked {
  const ns = instantNs < 0n ? 0n : instantNs;
  if (rules.since === "unix")
    return { since: String(ns / SECOND_NS), ns: ns - (ns % SECOND_NS), isKnownTimestamp: false };
  if (rules.since === "unix_ms") return { since: String(ns / MS_NS), ns: ns - (ns % MS_NS), isKnownTimestamp: false };
  const since = formatTimestamp(ns, form ?? ISO_FORM, rules.timezone);
  // Parsed again, because some forms cut off more than their unit, where the zone's day begins elsewhere.
  return { since, ns: instantOf(since, rules.timezone) ?? ns, isKnownTimestamp: false };
}

/** The same rounded up: a `since` that is answered up to an age must not be older. */
export function askNoEarlier(instantNs: bigint, form: TimestampForm | undefined, rules: FollowRules): Asked {
  const asked = askAt(instantNs, form, rules);
  return asked.ns < instantNs ? askAt(instantNs + unitOf(form, rules), form, rules) : asked;
}

export function instantOf(text: string | null | undefined, timezone: string): bigint | undefined {
  return text === null || text === undefined ? undefined : parseTimestamp(text, timezone)?.instantNs;
}

/** Form of the service's own timestamps; an HTTP date is the form of its headers only. */
function ownForm(text: string | undefined, timezone: string): TimestampForm | undefined {
  const form = text === undefined ? undefined : parseTimestamp(text, timezone)?.form;
  return form?.kind === "http" ? undefined : form;
}

/** One unit of the precision of `since`. */
function unitOf(form: TimestampForm | undefined, rules: FollowRules): bigint {
  if (rules.since === "unix") return SECOND_NS;
  if (rules.since === "unix_ms") return MS_NS;
  return unitNs(form ?? ISO_FORM);
}
