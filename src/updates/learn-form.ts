/*
 * How the service writes its times, learned from its changes and orders. All of it is pure.
 */
import {
  isSameWay,
  isZoneUnclear,
  OFFSET_MAX_NS,
  parseTimestamp,
  type ServedTimestamp,
  type TimestampForm,
  unitNs,
} from "../answers/timestamp.ts";
import type { SinceLimits } from "./since-limits.ts";

/** What the answers taught about the service. Kept between passes; never needed for correctness. */
export interface Learned {
  /** Whether a change with exactly the timestamp of `since` is in the answer. */
  boundary: "inclusive" | "exclusive" | undefined;
  /** Most changes seen in one answer: what the page limit may be. */
  pageMax: number;
  /** How the service writes its own timestamps, in the finest precision seen. */
  form: TimestampForm | undefined;
  /** The form of the times of the newest order that a batch brought. */
  ordersForm?: TimestampForm | undefined;
  /** Since then the times name no zone, which they did before. */
  zoneLost?: ZoneLost | undefined;
  /** How many changes the smallest page held of which the oldest were left out. */
  cutSize?: number | undefined;
  /** How old a `since` the service refuses; undefined where it never did. */
  limits?: SinceLimits | undefined;
}

export interface ZoneLost {
  /** By this machine's clock. */
  at: string;
  /** As which they are understood. */
  timezone: string;
  /** A person has seen it. */
  isSeen?: true;
}

const SECOND_NS = 1_000_000_000n;
/** 2001-09-09: the first time that ten digits can write. */
const EPOCH_FIRST_NS = 1_000_000_000n * SECOND_NS;

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
  return learned === undefined || !isSameWay(seen, learned) || unitNs(seen) < unitNs(learned) ? seen : learned;
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
 * What the times of the newest orders teach: a service that begins to write them in another way may compare `since` with texts of that way from
 * then on, and no change that it leaves out could show it. One order whose time is absurd shows nothing.
 * @param newest the newest one first; `serviceNow`: the service's clock, where it is known
 */
export function learnFromOrders(
  learned: Learned,
  newest: readonly (ServedTimestamp | undefined)[],
  { at, timezone, serviceNow }: { at: string; timezone: string; serviceNow?: string | undefined },
): Learned {
  const known = learned.zoneLost?.timezone === timezone ? learned : { ...learned, zoneLost: undefined };
  const [first, second] = newest.filter((each) =>
    isPlausible(each, serviceNow === undefined ? undefined : parseTimestamp(serviceNow, "UTC")?.instantNs),
  );
  if (first === undefined) return known;
  const { form } = first;
  const before = learned.ordersForm;
  if (before !== undefined && isSameWay(before, form)) return known;
  // Digits in the place of a text, or the other way round, may be one order's alone.
  if (before !== undefined && before.kind !== form.kind && second?.form.kind !== form.kind) return known;
  if (before === undefined) return { ...known, ordersForm: form, form: known.form ?? form };
  const isLost = isZoneUnclear(before, form) && form.kind === "iso" && form.zone === "";
  return { ...known, ordersForm: form, form, zoneLost: isLost ? { at, timezone } : undefined };
}

/** Whether a time may be one of an order: since epochs have ten digits, and no later than now in any zone. */
function isPlausible(time: ServedTimestamp | undefined, now: bigint | undefined): time is ServedTimestamp {
  if (time === undefined || time.instantNs < EPOCH_FIRST_NS) return false;
  return now === undefined || time.instantNs <= now + OFFSET_MAX_NS + SECOND_NS;
}
