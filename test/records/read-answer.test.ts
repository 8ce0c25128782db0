import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { atOnce } from "../../src/answers/slices.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { mayHoldRecordsInSlices, type ReadableAnswer, readListInSlices } from "../../src/records/read-list.ts";
import { fingerprintInSlices, idsInSlices, readRecords } from "../../src/records/read-records.ts";
import { batchMapping } from "../support/rules.ts";

const mapping = batchMapping({ order_id: "$.id", created_at: "$.created", updated_at: "$.at" });

const readList = (answer: ReadableAnswer & { status: number }, path: string) =>
  atOnce(readListInSlices(answer, parsePath(path)));
const list = (body: string, path = "$.data.orders", status = 200) =>
  readList({ status, contentType: "application/json", body: Buffer.from(body) }, path);
const errorOf = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error instanceof BridgeError ? error.code : error;
  }
  return undefined;
};
const UUID = "11111111-2222-4333-8444-555555555555";

function recordsOf(body: string) {
  const bytes = Buffer.from(body);
  const { root, elements = [] } = readList({ status: 200, contentType: "", body: bytes }, "$");
  return { bytes, records: readRecords(bytes, { root, elements }, mapping) };
}

describe("the list of an answer", () => {
  it.each(["[]", " [ ] ", '{"data":null}', '{"data":{"orders":null}}', '{"data":{"orders":[ ]}}', "null"])(
    "is empty: %s",
    (body) => {
      expect(list(body).elements).toBeUndefined();
    },
  );

  it("is empty with 204", () => {
    expect(list("", "$.data.orders", 204).elements).toBeUndefined();
  });

  it.each([
    "{}",
    '{"data":{}}',
    '{"Data":{"orders":[]}}',
    '{"data":[]}',
    '{"data":{"orders":{}}}',
    '{"data":{"orders":0}}',
    "[1]",
    "0",
    '""',
  ])("is an error of shape and never empty: %s", (body) => {
    expect(errorOf(() => list(body))).toBe("answer_shape");
  });

  it.each([
    ['{"error":"database is down","data":{"orders":[]}}', "database is down"],
    ['{"error":"database is down","data":{"orders":null}}', "database is down"],
    ['{"error":"database is down","data":null}', "database is down"],
    ['{"error":"database is down"}', "database is down"],
    ['{"success":false,"data":{"orders":0}}', "success: false"],
    ['{"status":503,"message":"later","data":{}}', "later"],
    ["false", "false"],
    ['{"data":{"orders":[{"error":"database is down"}]}}', "database is down"],
    ['{"data":{"orders":[{"errors":[{"code":7}],"code":500},{"success":false}]}}', '[{"code":7}]'],
  ])("is never empty where the answer reports an error: %s", (body, words) => {
    expect(() => list(body)).toThrow(`The answer reports an error: ${words}`);
    expect(errorOf(() => list(body))).toBe("unavailable");
  });

  it.each([
    '{"error":null,"data":{"orders":[]}}',
    '{"error":"","errors":[],"data":{"orders":[]}}',
    '{"error":false,"errors":{},"data":null}',
    '{"error":0,"success":"success","data":{"orders":[]}}',
    '{"status":"ok","success":true,"data":{"orders":[]}}',
  ])("is empty where what looks like an error is none: %s", (body) => {
    expect(list(body)).toMatchObject({ elements: undefined });
  });

  it.each([
    '{"data":{"orders":[{"error":"no stock","id":"11111111-2222-4333-8444-555555555555"}]}}',
    '{"data":{"orders":[{"error":"no stock","items":[{"sku":"A"}]}]}}',
    '{"data":{"orders":[{"error":"no stock"},{"number":"N-1"}]}}',
    '{"data":{"orders":[false]}}',
  ])("has the records that have an error of their own: %s", (body) => {
    expect(list(body).elements).toBeDefined();
  });

  it.each([
    '{"data":{"orders":[{"id":1}],"orders":[]}}',
    '{"data":{"orders":[],"orders":[{"id":1}]}}',
    '{"data":{"orders":[]},"data":{"orders":[{"id":1}]}}',
    '{"data":{"orders":null,"\\u006frders":[]}}',
  ])("is an error of shape, and never empty, where a place on its way stands twice: %s", (body) => {
    expect(errorOf(() => list(body))).toBe("answer_shape");
  });

  it("carries the error that the answer reports beside records", () => {
    expect(list('{"error":"partial","data":{"orders":[{}]}}')).toMatchObject({ error: "partial" });
    expect(list('{"error":null,"data":{"orders":[{}]}}').error).toBeUndefined();
  });

  it("is an error of shape, and kept, where records stand elsewhere beside an error", () => {
    expect(errorOf(() => list('{"error":"partial","result":{"orders":[{"id":1}]}}'))).toBe("answer_shape");
  });

  it("is never found in JSON that was cut anywhere", () => {
    const body = '{"data":{"orders":[{"id":"x","n":1.5},null,true]}}';
    fc.assert(
      fc.property(fc.integer({ min: 0, max: body.length - 1 }), (length) => {
        expect(errorOf(() => list(body.slice(0, length)))).toBe("answer_unreadable");
      }),
    );
  });
});

describe("whether a body that could not be read may hold orders", () => {
  it.each([
    ['{"result":{"заказы":[{"id":1}]}}', true],
    ['[{"id":1}]', true],
    ['{"a":{"b":{"c":[ {"x":1}]}}}', true],
    ['{"errors":[],"items":[{}]}', true],
    ["{}", false],
    ['{"result":{"заказы":[],"time":"12:00","tags":["a"]}}', false],
    ['{"text":"[{\\"id\\":1}]"}', false],
    ['{"error":{"code":1,"details":[{"field":"x"}]}}', false],
    ['{"errors":[{"message":"x"}]}', false],
    ['{"success":false,"message":"x","details":[{"a":1}]}', false],
    ["[1,2]", false],
    ["[]", false],
    ['"[{}]"', false],
  ])("%s", (body, holds) => {
    const bytes = Buffer.from(body);
    expect(atOnce(mayHoldRecordsInSlices(bytes, scanJson(bytes)))).toBe(holds);
  });

  it("is told at any depth without effort", () => {
    const bytes = Buffer.from("[".repeat(200_000) + "]".repeat(200_000));
    expect(atOnce(mayHoldRecordsInSlices(bytes, scanJson(bytes)))).toBe(false);
  });
});

describe("the ids of a batch", () => {
  it("are named by the literals that the service wrote, each once, unusable ones too", () => {
    const { records } = recordsOf(
      `[{"id":"${UUID}"},{"id":"${UUID}"},{"id":"\\u0041-1"},{"id":17},{"id":null},{},7,{"id":"../confirm"}]`,
    );
    expect(atOnce(idsInSlices(records))).toBe(`["${UUID}","\\u0041-1",17,"../confirm"]`);
  });

  it("make the batch the same batch again, whatever else its records say", () => {
    const fingerprint = (body: string, id: string | null = '"b"') => {
      const { bytes, records } = recordsOf(body);
      return atOnce(fingerprintInSlices(bytes, id, records));
    };
    const base = fingerprint(`[{"id":"${UUID}"},{"id":"x"}]`);
    expect(fingerprint(`[{"id":"${UUID.toUpperCase()}","status":"paid"},{"id":"x","a":1}]`)).toBe(base);
    expect(fingerprint(`[{"id":"x"},{"id":"${UUID}"}]`)).not.toBe(base);
    expect(fingerprint(`[{"id":"${UUID}"}]`)).not.toBe(base);
    expect(fingerprint(`[{"id":"${UUID}"},{"id":"x"}]`, '"c"')).not.toBe(base);
    expect(fingerprint(`[{"id":"${UUID}"},{"id":"x"}]`, null)).not.toBe(base);
  });

  it("are known by a short name where something else stands in their place", () => {
    const { records } = recordsOf(`[{"id":"${"z".repeat(100_000)}"}]`);
    expect(records[0]).toMatchObject({ ok: false, reference: "z".repeat(200) });
  });
});

describe("the limits of an answer", () => {
  const limits = { valuesMax: 10, recordsMax: 3 };
  const read = (text: string) =>
    readList({ status: 200, contentType: "application/json", body: Buffer.from(text), limits }, "$.orders");
  it("refuses more records or values than were allowed, by the name of the key", () => {
    expect(read('{"orders":[1,2,3]}').elements).toHaveLength(3);
    expect(() => read('{"orders":[1,2,3,4]}')).toThrow(/more records than service.answer_records_max \(3\)/);
    expect(() => read(`{"orders":[[${"1,".repeat(9)}1]]}`)).toThrow(
      /more values than service.answer_values_max \(10\)/,
    );
  });
});
