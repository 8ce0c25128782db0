import { describe, expect, it } from "vitest";
import { planLift } from "../../src/pass/hold-reasons.ts";
import { asksAllToWait, isAnswered, planHold, reachOf, scopeOfRefusal, type Verdict } from "../../src/pass/holds.ts";
import { BridgeError, type ErrorCode } from "../../src/platform/errors.ts";
import { codeOfStatus, ServiceError, type Target } from "../../src/service/service-error.ts";
import { words } from "../support/messages.ts";

/** What the service's answer of that status becomes. */
function answered(status: number, target: Target, retryAfterMs?: number, waitsBefore = 0): ServiceError {
  const { code = "internal", effect = "none" } = codeOfStatus(status) ?? {};
  const where = { area: "orders", method: "GET", path: "/orders", status, effect, target, waitsBefore } as const;
  return new ServiceError(
    code,
    words(`answered with ${status}`),
    retryAfterMs === undefined ? where : { ...where, retryAfterMs },
  );
}

function unanswered(code: ErrorCode, effect: "none" | "unknown"): ServiceError {
  return new ServiceError(code, words(code), {
    area: "orders",
    method: "GET",
    path: "/orders",
    effect,
    target: "order",
  });
}

const accepted = (flow: string, atMs: number): Verdict => ({ flow, isAccepted: true, atMs });
const refused = (flow: string, atMs: number): Verdict => ({ flow, isAccepted: false, atMs });

describe("refused credentials at a collection", () => {
  it.each([
    ["hold the area where nothing is known of the others", [], undefined, "area"],
    ["hold the flow alone where another one is accepted", [accepted("updates", 1)], undefined, "flow"],
    ["hold the area where the others are refused too", [refused("updates", 1)], undefined, "area"],
    [
      "trust no acceptance from before the trouble",
      [accepted("statuses", 1), refused("updates", 2)],
      undefined,
      "area",
    ],
    ["trust one from since then", [refused("updates", 1), accepted("statuses", 2)], undefined, "flow"],
    [
      "ask the last of the others that was refused",
      [refused("updates", 1), accepted("statuses", 2), refused("reconcile", 3)],
      undefined,
      "area",
    ],
    ["say nothing by their own former answer", [accepted("orders", 1)], undefined, "area"],
    ["keep the scope of a hold from before a restart", [], "flow", "flow"],
    ["widen such a hold once another flow is refused", [refused("updates", 1)], "flow", "area"],
    ["narrow a hold of the area once another flow is accepted", [accepted("updates", 1)], "area", "flow"],
  ] as const)("%s", (_, verdicts, standing, scope) => {
    expect(scopeOfRefusal("orders", verdicts, standing)).toBe(scope);
  });
});

describe("one word that lifts holds", () => {
  it.each([
    [["credentials"], undefined, ["credentials"]],
    [["hand-out lost"], undefined, ["hand-out lost"]],
    [["credentials", "hand-out lost"], undefined, ["credentials"]],
    [["hand-out lost", "tie"], undefined, []],
    [["hand-out lost", "tie"], "tie", ["tie"]],
    [["guard"], undefined, []],
  ])("of %j, with the name %s, lifts %j", (standing, named, lifted) => {
    expect(planLift(standing, named).lifted).toEqual(lifted);
  });
});

describe("the hold for an answer", () => {
  it.each([
    [401, "collection", undefined, { area: "orders", scope: "area", reason: "credentials" }],
    [402, "collection", undefined, { area: "orders", scope: "area", reason: "payment" }],
    [423, "collection", undefined, { area: "statuses", scope: "flow", reason: "refused" }],
    [302, "collection", undefined, { area: "statuses", scope: "flow", reason: "refused" }],
    [429, "collection", undefined, { area: "orders", scope: "area", reason: "rate limit", probeAfterMs: 60_000 }],
    [503, "collection", 5_000, { area: "orders", scope: "area", reason: "rate limit", probeAfterMs: 5_000 }],
    [401, "order", undefined, { area: "statuses", scope: "flow", reason: "credentials" }],
    [402, "order", undefined, { area: "statuses", scope: "flow", reason: "payment" }],
    [451, "order", undefined, { area: "statuses", scope: "flow", reason: "refused" }],
    [429, "order", undefined, { area: "statuses", scope: "flow", reason: "rate limit" }],
    [429, "order", 7_000, { area: "orders", scope: "area", reason: "rate limit", probeAfterMs: 7_000 }],
    [503, "order", 7_000, { area: "orders", scope: "area", reason: "rate limit", probeAfterMs: 7_000 }],
    [503, "order", 3_600_000, { area: "orders", scope: "area", reason: "rate limit", probeAfterMs: 60_000 }],
    [503, "order", undefined, undefined],
    [500, "collection", undefined, undefined],
  ] as const)("%i for a %s (Retry-After %s)", (status, target, retryAfterMs, plan) => {
    const found = planHold(answered(status, target, retryAfterMs), "statuses");
    if (plan === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(plan);
  });
});

describe("the hold for an answer while other flows of the area are accepted", () => {
  it.each([
    [401, "collection", undefined, "credentials"],
    [402, "collection", undefined, "payment"],
    [429, "collection", undefined, "rate limit"],
    [429, "collection", 5_000, "rate limit"],
    [503, "collection", 5_000, "rate limit"],
    [429, "order", 5_000, "rate limit"],
  ] as const)("%i for a %s (Retry-After %s) is of the flow", (status, target, retryAfterMs, reason) => {
    const found = planHold(answered(status, target, retryAfterMs), "statuses", "flow");
    expect(found).toMatchObject({ area: "statuses", scope: "flow", reason });
  });
});

describe("the hold for a wait that the comparison meets at one order", () => {
  it.each([
    ["the comparison alone, as long as was asked", "flow", { area: "reconcile", scope: "flow", probeAfterMs: 600_000 }],
    [
      "all for a minute where nothing is known of them",
      "area",
      { area: "orders", scope: "area", probeAfterMs: 60_000 },
    ],
  ] as const)("holds %s", (_, scope, plan) => {
    expect(planHold(answered(503, "order", 600_000), "reconcile", scope)).toMatchObject(plan);
  });

  it("at a list holds as long as was asked", () => {
    const plan = { area: "orders", scope: "area", probeAfterMs: 600_000 };
    expect(planHold(answered(503, "collection", 600_000), "reconcile")).toMatchObject(plan);
  });
});

describe("what a failure concerns", () => {
  it.each([401, 402, 403, 405, 409, 423, 429, 451, 500, 503, 302])("%i for one order is that order's own", (status) => {
    expect([reachOf(answered(status, "order")), isAnswered(answered(status, "order"))]).toEqual(["record", true]);
  });

  it("a wait asked for at one order is everybody's, until that order alone asks for it again and again", () => {
    const wait = answered(429, "order", 1_000);
    expect([0, 1, 2, 3].map((attempts) => reachOf(wait, attempts))).toEqual(["area", "area", "record", "record"]);
    const waits = [0, 1, 2, 3].map((waitsBefore) => answered(429, "order", 1_000, waitsBefore));
    expect(waits.map((each) => reachOf(each))).toEqual(["area", "area", "record", "record"]);
    expect(waits.map((each) => asksAllToWait(each))).toEqual([true, true, false, false]);
  });

  it.each([
    ["no connection", unanswered("unreachable", "none"), "area"],
    ["no connection in time", unanswered("timed_out", "none"), "area"],
    ["an answer that broke off", unanswered("unreachable", "unknown"), "record"],
    ["no answer", unanswered("timed_out", "unknown"), "record"],
    ["a stop", unanswered("stopped", "none"), "machine"],
    ["an answer that cannot be read", new BridgeError("answer_unreadable", words("")), "record"],
    ["a defect of the program", new TypeError("x is undefined"), "record"],
    ["a configuration that does not fit", new BridgeError("answer_shape", words("")), "flow"],
    ["a full disk", new BridgeError("disk_full", words("")), "machine"],
    ["a lock", new BridgeError("database_busy", words("")), "machine"],
    ["refused credentials at a collection", answered(401, "collection"), "area"],
    ["a refusal at a collection", answered(423, "collection"), "flow"],
  ])("%s", (_, error, reach) => {
    expect([reachOf(error), isAnswered(error)]).toEqual([reach, false]);
  });
});
