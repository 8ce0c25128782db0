/* How a time is written, without the times themselves. */

const DAY_S = 86_400;
const SECOND_NS = 1_000_000_000n;
/** Digits of a second that stand before an epoch's decimal point. */
export const EPOCH_DIGITS = { unix: 0, unix_ms: 3, unix_us: 6 } as const;

/** How a service writes a time, enough to write another one in exactly that form. Plain JSON, so it can be stored beside a watermark. */
export interface TimestampForm {
  /** `dotted`: DD.MM.YYYY, the day first. `rfc`: as an HTTP date, with an offset in the place of `GMT`. */
  readonly kind: "iso" | "dotted" | "unix" | "unix_ms" | "unix_us" | "http" | "rfc";
  /** The smallest part before the fraction. `day` and `minute` only in `iso` and `dotted`. */
  readonly precision: "day" | "minute" | "second";
  /** Digits after the decimal point. */
  readonly fraction: number;
  readonly point: "." | ",";
  /** As written: `Z`, `+03:00`, `+0300`, `+03` (a blank before it included), or empty where the time names no zone. */
  readonly zone: string;
  /** Between date and time: `T`, `t`, a blank, a comma and a blank, or empty without a time. */
  readonly separator: string;
  /** Digits of an hour below ten, where the text shows it. Only in `dotted`. */
  readonly hour?: 1 | 2;
}

/** To the second in UTC: how times are written where the service has shown none of its own. */
export const ISO_FORM: TimestampForm = {
  kind: "iso",
  precision: "second",
  fraction: 0,
  point: ".",
  zone: "Z",
  separator: "T",
};

/** The usual form of 1C: for a service that has shown no time yet and refuses {@link ISO_FORM}. */
export const DOTTED_FORM: TimestampForm = { ...ISO_FORM, kind: "dotted", zone: "", separator: " " };

/** No zone is further from UTC, on either side. */
export const OFFSET_MAX_NS = 14n * 3600n * SECOND_NS;

/** Whether one of the two forms names no zone and the other one does: which of two such times is the later one may be understood wrongly. */
export function isZoneUnclear(a: TimestampForm | undefined, b: TimestampForm | undefined): boolean {
  return a !== undefined && b !== undefined && namesZone(a) !== namesZone(b);
}

/** By how much the instants of two forms may be understood wrongly. */
export function doubtNs(a: TimestampForm | undefined, b: TimestampForm | undefined): bigint {
  return isZoneUnclear(a, b) ? OFFSET_MAX_NS : 0n;
}

/** Whether the same instants are written alike by both, but for the number of digits. */
export function isSameWay(a: TimestampForm, b: TimestampForm): boolean {
  return a.kind === b.kind && a.zone === b.zone && a.separator === b.separator;
}

export function namesZone({ kind, zone }: TimestampForm): boolean {
  return !isText({ kind }) || zone !== "";
}

/** Whether a time shows a local date in digits, which may name no zone. */
export function isText({ kind }: Pick<TimestampForm, "kind">): boolean {
  return kind === "iso" || kind === "dotted";
}

/** One unit of the last digit that the form writes, in nanoseconds: the least step from one timestamp to the next. */
export function unitNs(form: TimestampForm): bigint {
  if (form.precision === "day") return BigInt(DAY_S) * SECOND_NS;
  if (form.precision === "minute") return 60n * SECOND_NS;
  const before = form.kind === "unix_ms" || form.kind === "unix_us" ? EPOCH_DIGITS[form.kind] : 0;
  return 10n ** BigInt(9 - before - form.fraction);
}

const NAMES: Partial<Record<TimestampForm["kind"], string>> = { dotted: "DD.MM.YYYY", rfc: "RFC 1123" };

/** @example "iso", "DD.MM.YYYY", "unix_ms" */
export function nameOf({ kind }: Pick<TimestampForm, "kind">): string {
  return NAMES[kind] ?? kind;
}

/** @example "iso Z", "iso date", "DD.MM.YYYY", "unix_ms" */
export function describeForm({ kind, precision, zone }: TimestampForm): string {
  if (kind !== "iso") return nameOf({ kind });
  return `iso ${precision === "day" ? "date" : zone.trim() || "without a zone"}`;
}
