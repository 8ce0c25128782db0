import { describe, expect, it } from "vitest";
import { parseTimestamp, readTimestamp } from "../../src/answers/timestamp.ts";
import { describeForm } from "../../src/answers/timestamp-form.ts";
import { showsMore } from "../../src/updates/looks/look-other.ts";
import {
  type FollowRules,
  isToken,
  mayMove,
  planFirstAsk,
  planNextPage,
  planWideRepoll,
  raiseHigh,
} from "../../src/updates/pages/follow.ts";
import { learnForm, learnFromOrders, noteFormer } from "../../src/updates/times/learn-form.ts";

const rules: FollowRules = { since: "iso", timezone: "UTC", overlapMs: 600_000 };
const DATE = "Sun, 01 Mar 2026 12:00:00 GMT";
const served = (...texts: readonly (string | null)[]) => texts.map((text) => readTimestamp(text, "UTC"));
const formOf = (text: string) => parseTimestamp(text, "UTC")!.form;
const firstSince = (
  watermark: string | undefined,
  serviceNow: string | undefined,
  form?: string,
  more: Partial<FollowRules> = {},
) =>
  planFirstAsk({ watermark, serviceNow, form: form === undefined ? undefined : formOf(form) }, { ...rules, ...more })
    .since;

describe("the first since of a pass", () => {
  it.each([
    ["2026-03-01T12:00:00Z", "2026-03-01T11:50:00Z"],
    ["2026-03-01T12:00:00.123456Z", "2026-03-01T11:50:00.123456Z"],
    ["2026-03-01T15:00:00.5+03:00", "2026-03-01T14:50:00.5+03:00"],
    ["2026-03-01 15:00:00", "2026-03-01 14:50:00"],
    ["1772366400.250000", "1772365800.250000"],
    ["1772366400250", "1772365800250"],
  ])("is the watermark %s less the overlap, in its own form", (watermark, since) => {
    expect(firstSince(watermark, undefined)).toBe(since);
  });

  it("takes the form of the service's timestamps where the watermark is a header's", () => {
    expect(firstSince(DATE, DATE)).toBe("2026-03-01T11:50:00Z");
    expect(firstSince(DATE, DATE, "2026-03-01T15:00:00.000+03:00")).toBe("2026-03-01T14:50:00.000+03:00");
  });

  it.each([
    ["2026-03-01T12:00:00Z", "2026-03-01 15:00:00", "2026-02-28 21:50:00"],
    ["2026-03-01 12:00:00", "2026-03-01T15:00:00Z", "2026-02-28T21:50:00Z"],
    ["2026-03-01 12:00:00", "2026-03-01T15:00:00", "2026-03-01T11:50:00"],
    ["2026-03-01T12:00:00Z", "2026-03-01T15:00:00+03:00", "2026-03-01T14:50:00+03:00"],
  ])(
    "reaches before %s in any zone where times are like %s, if only one of them names its own",
    (watermark, form, since) => {
      expect(firstSince(watermark, undefined, form)).toBe(since);
    },
  );

  it.each([
    // What comes at 12:00:20 and appears eight seconds late is timestamped 11:59:00 or later where clocks are cut to the minute.
    ["2026-03-01T12:00:00Z", "2026-03-01T11:58:59Z"],
    ["2026-03-01T12:00", "2026-03-01T11:58"],
    ["1772366400000", "1772366339999"],
    // These show that the clock is no such one.
    ["2026-03-01T12:00:07Z", "2026-03-01T11:59:37Z"],
    ["2026-03-01T12:00:00.001Z", "2026-03-01T11:59:30.001Z"],
  ])(
    "reaches before the minute in which %s less the overlap lies, where it may be cut to the minute",
    (watermark, since) => {
      expect(firstSince(watermark, undefined, undefined, { overlapMs: 30_000 })).toBe(since);
    },
  );

  it("reaches before the minute of a header's time, whatever the overlap: the service's own times may be cut to it", () => {
    const header = "Sun, 01 Mar 2026 12:00:07 GMT";
    expect(firstSince(header, undefined, undefined, { overlapMs: 0 })).toBe("2026-03-01T11:59:59Z");
    expect(firstSince("2099-01-01T00:00:00Z", header, undefined, { overlapMs: 0 })).toBe("2026-03-01T11:59:59Z");
    expect(firstSince(header, undefined, undefined, { overlapMs: 0, since: "unix_ms" })).toBe("1772366399999");
  });

  it.each([
    ["2026-03-01T12:00:00Z", "2026-03-01T11:59:59Z"],
    ["2026-03-01T12:00", "2026-03-01T11:59"],
    ["2026-03-01T12:00:07.500Z", "2026-03-01T12:00:07.499Z"],
    ["1772366400250", "1772366400249"],
  ])("is one unit before %s without an overlap: the boundary may be left out", (watermark, since) => {
    expect(firstSince(watermark, undefined, undefined, { overlapMs: 0 })).toBe(since);
  });

  it.each([
    // The clocks of New York show 01:00 to 02:00 twice on this day: from 05:00 and from 06:00 UTC.
    ["2026-11-01T01:59:01", "2026-11-01T05:59:30Z", "2026-11-01T01:49:01"],
    ["2026-11-01T01:59:01", "2026-11-01T06:10:00Z", "2026-11-01T01:00:00"],
    ["2026-11-01T01:59:01", "2026-11-01T07:00:05Z", "2026-11-01T01:00:00"],
    ["2026-11-01T00:40:00", "2026-11-01T06:10:00Z", "2026-11-01T00:30:00"],
    ["2026-11-01T02:05:00", "2026-11-01T07:06:00Z", "2026-11-01T01:55:00"],
    ["2026-11-01T02:30:00", "2026-11-01T07:31:00Z", "2026-11-01T02:20:00"],
  ])("begins before the hour that a zone has twice: %s at %s", (watermark, now, since) => {
    const serviceNow = new Date(now).toUTCString();
    const asked = planFirstAsk(
      { watermark, serviceNow, form: undefined },
      { since: "iso", timezone: "America/New_York", overlapMs: 600_000 },
    );
    expect(asked.since).toBe(since);
  });

  it("is cut and never rounded up where since is coarser than the timestamps", () => {
    expect(firstSince("2026-03-01T12:00:00.999999Z", undefined, undefined, { since: "unix" })).toBe("1772365800");
    expect(firstSince("2026-03-01T12:00:00.999999Z", undefined, undefined, { since: "unix_ms" })).toBe("1772365800999");
  });

  it("goes back to the last complete pass where the service's clock was set back, and only there", () => {
    const since = (watermark: string) => firstSince(watermark, DATE, undefined, { lastPassAgoMs: 720_000 });
    expect(since("2099-01-01T00:00:00Z")).toBe("2026-03-01T11:38:00Z");
    expect(since("2026-03-01T11:59:00Z")).toBe("2026-03-01T11:49:00Z");
  });

  it("is never later than the service's own clock, and begins at the beginning without a watermark", () => {
    expect(firstSince("2099-01-01T00:00:00Z", DATE)).toBe("2026-03-01T11:50:00Z");
    expect(firstSince(undefined, DATE)).toBe("1970-01-01T00:00:00Z");
    expect(firstSince("no time at all", DATE)).toBe("1970-01-01T00:00:00Z");
    expect(firstSince(undefined, DATE, undefined, { since: "unix" })).toBe("0");
  });
});

describe("the position of a pass", () => {
  it("is the largest timestamp, verbatim, that the service's clock allows", () => {
    const timestamps = served(
      "2026-03-01T11:59:00.5Z",
      null,
      "2026-03-01T12:00:00.999Z",
      "rubbish",
      "2026-03-01T12:00:03Z",
      "2099-01-01T00:00:00Z",
    );
    expect(raiseHigh(undefined, timestamps, DATE)).toMatchObject({
      high: { text: "2026-03-01T12:00:00.999Z" },
      future: 2,
    });
    expect(
      raiseHigh(
        { text: "2026-03-01T12:00:01Z", ns: parseTimestamp("2026-03-01T12:00:01Z", "UTC")!.instantNs },
        timestamps,
        DATE,
      ).high?.text,
    ).toBe("2026-03-01T12:00:01Z");
    expect(raiseHigh(undefined, timestamps, undefined).high?.text).toBe("2099-01-01T00:00:00Z");
  });

  it("moves forward only, but back with a clock that was set back further than the overlap", () => {
    expect(mayMove("2026-03-01T12:00:01Z", "2026-03-01T12:00:00Z", DATE, rules)).toBe(true);
    expect(mayMove("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z", DATE, rules)).toBe(false);
    expect(mayMove("2026-03-01T11:00:00Z", "2026-03-01T12:09:00Z", DATE, rules)).toBe(false);
    expect(mayMove("2026-03-01T11:00:00Z", "2026-03-01T12:11:00Z", DATE, rules)).toBe(true);
    expect(mayMove("2026-03-01T11:00:00Z", "2026-03-01T12:11:00Z", undefined, rules)).toBe(false);
    expect(mayMove("2026-03-02T12:00:00Z", "2026-03-02T11:00:00Z", DATE, rules)).toBe(false);
    expect(mayMove("2026-03-02T12:00:00Z", "2026-03-02T11:00:00Z", undefined, rules)).toBe(true);
    expect(mayMove("cursor-2", "cursor-10", DATE, rules)).toBe(true);
    expect(mayMove("cursor-2", "cursor-2", DATE, rules)).toBe(false);
  });

  it("is a token where it is no time, and digits are a time only where the service's timestamps are digits", () => {
    expect(isToken("cursor-7", undefined, "UTC")).toBe(true);
    expect(isToken("1772366400", formOf("2026-03-01T12:00:00Z"), "UTC")).toBe(true);
    expect(isToken("1772366400", formOf("1772366400"), "UTC")).toBe(false);
    expect(isToken("20260301120000", formOf("2026-03-01T12:00:00Z"), "UTC")).toBe(true);
    expect(isToken("20260301120000", formOf("20260301110000"), "UTC")).toBe(false);
    expect(isToken("20260301120000123", formOf("2026-03-01T12:00:00Z"), "UTC")).toBe(true);
    expect(isToken("20260301T120000Z", formOf("2026-03-01T12:00:00Z"), "UTC")).toBe(false);
    expect(isToken("2026-03-01T12:00:00Z", undefined, "UTC")).toBe(false);
    expect(isToken(DATE, undefined, "UTC")).toBe(false);
  });

  it("is written as finely as any timestamp that was seen", () => {
    const learn = (...timestamps: string[]) => learnForm(undefined, served(...timestamps))?.fraction;
    expect(learn("2026-03-01T12:00:00.123Z", "2026-03-01T12:00:00Z")).toBe(3);
    expect(learn("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123456Z", "2026-03-01T12:00:00.1Z")).toBe(6);
    expect(learn("2026-03-01T12:00:00.123Z", "2026-03-01T15:00:00+03:00")).toBe(0);
  });
});

describe("the form of times", () => {
  const ns = (text: string) => parseTimestamp(text, "UTC")!.instantNs;
  const [S0, S1, S2] = ["2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z", "2026-03-01T12:00:02Z"] as const;
  const LOCAL = ["2026-03-01 12:00:01", "2026-03-01 12:00:02"] as const;
  const nothing = { boundary: undefined, pageMax: 0, form: undefined };
  const learnPage = (...texts: string[]) => {
    const timestamps = served(...texts);
    const { high } = raiseHigh(undefined, timestamps, "Sun, 01 Mar 2026 12:00:02 GMT");
    const asked = { since: S0, ns: ns(S0), isKnownTimestamp: false };
    const learned = { ...nothing, form: formOf(S0) };
    const { form } = planNextPage({ asked, high, learned, pageMax: 3 }, { timestamps, fresh: 1 }, rules).learned;
    return `${form?.kind} ${form?.zone}`;
  };

  it.each<[string, string[], string]>([
    ["as fine as any", [S1, "2026-03-01T12:00:02.000Z"], "iso Z"],
    ["another where a change has it", [LOCAL[0]], "iso "],
    ["the known one where a change has that too", [S1, LOCAL[1]], "iso Z"],
    ["digits where two changes have them", ["1772366401", "1772366402"], "unix "],
    ["the known one where one change has digits", ["1772366401"], "iso Z"],
    ["the known one beside the future", ["8640000000000001", "8640000000000002"], "iso Z"],
    ["the known one beside the remote past", ["0001-01-01 00:00:00", "0001-01-01 00:00:00"], "iso Z"],
  ])("of changes is %s", (_name, texts, expected) => {
    expect(learnPage(...texts)).toBe(expected);
  });

  const DAY = "2026-03-01";
  const MS = ["1772366402000", "1772366401000"] as const;

  it.each<[string, string[], string, string | undefined]>([
    ["another zone where the newest one has it", [LOCAL[1], S1], "iso without a zone", "iso Z"],
    ["the known one beside the future", ["9999-12-31 23:59:59", S1], "iso Z", undefined],
    ["the known one beside the remote past", ["0001-01-01 00:00:00", S1], "iso Z", undefined],
    ["the known one, and digits another, by one order", ["1772366402", S1], "iso Z", "unix"],
    ["the known one, and digits another, by many orders", [MS[0], MS[1], MS[1], S0], "iso Z", "unix_ms"],
    ["the known one, and digits another, behind a newer order", [S1, MS[0]], "iso Z", "unix_ms"],
    ["the known one, and a date another", [DAY, DAY, DAY, DAY], "iso Z", "iso date"],
    ["the known one, and of two others the newer one another", [DAY, MS[0], S1], "iso Z", "iso date"],
  ])("of orders is %s", (_name, texts, expected, other) => {
    const learned = { ...nothing, form: formOf(S0), ordersForm: formOf(S0) };
    const seen = { at: S2, timezone: "UTC", serviceNow: DATE, watermark: S0 };
    const after = learnFromOrders(learned, served(...texts), seen);
    expect(describeForm(after.form!)).toBe(expected);
    expect(after.other && describeForm(after.other.form)).toBe(other);
    expect(after.other?.from).toBe(other && S0);
  });

  it("is kept as another one for a week after it was seen last", () => {
    const learned = { ...nothing, form: formOf(S0), ordersForm: formOf(S0), other: { form: formOf(MS[0]), at: S0 } };
    const learn = (at: string, ...texts: string[]) =>
      learnFromOrders(learned, served(...texts), { at, timezone: "UTC", watermark: S1 }).other?.at;
    expect(learn("2026-03-07T12:00:00Z", S1)).toBe(S0);
    expect(learn("2026-03-09T12:00:00Z", S1)).toBe(undefined);
    expect(learn("2026-03-01T13:00:00Z", MS[0])).toBe(S0);
    expect(learn("2026-03-09T12:00:00Z", MS[0])).toBe("2026-03-09T12:00:00Z");
  });

  it("of changes makes the former one another", () => {
    const learned = { ...nothing, form: formOf(S0) };
    const seen = { at: S2, watermark: S0 };
    expect(noteFormer(learned, { ...learned, form: formOf(MS[0]) }, seen).other).toMatchObject({
      form: formOf(S0),
      from: S0,
    });
    expect(noteFormer(learned, { ...learned, form: formOf("2026-03-01T12:00:00.5Z") }, seen).other).toBe(undefined);
  });

  it.each<[string, string[], (string | undefined)[], boolean]>([
    ["a later change", [S1, S2], [S1, undefined], true],
    ["nothing", [], [S1], false],
    ["what the first form shows as well", [S2], [S2], false],
    ["less than the position", [S1], [undefined, S2], false],
    ["a later change among all that there ever were", ["2025-01-01T00:00:00Z", S2], [S1], false],
  ])("shows more where it brings %s: %#", (_name, texts, known, expected) => {
    const timestamps = served(...texts);
    const shown = { timestamps, highNs: raiseHigh(undefined, timestamps, S2).high?.ns };
    const before = { askedNs: ns(S0), known: known.map((text) => (text === undefined ? undefined : ns(text))) };
    expect(showsMore(shown, before)).toBe(expected);
  });
});

describe("the next page", () => {
  const ns = (text: string) => parseTimestamp(text, "UTC")!.instantNs;
  const at = (text: string, isKnownTimestamp = false) => ({ since: text, ns: ns(text), isKnownTimestamp });
  const high = (text: string) => ({ text, ns: ns(text) });
  const [S0, S1, S2] = ["2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z", "2026-03-01T12:00:02Z"] as const;
  const nothing = { boundary: undefined, pageMax: 0, form: undefined };

  it("is asked from the largest timestamp, as it was sent", () => {
    const page = { timestamps: served(S1, S2, S1), fresh: 3 };
    const { verdict, learned } = planNextPage(
      { asked: at(S0), high: high(S2), learned: nothing, pageMax: 3 },
      page,
      rules,
    );
    expect(verdict).toEqual({ next: "ask", asked: { since: S2, ns: ns(S2), isKnownTimestamp: true } });
    expect(learned).toMatchObject({ boundary: undefined, pageMax: 3, form: { fraction: 0 } });
  });

  it("is asked one unit below where the service did not repeat the timestamp, and below every later one", () => {
    const missed = planNextPage(
      { asked: at(S1, true), high: high(S2), learned: nothing, pageMax: 3 },
      { timestamps: served(S2), fresh: 1 },
      rules,
    );
    expect(missed).toMatchObject({
      learned: { boundary: "exclusive" },
      verdict: { next: "ask", asked: { since: S0, missedNs: ns(S1) } },
    });
    const later = planNextPage(
      { asked: at(S0), high: high(S2), learned: missed.learned, pageMax: 3 },
      { timestamps: served(S1, S2), fresh: 1 },
      rules,
    );
    expect(later.verdict).toMatchObject({ next: "ask", asked: { since: S1, isKnownTimestamp: false } });
  });

  it("is no more where the last one brought nothing new", () => {
    const state = { asked: at(S2, true), high: high(S2), learned: nothing, pageMax: 3 };
    expect(planNextPage(state, { timestamps: served(S2), fresh: 0 }, rules)).toMatchObject({
      learned: { boundary: "inclusive" },
      verdict: { next: "done" },
    });
    expect(planNextPage({ ...state, asked: at(S2) }, { timestamps: [], fresh: 0 }, rules).verdict).toEqual({
      next: "done",
    });
  });

  it("goes over a full page of one timestamp, and is sure of it from ten changes on unless a page held more before", () => {
    const page = { timestamps: served(...Array<string>(10).fill(S2)), fresh: 0 };
    const state = { asked: at(S2, true), high: high(S2), learned: nothing, pageMax: 10 };
    const over = (isFull: boolean) => ({
      next: "step over",
      timestamp: S2,
      isFull,
      asked: { since: "2026-03-01T12:00:03Z" },
    });
    expect(planNextPage(state, page, rules).verdict).toMatchObject(over(true));
    expect(planNextPage({ ...state, learned: { ...nothing, pageMax: 11 } }, page, rules).verdict).toMatchObject(
      over(false),
    );
    expect(planNextPage({ ...state, pageMax: 11 }, page, rules).verdict).toEqual({ next: "done" });
  });

  it("is asked from the latest followed time of a full page, however many changes of the future stand there too", () => {
    const future = (length: number) => Array<string>(length).fill("2027-03-01T12:00:00Z");
    const state = { asked: at(S0), high: high(S2), learned: nothing, pageMax: 2 };
    const asked = (...times: string[]) => {
      const page = { timestamps: served(...times), fresh: 0 };
      return planNextPage({ ...state, pageMax: times.length }, page, rules).verdict;
    };
    expect(asked(S1, ...future(1))).toMatchObject({ next: "ask", asked: { since: S1 } });
    expect(asked(S1, ...future(9))).toMatchObject({ next: "ask", asked: { since: S1 } });
    expect(asked(...future(9))).toEqual({ next: "done" });
    expect(asked(...future(10))).toMatchObject({ next: "ask", asked: { since: future(1)[0] } });
  });

  it("is not asked where no change of a full page names a time", () => {
    const state = { asked: at(S2), high: undefined, learned: nothing, pageMax: 12 };
    expect(
      planNextPage(state, { timestamps: served(...Array<null>(12).fill(null)), fresh: 12 }, rules).verdict,
    ).toEqual({
      next: "no timestamps",
    });
    expect(planNextPage(state, { timestamps: served(null), fresh: 1 }, rules).verdict).toEqual({ next: "done" });
  });
});

describe("a sweep", () => {
  const sweep = { wideOverlapMs: 86_400_000, overlapMs: 600_000, isWanted: false };
  it("looks back as far as it is told, and to the last one where that was missed", () => {
    expect(planWideRepoll(DATE, DATE, sweep)).toBeUndefined();
    expect(planWideRepoll(undefined, DATE, sweep)).toBeUndefined();
    expect(planWideRepoll(undefined, undefined, { ...sweep, isWanted: true })).toBe(86_400_000);
    expect(planWideRepoll(DATE, "Mon, 02 Mar 2026 12:30:00 GMT", sweep)).toBeUndefined();
    expect(planWideRepoll(DATE, "Tue, 03 Mar 2026 12:00:00 GMT", sweep)).toBe(2 * 86_400_000 + 600_000);
    expect(planWideRepoll(DATE, "Sun, 01 Mar 2020 12:00:00 GMT", { ...sweep, isWanted: true })).toBe(86_400_000);
  });
});
