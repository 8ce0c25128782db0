import { describe, expect, it } from "vitest";
import { compileConfirm, confirmNames, confirmNeedsBatchId, renderConfirm } from "../../src/confirm/confirm-form.ts";
import { BridgeError } from "../../src/platform/errors.ts";

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
