import { DAY_S, EPOCH_DIGITS, SECOND_NS, type TimestampForm, unitNs } from "./timestamp-form.ts";

export interface Timestamp {
  /** Nanoseconds since 1970-01-01 UTC. */
  readonly instantNs: bigint;
  /**
   * The latest instant that the text may mean. It differs from `instantNs` only where clocks were set back and the text
   * has no zone.
   */
  readonly latestNs: bigint;
  readonly form: TimestampForm;
}

/** A timestamp with its text, as sent. */
export interface ServedTimestamp extends Timestamp {
  readonly text: string;
}

const MINUTE_NS = 60n * SECOND_NS;
/** Longer than any form. */
const STAMP_CHARS_MAX = 80;
/** The range of a four-digit year, 0000-01-01T00:00:00 to 9999-12-31T23:59:59, in seconds. */
const FIRST_SECOND = -62_167_219_200n;
const LAST_SECOND = 253_402_300_799n;

const ZONE = String.raw`( ?(?:[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)(?:\[[^[\]]+\])?)?`;
const ISO = new RegExp(
  String.raw`^(\d{4})-(\d{2})-(\d{2})(?:([Tt ])(\d{2}):(\d{2})(?::(\d{2})(?:([.,])(\d{1,9}))?)?${ZONE})?$`,
);
/** The basic form of ISO 8601. */
const BASIC = new RegExp(
  String.raw`^(\d{4})(\d{2})(\d{2})([Tt ])(\d{2})(\d{2})(?:(\d{2})(?:([.,])(\d{1,9}))?)?${ZONE}$`,
);
/** Not to the minute: twelve digits may be YYMMDDhhmmss too. */
const COMPACT = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(\d{3})?$/;
const DOTTED = /^(\d{2})\.(\d{2})\.(\d{4})(?:(,? )(\d{1,2}):(\d{2})(?::(\d{2})(?:([.,])(\d{1,9}))?)?)?$/;
const EPOCH = /^([1-9]\d{9}|[1-9]\d{12}|[1-9]\d{15})(?:\.(\d{1,9}))?$/;
const EPOCH_KINDS = { 10: "unix", 13: "unix_ms", 16: "unix_us" } as const;
/**
 * Parses a service's timestamp: ISO 8601 (`T` or a blank; minutes, seconds or 1 to 9 digits after a dot or comma; `Z`,
 * `UTC`, `GMT`, an offset, or none; with hyphens and colons or, where it has a time, without them; a date alone),
 * `YYYYMMDDhhmmss` with or without three digits of milliseconds, `DD.MM.YYYY` (a blank or `, ` before the time;
 * minutes, seconds or a fraction; no zone), an HTTP date, an HTTP date with an offset, or epoch digits (10 for seconds,
 * 13 for milliseconds, 16 for microseconds, with a fraction down to nanoseconds). Undefined for everything else: in a
 * date with slashes, day and month cannot be distinguished. The fraction is not parsed with `Date`, so microseconds are
 * kept.
 *
 * An offset may be followed by the name of its zone in brackets (RFC 9557). Where the zone is unknown here or has
 * another offset at that time, the result is undefined, although the RFC allows to use the offset alone: which of the
 * two is wrong is not known, and a position that is too late loses a change. After `Z` any name is ignored, because `Z`
 * does not state a local offset.
 *
 * A time without a zone is in `zone` (IANA). Where that zone skips or repeats it (summer time), the *earlier* instant
 * is used: a position that is too early only repeats a request, one that is too late loses a change.
 *
 * @throws RangeError where `zone` is needed and unknown.
 */
export function parseTimestamp(text: string, zone: string): Timestamp | undefined {
  if (text.length > STAMP_CHARS_MAX) return undefined;
  return (
    parseIso(text, zone) ?? parseCompact(text, zone) ?? parseDotted(text, zone) ?? parseEpoch(text) ?? parseHttp(text)
  );
}

/** The timestamp of a record, or undefined where it has none that can be parsed. */
export function readTimestamp(text: string | null, zone: string): ServedTimestamp | undefined {
  const timestamp = text === null ? undefined : parseTimestamp(text, zone);
  return text === null || timestamp === undefined ? undefined : { ...timestamp, text };
}

/** A single order may have an invalid value. */
const UNREAD_MIN = 2;

/** Whether the form of the timestamps cannot be parsed, as opposed to the value of one record. */
export function isUnreadForm({ unread, read }: { unread: number; read: number }): boolean {
  return unread >= UNREAD_MIN && unread > read;
}

function parseIso(text: string, zone: string): Timestamp | undefined {
  const extended = ISO.exec(text);
  const match = extended ?? BASIC.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, separator, hour, minute, second, point, digits, named] = match;
  const kind = extended === null ? "compact" : "iso";
  return timestampOf(kind, { year, month, day, separator, hour, minute, second, point, digits, named }, zone);
}

function parseCompact(text: string, zone: string): Timestamp | undefined {
  const match = COMPACT.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, digits] = match;
  return timestampOf("compact", { year, month, day, hour, minute, second, point: "", digits }, zone);
}

function parseDotted(text: string, zone: string): Timestamp | undefined {
  const match = DOTTED.exec(text);
  if (match === null) return undefined;
  const [, day, month, year, separator, hour, minute, second, point, digits] = match;
  const read = timestampOf("dotted", { year, month, day, separator, hour, minute, second, point, digits }, zone);
  // An hour from 10 on does not show whether earlier hours have one digit or two.
  if (read === undefined || hour === undefined || Number(hour) > 9) return read;
  return { ...read, form: { ...read.form, hour: hour.length === 1 ? 1 : 2 } };
}

/** The parts of a text; absent where the text omits them. `named`: the zone. */
type Shown = Partial<
  Record<
    "year" | "month" | "day" | "separator" | "hour" | "minute" | "second" | "point" | "digits" | "named",
    string | undefined
  >
>;

function timestampOf(kind: "iso" | "compact" | "dotted", shown: Shown, zone: string): Timestamp | undefined {
  const { year, month, day, separator = "", hour, minute = "0", second, point, digits = "", named = "" } = shown;
  const days = daysOf(Number(year), Number(month), Number(day));
  const [h, m, s] = [Number(hour ?? 0), Number(minute), Number(second ?? 0)];
  const offset = offsetOf(named);
  if (days === undefined || offset === undefined || h > 23 || m > 59 || s > 59) return undefined;
  const local = days * DAY_S + h * 3600 + m * 60 + s;
  const [utc, latest] = named === "" ? instantsOf(local, zone) : [local - offset, local - offset];
  const isZoned = named.endsWith("]");
  if (isZoned && zoneAt(utc, named)?.offset !== offset) return undefined;
  const precision = hour === undefined ? "day" : second === undefined ? "minute" : "second";
  const form: TimestampForm = {
    kind,
    precision,
    fraction: digits.length,
    point: point === "," || (point === "" && digits !== "") ? point : ".",
    zone: isZoned ? withoutOffset(named) : named,
    separator,
  };
  const nanos = BigInt(digits.padEnd(9, "0"));
  return { instantNs: BigInt(utc) * SECOND_NS + nanos, latestNs: BigInt(latest) * SECOND_NS + nanos, form };
}

/** Days since 1970-01-01, or undefined for a date that does not exist. */
function daysOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / 1000 / DAY_S : undefined;
}

/** The offset in seconds east of UTC of `Z`, `+03`, `+0300` or `+03:00`, with a zone behind it or without. */
function offsetOf(named: string): number | undefined {
  const [, sign, hours = "0", minutes = "0"] = /^ ?([+-])(\d{2}):?(\d{2})?(?:\[|$)/.exec(named) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const seconds = Number(hours) * 3600 + Number(minutes) * 60;
  return sign === "-" ? -seconds : seconds;
}

/** An offset followed by the name of its zone: `+03:00[Europe/Moscow]`. */
const ZONED = /^( ?)[+-]\d{2}(:?)(\d{2})?(\[!?(.+)\])$/;

/** The form of such an offset: it differs in summer. */
function withoutOffset(named: string): string {
  return named.replace(ZONED, (_, blank: string, colon: string, minutes: string | undefined, place: string) =>
    [blank, "+00", colon, minutes === undefined ? "" : "00", place].join(""),
  );
}

/**
 * A zone as a service writes it, at a UTC second: its offset in seconds and its text. Undefined where the name in
 * brackets is unknown.
 */
function zoneAt(utc: number, named: string): { offset: number; text: string } | undefined {
  const [, blank, colon, minutes, place, name] = ZONED.exec(named) ?? [];
  if (name === undefined) return { offset: offsetOf(named) ?? 0, text: named };
  try {
    const offset = Math.trunc(zoneOffset(utc, name) / 60);
    const [hh, mm] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((n) => String(n).padStart(2, "0"));
    const rest = minutes === undefined && mm === "00" ? "" : `${colon}${mm}`;
    return { offset: offset * 60, text: `${blank}${offset < 0 ? "-" : "+"}${hh}${rest}${place}` };
  } catch {
    return undefined;
  }
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

/** An offset of RFC 1123, instead of the `GMT` of HTTP. */
const RFC_ZONE = / ([+-]\d{4})$/;

function parseHttp(text: string): Timestamp | undefined {
  const zone = RFC_ZONE.exec(text)?.[1];
  const plain = zone === undefined ? text : `${text.slice(0, -zone.length)}GMT`;
  if (!plain.endsWith(" GMT")) return undefined;
  const date = new Date(plain);
  const offset = offsetOf(zone ?? "");
  // Date is lenient: only a text that it formats identically is in this form.
  if (Number.isNaN(date.getTime()) || date.toUTCString() !== plain || offset === undefined) return undefined;
  const instantNs = BigInt(date.getTime()) * 1_000_000n - BigInt(offset) * SECOND_NS;
  return { instantNs, latestNs: instantNs, form: zone === undefined ? HTTP_FORM : { ...HTTP_FORM, kind: "rfc", zone } };
}

/**
 * Formats an instant in a service's form. The result is never later than the instant: digits that the form lacks are
 * truncated. Instants outside the form's range become the nearest one in range (year 0 or 9999; the epoch's 0).
 */
export function formatTimestamp(instantNs: bigint, form: TimestampForm, zone: string): string {
  if (form.kind === "unix" || form.kind === "unix_ms" || form.kind === "unix_us") return formatEpoch(instantNs, form);
  const utc = clampSecond(floorDiv(instantNs, SECOND_NS));
  if (form.kind === "http") return new Date(Number(utc) * 1000).toUTCString();
  const named = zoneAt(Number(utc), form.zone) ?? { offset: 0, text: "Z" };
  const offset = form.zone === "" ? zoneOffset(Number(utc), zone) : named.offset;
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
  const written = `${date}${form.separator}${clock}`;
  const whole = form.kind === "compact" ? written.replace(/[-:]/g, "") : written;
  return `${whole}${fractionText(nanos, 9, form)}${named.text}`;
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

/** Possible resolutions of timestamps, the coarsest first. */
const STEPS_NS = [DAY_S, DAY_S / 2, 3600, 1800, 1200, 900, 600, 300, 120, 60, 1].map((s) => BigInt(s) * SECOND_NS);
/** With fewer distinct timestamps, only a resolution of a minute or a second is detected. */
const SHOWN_MIN = 3;
const SHOWN_NS = [60n * SECOND_NS, SECOND_NS];

/**
 * The resolution of timestamps, in nanoseconds: the unit of the form, or a coarser one shown by trailing zeros. A time
 * without seconds may be truncated to the minute; where enough of the service's other timestamps agree, 12:20:00 may be
 * truncated to ten or twenty minutes. 0 below a second.
 */
export function stepNs(timestamp: Timestamp, others: readonly Timestamp[] = []): bigint {
  const named = unitNs(timestamp.form);
  const all = new Set([timestamp, ...others].map(shownNs));
  const steps = all.size < SHOWN_MIN ? SHOWN_NS : STEPS_NS;
  const shown = steps.find((step) => [...all].every((ns) => ns % step === 0n)) ?? 0n;
  const step = named > shown ? named : shown;
  return step < SECOND_NS ? 0n : step;
}

/** The local time as written. */
function shownNs({ instantNs, form }: Timestamp): bigint {
  const offset = zoneAt(Number(floorDiv(instantNs, SECOND_NS)), form.zone)?.offset ?? 0;
  return instantNs + BigInt(offset) * SECOND_NS;
}

/**
 * The instant from which no further change can have the same timestamp: the end of its unit. Undefined where the
 * resolution is below a second.
 */
export function endOfUnitNs(timestamp: Timestamp, others: readonly Timestamp[] = []): bigint | undefined {
  const step = stepNs(timestamp, others);
  return step === 0n ? undefined : timestamp.latestNs + step;
}

/**
 * The position from which every change at `ns` or later is timestamped, for positions like this one: truncated to the
 * minute where the service's timestamps may be. An HTTP date from a header does not show the form of the service's own
 * timestamps.
 */
export function beforeUnit(ns: bigint, position: Timestamp): bigint {
  const isMinute = position.form.kind === "http" || stepNs(position) >= MINUTE_NS;
  const begin = isMinute ? floorDiv(ns, MINUTE_NS) * MINUTE_NS : ns;
  return begin === ns ? ns : begin - 1n;
}

/**
 * Whether `a` is later than `b`. False where either is missing or cannot be parsed, or where a repeated hour (clocks
 * set back) makes it uncertain.
 */
export function isStrictlyNewer(a: string | null, b: string | null, zone: string): boolean {
  const left = a === null ? undefined : parseTimestamp(a, zone);
  const right = b === null ? undefined : parseTimestamp(b, zone);
  return left !== undefined && right !== undefined && left.instantNs > right.latestNs;
}

/**
 * Whether `a` is earlier than `b`. False where that is uncertain: their forms differ, so that a zone or unit in only
 * one of them may be misread, or clocks were set back.
 *
 * @param created the creation time of each order, in the same answers: where both are the same instant, both forms are
 * read correctly
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

/**
 * Compares both, truncated to the coarser of their units. Negative: `a` is earlier, even where clocks were set back.
 */
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
 * The earliest and the latest UTC second at which clocks of `zone` show `local`: they differ where clocks were set
 * back. Where the hour was skipped, the second at which clocks would have shown it.
 */
function instantsOf(local: number, zone: string): [earliest: number, latest: number] {
  // A day exceeds every offset, and no zone changes its clocks twice within two days.
  const before = zoneOffset(local - DAY_S, zone);
  const after = zoneOffset(local + DAY_S, zone);
  if (before === after) return [local - before, local - before];
  const candidates = [local - before, local - after].sort((x, y) => x - y);
  const shown = candidates.filter((utc) => utc + zoneOffset(utc, zone) === local);
  const earliest = shown[0] ?? Math.min(...candidates);
  return [earliest, shown.at(-1) ?? earliest];
}

/** More than the clocks of any zone are set back at once. */
const SET_BACK_MAX_S = 3 * 3600;

/**
 * The instant to request from a service that compares local times of `zone` as text, so that no change since `fromNs`
 * is missed. It is earlier than `fromNs` where clocks were set back shortly after it, because later changes then have
 * smaller texts.
 * @param nowNs no change is later than this; undefined: unknown
 */
export function beforeSetBack(fromNs: bigint, nowNs: bigint | undefined, zone: string): bigint {
  const from = Number(fromNs / SECOND_NS);
  const now = nowNs === undefined ? from + SET_BACK_MAX_S : Number(nowNs / SECOND_NS);
  let until = Math.min(now, from + SET_BACK_MAX_S);
  const setBack = zoneOffset(from, zone) - zoneOffset(until, zone);
  if (until <= from || setBack <= 0) return fromNs;
  // Binary search for the second of the change; from it on, clocks repeat what they showed `setBack` seconds earlier.
  let since = from;
  while (until - since > 1) {
    const middle = Math.floor((since + until) / 2);
    if (zoneOffset(middle, zone) === zoneOffset(from, zone)) since = middle;
    else until = middle;
  }
  const asked = BigInt(until - setBack) * SECOND_NS;
  return asked < fromNs ? asked : fromNs;
}

/** A cache, because building a formatter takes 50 µs. */
const formatters = new Map<string, Intl.DateTimeFormat>();
/** More than one service names; in capitals and small letters there would be any number of names. */
const FORMATTERS_MAX = 50;

/** The offset of `zone` from UTC, in seconds, at a UTC second. @throws RangeError for an unknown zone. */
export function zoneOffset(utc: number, zone: string): number {
  if (zone === "UTC") return 0;
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    if (formatters.size >= FORMATTERS_MAX) formatters.clear();
    formatters.set(zone, formatter);
  }
  const name = formatter.formatToParts(utc * 1000).find((part) => part.type === "timeZoneName")?.value ?? "GMT";
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -offset : offset;
}
