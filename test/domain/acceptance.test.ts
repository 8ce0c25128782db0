import { describe, expect, it } from "vitest";
import { readAcceptance } from "../../src/domain/acceptance.ts";

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
    ['{"error":"success","success":null,"result":[]}', "application/json"],
    ["true", "application/json"],
    ["1", "application/json"],
    ["0", "application/json"],
    [" \r\n", "application/json"],
    ["OK", "application/json"],
    ["success\nfailures: 0", "text/plain"],
    ["Errors: none", "text/plain"],
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
    ['"Error"', "error"],
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
    ['{"success":false}', "success: false"],
    ['{"ok":false,"message":"not now"}', "not now"],
    ['{"status":"ERROR","message":"broken"}', "broken"],
    ['{"error":"line\\u0000\\nbreak"}', "line break"],
    ['{"success" : false , "message" : {"ru":"нет"}}', '{"ru":"нет"}'],
  ])("is a refusal in words: %s", (body, words) => {
    expect(read(body)).toEqual({ kind: "error", words });
  });
});
