import { describe, expect, it } from "vitest";
import { scanJson } from "../../../src/answers/scan-json.ts";
import { readAcceptance } from "../../../src/service/outcome/acceptance.ts";
import { Answer } from "../../../src/service/outcome/answer.ts";
import { readFailureCode } from "../../../src/service/outcome/unknown-outcome.ts";

const read = (body: string) => {
  const acceptance = readAcceptance({ contentType: "application/json", body: Buffer.from(body) });
  return acceptance.kind === "accepted" ? (acceptance.unknown?.why ?? "accepted") : acceptance.kind;
};

describe("the first answer of all", () => {
  it.each([
    "500 Internal Server Error",
    "502",
    "HTTP 503",
    "409 Conflict",
    "Connection refused",
    "upstream request timeout",
    "upstream connect error or disconnect/reset before headers",
    "Ошибка: нет связи с базой",
    "Сервис временно недоступен",
    "Извините, идут технические работы",
    "Не удалось сохранить",
    "status: error",
    "status=error&message=down",
    'a:1:{s:5:"error";s:16:"database is down";}',
    'cb({"error":"database is down"})',
    "Service is starting, please wait",
    "The database is down",
    '{"success":null,"message":"database is down"}',
    '{"message":"The database is down for now"}',
    '{"data":{"message":"Сервис временно недоступен"}}',
    '{"maintenance":true}',
    '{"queued":false}',
  ])("leaves the outcome unknown by a word of failure: %s", (body) => {
    expect(read(body)).toMatch(/^(?:words|error)$/);
  });

  it.each([
    '{"imported":0,"skipped":1}',
    '{"updated":0,"created":0,"failed_rows":[],"skipped":3}',
    '{"imported":0}',
    '{"accepted":0,"errors":[]}',
    '{"result":{"processed":0}}',
    '{"received":3,"accepted":0}',
    '{"ok":true,"report":{"received":3,"imported":0}}',
    '{"received":3,"updated":0,"omitted":3}',
  ])("leaves it unknown by its counts: %s", (body) => {
    expect(read(body)).toBe("counts");
  });

  it.each([
    '["error","database is down"]',
    '{"code":"E500","message":"database is down"}',
    '{"code":-1,"msg":"database is down"}',
    '{"data":{"result":{"error":"database is down"}}}',
    '{"ошибка":"нет связи с базой"}',
    '{"статус":"ошибка"}',
    '{"успех":false}',
    '{"errno":5}',
    '{"code":503}',
    '{"ret":-1,"data":null}',
    '{"return_code":"FAIL"}',
    '{"result":"NG"}',
    '{"isSuccess":"N"}',
  ])("refuses in words: %s", (body) => {
    expect(read(body)).toBe("error");
  });

  it.each([
    "OK",
    "500 records imported",
    "Imported 500 of 500",
    "Accepted, no errors",
    "0 errors, 5 rows",
    "errors: 0; timeouts: 0",
    "Принято 404 строки, ошибок нет",
    "Принято без ошибок",
    '{"updated":0}',
    '{"received":3}',
    '{"received":3,"updated":0,"created":0}',
    '{"received":3,"accepted":0,"unchanged":3}',
    '{"received":3,"imported":0,"updated":3}',
    '{"received":3,"processed":0,"queued":3}',
    '{"received":3,"message":"one was refused before"}',
    '{"updated":0,"unchanged":5}',
    '{"imported":0,"unchanged":5}',
    '{"accepted":0,"failed":[],"unchanged":5}',
    '{"imported":0,"updated":5}',
    '{"accepted":5,"skipped":1}',
    '{"accepted":5,"message":"one was refused before"}',
    '{"status":"ok","message":"Failed rows are sent by mail"}',
    '{"success":true,"warnings":[],"request_id":"a1","took_ms":404}',
    '{"id":"5","time":"2026-03-01T12:00:00Z"}',
    '{"maintenance":false,"ok":true}',
    '{"message":"Import completed without errors"}',
    '{"code":"A-17"}',
    '{"data":{"order":{"error":"card"}}}',
  ])("is an acceptance: %s", (body) => {
    expect(read(body)).toBe("accepted");
  });
});

describe("a number or a letter in the answer to one order", () => {
  const read = (text: string) => {
    const body = Buffer.from(text);
    return readFailureCode(new Answer(body, scanJson(body)))?.why ?? "accepted";
  };
  it.each([
    '{"status":0,"message":"Нельзя изменить статус"}',
    '{"result":0}',
    '{"code":10010,"msg":"no permission"}',
    '{"meta":{"code":1001},"data":null}',
    '{"resultCode":"F"}',
    '{"code":1,"data":null}',
    '{"ret":"7"}',
  ])("may be a refusal: %s", (text) => {
    expect(read(text)).toBe("code");
  });
  it.each([
    '{"status":1}',
    '{"code":0,"msg":"ok"}',
    '{"code":200}',
    '{"retcode":"00"}',
    '{"ok":true,"code":7}',
    '{"status":"success","code":1}',
    '{"order":{"code":1001,"status":0}}',
    '{"data":{"code":1001}}',
    "[]",
  ])("is none: %s", (text) => {
    expect(read(text)).toBe("accepted");
  });
});
