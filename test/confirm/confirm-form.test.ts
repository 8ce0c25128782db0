import { describe, expect, it } from "vitest";
import {
  classifyConfirmFailure,
  compileConfirm,
  confirmNames,
  confirmNeedsBatchId,
  renderConfirm,
} from "../../src/confirm/confirm-form.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { codeOfStatus, ServiceError } from "../../src/service/service-error.ts";
import { words } from "../support/messages.ts";

const orderIds = '["a",7]';

describe("the body of a confirm", () => {
  it.each([
    ["auto", '"b-1"', '{"batch_id":"b-1"}'],
    ["auto", "9007199254740993", '{"batch_id":9007199254740993}'],
    ["auto", null, '{"order_ids":["a",7]}'],
    [{ id: "{batch_id}" }, "12345678901234567890", '{"id":12345678901234567890}'],
    [{ id: "{batch_id|string}" }, "17", '{"id":"17"}'],
    [{ id: "{batch_id|string}" }, '"b-1"', '{"id":"b-1"}'],
    [{ id: "no. {batch_id}" }, '"b \\"1\\""', '{"id":"no. b \\"1\\""}'],
    [{ id: "{batch_id}" }, '{"v": 1.0}', '{"id":{"v": 1.0}}'],
    [{ orders: "{order_ids}", done: true }, null, '{"orders":["a",7],"done":true}'],
    [{}, '"b-1"', "{}"],
  ])("of %j for batch %s", (body, batchId, text) => {
    expect(renderConfirm(compileConfirm(body), { batchId, orderIds })).toBe(text);
  });

  it("is refused where it would name nothing although it should", () => {
    const nothing = { batchId: null, orderIds: "[]" };
    for (const body of ["auto", { ids: "{order_ids}" }, { id: "{batch_id}" }]) {
      expect(() => renderConfirm(compileConfirm(body), nothing)).toThrow(BridgeError);
    }
    expect(renderConfirm(compileConfirm({}), nothing)).toBe("{}");
  });

  it("says whether it names anything, and whether it needs the batch's id", () => {
    const forms = [
      "auto",
      { a: "{order_ids}" },
      { a: "{batch_id}" },
      { a: ["{batch_id}", "{order_ids}"] },
      {},
      { done: true },
    ].map(compileConfirm);
    expect(forms.map(confirmNames)).toEqual([true, true, true, true, false, false]);
    expect(forms.map(confirmNeedsBatchId)).toEqual([false, false, true, true, false, false]);
  });
});

describe("a confirm that failed", () => {
  const refused = (status: number) =>
    new ServiceError(codeOfStatus(status)?.code ?? "internal", words("refused"), {
      area: "orders",
      method: "POST",
      path: "/confirm",
      status,
      effect: "none",
    });

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
