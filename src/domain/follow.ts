import { formatStamp, parseStamp, type StampForm, unitNs } from "./stamp.ts";

/** How `since` is written in requests. */
export type SinceForm = "iso" | "unix" | "unix_ms";

/** What the answers taught about the service. Kept between passes; never needed for correctness. */
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

/** The point from which a page is asked. */
export interface Asked {
  since: string;
  ns: bigint;
  /** A change with exactly this stamp has been seen in this pass: an inclusive service must repeat it. */
  isKnownStamp: boolean;
}

/** The largest stamp so far that is not from the future. */
export interface High {
  text: string;
  ns: bigint;
}

const MS_NS = 1_000_000n;
const SECOND_NS = 1_000_000_000n;
/** Where the service has sent no stamp of its own yet. */
const DEFAULT_FORM: StampForm = { kind: "iso", precision: "second", fraction: 0, point: ".", zone: "Z", separator: "T" };
/** Fewer changes of one stamp than this are an ordinary bulk edit, not a page limit. */
const TIE_MIN = 10;

/**
 * The first `since` of a pass: the watermark less the overlap, never later than the service's own clock. Without a
 * watermark everything is asked for: too much is only slow.
 * @param serviceNow the `Date` header of the service's last answer, where there was one.
 * @returns undefined where the watermark is no time but the service's own token, which goes back as it is.
 */
export function planFirstAsk(
  watermark: string | undefined,
  serviceNow: string | undefined,
  rules: FollowRules,
  form: StampForm | undefined,
): Asked | undefined {
  const mark = watermark === undefined ? undefined : parseStamp(watermark, rules.timezone);
  if (watermark !== undefined && mark === undefined) return undefined;
  const now = serviceNow === undefined ? undefined : parseStamp(serviceNow, "UTC")?.instantNs;
  let ns = mark?.instantNs ?? 0n;
  if (now !== undefined && now < ns) ns = now;
  ns -= BigInt(rules.overlapMs) * MS_NS;
  return askFrom(ns < 0n ? 0n : ns, ownForm(watermark, rules) ?? form, rules);
}

/** The larger of `high` and the largest of `stamps` that the service's own clock allows. */
export function raiseHigh(
  high: High | undefined,
  stamps: readonly (string | null)[],
  serviceNow: string | undefined,
  timezone: string,
): { high: High | undefined; future: number } {
  const now = serviceNow === undefined ? undefined : parseStamp(serviceNow, "UTC")?.instantNs;
  let highest = high;
  let future = 0;
  for (const text of stamps) {
    const ns = text === null ? undefined : parseStamp(text, timezone)?.instantNs;
    if (text === null || ns === undefined) continue;
    // The Date header has whole seconds, so a stamp of its own second is not from the future.
    if (now !== undefined && ns > now + SECOND_NS) future += 1;
    else if (highest === undefined || ns > highest.ns) highest = { text, ns };
  }
  return { high: highest, future };
}

export interface Page {
  /** The stamps of the page's changes, verbatim. */
  stamps: readonly (string | null)[];
  /** How many of its changes this pass had not seen. */
  fresh: number;
}

export type PageVerdict =
  | { next: "done" }
  | { next: "ask"; asked: Asked }
  /** A full page carries one stamp: what else carries it cannot be reached. Go past it, and say so. */
  | { next: "step over"; asked: Asked; stamp: string };

/**
 * Decides how a pass goes on after a page, and what the page taught.
 *
 * The next page is asked from the largest stamp seen, so that an inclusive service repeats the changes of that stamp
 * and brings the rest of them. An exclusive one would skip the rest of a stamp that its page limit cut in two: it is
 * recognised by the missing repetition, and asked one unit below from then on, which to it means the same. A pass
 * ends where no page is left that could bring anything new.
 */
export function planNextPage(
  pass: { asked: Asked; high: High | undefined; learned: Learned },
  page: Page,
  rules: FollowRules,
): { learned: Learned; verdict: PageVerdict } {
  const { asked, high } = pass;
  const learned = learn(pass, page, rules);
  if (high === undefined) return { learned, verdict: { next: "done" } };
  const unit = unitOf(high.text, rules);
  const below = learned.boundary === "exclusive" ? unit : 0n;
  const ask = (ns: bigint) => askFrom(ns, learned.form, rules, ns === high.ns);
  const hasJustLearned = below > 0n && pass.learned.boundary === undefined;
  if (hasJustLearned) return { learned, verdict: { next: "ask", asked: ask(asked.ns - unit) } };
  const target = floorTo(high.ns, unit) - below;
  if (page.fresh > 0 && target > asked.ns) return { learned, verdict: { next: "ask", asked: ask(target) } };
  if (target <= asked.ns && isFullTie(page, high, unit, learned, rules)) {
    const past = target + unit;
    if (past > asked.ns) return { learned, verdict: { next: "step over", asked: ask(past), stamp: high.text } };
  }
  return { learned, verdict: { next: "done" } };
}

/** Whether `candidate` may become the watermark: later, or another token where positions are no times. */
export function isLater(candidate: string, watermark: string | undefined, timezone: string): boolean {
  if (watermark === undefined) return true;
  const after = parseStamp(candidate, timezone);
  const before = parseStamp(watermark, timezone);
  if (after === undefined || before === undefined) return candidate !== watermark;
  return after.instantNs > before.instantNs;
}

function learn(pass: { asked: Asked; high: High | undefined; learned: Learned }, page: Page, rules: FollowRules): Learned {
  const { asked, high, learned } = pass;
  const repeats = () => page.stamps.some((text) => instantOf(text, rules) === asked.ns);
  const boundary = learned.boundary ?? (asked.isKnownStamp ? (repeats() ? "inclusive" : "exclusive") : undefined);
  return {
    boundary,
    pageMax: Math.max(learned.pageMax, page.stamps.length),
    form: ownForm(high?.text, rules) ?? learned.form,
  };
}

/** Whether the page is as long as pages get and holds, as far as `since` can tell them apart, only one stamp. */
function isFullTie(page: Page, high: High, unit: bigint, learned: Learned, rules: FollowRules): boolean {
  if (page.stamps.length < Math.max(TIE_MIN, learned.pageMax)) return false;
  const at = floorTo(high.ns, unit);
  return page.stamps.every((text) => {
    const ns = instantOf(text, rules);
    return ns !== undefined && floorTo(ns, unit) === at;
  });
}

/** An instant in the form the service wants, floored: a position is never rounded up. */
function askFrom(ns: bigint, form: StampForm | undefined, rules: FollowRules, isStamp = false): Asked {
  const since =
    rules.since === "unix"
      ? String(ns / SECOND_NS)
      : rules.since === "unix_ms"
        ? String(ns / MS_NS)
        : formatStamp(ns, form ?? DEFAULT_FORM, rules.timezone);
  return { since, ns, isKnownStamp: isStamp };
}

function instantOf(text: string | null, rules: Pick<FollowRules, "timezone">): bigint | undefined {
  return text === null ? undefined : parseStamp(text, rules.timezone)?.instantNs;
}

/** The form of a stamp of the service's own; an HTTP date is only the form of its headers. */
function ownForm(text: string | undefined, rules: Pick<FollowRules, "timezone">): StampForm | undefined {
  const form = text === undefined ? undefined : parseStamp(text, rules.timezone)?.form;
  return form?.kind === "http" ? undefined : form;
}

/** One unit of the precision in which `since` can tell positions apart. */
function unitOf(text: string, rules: FollowRules): bigint {
  if (rules.since === "unix") return SECOND_NS;
  if (rules.since === "unix_ms") return MS_NS;
  const stamp = parseStamp(text, rules.timezone);
  return stamp === undefined ? SECOND_NS : unitNs(stamp.form);
}

function floorTo(ns: bigint, unit: bigint): bigint {
  return ns - (ns % unit);
}
