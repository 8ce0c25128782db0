/* How the service writes its times, learned from its changes and orders. All of it is pure. */

import { isUnreadForm, parseTimestamp, type ServedTimestamp } from "../../answers/timestamp.ts";
import {
  isSameWay,
  isText,
  isZoneUnclear,
  OFFSET_MAX_NS,
  type TimestampForm,
  unitNs,
} from "../../answers/timestamp-form.ts";
import { DAY_MS, SECOND_NS } from "../../platform/durations.ts";
import type { FewWhole } from "../pages/page-cover.ts";
import type { SinceLimits } from "../pages/since-limits.ts";

/** What the answers taught about the service. Kept between passes; never needed for correctness. */
export interface Learned {
  /** Whether a change with exactly the timestamp of `since` is in the answer. */
  boundary: "inclusive" | "exclusive" | undefined;
  /** Most changes seen in one answer: what the page limit may be. */
  pageMax: number;
  /** How the service writes its own timestamps, in the finest precision seen. */
  form: TimestampForm | undefined;
  /** The form of the times of the newest order that a batch brought, but for one in which the service may not compare `since`. */
  ordersForm?: TimestampForm | undefined;
  /** Since then the times name no zone, which they did before. */
  zoneLost?: ZoneLost | undefined;
  /** Times are served in this form as well. */
  other?: OtherForm | undefined;
  /** Timestamps on the last page with any, where most of them cannot be read. */
  unread?: number | undefined;
  /** How many changes the smallest page held of which the oldest were left out. */
  cutSize?: number | undefined;
  /** Of pages of a few changes: searches that found nothing left out. */
  fewWhole?: FewWhole | undefined;
  /** How old a `since` the service refuses; undefined where it never did. */
  limits?: SinceLimits | undefined;
}

/** A second form of times: `look-other.ts` asks for changes in it as well. */
export interface OtherForm {
  form: TimestampForm;
  /** The position up to which changes were asked for in it. */
  from?: string | undefined;
  /** By this machine's clock: when it was seen, to a day. */
  at: string;
  /** A person has seen it. */
  isSeen?: true;
}

export interface ZoneLost {
  /** By this machine's clock. */
  at: string;
  /** As which they are understood. */
  timezone: string;
  /** A person has seen it. */
  isSeen?: true;
}

/** After so long without a time in it another form counts no more. */
const OTHER_MS = 7 * DAY_MS;
/** 2001-09-09: the first time that ten digits can write. */
const EPOCH_FIRST_NS = 1_000_000_000n * SECOND_NS;

/** @param seen how many timestamps of a page could be read, and how many could not */
export function learnUnread(learned: Learned, seen: { unread: number; read: number }): Learned {
  // The first number stays, so that nothing is written for every poll.
  if (isUnreadForm(seen)) return learned.unread === undefined ? { ...learned, unread: seen.unread } : learned;
  return learned.unread === undefined || seen.read === 0 ? learned : { ...learned, unread: undefined };
}

/** The form in which the service writes timestamps, as fine as any of them: some leave out a fraction that is zero. */
export function learnForm(
  form: TimestampForm | undefined,
  timestamps: readonly (ServedTimestamp | undefined)[],
): TimestampForm | undefined {
  let learned = form;
  for (const timestamp of timestamps) if (timestamp !== undefined) learned = finerOf(learned, timestamp.form);
  return learned;
}

function finerOf(learned: TimestampForm | undefined, seen: TimestampForm): TimestampForm {
  // Nearly always it is the same one.
  if (seen === learned) return seen;
  if (learned === undefined || !isSameWay(seen, learned)) return seen;
  return withHour(unitNs(seen) < unitNs(learned) ? seen : learned, seen.hour ?? learned.hour);
}

function withHour(form: TimestampForm, hour: TimestampForm["hour"]): TimestampForm {
  return hour === undefined || hour === form.hour ? form : { ...form, hour };
}

/**
 * The same of a page where a form is known: another one counts where no change has the known one, and a time as digits in the place of a text, or the
 * other way round, where two changes have it. By one absurd value of one order all others' changes would be asked for in a way that the
 * service does not understand. For the same reason a time counts only between what was asked and what the position may reach.
 */
export function learnPageForm(
  form: TimestampForm | undefined,
  timestamps: readonly (ServedTimestamp | undefined)[],
  range: { fromNs: bigint; toNs: bigint },
): TimestampForm | undefined {
  if (form === undefined) return learnForm(form, timestamps);
  let own: TimestampForm | undefined;
  let other: TimestampForm | undefined;
  let others = 0;
  for (const timestamp of timestamps) {
    if (timestamp === undefined || timestamp.instantNs < range.fromNs || timestamp.instantNs > range.toNs) continue;
    if (isSameWay(timestamp.form, form)) {
      own = finerOf(own ?? form, timestamp.form);
      continue;
    }
    others += 1;
    other = finerOf(other, timestamp.form);
  }
  if (own !== undefined || other === undefined) return own ?? form;
  return others > 1 || other.kind === form.kind ? other : form;
}

/**
 * What the times of the newest orders teach. Where they come to be texts of another zone, or of none, the service may compare `since` with those from then
 * on, and no change that it leaves out could show it: the form is theirs. Any other form may be that of some orders alone, or the service's
 * from now on: the form stays, and theirs is the other one.
 * @param newest the newest one first; `serviceNow`: the service's clock, where it is known
 */
export function learnFromOrders(
  learned: Learned,
  newest: readonly (ServedTimestamp | undefined)[],
  { at, timezone, serviceNow, watermark }: OrdersSeen,
): Learned {
  const known = learned.zoneLost?.timezone === timezone ? learned : { ...learned, zoneLost: undefined };
  const now = serviceNow === undefined ? undefined : parseTimestamp(serviceNow, "UTC")?.instantNs;
  const plausible = newest.filter((each) => isPlausible(each, now));
  const [first] = plausible;
  const of = first === undefined ? known : takeForm(known, first.form, { at, timezone, watermark });
  const taken = of.form === undefined ? of : { ...of, form: withHourOf(of.form, plausible) };
  const others = plausible.filter(({ form }) => taken.form !== undefined && !isSameWay(form, taken.form));
  return noteOther(taken, others[0]?.form, { at, watermark });
}

/** The form with as many digits of the hour as the newest time of that form that shows them. */
function withHourOf(form: TimestampForm, newest: readonly ServedTimestamp[]): TimestampForm {
  const shows = newest.find((each) => isSameWay(each.form, form) && each.form.hour !== undefined);
  return withHour(form, shows?.form.hour);
}

interface OrdersSeen {
  at: string;
  timezone: string;
  serviceNow?: string | undefined;
  watermark?: string | undefined;
}

function takeForm(known: Learned, form: TimestampForm, { at, timezone, watermark }: OrdersSeen): Learned {
  const before = known.ordersForm;
  if (before === undefined) return { ...known, ordersForm: form, form: known.form ?? form };
  if (isSameWay(before, form) || !isFullText(before) || !isFullText(form)) return known;
  const isLost = isZoneUnclear(before, form) && form.zone === "";
  const taken = { ...known, ordersForm: form, form, zoneLost: isLost ? { at, timezone } : undefined };
  return noteFormer(known, taken, { at, watermark });
}

function isFullText({ kind, precision }: TimestampForm): boolean {
  return isText({ kind }) && precision !== "day";
}

/** Where the form is another one than before, that one is the other. */
export function noteFormer(before: Learned, learned: Learned, seen: Pick<OrdersSeen, "at" | "watermark">): Learned {
  if (before.form === undefined || learned.form === undefined || isSameWay(before.form, learned.form)) return learned;
  return noteOther(learned, before.form, seen);
}

function noteOther(
  learned: Learned,
  form: TimestampForm | undefined,
  { at, watermark }: Pick<OrdersSeen, "at" | "watermark">,
): Learned {
  const { other } = learned;
  const ageMs = other === undefined ? 0 : Date.parse(at) - Date.parse(other.at);
  if (form === undefined) return ageMs > OTHER_MS ? { ...learned, other: undefined } : learned;
  if (other === undefined || !isSameWay(other.form, form)) return { ...learned, other: { form, from: watermark, at } };
  return ageMs > DAY_MS ? { ...learned, other: { ...other, at } } : learned;
}

/** Whether a time may be one of an order: since epochs have ten digits, and no later than now in any zone. */
function isPlausible(time: ServedTimestamp | undefined, now: bigint | undefined): time is ServedTimestamp {
  if (time === undefined || time.instantNs < EPOCH_FIRST_NS) return false;
  return now === undefined || time.instantNs <= now + OFFSET_MAX_NS + SECOND_NS;
}
