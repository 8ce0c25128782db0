import type { SandboxOptions } from "./options.ts";

export type TimestampOptions = Pick<
  SandboxOptions,
  "timestamps" | "precision" | "timestampOffsetMinutes" | "naiveOffsetMinutes"
>;

/** Microseconds per unit of each precision. */
const UNIT_US = { day: 86_400_000_000, "2min": 120_000_000, min: 60_000_000, s: 1_000_000, ms: 1000, us: 1 } as const;
const MINUTE_US = 60_000_000;
/** Larger bare numbers are milliseconds: as seconds this would be the year 5138. */
const SECONDS_MAX = 1e11;

/** Time rounded down to the service's precision. */
export function truncateUs(us: number, precision: SandboxOptions["precision"]): number {
  return Math.floor(us / UNIT_US[precision]) * UNIT_US[precision];
}

function isoText(us: number, precision: SandboxOptions["precision"], offsetMinutes: number): string {
  const local = us + offsetMinutes * MINUTE_US;
  const [base = ""] = new Date(Math.floor(local / 1000)).toISOString().split(".");
  const fraction = String(((local % 1_000_000) + 1_000_000) % 1_000_000).padStart(6, "0");
  if (precision === "day") return base.slice(0, 10);
  return precision !== "ms" && precision !== "us" ? base : `${base}.${fraction.slice(0, precision === "ms" ? 3 : 6)}`;
}

function dottedText(iso: string): string {
  const [date = "", time] = iso.split("T");
  const dotted = date.split("-").reverse().join(".");
  return time === undefined ? dotted : `${dotted} ${time}`;
}

function zoneText(offsetMinutes: number): string {
  const minutes = Math.abs(offsetMinutes);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${offsetMinutes < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** `width`: the digits of a unit's fraction in microseconds; `digits`: how many of them are written. */
function decimalText(us: number, width: 3 | 6, digits: number): string {
  const unitUs = 10 ** width;
  const units = Math.floor(us / unitUs);
  const fraction = String(us - units * unitUs).padStart(width, "0");
  return digits === 0 ? String(units) : `${units}.${fraction.slice(0, digits)}`;
}

/** A timestamp as JSON text, in the service's form and precision. */
export function writeTimestamp(us: number, options: TimestampOptions): string {
  const { precision } = options;
  switch (options.timestamps) {
    case "iso-z":
      return precision === "day" ? `"${isoText(us, precision, 0)}"` : `"${isoText(us, precision, 0)}Z"`;
    case "iso-offset":
      return `"${isoText(us, precision, options.timestampOffsetMinutes)}${zoneText(options.timestampOffsetMinutes)}"`;
    case "iso-naive":
      return `"${isoText(us, precision, options.naiveOffsetMinutes)}"`;
    case "iso-basic":
      return `"${isoText(us, precision, 0).replace(/[-:]/g, "")}${precision === "day" ? "" : "Z"}"`;
    case "dotted":
      return `"${dottedText(isoText(us, precision, options.naiveOffsetMinutes))}"`;
    case "unix":
      return decimalText(us, 6, { day: 0, "2min": 0, min: 0, s: 0, ms: 3, us: 6 }[precision]);
    case "unix_ms":
      return decimalText(us, 3, precision === "us" ? 3 : 0);
  }
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/;

const BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\S*)$/;

const DOTTED = /^(\d\d)\.(\d\d)\.(\d{4})(?: (\d{1,2}):(\d\d\S*))?$/;

function dottedUs(value: string, naiveOffsetMinutes: number): number | undefined {
  const [, day, month, year, hour = "00", rest = "00"] = DOTTED.exec(value) ?? [];
  return day === undefined
    ? undefined
    : isoUs(`${year}-${month}-${day}T${hour.padStart(2, "0")}:${rest}`, naiveOffsetMinutes);
}

function basicUs(value: string, naiveOffsetMinutes: number): number | undefined {
  return isoUs(value.replace(BASIC, "$1-$2-$3T$4:$5:$6"), naiveOffsetMinutes);
}

function isoUs(value: string, naiveOffsetMinutes: number): number | undefined {
  const [, date, time = "00:00", seconds = "00", fraction = "", zone] = ISO.exec(value) ?? [];
  if (date === undefined) return undefined;
  const wholeMs = Date.parse(`${date}T${time}:${seconds}Z`);
  if (Number.isNaN(wholeMs)) return undefined;
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d\d):?(\d\d)$/.exec(zone ?? "") ?? [];
  const named = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const offset = zone === undefined ? naiveOffsetMinutes : named;
  return wholeMs * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6)) - offset * MINUTE_US;
}

/** Parses a `since` into microseconds; undefined where the service does not accept its form. */
export function readTimestamp(
  value: string,
  form: SandboxOptions["updates"]["since"],
  options: TimestampOptions,
): number | undefined {
  if (!/^-?\d+(\.\d+)?$/.test(value)) {
    const kind = DOTTED.test(value) ? "dotted" : BASIC.test(value) ? "iso-basic" : "iso";
    if (form !== "any" && form !== kind) return undefined;
    return { dotted: dottedUs, "iso-basic": basicUs, iso: isoUs }[kind](value, options.naiveOffsetMinutes);
  }
  if (form !== "any" && form !== "unix" && form !== "unix_ms") return undefined;
  const own = options.timestamps === "unix" || options.timestamps === "unix_ms" ? options.timestamps : undefined;
  const unit = form === "any" ? (own ?? (Math.abs(Number(value)) > SECONDS_MAX ? "unix_ms" : "unix")) : form;
  // Shifting the decimal point in the text keeps microseconds that a float of seconds would lose.
  const [units = "0", fraction = ""] = value.replace("-", "").split(".");
  const digits = unit === "unix" ? 6 : 3;
  const us = Number(units + fraction.padEnd(digits, "0").slice(0, digits));
  return value.startsWith("-") ? -us : us;
}
