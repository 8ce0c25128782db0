/* The forms in which timestamps are written. */

export const DAY_S = 86_400;
export const SECOND_NS = 1_000_000_000n;
/** Digits of a fraction of a second before an epoch's decimal point. */
export const EPOCH_DIGITS = { unix: 0, unix_ms: 3, unix_us: 6 } as const;

/**
 * The form of a service's timestamps, complete enough to write others in the same form. Plain JSON, so that it can be
 * stored beside a watermark.
 */
export interface TimestampForm {
  /** `compact`: YYYYMMDDhhmmss, or with a separator ISO 8601's basic form. `dotted`: DD.MM.YYYY. `rfc`: an HTTP date with an offset instead of `GMT`. */
  readonly kind: "iso" | "compact" | "dotted" | "unix" | "unix_ms" | "unix_us" | "http" | "rfc";
  /** The smallest part before the fraction. `day` only in `iso` and `dotted`, `minute` also in `compact` with a separator. */
  readonly precision: "day" | "minute" | "second";
  /** Digits after the decimal point. */
  readonly fraction: number;
  /** Empty where milliseconds follow directly, as in YYYYMMDDhhmmssSSS. */
  readonly point: "." | "," | "";
  /**
   * As written: `Z`, `UTC`, `+03:00`, `+0300`, `+03` (including a blank before it), or empty where there is no zone.
   * Before a name in brackets the offset has zeros, because it differs in summer: `+00:00[Europe/Berlin]`.
   */
  readonly zone: string;
  /** Between date and time: `T`, `t`, a blank, a comma and a blank, or empty without a time. */
  readonly separator: string;
  /** Digits of an hour below ten, where known. Only in `dotted`. */
  readonly hour?: 1 | 2;
}

/** UTC, to the second: used where the service has sent no timestamp yet. */
export const ISO_FORM: TimestampForm = {
  kind: "iso",
  precision: "second",
  fraction: 0,
  point: ".",
  zone: "Z",
  separator: "T",
};

/** For a service that has sent no timestamp yet and refuses {@link ISO_FORM}: the usual form of 1C, and ISO 8601's basic form. */
export const OTHER_FORMS: readonly TimestampForm[] = [
  { ...ISO_FORM, kind: "dotted", zone: "", separator: " " },
  { ...ISO_FORM, kind: "compact" },
];

/** The largest offset of any zone from UTC, on either side. */
export const OFFSET_MAX_NS = 14n * 3600n * SECOND_NS;

/** Whether only one of the two forms has a zone, so that timestamps in them cannot be compared with certainty. */
export function isZoneUnclear(a: TimestampForm | undefined, b: TimestampForm | undefined): boolean {
  return a !== undefined && b !== undefined && namesZone(a) !== namesZone(b);
}

/** The possible error, in nanoseconds, of a comparison between timestamps of the two forms. */
export function uncertaintyNs(a: TimestampForm | undefined, b: TimestampForm | undefined): bigint {
  return isZoneUnclear(a, b) ? OFFSET_MAX_NS : 0n;
}

/** Whether both forms write the same instant alike, except for the number of digits. */
export function isSameWay(a: TimestampForm, b: TimestampForm): boolean {
  return a.kind === b.kind && a.zone === b.zone && a.separator === b.separator;
}

export function namesZone({ kind, zone }: TimestampForm): boolean {
  return !isText({ kind }) || zone !== "";
}

/** Whether the form is a calendar date and time, possibly without a zone. */
export function isText({ kind }: Pick<TimestampForm, "kind">): boolean {
  return kind === "iso" || kind === "compact" || kind === "dotted";
}

/** The unit of the last digit, in nanoseconds: the smallest difference between two timestamps. */
export function unitNs(form: TimestampForm): bigint {
  if (form.precision === "day") return BigInt(DAY_S) * SECOND_NS;
  if (form.precision === "minute") return 60n * SECOND_NS;
  const before = form.kind === "unix_ms" || form.kind === "unix_us" ? EPOCH_DIGITS[form.kind] : 0;
  return 10n ** BigInt(9 - before - form.fraction);
}

const NAMES: Partial<Record<TimestampForm["kind"], string>> = {
  compact: "YYYYMMDDhhmmss",
  dotted: "DD.MM.YYYY",
  rfc: "RFC 1123",
};

/** @example "iso", "iso basic", "DD.MM.YYYY", "unix_ms" */
export function nameOf({ kind, separator }: Pick<TimestampForm, "kind" | "separator">): string {
  return kind === "compact" && separator !== "" ? "iso basic" : (NAMES[kind] ?? kind);
}

/** @example "iso Z", "iso date", "iso basic +0300", "DD.MM.YYYY", "unix_ms" */
export function describeForm({ kind, precision, zone, separator }: TimestampForm): string {
  const name = nameOf({ kind, separator });
  if (!name.startsWith("iso")) return name;
  return `${name} ${precision === "day" ? "date" : zoneWords({ zone }) || "without a zone"}`;
}

/** @example "Z", "+03:00", "Europe/Berlin" */
export function zoneWords({ zone }: Pick<TimestampForm, "zone">): string {
  return /\[!?(.+)\]$/.exec(zone)?.[1] ?? zone.trim();
}
