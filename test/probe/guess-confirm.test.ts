import { describe, expect, it } from "vitest";
import { guessConfirmBody } from "../../src/probe/guess-confirm.ts";

const usual = { words: null, hasId: true, idPath: "$.batch_id", isAuto: true };

describe("the body of a confirm, after one was refused", () => {
  it.each([
    ['{"error":"the body lacks the list order_ids"}', { order_ids: "{order_ids}" }],
    ['{"error":"orderIds is required"}', { orderIds: "{order_ids}" }],
    ["missing field: batch.uuid", { batch: { uuid: "{batch_id}" } }],
    ['{"message":"field packet is missing"}', { order_ids: "{order_ids}" }],
    ["the body lacks packet", { packet: "{batch_id}" }],
    ["the body lacks the list packet", { packet: "{order_ids}" }],
    ["Не указан параметр пачка", { пачка: "{batch_id}" }],
    ["batch_id is unknown", { order_ids: "{order_ids}" }],
    ["no", { order_ids: "{order_ids}" }],
  ])("is guessed from the words: %s", (words, body) => {
    expect(guessConfirmBody({ ...usual, words })).toEqual(body);
  });

  it.each<[string, Partial<Parameters<typeof guessConfirmBody>[0]>, object | undefined]>([
    ["the name of the batch's own id", { idPath: "$.data.packet" }, { packet: "{batch_id}" }],
    ["nothing, where it was written by a person and nothing speaks against it", { isAuto: false }, undefined],
    ["nothing, where the orders are named already", { hasId: false }, undefined],
    ["the orders, where the batch has no id", { hasId: false, words: "missing key ids" }, { ids: "{order_ids}" }],
  ])("is %s", (_, more, body) => {
    expect(guessConfirmBody({ ...usual, ...more })).toEqual(body);
  });

  it("always names the batch or its orders", () => {
    for (const words of ["", "{}", "lacks", "missing: ", "no such thing", "ids", "a.b.c.id", "__proto__ is required"]) {
      const body = guessConfirmBody({ ...usual, words });
      expect(JSON.stringify(body)).toMatch(/\{(?:batch_id|order_ids)\}/);
    }
  });
});
