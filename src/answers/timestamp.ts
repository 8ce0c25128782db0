import { EPOCH_DIGITS, type TimestampForm, unitNs } from "./timestamp-form.ts";

export interface Timestamp {
  /** Nanoseconds since 1970-01-01 UTC. */
  readonly instantNs: bigint;
  /** The latest instant that the text may stand for: another one only where clocks were set back and it names no zone. */
  readonly latestNs: bigint;
  readonly form: TimestampForm;
}

/** A timestamp together with its text, as it was sent. */
export interface ServedTimestamp extends Timestamp {
  readonly text: string;
}

const SECOND_NS = 1_000_000_000n;
const MINUTE_NS = 60n * SECOND_NS;
/** More than any form has. */
const STAMP_CHARS_MAX = 64;
const DAY_S = 86_400;
/** What four digits of a year can say: 0000-01-01T00:00:00 and 9999-12-31T23:59:59, in seconds. */
const FIRST_SECOND = -62_167_219_200n;
const LAST_SECOND = 253_402_300_799n;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:([Tt ])(\d{2}):(\d{2})(?::(\d{2})(?:([.,])(\d{1,9}))?)?( ?(?:[Zz]|[+-]\d{2}(?::?\d{2})?))?)?$/;
const DOTTED = /^(\d{2})\.(\d{2})\.(\d{4})(?:(,? )(\d{1,2}):(\d{2})(?::(\d{2})(?:([.,])(\d{1,9}))?)?)?$/;
const EPOCH = /^([1-9]\d{9}|[1-9]\d{12}|[1-9]\d{15})(?:\.(\d{1,9}))?$/;
const EPOCH_KINDS = { 10: "unix", 13: "unix_ms", 16: "unix_us" } as const;
/**
 * Reads a service's time: ISO 8601 (`T` or a blank; minutes, seconds or 1 to 9 digits after a dot or comma; `Z`, an offset,
 * or none; a date alone), `DD.MM.YYYY` (a blank or `, ` before the time; minutes, seconds or a fraction; no zone), an HTTP date, the
 * same with an offset, or epoch digits (10 seconds, 13 milliseconds, 16 microseconds, with a fraction down to nanoseconds).
 * Undefined for everything else: of two numbers with a slash between them nothing shows which is the day. The fraction never
 * passes through `Date`, so microseconds survive.
 *
 * A time without a zone is one of `zone` (IANA). Where that zone skips it or has it twice (summer time), the *earlier*
 * instant is taken: a position that is too early only asks again, one that is too late loses a change.
 *
 * @throws RangeError where `zone` is needed and unknown.
 */
export function parseTimestamp(text: string, zone: string): Timestamp | undefined {
  if (text.length > STAMP_CHARS_MAX) return undefined;
  return parseIso(text, zone) ?? parseDotted(text, zone) ?? parseEpoch(text) ?? parseHttp(text);
}

/** The timestamp of a record, or undefined where it has none that can be read. */
export function readTimestamp(text: string | null, zone: string): ServedTimestamp | undefined {
  const timestamp = text === null ? undefined : parseTimestamp(text, zone);
  return text === null || timestamp === undefined ? undefined : { ...timestamp, text };
}

/** A single order may have an absurd value. */
const UNREAD_MIN = 2;

/** Whether the form of timestamps is one that cannot be read, and not the value of one record. */
export function isUnreadForm({ unread, read }: { unread: number; read: number }): boolean {
  return unread >= UNREAD_MIN && unread > read;
}

function parseIso(text: string, zone: string): Timestamp | undefined {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, separator, hour, minute, second, point, digits, named] = match;
  return timestampOf("iso", { year, month, day, separator, hour, minute, second, point, digits, named }, zone);
}

function parseDotted(text: string, zone: string): Timestamp | undefined {
  const match = DOTTED.exec(text);
  if (match === null) return undefined;
  const [, day, month, year, separator, hour, minute, second, point, digits] = match;
  const read = timestampOf("dotted", { year, month, day, separator, hour, minute, second, point, digits }, zone);
  // From ten o'clock on nothing shows whether an earlier hour has one digit or two.
  if (read === undefined || hour === undefined || Number(hour) > 9) return read;
  return { ...read, form: { ...read.form, hour: hour.length === 1 ? 1 : 2 } };
}

/** What stands in a text; undefined where it is left out. `named`: the zone. */
type Shown = Partial<
  Record<
    "year" | "month" | "day" | "separator" | "hour" | "minute" | "second" | "point" | "digits" | "named",
    string | undefined
  >
>;

function timestampOf(kind: "iso" | "dotted", shown: Shown, zone: string): Timestamp | undefined {
  const { year, month, day, separator = "", hour = "0", minute = "0", second, point, digits = "", named = "" } = shown;
  const days = daysOf(Number(year), Number(month), Number(day));
  const [h, m, s] = [Number(hour), Number(minute), Number(second ?? 0)];
  const offset = named === "" ? 0 : offsetOf(named);
  if (days === undefined || offset === undefined || h > 23 || m > 59 || s > 59) return undefined;
  const local = days * DAY_S + h * 3600 + m * 60 + s;
  const [utc, latest] = named === "" ? instantsOf(local, zone) : [local - offset, local - offset];
  const precision = separator === "" ? "day" : second === undefined ? "minute" : "second";
  const form: TimestampForm = {
    kind,
    precision,
    fraction: digits.length,
    point: point === "," ? "," : ".",
    zone: named,
    separator,
  };
  const nanos = BigInt(digits.padEnd(9, "0"));
  return { instantNs: BigInt(utc) * SECOND_NS + nanos, latestNs: BigInt(latest) * SECOND_NS + nanos, form };
}

/** Days since 1970-01-01, or undefined for a day that no calendar has. */
function daysOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / 1000 / DAY_S : undefined;
}

/** Seconds east of UTC that `Z`, `+03`, `+0300` or `+03:00` name. */
function offsetOf(named: string): number | undefined {
  const [, sign, hours = "0", minutes = "0"] = /([+-])(\d{2}):?(\d{2})?$/.exec(named) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const seconds = Number(hours) * 3600 + Number(minutes) * 60;
  return sign === "-" ? -seconds : seconds;
}

function parseEpoch(text: string): Timestamp | undefined {
  const [, whole, digits = ""] = EPOCH.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const kind = EPOCH_KINDS[whole.length as keyof typeof EPOCH_KINDS];
  const nanoDigits = 9 - EPOCH_DIGITS[kind];
  if (digits.length > nanoDigits) return undefined;
  const form: TimestampForm = {
    kind,
    precision: "second",
    fraction: digits.length,
    point: ".",
    zone: "",
    separator: "",
  };
  const instantNs = BigInt(whole + digits.padEnd(nanoDigits, "0"));
  return { instantNs, latestNs: instantNs, form };
}

const HTTP_FORM: TimestampForm = {
  kind: "http",
  precision: "second",
  fraction: 0,
  point: ".",
  zone: "GMT",
  separator: " ",
};

/** An offset of RFC 1123, in the place of the `GMT` of HTTP. */
const RFC_ZONE = / ([+-]\d{4})$/;

function parseHttp(text: string): Timestamp | undefined {
  const zone = RFC_ZONE.exec(text)?.[1];
  const plain = zone === undefined ? text : `${text.slice(0, -zone.length)}GMT`;
  if (!plain.endsWith(" GMT")) return undefined;
  const date = new Date(plain);
  const offset = offsetOf(zone ?? "");
  // Date is lenient; only what it writes back in the same letters is the form we know.
  if (Number.isNaN(date.getTime()) || date.toUTCString() !== plain || offset === undefined) return undefined;
  const instantNs = BigInt(date.getTime()) * 1_000_000n - BigInt(offset) * SECOND_NS;
  return { instantNs, latestNs: instantNs, form: zone === undefined ? HTTP_FORM : { ...HTTP_FORM, kind: "rfc", zone } };
}

/**
 * Writes an instant in a service's own form, never later than the instant itself: what the form cannot say is cut off.
 * Times that no such text can name become the nearest that one can (year 0 or 9999; the epoch's 0).
 */
export function formatTimestamp(instantNs: bigint, form: TimestampForm, zone: string): string {
  if (form.kind === "unix" || form.kind === "unix_ms" || form.kind === "unix_us") return formatEpoch(instantNs, form);
  const utc = clampSecond(floorDiv(instantNs, SECOND_NS));
  if (form.kind === "http") return new Date(Number(utc) * 1000).toUTCString();
  const offset = form.zone === "" ? zoneOffset(Number(utc), zone) : (offsetOf(form.zone) ?? 0);
  const second = floorDiv(instantNs, SECOND_NS) + BigInt(offset);
  const local = clampSecond(second);
  const nanos =
    second < local ? 0n : second > local ? SECOND_NS - 1n : instantNs - floorDiv(instantNs, SECOND_NS) * SECOND_NS;
  const shown = new Date(Number(local) * 1000);
  if (form.kind === "rfc") return shown.toUTCString().replace("GMT", form.zone);
  const text = shown.toISOString();
  const date = form.kind === "dotted" ? text.slice(0, 10).split("-").reverse().join(".") : text.slice(0, 10);
  if (form.precision === "day") return date;
  const time = text.slice(11, form.precision === "minute" ? 16 : 19);
  const clock = form.hour === 1 && time.startsWith("0") ? time.slice(1) : time;
  return `${date}${form.separator}${clock}${fractionText(nanos, 9, form)}${form.zone}`;
}

function formatEpoch(instantNs: bigint, form: TimestampForm): string {
  const digits = EPOCH_DIGITS[form.kind as keyof typeof EPOCH_DIGITS];
  const perUnit = 10n ** BigInt(9 - digits);
  const instant = instantNs < 0n ? 0n : instantNs;
  return `${instant / perUnit}${fractionText(instant % perUnit, 9 - digits, form)}`;
}

function fractionText(nanos: bigint, width: number, form: TimestampForm): string {
  return form.fraction === 0 ? "" : `${form.point}${nanos.toString().padStart(width, "0").slice(0, form.fraction)}`;
}

/** Steps in which clocks of timestamps go, the longest first. */
const STEPS_NS = [DAY_S, DAY_S / 2, 3600, 1800, 1200, 900, 600, 300, 120, 60, 1].map((s) => BigInt(s) * SECOND_NS);
/** Fewer different timestamps show no more than a minute or a second. */
const SHOWN_MIN = 3;
const SHOWN_NS = [60n * SECOND_NS, SECOND_NS];

/**
 * The step in which timestamps go, in nanoseconds: the unit of the form, or a longer one that its zeros show. A time without seconds may be
 * cut to the minute, and where several others of the service are so too, 12:20:00 to ten or twenty minutes. 0 below a second.
 */
export function stepNs(timestamp: Timestamp, others: readonly Timestamp[] = []): bigint {
  const named = unitNs(timestamp.form);
  const all = new Set([timestamp, ...others].map(shownNs));
  const steps = all.size < SHOWN_MIN ? SHOWN_NS : STEPS_NS;
  const shown = steps.find((step) => [...all].every((ns) => ns % step === 0n)) ?? 0n;
  const step = named > shown ? named : shown;
  return step < SECOND_NS ? 0n : step;
}

/** What the clock shows that wrote it. */
function shownNs({ instantNs, form }: Timestamp): bigint {
  return instantNs + BigInt(offsetOf(form.zone) ?? 0) * SECOND_NS;
}

/** When no later change can have the same timestamp any more: at the end of its step. Undefined below a second. */
export function endOfUnitNs(timestamp: Timestamp, others: readonly Timestamp[] = []): bigint | undefined {
  const step = stepNs(timestamp, others);
  return step === 0n ? undefined : timestamp.latestNs + step;
}

/**
 * The instant from which all that came at `ns` or later is timestamped, where a position is a time as this one: cut to the minute where the
 * service's times may be. The time of a header does not show how the service writes its own.
 */
export function beforeUnit(ns: bigint, position: Timestamp): bigint {
  const isMinute = position.form.kind === "http" || stepNs(position) >= MINUTE_NS;
  const begin = isMinute ? floorDiv(ns, MINUTE_NS) * MINUTE_NS : ns;
  return begin === ns ? ns : begin - 1n;
}

/** Whether `a` is later than `b`. False where either is missing or cannot be read, or where the hour that a zone has twice leaves it open. */
export function isStrictlyNewer(a: string | null, b: string | null, zone: string): boolean {
  const left = a === null ? undefined : parseTimestamp(a, zone);
  const right = b === null ? undefined : parseTimestamp(b, zone);
  return left !== undefined && right !== undefined && left.instantNs > right.latestNs;
}

/**
 * Whether `a` is earlier than `b`, as far as both are comparable. False where they are written in different ways: a
 * zone or a unit that only one of them names may be understood wrongly. Nor where the hour that a zone has twice leaves
 * it open.
 *
 * @param created when the order of each was created, written beside it: where both are one instant, the two ways are understood rightly
 */
export function isOlder(
  a: string | null,
  b: string | null,
  zone: string,
  created: readonly [string | null, string | null] = [null, null],
): boolean {
  const [left, right] = [readTimestamp(a, zone), readTimestamp(b, zone)];
  if (left === undefined || right === undefined) return false;
  if (isOneWay(left, right)) return compareCut(left, right) < 0;
  const [leftMade, rightMade] = created.map((text) => readTimestamp(text, zone));
  if (leftMade === undefined || rightMade === undefined) return false;
  const isUnderstood = isOneWay(left, leftMade) && isOneWay(right, rightMade) && compareCut(leftMade, rightMade) === 0;
  return isUnderstood && compareCut(left, right) < 0;
}

function isOneWay(a: Timestamp, b: Timestamp): boolean {
  return a.form.kind === b.form.kind && a.form.zone === b.form.zone;
}

/** Both cut to the longer one of their units. Negative: `a` is earlier, whichever hour a zone has twice it was. */
function compareCut(a: Timestamp, b: Timestamp): number {
  const [fine, coarse] = [unitNs(a.form), unitNs(b.form)];
  const unit = fine > coarse ? fine : coarse;
  return Number(floorDiv(a.latestNs, unit) - floorDiv(b.instantNs, unit));
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value < 0n && quotient * by !== value ? quotient - 1n : quotient;
}

function clampSecond(second: bigint): bigint {
  return second < FIRST_SECOND ? FIRST_SECOND : second > LAST_SECOND ? LAST_SECOND : second;
}

/**
 * The earliest and the latest UTC second at which clocks of `zone` show `local`: two where they were set back. Where an hour was
 * skipped, the second at which they would have shown it.
 */
function instantsOf(local: number, zone: string): [earliest: number, latest: number] {
  // A day on either side is beyond every offset, and no zone changes its clocks twice within two days.
  const before = zoneOffset(local - DAY_S, zone);
  const after = zoneOffset(local + DAY_S, zone);
  if (before === after) return [local - before, local - before];
  const candidates = [local - before, local - after].sort((x, y) => x - y);
  const shown = candidates.filter((utc) => utc + zoneOffset(utc, zone) === local);
  const earliest = shown[0] ?? Math.min(...candidates);
  return [earliest, shown.at(-1) ?? earliest];
}

/** Further than the clocks of any zone are set back at once. */
const SET_BACK_MAX_S = 3 * 3600;

/**
 * The instant from which a service that compares local texts of `zone` has to be asked, so that nothing since `fromNs` is left out:
 * earlier than `fromNs` where the clocks were set back shortly afterwards, because what happened then bears a smaller text.
 * @param nowNs nothing later has happened; undefined: that is not known
 */
export function beforeSetBack(fromNs: bigint, nowNs: bigint | undefined, zone: string): bigint {
  const from = Number(fromNs / SECOND_NS);
  const now = nowNs === undefined ? from + SET_BACK_MAX_S : Number(nowNs / SECOND_NS);
  let until = Math.min(now, from + SET_BACK_MAX_S);
  const setBack = zoneOffset(from, zone) - zoneOffset(until, zone);
  if (until <= from || setBack <= 0) return fromNs;
  // The second of the change lies between the two; from there the clocks show again what they showed `setBack` earlier.
  let since = from;
  while (until - since > 1) {
    const middle = Math.floor((since + until) / 2);
    if (zoneOffset(middle, zone) === zoneOffset(from, zone)) since = middle;
    else until = middle;
  }
  const asked = BigInt(until - setBack) * SECOND_NS;
  return asked < fromNs ? asked : fromNs;
}

/** A memo and no state: what it holds changes no answer, and zones are few. Building a formatter costs 50 µs. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Seconds that `zone` is ahead of UTC at a UTC second. @throws RangeError for an unknown zone. */
export function zoneOffset(utc: number, zone: string): number {
  if (zone === "UTC") return 0;
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    formatters.set(zone, formatter);
  }
  const name = formatter.formatToParts(utc * 1000).find((part) => part.type === "timeZoneName")?.value ?? "GMT";
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -offset : offset;
}
