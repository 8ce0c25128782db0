import { describe, expect, it } from "vitest";
import { codeOfStatus, ServiceError } from "../../src/service/service-error.ts";
import {
  classifyStatusFailure,
  compareShown,
  compareStatus,
  isRefusalProven,
  type OrderMoves,
  type Refusals,
} from "../../src/statuses/judge-status.ts";
import { compileStatusRules, planStatus, type RequestedOrder } from "../../src/statuses/plan-status.ts";
import { words as text } from "../support/messages.ts";

const REQUEST = { statusSent: "packed", statusBefore: "new" };
const STILL: OrderMoves = {
  hasComeBack: false,
  statusesSince: [],
  ownStatus: null,
  isSameContent: true,
  timestampBefore: "2026-03-01T12:00:00Z",
  timestamp: "2026-03-01T12:00:00Z",
  leftAt: null,
  beforeAccepted: null,
};
const LATER = "2026-03-01T12:00:05Z";

const compare = (
  status: string | null,
  moves: Partial<OrderMoves> = {},
  request: { statusSent: string | null; statusBefore: string | null } = REQUEST,
) => {
  const all = { ...STILL, ...moves };
  return compareStatus({ status, timestamp: all.timestamp }, request, all, "UTC");
};

describe("an order that is read after a lost answer", () => {
  it.each<[string, string | null, Partial<OrderMoves>, string]>([
    ["has the wanted status", "packed", {}, "wanted"],
    ["has the wanted status in another spelling", " PACKED", { isSameContent: false }, "wanted"],
    ["has its former status in another spelling, and nothing else has happened", "NEW", {}, "former"],
    ["has the wanted status beside other changes", "packed", { isSameContent: false, timestamp: LATER }, "wanted"],
    ["has its former status, and nothing else has happened", "new", {}, "former"],
    ["has a third status", "shipped", {}, "another"],
    ["has no status any more", null, {}, "nothing"],
    ["has an empty status", " ", { timestamp: LATER }, "nothing"],
    ["has a boolean for a status", "true", { timestamp: LATER }, "nothing"],
    ["has a number for a status", "5", { timestamp: LATER }, "nothing"],
    [
      "has a status of ours that was accepted and never seen",
      "paid",
      { ownStatus: "unseen", timestamp: LATER },
      "former",
    ],
    ["has the status that we sent before, and no newer timestamp", "paid", { ownStatus: "last" }, "former"],
    ["has the status that we sent before, set again since", "paid", { ownStatus: "last", timestamp: LATER }, "another"],
    ["is older than it was", "shipped", { timestamp: "2026-03-01T11:59:59Z" }, "former"],
    ["showed nonsense in between", "new", { statusesSince: ["true", "new"], isSameContent: false }, "former"],
    ["had the wanted status in between, and has the former one", "new", { hasComeBack: true }, "wanted"],
    ["had the wanted status in between, and has a third one", "shipped", { hasComeBack: true }, "wanted"],
    [
      "had a third status in between",
      "new",
      { statusesSince: ["shipped", "new"], isSameContent: false, timestamp: LATER },
      "moved",
    ],
    ["bears a newer timestamp that nothing else explains", "new", { timestamp: LATER }, "moved"],
    ["bears a newer timestamp because of another change", "new", { isSameContent: false, timestamp: LATER }, "former"],
    ["bears an older timestamp", "new", { timestamp: "2026-03-01T11:59:59Z" }, "former"],
    ["bears no timestamp any more", "new", { timestamp: null }, "former"],
    ["had no timestamp", "new", { timestampBefore: null, timestamp: LATER }, "former"],
    ["bears what is no timestamp", "new", { timestamp: "just now" }, "former"],
    ["bears the same timestamp with more digits", "new", { timestamp: "2026-03-01T12:00:00.412Z" }, "former"],
    ["bears the same timestamp in another zone", "new", { timestamp: "2026-03-01T15:00:00+03:00" }, "former"],
  ])("%s", (_, now, moves, verdict) => {
    expect(compare(now, moves)).toBe(verdict);
  });

  it.each<[string, string | null, string, string | null, string]>([
    ["made its change a minute before the request left", "shipped", LATER, "2026-03-01T12:01:05.000Z", "former"],
    ["made its change as the request left", "shipped", LATER, "2026-03-01T12:00:05.000Z", "another"],
    ["made its change so near that two clocks may differ", "shipped", LATER, "2026-03-01T12:00:15.999Z", "another"],
    ["made its change just before that", "shipped", LATER, "2026-03-01T12:00:16.000Z", "former"],
    ["made its change in the minute before", "shipped", "2026-03-01T12:01Z", "2026-03-01T12:02:09.000Z", "another"],
    ["made it earlier than that minute", "shipped", "2026-03-01T12:01Z", "2026-03-01T12:02:10.000Z", "former"],
    ["made its change on that day", "shipped", "2026-03-02", "2026-03-02T23:00:00.000Z", "another"],
    ["made its change later", "shipped", "2026-03-01T12:05:00Z", "2026-03-01T12:01:00.000Z", "another"],
    ["made a change that moved no timestamp", "shipped", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00.000Z", "another"],
    ["made its change while no clock of the service was known", "shipped", LATER, null, "another"],
    ["came and went before", "new", LATER, "2026-03-01T12:01:05.000Z", "former"],
    ["came and went after", "new", "2026-03-01T12:05:00Z", "2026-03-01T12:01:00.000Z", "moved"],
    ["has the wanted status", "packed", LATER, "2026-03-01T12:01:05.000Z", "wanted"],
    [
      "is older, by a clock that was set back before",
      "shipped",
      "2026-03-01T11:03:01Z",
      "2026-03-01T11:03:00Z",
      "another",
    ],
    ["is older to the minute, by such a clock", "shipped", "2026-03-01T11:03Z", "2026-03-01T11:03:50Z", "another"],
    [
      "is older than when the request left, by such a clock",
      "shipped",
      "2026-03-01T11:01:01Z",
      "2026-03-01T11:03:00Z",
      "former",
    ],
    ["was set back by seconds", "shipped", "2026-03-01T11:59:58Z", "2026-03-01T12:00:01Z", "former"],
    ["is older, and no clock of the service was known", "shipped", "2026-03-01T11:03:01Z", null, "former"],
    ["lost its status a minute before", null, LATER, "2026-03-01T12:01:05.000Z", "former"],
    ["got an empty status a minute before", "", LATER, "2026-03-01T12:01:05.000Z", "former"],
    ["lost its status as the request left", null, LATER, "2026-03-01T12:00:05.000Z", "nothing"],
  ])("%s", (_, now, timestamp, leftAt, verdict) => {
    expect(compare(now, { timestamp, leftAt })).toBe(verdict);
  });

  it.each<[string, string, string | null, string]>([
    ["is as it was before the status that was accepted then", "new", "2026-03-01T12:00:00Z", "lagging"],
    ["bears no timestamp, and has the status from before that", "new", null, "lagging"],
    ["has the wanted status with a newer timestamp", "new", LATER, "wanted"],
    ["has a third status", "shipped", LATER, "another"],
  ])("%s, where the wanted status is the one from before", (_, now, timestamp, verdict) => {
    const beforeAccepted = { status: "new", timestamp: STILL.timestampBefore };
    const request = { statusSent: "new", statusBefore: "new" };
    expect(compare(now, { timestamp, beforeAccepted }, request)).toBe(verdict);
  });

  it("has its former status where it never had one", () => {
    expect(compare(null, {}, { statusSent: "packed", statusBefore: null })).toBe("former");
  });

  it("was not changed by anybody where it showed nonsense before", () => {
    expect(compare("new", { timestamp: LATER }, { statusSent: "packed", statusBefore: "false" })).toBe("former");
  });

  it("has a number for a status where statuses are numbers", () => {
    expect(compare("5", { timestamp: LATER }, { statusSent: "4", statusBefore: "3" })).toBe("another");
  });

  it("tells by the timestamp of a service that names no zone", () => {
    const naive = { timestampBefore: "2026-03-01 12:00:00", timestamp: "2026-03-01 12:00:01" };
    const now = { status: "new", timestamp: naive.timestamp };
    expect(compareStatus(now, REQUEST, { ...STILL, ...naive }, "Europe/Moscow")).toBe("moved");
  });
});

describe("an order whose request was answered with a status", () => {
  const LEFT = { leftAt: LATER, timestamp: "2026-03-01T12:00:06Z", isSameContent: false };
  const known: Omit<Parameters<typeof compareShown>[2], "moves"> = {
    shown: undefined,
    place: undefined,
    isAgain: false,
    isReadBefore: false,
    cancelled: new Set(["void"]),
  };

  it.each<[string, string, Partial<typeof known>, Partial<OrderMoves>, string, string?]>([
    ["has that status since: it was moved on", "done", { shown: "done" }, LEFT, "wanted", "done"],
    [
      "has it in a place of the answer that only the order explains",
      "done",
      { place: "state=done" },
      LEFT,
      "wanted",
      "done",
    ],
    ["has another one than the answer", "done", { shown: "held" }, LEFT, "another"],
    [
      "has it since before the request left",
      "done",
      { shown: "done" },
      { ...LEFT, timestamp: LATER, leftAt: "2026-03-01T12:30:00Z" },
      "another",
      "done",
    ],
    [
      "has it, and was read before the request left again",
      "done",
      { shown: "done", isReadBefore: true },
      { ...LEFT, leftAt: "2026-03-01T12:30:00Z" },
      "wanted",
      "done",
    ],
    ["is cancelled: nothing moves on to that", "void", { shown: "void" }, LEFT, "another", "void"],
    ["has the former status, as the answer has", "new", { shown: "new" }, {}, "former"],
    ["lags behind what was accepted", "new", {}, { beforeAccepted: { status: "new", timestamp: null } }, "lagging"],
    [
      "lags for long: what was accepted had no effect",
      "new",
      { isAgain: true },
      { beforeAccepted: { status: "new", timestamp: null } },
      "former",
    ],
  ])("%s", (_, status, shown, moves, compared, named) => {
    const all = { ...STILL, ...moves };
    const now = { status, timestamp: all.timestamp };
    expect(compareShown(now, REQUEST, { ...known, ...shown, moves: all }, "UTC")).toEqual({ compared, named });
  });
});

describe("a refusal in the service's own words", () => {
  it.each<[string, Refusals, boolean]>([
    ["that was said once", { times: 1, acceptedSince: 0 }, false],
    ["that was said once, with others accepted since", { times: 1, acceptedSince: 5 }, false],
    ["that is said again after another was accepted", { times: 2, acceptedSince: 1 }, true],
    ["that is said again and again, and nothing else was accepted", { times: 300, acceptedSince: 0 }, false],
  ])("%s", (_, refusals, isBelieved) => {
    expect(isRefusalProven(refusals)).toBe(isBelieved);
  });
});

describe("a failed request", () => {
  const failure = (status: number, words: string, retryAfterMs?: number) => {
    const { code = "internal", effect = "none" } = codeOfStatus(status) ?? {};
    const where = {
      area: "orders",
      target: "order",
      method: "POST",
      path: "/x",
      status,
      words,
      effect,
      isWebPage: words.startsWith("<"),
    } as const;
    return new ServiceError(code, text(words), retryAfterMs === undefined ? where : { ...where, retryAfterMs });
  };

  it.each([
    [409, "{}", undefined, "refused"],
    [422, "{}", undefined, "refused"],
    [400, "", undefined, "refused"],
    [400, "<html>", undefined, "untouched"],
    [409, "<!doctype html>", undefined, "untouched"],
    [404, "<html>", undefined, "nowhere"],
    [405, "", undefined, "nowhere"],
    [410, "{}", undefined, "nowhere"],
    [401, "{}", undefined, "untouched"],
    [423, "{}", undefined, "untouched"],
    [302, "", undefined, "untouched"],
    [429, "", 1_000, "untouched"],
    [500, "", undefined, "unknown"],
    [408, "", undefined, "unknown"],
    [503, "", 1_000, "later"],
  ])("%i %s (Retry-After %s) is %s", (status, words, retryAfterMs, is) => {
    expect(classifyStatusFailure(failure(status, words, retryAfterMs))).toBe(is);
  });
});

describe("a request for the status that the order has", () => {
  const ORDER: RequestedOrder = {
    orderId: "00000000-0000-4000-8000-000000000001",
    serviceId: "00000000-0000-4000-8000-000000000001",
    status: "packed",
    isRemoved: false,
    isOther: false,
    revision: 1,
    updatedAt: null,
    echo: null,
    lastSent: null,
  };
  const SENT = { status: "packed", comment: "by hand", data: '{"ttn":"1"}' };
  const rulesOf = (body: unknown) =>
    compileStatusRules({ method: "POST", path: "/{order_id}", body, map: {}, cancelled: new Set(["cancelled"]) });
  const ALL = rulesOf({ status: "{status}", comment: "{comment}", ttn: "{ttn}" });

  it.each<[string, ReturnType<typeof rulesOf>, Partial<RequestedOrder>, object, string]>([
    ["and nothing else", ALL, {}, {}, "done"],
    ["and empty texts", ALL, {}, { comment: "", data: "" }, "done"],
    ["and a comment that the template does not send", rulesOf({ status: "{status}" }), {}, { comment: "x" }, "done"],
    ["and a comment", rulesOf({ s: "{status}", c: "{comment}" }), {}, { comment: "x" }, "send"],
    ["and data", ALL, {}, { comment: "x", data: '{"ttn":"1"}' }, "send"],
    ["and what was sent last", ALL, { lastSent: SENT }, { comment: "by hand", data: '{"ttn":"1"}' }, "done"],
    [
      "and the same data in other words",
      ALL,
      { lastSent: SENT },
      { comment: "by hand", data: '{ "ttn" : "1" }' },
      "done",
    ],
    ["and new data", ALL, { lastSent: SENT }, { comment: "by hand", data: '{"ttn":"2"}' }, "send"],
    ["and a new comment", ALL, { lastSent: SENT }, { comment: "again", data: '{"ttn":"1"}' }, "send"],
    [
      "and what was sent with another status",
      ALL,
      { lastSent: { ...SENT, status: "new" } },
      { comment: "by hand", data: '{"ttn":"1"}' },
      "send",
    ],
    ["that has not come back yet", ALL, { echo: "awaited" }, { comment: "x", data: '{"ttn":"1"}' }, "send"],
  ])("%s", (_, rules, order, wanted, kind) => {
    const request = { orderId: ORDER.orderId, status: "packed", comment: null, data: null, isTooLarge: false };
    expect(planStatus({ ...request, notUtf8: null, ...wanted }, { ...ORDER, ...order }, rules).kind).toBe(kind);
  });
});
