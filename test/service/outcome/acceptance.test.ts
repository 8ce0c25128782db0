import { describe, expect, it } from "vitest";
import { readAcceptance } from "../../../src/service/outcome/acceptance.ts";

const read = (body: string | Buffer, contentType = "application/json") => {
  const acceptance = readAcceptance({ contentType, body: Buffer.from(body) });
  return acceptance.kind === "error" ? { kind: "error", words: acceptance.words } : { kind: acceptance.kind };
};

describe("what a success answer to a POST says", () => {
  it.each([
    ["", "text/html"],
    ["OK", "text/plain"],
    ["null", "application/json"],
    ['"done"', "application/json"],
    ['{"ok":true}', "text/html; charset=utf-8"],
    ['{"error":null,"errors":[],"success":true}', "application/json"],
    ['{"error":false,"errors":{}}', "application/json"],
    ['{"status":"success"}', "application/json"],
    ['{"error":"","errors":{ },"success":"true","status":200}', "application/json"],
    ['{"error":0,"errors":"none","ok":1,"result":0}', "application/json"],
    ['{"errors":[null,null],"error_codes":[0,"0"]}', "application/json"],
    ['{"error":"success","success":null,"result":[]}', "application/json"],
    ["true", "application/json"],
    ["1", "application/json"],
    ["0", "application/json"],
    [" \r\n", "application/json"],
    ["OK", "application/json"],
    ["success\nfailures: 0", "text/plain"],
    ["Errors: none", "text/plain"],
    ["Errors: 0, updated: 5", "text/plain"],
    ["No errors.", "text/plain"],
    ["no_error", "text/plain"],
    ["Rejected rows: 0", "text/plain"],
    ["Accepted, no errors", "text/plain"],
    ['{"code":0}', "application/json"],
    ['{"code":200,"message":"ok"}', "application/json"],
    ['{"code":"0000","message":"No error"}', "application/json"],
    ['{"error_code":0,"error_message":""}', "application/json"],
    ['{"errorCode":200,"errorMessage":"Success"}', "application/json"],
    ['{"error":{"code":0,"message":""}}', "application/json"],
    ['{"ERROR":null,"Errors":[],"Success":true}', "application/json"],
    ['{"has_errors":"no","is_error":false,"hasErrors":0}', "application/json"],
    ['{"message":"ok"}', "application/json"],
    ['{"message":"Rejected: 0"}', "application/json"],
    ['{"message":"Warning: nothing has changed"}', "application/json"],
    ['{"success":true,"message":"Errors were corrected"}', "application/json"],
    ['{"status":"ok","message":"Failed rows are sent by mail"}', "application/json"],
    ['{"status":"queued"}', "application/json"],
    ['{"status":"no_errors"}', "application/json"],
    ['{"accepted":5,"rejected":0}', "application/json"],
    ['{"accepted":0,"failed":[],"unchanged":5}', "application/json"],
    ['{"accepted":true,"processed":false}', "application/json"],
    ['{"data":{"error":null,"code":450}}', "application/json"],
    ['{"data":[{"code":450,"status":"ok","description":"Invalid until spring"}]}', "application/json"],
    ['[{"sku":"A","ok":true},{"sku":"B","error":null}]', "application/json"],
    ['{"result":{"errors":{}},"response":{"success":1},"meta":{"code":200}}', "application/json"],
    ['{"error_log_url":"https://example.org/log","errors":[]}', "application/json"],
    ['{"order":{"state":"failed","error":"card"}}', "application/json"],
  ])("is acceptance: %j as %s", (body, contentType) => {
    expect(read(body, contentType)).toEqual({ kind: "accepted" });
  });

  it.each([
    ["<!DOCTYPE html><html>", "application/json"],
    ["<html><body>OK</body></html>", "text/plain"],
    ["\ufeff\n <!-- proxy --><html>", "text/plain"],
    ['<?xml version="1.0"?><html/>', "text/plain"],
    ["OK", "text/html"],
  ])("is a web page and no acceptance: %j as %s", (body, contentType) => {
    expect(read(body, contentType)).toEqual({ kind: "html" });
  });

  it.each([
    '{"cut":',
    "[1,",
    '"don',
    '{"success":true}{"success":false}',
    '{"ok":true,}',
    "fals",
    Buffer.from('\ufeff{"success":false}', "utf16le"),
    Buffer.from('{"success":false}', "utf16le"),
  ])("is cut off and no acceptance: %s", (body) => {
    expect(read(body)).toEqual({ kind: "cut" });
    expect(read(body, "text/plain")).toEqual({ kind: "cut" });
  });

  it.each([
    ["false", "false"],
    [" false\n", "false"],
    ['"false"', "false"],
    ['"Error"', "Error"],
    ["failure\nthe order is locked", "failure the order is locked"],
    ["ERROR: database is down", "ERROR: database is down"],
    ['{"success":0}', "success: 0"],
    ['{"success":0.0}', "success: 0.0"],
    ['{"success":"false"}', "success: false"],
    ['{"ok":"0"}', "ok: 0"],
    ['{"result":false}', "result: false"],
    ['{"result":"error","message":"locked"}', "locked"],
    ['{"status":false}', "status: false"],
    ['{"status":500,"message":"down"}', "down"],
    ['{"status":"404"}', "status: 404"],
    ['{"error":true}', "true"],
    ['{"error":null,"errors":{"order":"locked"}}', '{"order":"locked"}'],
    ['{"error":"no such batch"}', "no such batch"],
    ['{"errors":["a","b"]}', '["a","b"]'],
    ['{"errors":[null,"b"]}', '[null,"b"]'],
    ['{"errors":[0]}', "[0]"],
    ['{"success":false}', "success: false"],
    ['{"ok":false,"message":"not now"}', "not now"],
    ['{"status":"ERROR","message":"broken"}', "broken"],
    ['{"error":"line\\u0000\\nbreak"}', "line break"],
    ['{"success" : false , "message" : {"ru":"нет"}}', '{"ru":"нет"}'],
    ["\n\nFatal error: Uncaught PDOException in /x.php", "Fatal error: Uncaught PDOException in /x.php"],
    ["PHP Warning: mysqli_connect(): refused", "PHP Warning: mysqli_connect(): refused"],
    ["java.lang.NullPointerException: x", "java.lang.NullPointerException: x"],
    ["Internal Server Error", "Internal Server Error"],
    ["ERROR: no such table", "ERROR: no such table"],
    ["error=db+down&code=5", "error=db+down&code=5"],
    ["no", "no"],
    ['"Invalid token"', "Invalid token"],
    ['[{"error":"x"}]', "x"],
    ['[{"ok":true},{"error":"x"}]', "x"],
    ['{"results":[{"sku":"A","status":"ok"},{"sku":"B","status":"rejected"}]}', "status: rejected"],
    ['{"data":{"error":"x"}}', "x"],
    ['{"data":{"code":500,"message":"x"}}', "x"],
    ['{"response":{"success":false}}', "success: false"],
    ['{"result":{"Errors":["x"]}}', '["x"]'],
    ['{"meta":{"code":500},"data":null}', "code: 500"],
    ['{"status":{"code":503,"message":"busy"}}', "busy"],
    ['{"Error":"x"}', "x"],
    ['{"ERROR":"x"}', "x"],
    ['{"Success":false}', "Success: false"],
    ['{"isSuccess":false}', "isSuccess: false"],
    ['{"is_success":"no"}', "is_success: no"],
    ['{"accepted":false}', "accepted: false"],
    ['{"accepted":0,"rejected":1}', "rejected: 1"],
    ['{"failed":1,"updated":0}', "failed: 1"],
    ['{"rejected":{"A":"locked"}}', 'rejected: {"A":"locked"}'],
    ['{"code":500,"message":"internal error"}', "internal error"],
    ['{"statusCode":"422"}', "statusCode: 422"],
    ['{"code":"INTERNAL_ERROR"}', "code: internal_error"],
    ['{"error_code":17,"error_message":"no"}', "17"],
    ['{"errorMessage":"no"}', "no"],
    ['{"error_description":"no"}', "no"],
    ['{"error":{"code":0,"message":"x"}}', '{"code":0,"message":"x"}'],
    ['{"exception":"PDOException"}', "PDOException"],
    ['{"fault":{"faultstring":"x"}}', '{"faultstring":"x"}'],
    ['{"has_errors":true}', "true"],
    ['{"is_error":1}', "1"],
    ['{"state":"rejected"}', "state: rejected"],
    ['{"status":"completed_with_errors"}', "status: completed_with_errors"],
    ['{"outcome":"ValidationError"}', "outcome: validationerror"],
    ['{"message":"Unauthenticated."}', "Unauthenticated."],
    ['{"message":"Internal server error"}', "Internal server error"],
    ['{"error":null,"error":"x"}', "x"],
    ['{"error":"x","error":null}', "x"],
    ['{"success":true,"success":false}', "success: false"],
  ])("is a refusal in words: %s", (body, words) => {
    expect(read(body)).toEqual({ kind: "error", words });
  });
});

/** The words of an error, or what else the answer is. */
function wordsOf(body: string, to: "request" | "import"): string {
  const acceptance = readAcceptance({ contentType: "application/json", body: Buffer.from(body) }, to);
  return acceptance.kind === "error" ? acceptance.words : acceptance.kind;
}

describe("an answer to an import that reports errors of its records", () => {
  it.each([
    ['{"stocks":[{"sku":"A","status":"error","message":"Склад не найден"}]}', "Склад не найден"],
    ['{"update":[{"id":7},{"id":0,"error":{"code":"invalid_id","message":"Invalid ID."}}]}', "Invalid ID."],
    ['{"responses":[{"sku":"A","statusCode":400,"errors":[{"errorId":25702}]}]}', "25702"],
    ['{"offers":[{"offer_id":"A","updated":false,"errors":[{"code":"WAREHOUSE_NOT_FOUND"}]}]}', "WAREHOUSE_NOT_FOUND"],
    [
      '{"data":{"inventorySetQuantities":{"group":null,"userErrors":[{"message":"no such location"}]}}}',
      "no such location",
    ],
    [
      '{"result":{"result":[],"result_error":{"cmd0":{"error":"ACCESS_DENIED"}}},"time":{"duration":0.1}}',
      "ACCESS_DENIED",
    ],
    ['{"report":{"rows":[{"sku":"A","success":false}]}}', "success: false"],
  ])("is a refusal: %s", (body, words) => {
    expect(wordsOf(body, "import")).toContain(words);
  });

  it.each([
    '{"stocks":[{"sku":"A","status":"ok","error":null,"errors":[]}]}',
    '{"data":{"inventorySetQuantities":{"userErrors":[]}},"extensions":{"max_errors":10,"error":0}}',
    '{"result":{"result_error":[],"result":{"cmd0":true}}}',
    '{"accepted":[{"sku":"A","code":"E500"},{"sku":"B","code":"-1"}]}',
    '{"warnings":[{"sku":"A","message":"the price is low"}]}',
    '{"errors":[null,null],"rows":[1,2]}',
  ])("is an acceptance: %s", (body) => {
    expect(wordsOf(body, "import")).toBe("accepted");
  });
});

describe("an answer to a status or a confirm that reports an error of what was sent", () => {
  it.each([
    ['{"orders":[{"order_id":"A","success":false,"error":{"code":"INVALID_TRANSITION"}}]}', "INVALID_TRANSITION"],
    ['{"order":{"order_id":"A","success":false}}', "success: false"],
    ['{"order":{"error":"INVALID_TRANSITION"}}', "INVALID_TRANSITION"],
    ['{"data":{"fulfillmentCreate":{"fulfillment":null,"userErrors":[{"message":"no such order"}]}}}', "no such order"],
    ['{"orders":[{"isError":true,"errors":[{"code":7}]}]}', "true"],
    ['{"batch":{"batch_id":"b1","error":"LOCKED"}}', "LOCKED"],
    ['{"batches":[{"batch_id":"b1","success":false}]}', "success: false"],
    ['{"batches":[{"batch_id":"b1","status":"error","error":"LOCKED"}]}', "LOCKED"],
  ])("is a refusal: %s", (body, words) => {
    expect(wordsOf(body, "request")).toContain(words);
  });

  it.each([
    '{"order":{"order_id":"A","status":"failed","error":null,"payment":{"success":false,"error":"card declined"}}}',
    '{"order":{"order_id":"A","history":[{"status":"rejected","errors":["card declined"]}]}}',
    '{"orders":[{"order_id":"A","status":"rejected","success":true,"errors":[]}]}',
    '{"data":{"fulfillmentCreate":{"userErrors":[]}}}',
  ])("is an acceptance: %s", (body) => {
    expect(wordsOf(body, "request")).toBe("accepted");
  });
});
