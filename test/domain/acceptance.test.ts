import { describe, expect, it } from "vitest";
import { readAcceptance } from "../../src/domain/acceptance.ts";

const read = (body: string, contentType = "application/json") =>
  readAcceptance({ contentType, body: Buffer.from(body) });

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
    ['{"cut":', "application/json"],
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
