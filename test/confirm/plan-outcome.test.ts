import { describe, expect, it } from "vitest";
import { classifyConfirmFailure, type Failed, isFailureOfOne, planFailure } from "../../src/confirm/plan-outcome.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { codeOfStatus, ServiceError } from "../../src/service/service-error.ts";
import { words } from "../support/messages.ts";

const refused = (status: number) =>
  new ServiceError(codeOfStatus(status)?.code ?? "internal", words("refused"), {
    area: "orders",
    method: "POST",
    path: "/confirm",
    status,
    effect: "none",
  });

describe("a confirm that failed", () => {
  it.each([404, 409, 410])("with %s means confirmed once it was tried before, and refused at first", (status) => {
    expect(classifyConfirmFailure(refused(status), true)).toBe("confirmed");
    expect(classifyConfirmFailure(refused(status), false)).toBe("refused");
  });

  it.each([400, 405, 422])("with %s is refused in any case", (status) => {
    expect(classifyConfirmFailure(refused(status), true)).toBe("refused");
    expect(classifyConfirmFailure(refused(status), false)).toBe("refused");
  });

  it.each([301, 401, 402, 403, 408, 413, 418, 429, 500, 502, 503, 504])("with %s is tried again", (status) => {
    expect(classifyConfirmFailure(refused(status), true)).toBe("retry");
  });

  it("is tried again where no answer came", () => {
    expect(classifyConfirmFailure(new BridgeError("unreachable", words("cut off")), true)).toBe("retry");
  });
});

describe("what becomes of a batch whose confirm was not accepted", () => {
  const FORBIDDEN: Failed = { verdict: "retry", failure: refused(403), isSaid: true };
  const REFUSED: Failed = { verdict: "refused", failure: refused(422), isSaid: true };
  const FAILED: Failed = { verdict: "retry", failure: refused(500), isSaid: false };
  const BATCH = { isAnswered: true, isTried: false, mayBeUnknown: true };

  it.each<[string, Failed, typeof BATCH, ReturnType<typeof planFailure>["end"]]>([
    ["refused", REFUSED, BATCH, "refused"],
    ["refused after an attempt of unknown outcome", REFUSED, { ...BATCH, isTried: true }, "unknown"],
    ["refused once more", REFUSED, { ...BATCH, isTried: true, mayBeUnknown: false }, "refused"],
    ["answered in a new form", { ...FAILED, because: { count: "n" } }, BATCH, "unknown"],
    ["forbidden while pulls are answered", FORBIDDEN, BATCH, "forbidden"],
    ["forbidden while nothing is answered", FORBIDDEN, { ...BATCH, isAnswered: false }, "failed"],
    ["failed", FAILED, { ...BATCH, isTried: true }, "failed"],
  ])("%s", (_name, failed, batch, end) => {
    expect(planFailure(failed, batch).end).toBe(end);
  });

  it("waits alone from the third failure on while pulls are answered", () => {
    const counted = { isAnswered: true, unreached: 0, attempts: 2 };
    expect(isFailureOfOne(refused(500), counted)).toBe(false);
    expect(isFailureOfOne(refused(500), { ...counted, attempts: 3 })).toBe(true);
    expect(isFailureOfOne(refused(500), { ...counted, attempts: 3, isAnswered: false })).toBe(false);
  });
});
