import { describe, expect, it } from "vitest";
import { parsePath } from "../../../src/answers/json-path.ts";
import { readImportResult } from "../../../src/service/outcome/import-result.ts";
import { itWhole } from "../../support/whole.ts";

const RESULT = { rejected: parsePath("$.errors"), key: parsePath("$.sku"), message: parsePath("$.message") };
const KEYS = [
  ["A", ""],
  ["B", "west"],
  ["B", "east"],
  ["7", ""],
];

function read(body: string, options: { result?: typeof RESULT | null; contentType?: string } = {}) {
  const answer = { contentType: options.contentType ?? "application/json", body: Buffer.from(body) };
  const read = readImportResult(answer, KEYS, options.result ?? null);
  if (read.kind !== "accepted") return read;
  const { acceptance: _, counts: __, ...rest } = read;
  return rest;
}

describe("an answer to an import", () => {
  it.each([
    "",
    "OK",
    "Accepted.",
    "{}",
    "[]",
    '{"accepted":4,"errors":[]}',
    '{"success":true}',
    '"done"',
    "42",
    '{"errors":0}',
  ])("%s is acceptance", (body) => {
    expect(read(body)).toEqual({ kind: "accepted", rejected: [], reportedBy: "status" });
  });

  it.each(['{"error":"no"}', '{"errors":["no"]}', '{"success":false}', '{"ok":false}', '{"errors":{"a":1}}'])(
    "%s is a refusal",
    (body) => {
      expect(read(body)).toMatchObject({ kind: "error" });
    },
  );

  it.each(['{"accepted":2', "[1,", '  {"a"'])("%s is cut off, which says nothing", (body) => {
    expect(read(body)).toEqual({ kind: "cut" });
  });

  it("that is a web page is no acceptance, whatever its type says", () => {
    expect(read("<!DOCTYPE html><html></html>")).toEqual({ kind: "html" });
    expect(read("busy", { contentType: "text/html" })).toEqual({ kind: "html" });
  });
});

describe("an answer that names rejected records", () => {
  it("ties them to what was sent, numbers and joined keys included, each once", () => {
    const body =
      '{"errors":[{"sku":"A","message":"bad"},{"sku":7},{"sku":"B/west","message":null},{"sku":"A","message":"again"}]}';
    expect(read(body, { result: RESULT })).toEqual({
      kind: "accepted",
      reportedBy: "records",
      rejected: [
        { index: 0, message: "bad" },
        { index: 3, message: '{"sku":7}' },
        { index: 1, message: '{"sku":"B/west","message":null}' },
      ],
    });
  });

  it.each([
    ["no record that was sent", '{"errors":[{"sku":"Z","message":"who?"}]}'],
    ["two records at once", '{"errors":[{"sku":"B","message":"which?"}]}'],
    ["nothing", '{"errors":[{"message":"something"}]}'],
  ])("is a refusal of the request where it names %s", (_, body) => {
    expect(read(body, { result: RESULT })).toMatchObject({ kind: "error" });
  });

  it("is told apart from one that lacks the list", () => {
    expect(read('{"errors":null}', { result: RESULT })).toMatchObject({ kind: "accepted", reportedBy: "records" });
    expect(read('{"done":1}', { result: RESULT })).toMatchObject({ kind: "accepted", reportedBy: "status" });
    const twice = '{"rejected":[],"rejected":[{"sku":"A"}]}';
    expect(read(twice, { result: { ...RESULT, rejected: parsePath("$.rejected") } })).toMatchObject({
      kind: "error",
      words: expect.stringContaining("$.rejected more than once"),
    });
    expect(read('{"success":false}', { result: RESULT })).toMatchObject({ kind: "error" });
  });

  it.each([
    ['{"error":"database is down","rejected":[]}', "database is down"],
    ['{"error":"database is down","rejected":null}', "database is down"],
    ['{"success":false,"rejected":[]}', "success: false"],
  ])("is a refusal where it reports an error and names none: %s", (body, words) => {
    const result = { ...RESULT, rejected: parsePath("$.rejected") };
    expect(read(body, { result })).toMatchObject({ kind: "error", words });
  });

  it.each([
    ['"success":false,"error":"nothing was saved"', "nothing was saved"],
    ['"success":false', "success: false"],
    ['"data":{"status":"rolled back, ValidationError"}', "status: rolled back, validationerror"],
  ])("says nothing of the others where it names records beside an error: %s", (error, words) => {
    const result = { ...RESULT, rejected: parsePath("$.errors.records") };
    const body = `{${error},"errors":{"records":[{"sku":"A","message":"bad"}]}}`;
    expect(read(body, { result })).toEqual({ kind: "partial", rejected: [{ index: 0, message: "bad" }], words });
  });

  it.each(['"rejected":1', '"failed":1,"accepted":3', '"success":true', '"status":"ok","error":null'])(
    "is no error beside itself: %s",
    (beside) => {
      const body = `{${beside},"errors":[{"sku":"A","message":"bad"}]}`;
      expect(read(body, { result: RESULT })).toMatchObject({ kind: "accepted", rejected: [{ index: 0 }] });
    },
  );

  it.each(["null", "[]", "{}", "0", "false", '""', '{"count":0,"items":[]}'])(
    "has rejected none where it says %s",
    (said) => {
      const result = { ...RESULT, rejected: parsePath("$.report") };
      expect(read(`{"report":${said}}`, { result })).toEqual({ kind: "accepted", rejected: [], reportedBy: "records" });
    },
  );

  it.each([
    ["an object of reasons by key", '{"A":"locked","7":"no"}', ["locked", "no"], [0, 3]],
    ["an object of records by key", '{"A":{"message":"locked"}}', ["locked"], [0]],
    ["an object of empty reasons", '{"A":null,"7":""}', ["null", ""], [0, 3]],
    ["one record in place of a list of one", '{"sku":"A","message":"locked"}', ["locked"], [0]],
  ])("may name them as %s", (_, said, messages, indexes) => {
    const result = { ...RESULT, rejected: parsePath("$.report") };
    const rejected = indexes.map((index, at) => ({ index, message: messages[at] }));
    expect(read(`{"report":${said}}`, { result })).toEqual({ kind: "accepted", rejected, reportedBy: "records" });
  });

  it.each(["3", "true", '"A,7"', '{"Z":"who?"}', '{"B":"which?"}', '{"count":2}', '["A",7]', "[null]", "[[]]"])(
    "is a refusal of the request where what is rejected cannot be read: %s",
    (said) => {
      const result = { ...RESULT, rejected: parsePath("$.report") };
      expect(read(`{"report":${said}}`, { result })).toMatchObject({ kind: "error" });
      expect(read(`{"success":true,"report":${said}}`, { result })).toMatchObject({ kind: "error" });
    },
  );

  itWhole("costs no more than the records are many", () => {
    const many = Array.from({ length: 10_000 }, (_, n) => [`S-${n}`, "main"]);
    const body = Buffer.from(JSON.stringify({ errors: many.map(([sku]) => ({ sku })) }));
    const read = readImportResult({ contentType: "application/json", body }, many, RESULT);
    expect(read).toMatchObject({ kind: "accepted" });
    expect(read.kind === "accepted" && read.rejected.length).toBe(10_000);
  });
});
