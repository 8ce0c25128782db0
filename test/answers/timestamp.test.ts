import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  endOfUnitNs,
  formatTimestamp,
  isOlder,
  isStrictlyNewer,
  parseTimestamp,
  type Timestamp,
} from "../../src/answers/timestamp.ts";
import { unitNs } from "../../src/answers/timestamp-form.ts";
import { runs } from "../support/whole.ts";

function timestamp(text: string, zone = "UTC"): Timestamp {
  const parsed = parseTimestamp(text, zone);
  if (parsed === undefined) throw new Error(`${text} was not read`);
  return parsed;
}

const utc = (text: string) => timestamp(text).instantNs;

const instant = 1_795_193_485n * 1_000_000_000n;

describe("parseTimestamp", () => {
  it.each([
    ["2026-11-20T16:51:25Z", instant],
    ["2026-11-20 16:51:25Z", instant],
    ["2026-11-20t16:51:25z", instant],
    ["2026-11-20T16:51:25", instant],
    ["2026-11-20T19:51:25+03:00", instant],
    ["2026-11-20T19:51:25+0300", instant],
    ["2026-11-20 19:51:25 +03", instant],
    ["2026-11-20T11:21:25-05:30", instant],
    ["2026-11-20T16:51:25.123456Z", instant + 123_456_000n],
    ["2026-11-20T16:51:25,5", instant + 500_000_000n],
    ["2026-11-20T16:51:25.123456789+00:00", instant + 123_456_789n],
    ["2026-11-20T16:51Z", instant - 25_000_000_000n],
    ["2026-11-20 16:51:25 UTC", instant],
    ["2026-11-20T16:51:25.5UTC", instant + 500_000_000n],
    ["2026-11-20 16:51 GMT", instant - 25_000_000_000n],
    ["20261120165125", instant],
    ["20261120165125178", instant + 178_000_000n],
    ["20261120T165125Z", instant],
    ["20261120T165125", instant],
    ["20261120T195125+0300", instant],
    ["20261120T195125+03", instant],
    ["20261120T112125-05:30", instant],
    ["20261120T165125.123456Z", instant + 123_456_000n],
    ["20261120t165125,5z", instant + 500_000_000n],
    ["20261120T1651Z", instant - 25_000_000_000n],
    ["20261120 1951 +0300", instant - 25_000_000_000n],
    ["20261120T195125+0300[Europe/Moscow]", instant],
    ["2026-11-20T19:51:25+03:00[Europe/Moscow]", instant],
    ["2026-11-20T19:51:25.123456789+03:00[!Europe/Moscow]", instant + 123_456_789n],
    ["2026-11-20T11:51:25-0500[America/New_York]", instant],
    ["2026-11-20T22:21:25+05:30[Asia/Kolkata]", instant],
    ["2026-11-20T19:51:25 +03[Europe/Moscow]", instant],
    ["2026-11-20T16:51:25Z[Europe/Moscow]", instant],
    ["2026-11-20T16:51:25Z[a zone that is not known]", instant],
    ["2026-07-20T18:51:25+02:00[Europe/Berlin]", utc("2026-07-20T16:51:25Z")],
    ["2026-10-25T02:30:00+02:00[Europe/Berlin]", utc("2026-10-25T00:30:00Z")],
    ["2026-10-25T02:30:00+01:00[Europe/Berlin]", utc("2026-10-25T01:30:00Z")],
    ["20.11.2026 16:51:25", instant],
    ["20.11.2026, 16:51:25", instant],
    ["20.11.2026 16:51:25.123456", instant + 123_456_000n],
    ["20.11.2026 16:51:25,5", instant + 500_000_000n],
    ["20.11.2026 16:51", instant - 25_000_000_000n],
    ["01.02.1970", 31n * 86_400_000_000_000n],
    ["01.01.1970 9:05:03", 32_703_000_000_000n],
    ["Fri, 20 Nov 2026 16:51:25 GMT", instant],
    ["Fri, 20 Nov 2026 16:51:25 +0000", instant],
    ["Fri, 20 Nov 2026 19:51:25 +0300", instant],
    ["Fri, 20 Nov 2026 11:21:25 -0530", instant],
    ["1795193485", instant],
    ["1795193485.123", instant + 123_000_000n],
    ["1795193485123", instant + 123_000_000n],
    ["1795193485123.4", instant + 123_400_000n],
    ["1795193485123456", instant + 123_456_000n],
    ["1970-01-01", 0n],
    ["1969-12-31T23:59:59.9Z", -100_000_000n],
    ["0001-01-01T00:00:00Z", -62_135_596_800n * 1_000_000_000n],
  ])("reads %s", (text, expected) => {
    expect(utc(text)).toBe(expected);
    expect(JSON.parse(JSON.stringify(timestamp(text).form))).toEqual(timestamp(text).form);
  });

  it.each([
    ...["", " ", "yesterday", "2026", "20261120", "2026-11-20T16:51:25.Z", "2026-11-20T16:51:25.1234567890Z"],
    ...[
      "2026-02-29",
      "2026-13-01",
      "2026-00-10",
      "2026-11-31T00:00:00Z",
      "2026-11-20T24:00:00Z",
      "2026-11-20T16:60:00Z",
    ],
    ...[
      "2026-11-20T16:51:60Z",
      "2026-11-20T16:51:25+24:00",
      "2026-11-20T16:51:25+03:60",
      " 2026-11-20",
      "2026-11-20\n",
    ],
    ...["29.02.2026", "11.13.2026", "00.11.2026", "31.11.2026 00:00", "20.11.2026 24:00:00", "20.11.2026 16:60"],
    ...["20.11.26 16:51", "1.11.2026", "20.11.2026T16:51:25", "20.11.2026 16:51:25Z", "20.11.2026 16", "20.11.2026 "],
    ...["20261320165125", "20260229165125", "20261120245125", "20261120166025", "20261120165160", "202611201651"],
    // Twelve digits may be YYMMDDhhmmss too: 5 November 2026, or 11 May 2611.
    ...["261105112242", "202611201651251", "20261120165125123456"],
    ...["20261120T16", "20261120T16:51:25Z", "2026-11-20T165125Z", "20261120T165125123Z", "20261120T165125.Z"],
    ...["20261320T165125Z", "20261120T246125Z", "20261120T195125+0300[Mars/Olympus]"],
    ...["17951934851234", "20261120165125.5", "20261120165125Z", "2026-11-20 16:51:25 MSK", "2026-11-20 16:51:25  UTC"],
    // The name does not agree with the offset, or is not known.
    ...["2026-11-20T19:51:25+02:00[Europe/Moscow]", "2026-07-20T17:51:25+01:00[Europe/Berlin]"],
    ...["2026-11-20T19:51:25+03:00[Mars/Olympus]", "2026-11-20T19:51:25+03:00[]", "2026-11-20T19:51:25[Europe/Moscow]"],
    ...["2026-11-20T19:51:25+03:00[Europe/Moscow][u-ca=iso8601]", "2026-11-20[Europe/Moscow]"],
    ...["11/20/2026 16:51:25", "20/11/2026 16:51:25", "11/20/2026 4:51:25 PM", "/Date(1795193485000)/"],
    ...["Sat, 20 Nov 2026 16:51:25 +0000", "Fri, 20 Nov 2026 16:51:25 +0360", "Fri, 20 Nov 2026 16:51:25 EST"],
    ...["-1795193485", "+1795193485", "179519348", "17951934851", "1795193485.", "1795193485123.1234567", "1.795e9"],
    ...["0000000001", "0", "-5", "Thu, 20 Nov 2026 16:51:25 GMT", "20 Nov 2026 16:51:25 GMT", "NaN", "null"],
  ])("does not read %j", (text) => {
    expect(parseTimestamp(text, "UTC")).toBeUndefined();
  });

  it("takes times without a zone as the service's zone, and only those", () => {
    expect(timestamp("2026-11-20T19:51:25", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("20.11.2026 19:51:25", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("20261120195125", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("20261120T195125", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("20261120T165125Z", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("2026-11-20 16:51:25 UTC", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("2026-11-20T16:51:25Z", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("Fri, 20 Nov 2026 16:51:25 +0000", "Europe/Moscow").instantNs).toBe(instant);
    expect(timestamp("2026-07-01", "Europe/Berlin").instantNs).toBe(utc("2026-06-30T22:00:00Z"));
    expect(() => parseTimestamp("2026-11-20T19:51:25", "Mars/Olympus")).toThrow(RangeError);
  });

  it("takes the earlier instant where summer time skips or repeats an hour", () => {
    const berlin = (text: string) => timestamp(text, "Europe/Berlin").instantNs;
    expect(berlin("2026-10-25T02:30:00")).toBe(utc("2026-10-25T00:30:00Z"));
    expect(berlin("2026-10-25T01:59:59")).toBe(utc("2026-10-24T23:59:59Z"));
    expect(berlin("2026-10-25T03:00:00")).toBe(utc("2026-10-25T02:00:00Z"));
    expect(berlin("2026-03-29T02:30:00")).toBe(utc("2026-03-29T00:30:00Z"));
    expect(berlin("2026-03-29T01:59:59")).toBe(utc("2026-03-29T00:59:59Z"));
    expect(berlin("2026-03-29T03:00:00")).toBe(utc("2026-03-29T01:00:00Z"));
    const newYork = (text: string) => timestamp(text, "America/New_York").instantNs;
    expect(newYork("2026-11-01T01:30:00")).toBe(utc("2026-11-01T05:30:00Z"));
    expect(newYork("2026-03-08T02:30:00")).toBe(utc("2026-03-08T06:30:00Z"));
  });
});

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const two = (max: number) => fc.nat(max).map((n) => String(n).padStart(2, "0"));
const date = fc
  .date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((day) => day.toISOString().slice(0, 10));
const offset = fc
  .tuple(fc.constantFrom("+", "-"), two(14), fc.constantFrom("", ":00", "00", ":30", "45"))
  .map((parts) => parts.join(""));
const zoneText = fc.oneof(fc.constantFrom("", "Z", "z", " +03:00", " UTC", "GMT", "Z[Etc/UTC]"), offset);
const fraction = fc.tuple(fc.constantFrom(".", ","), digits(9)).map((parts) => parts.join(""));
const clock = fc
  .tuple(two(23), two(59), fc.option(fc.tuple(two(59), fc.oneof(fc.constant(""), fraction)), { nil: undefined }))
  .map(([h, m, rest]) => `${h}:${m}${rest === undefined ? "" : `:${rest.join("")}`}`);
const iso = fc.tuple(date, fc.constantFrom("T", " ", "t"), clock, zoneText).map((parts) => parts.join(""));
const decimals = (max: number) =>
  fc.oneof(
    fc.constant(""),
    digits(max).map((text) => `.${text}`),
  );
const whole = (length: number) => fc.stringMatching(new RegExp(`^[1-9][0-9]{${length - 1}}$`));
const epoch = fc
  .oneof(fc.tuple(whole(10), decimals(9)), fc.tuple(whole(13), decimals(6)), fc.tuple(whole(16), decimals(3)))
  .map((parts) => parts.join(""));
const http = fc
  .date({ min: new Date("1000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((day) => day.toUTCString());
const dottedDate = date.map((text) => text.split("-").reverse().join("."));
const dotted = fc
  .tuple(dottedDate, fc.constantFrom(" ", ", "), clock, fc.boolean())
  .map(([day, separator, time, isBare]) => `${day}${separator}${isBare ? time.replace(/^0/, "") : time}`);
const rfc = fc
  .tuple(http, fc.constantFrom("+0000", "-0000", "+0300", "-0930", "+1400"))
  .map(([text, zone]) => text.replace("GMT", zone));
const compact = fc
  .tuple(date, two(23), two(59), two(59), fc.constantFrom("", "000", "178"))
  .map((parts) => parts.join("").replaceAll("-", ""));
const basic = fc
  .tuple(date, fc.constantFrom("T", "t", " "), clock, zoneText)
  .map(([day, separator, time, zone]) => `${day.replaceAll("-", "")}${separator}${time.replaceAll(":", "")}${zone}`);
const zoned = fc
  .tuple(
    fc.bigInt({ min: utc("1990-01-01"), max: utc("2200-01-01") }),
    fc.constantFrom(
      "+00:00[Europe/Berlin]",
      "+0000[!America/St_Johns]",
      " +00[Asia/Kolkata]",
      "+00:00[Australia/Lord_Howe]",
    ),
    fc.nat(9),
  )
  .map(([ns, zone, fraction]) =>
    formatTimestamp(ns, { ...timestamp("2026-01-01T00:00:00").form, zone, fraction }, "UTC"),
  );
const anyTimestamp = fc.oneof(iso, basic, compact, zoned, date, dotted, dottedDate, epoch, http, rfc);

describe("formatTimestamp", () => {
  it("writes every timestamp back as it was", () => {
    fc.assert(
      fc.property(anyTimestamp, fc.constantFrom("UTC", "Asia/Tokyo"), (text, zone) => {
        const { instantNs, form } = timestamp(text, zone);
        expect(formatTimestamp(instantNs, form, zone)).toBe(text);
      }),
      { numRuns: runs(80, 2_000) },
    );
  });

  it("never writes a later instant, and loses less than one unit", () => {
    const between = fc.bigInt({ min: utc("2001-09-10"), max: utc("2200-01-01") });
    fc.assert(
      fc.property(anyTimestamp, between, (text, instantNs) => {
        const { form } = timestamp(text);
        const written = utc(formatTimestamp(instantNs, form, "UTC"));
        expect(written <= instantNs).toBe(true);
        expect(instantNs - written < unitNs(form)).toBe(true);
      }),
      { numRuns: runs(80, 2_000) },
    );
  });

  it("never writes a later instant in a zone with summer time", () => {
    const year = fc.bigInt({ min: utc("2026-01-01"), max: utc("2027-01-01") });
    fc.assert(
      fc.property(
        year,
        fc.constantFrom("Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"),
        fc.constantFrom("2026-11-20 16:51:25.1", "20.11.2026 16:51:25.1", "20261120T165125.1"),
        (instantNs, zone, text) => {
          const { form } = timestamp(text);
          const written = timestamp(formatTimestamp(instantNs, form, zone), zone).instantNs;
          expect(written <= instantNs).toBe(true);
          expect(instantNs - written < 3_601n * 1_000_000_000n).toBe(true);
        },
      ),
    );
  });

  it("cuts off and never rounds up", () => {
    const late = utc("2026-11-20T23:59:59.999999999Z");
    const as = (text: string) => formatTimestamp(late, timestamp(text).form, "UTC");
    expect(as("2026-01-01T00:00:00.000Z")).toBe("2026-11-20T23:59:59.999Z");
    expect(as("2026-01-01 00:00:00+0300")).toBe("2026-11-21 02:59:59+0300");
    expect(as("2026-01-01T00:00")).toBe("2026-11-20T23:59");
    expect(as("2026-01-01")).toBe("2026-11-20");
    expect(as("20260101T000000.000Z")).toBe("20261120T235959.999Z");
    expect(as("20260101T0000+0300")).toBe("20261121T0259+0300");
    expect(as("20260101000000000")).toBe("20261120235959999");
    expect(as("20260101000000")).toBe("20261120235959");
    expect(as("01.01.2026 00:00:00.000")).toBe("20.11.2026 23:59:59.999");
    expect(as("01.01.2026, 00:00")).toBe("20.11.2026, 23:59");
    expect(as("01.01.2026")).toBe("20.11.2026");
    expect(as("Fri, 20 Nov 2026 16:51:25 +0300")).toBe("Sat, 21 Nov 2026 02:59:59 +0300");
    expect(as("1732112345")).toBe(String(late / 1_000_000_000n));
    expect(as("Fri, 20 Nov 2026 16:51:25 GMT")).toBe("Fri, 20 Nov 2026 23:59:59 GMT");
  });

  it("writes the offset that a zone with a name has at that time", () => {
    const { form } = timestamp("2026-11-20T17:51:25+01:00[Europe/Berlin]");
    expect(formatTimestamp(utc("2026-07-20T16:51:25Z"), form, "UTC")).toBe("2026-07-20T18:51:25+02:00[Europe/Berlin]");
    expect(timestamp("2026-07-20T18:51:25+02:00[Europe/Berlin]").form).toEqual(form);
    // Its name may be unknown to another version of Node.
    expect(formatTimestamp(instant, { ...form, zone: "+00:00[Mars/Olympus]" }, "UTC")).toBe("2026-11-20T16:51:25Z");
  });

  it("floors before 1970 too, and stays within what the form can say", () => {
    const { form } = timestamp("2026-01-01T00:00:00.0Z");
    expect(formatTimestamp(-1n, form, "UTC")).toBe("1969-12-31T23:59:59.9Z");
    expect(formatTimestamp(-1n, timestamp("1732112345").form, "UTC")).toBe("0");
    expect(formatTimestamp(-(10n ** 30n), form, "UTC")).toBe("0000-01-01T00:00:00.0Z");
    expect(formatTimestamp(10n ** 30n, form, "UTC")).toBe("9999-12-31T23:59:59.9Z");
    expect(formatTimestamp(10n ** 30n, timestamp("2026-01-01").form, "Europe/Moscow")).toBe("9999-12-31");
    const dots = timestamp("01.01.2026 00:00:00.0").form;
    expect(formatTimestamp(-1n, dots, "UTC")).toBe("31.12.1969 23:59:59.9");
    expect(formatTimestamp(-(10n ** 30n), dots, "UTC")).toBe("01.01.0000 00:00:00.0");
    expect(formatTimestamp(10n ** 30n, dots, "Europe/Moscow")).toBe("31.12.9999 23:59:59.9");
  });

  it("writes an hour below ten with one digit where the service does", () => {
    const early = utc("2026-11-20T09:05:03Z");
    const as = (text: string) => formatTimestamp(early, timestamp(text).form, "UTC");
    expect(as("20.11.2026 8:00:00")).toBe("20.11.2026 9:05:03");
    expect(as("20.11.2026 0:00")).toBe("20.11.2026 9:05");
    expect(as("20.11.2026 08:00:00")).toBe("20.11.2026 09:05:03");
    expect(as("20.11.2026 18:00:00")).toBe("20.11.2026 09:05:03");
  });
});

describe("unitNs", () => {
  it.each([
    ["2026-11-20", 86_400_000_000_000n],
    ["2026-11-20T16:51", 60_000_000_000n],
    ["2026-11-20T16:51:25Z", 1_000_000_000n],
    ["2026-11-20T16:51:25.123456Z", 1_000n],
    ["20261120165125", 1_000_000_000n],
    ["20261120165125178", 1_000_000n],
    ["20261120T1651Z", 60_000_000_000n],
    ["1795193485", 1_000_000_000n],
    ["1795193485.5", 100_000_000n],
    ["1795193485123", 1_000_000n],
    ["1795193485123456", 1_000n],
    ["20.11.2026", 86_400_000_000_000n],
    ["20.11.2026 16:51", 60_000_000_000n],
    ["20.11.2026 16:51:25.123", 1_000_000n],
    ["Fri, 20 Nov 2026 16:51:25 GMT", 1_000_000_000n],
    ["Fri, 20 Nov 2026 16:51:25 +0300", 1_000_000_000n],
  ])("of %s", (text, expected) => {
    expect(unitNs(timestamp(text).form)).toBe(expected);
  });
});

describe("endOfUnitNs", () => {
  it.each([
    ["2026-11-20T16:51:25Z", "2026-11-20T16:51:26Z"],
    ["2026-11-20T16:51:25.000000Z", "2026-11-20T16:51:26Z"],
    ["2026-11-20T16:51:25.001Z", undefined],
    ["2026-11-20T16:51:00+03:00", "2026-11-20T13:52:00Z"],
    ["2026-11-20T16:51", "2026-11-20T16:52:00Z"],
    ["2026-11-20", "2026-11-21T00:00:00Z"],
    ["20.11.2026", "2026-11-21T00:00:00Z"],
    ["20.11.2026 16:51", "2026-11-20T16:52:00Z"],
    ["20.11.2026 16:51:25", "2026-11-20T16:51:26Z"],
    ["Fri, 20 Nov 2026 16:00:00 +0530", "2026-11-20T10:31:00Z"],
    ["2026-11-20T16:00:00+05:30[Asia/Kolkata]", "2026-11-20T10:31:00Z"],
    ["20261120165100", "2026-11-20T16:52:00Z"],
    ["20261120T165125+0300", "2026-11-20T13:51:26Z"],
    ["1795193485", "2026-11-20T16:51:26Z"],
    ["1795193485000", "2026-11-20T16:51:26Z"],
    ["1795193485007", undefined],
  ])("of %s: %s", (text, expected) => {
    expect(endOfUnitNs(timestamp(text))).toBe(expected === undefined ? undefined : utc(expected));
  });

  it("is that of the later hour where a zone has it twice", () => {
    expect(endOfUnitNs(timestamp("2026-11-01T01:10:05", "America/New_York"))).toBe(utc("2026-11-01T06:10:06Z"));
  });
});

describe("isStrictlyNewer", () => {
  it.each([
    ["2026-11-20T16:51:25.000001Z", "2026-11-20T16:51:25Z", true],
    ["2026-11-20T16:51:25Z", "2026-11-20T19:51:25+03:00", false],
    ["2026-11-20T16:51:24Z", "2026-11-20T16:51:25Z", false],
    ["1795193486", "2026-11-20T16:51:25Z", true],
    // Read as text, the 2nd of December comes before the 20th of November.
    ["02.12.2026 10:00:00", "20.11.2026 10:00:00", true],
    ["20.11.2026 10:00:00", "02.12.2026 10:00:00", false],
    ["20.11.2026 10:00:00", "20.11.2026 9:59:59", true],
    ["2026-11-20T19:51:26+03:00[Europe/Moscow]", "2026-11-20 16:51:25 UTC", true],
    [null, "2026-11-20T16:51:25Z", false],
    ["2026-11-20T16:51:25Z", null, false],
    ["soon", "2026-11-20T16:51:25Z", false],
    ["2026-11-20T16:51:25Z", "never", false],
  ])("%s after %s: %s", (a, b, expected) => {
    expect(isStrictlyNewer(a, b, "UTC")).toBe(expected);
  });
});

describe("isOlder of two ways of writing", () => {
  const CREATED = ["2026-11-20T09:00:00.250", "2026-11-20T09:00:00Z"] as const;

  it.each<[string, string, (readonly [string | null, string | null])?]>([
    ["2026-11-20T12:00:44.000", "2026-11-20T18:06:08Z"],
    ["2026-11-20T12:00:44.000", "2026-11-20T18:06:08Z", [CREATED[0], null]],
    // The zone is another one than is configured.
    ["2026-11-20T12:00:44.000", "2026-11-20T18:06:08Z", ["2026-11-20T06:00:00.250", CREATED[1]]],
    // Written in a way of its own, the creation says nothing of the change.
    ["2026-11-20T12:00:44.000", "2026-11-20T18:06:08Z", [CREATED[1], CREATED[1]]],
    ["2026-11-20T18:06:08.999", "2026-11-20T18:06:08Z", CREATED],
    ["2026-11-20T18:06:09.000", "2026-11-20T18:06:08Z", CREATED],
  ])("does not hold of %s before %s, created %s", (a, b, created) => {
    expect(isOlder(a, b, "UTC", created)).toBe(false);
  });

  it("holds where the creation of the order is one instant in both", () => {
    expect(isOlder("2026-11-20T12:00:44.000", "2026-11-20T18:06:08Z", "UTC", CREATED)).toBe(true);
    expect(isOlder("1795176000", "2026-11-20T18:06:08Z", "UTC", ["1795165200", CREATED[1]])).toBe(true);
  });
});

it("compares times of a zone with a name across its summer", () => {
  expect(isOlder("2026-10-25T02:50:00+02:00[Europe/Berlin]", "2026-10-25T02:10:00+01:00[Europe/Berlin]", "UTC")).toBe(
    true,
  );
});

describe("the hour that a zone has twice", () => {
  const ZONE = "America/New_York";

  it.each([
    // Which of two texts within the hour was written first nobody can tell.
    ["2026-11-01T01:10:00", "2026-11-01T01:50:00", false, false],
    ["2026-11-01T01:50:00", "2026-11-01T01:10:00", false, false],
    ["01.11.2026 1:50:00", "01.11.2026 1:10:00", false, false],
    ["2026-11-01T00:59:59", "2026-11-01T01:10:00", true, false],
    ["2026-11-01T02:00:00", "2026-11-01T01:50:00", false, true],
    ["2026-11-02T01:10:00", "2026-11-02T01:50:00", true, false],
    ["2026-11-01T01:10:00-04:00", "2026-11-01T01:50:00-04:00", true, false],
  ])("leaves the order of its own texts open: %s and %s", (a, b, older, newer) => {
    expect([isOlder(a, b, ZONE), isStrictlyNewer(a, b, ZONE)]).toEqual([older, newer]);
  });
});
