import { describe, expect, it } from "vitest";
import { encodeText } from "../../src/sandbox/charset.ts";
import { readCharset, toUtf8 } from "../../src/service/charset.ts";
import { startTestBridge } from "../support/bridge.ts";
import { batchStates, createOrders } from "../support/pull.ts";
import { clientFor, failureOf, get, serve } from "./support.ts";

const TEXT = '{"name":"Пётр Ёлкин «Ассам» №5"}';
const [UTF8, CYRILLIC] = [encodeText(TEXT, "utf-8"), encodeText(TEXT, "windows-1251")];
const latin = (text: string) => Buffer.from(text, "latin1");

describe("readCharset", () => {
  it.each([
    ["application/json", undefined],
    ["application/json; charset=utf-8", undefined],
    ["application/json;charset=UTF8", undefined],
    ['text/html; Charset="Windows-1251"; q=1', "windows-1251"],
    ["application/json; charset=cp1251", "cp1251"],
    ["application/json; charset=", undefined],
  ])("%s", (contentType, charset) => {
    expect(readCharset(contentType)).toBe(charset);
  });
});

describe("a body whose answer names an encoding", () => {
  it.each<[string, string, Buffer, string | undefined]>([
    ["Cyrillic", "windows-1251", CYRILLIC, TEXT],
    ["Cyrillic by another name", "cp1251", CYRILLIC, TEXT],
    ["Latin", "iso-8859-1", latin('{"name":"Zoé"}'), '{"name":"Zoé"}'],
    ["two bytes a character", "utf-16le", Buffer.from(TEXT, "utf16le"), TEXT],
    ["ASCII", "windows-1251", Buffer.from("[1]"), "[1]"],
    ["UTF-8 under the name of a framework's default", "iso-8859-1", UTF8, TEXT],
    ["an encoding that nobody knows", "x-own", CYRILLIC, undefined],
    ["ASCII in an encoding that nobody knows", "x-own", Buffer.from("[1]"), "[1]"],
    ["not the encoding that it names", "gb18030", latin('"\xff\xff"'), undefined],
  ])("%s", async (_, charset, body, expected) => {
    expect((await toUtf8(body, charset))?.toString("utf8")).toBe(expected);
  });

  it("stays as it is where all but one text is UTF-8", async () => {
    const body = Buffer.concat([UTF8, latin("\xcf")]);
    expect(await toUtf8(body, "windows-1251")).toBe(body);
  });

  it("is decoded in pieces, with a character across two of them", async () => {
    const text = `${"я".repeat(1024 * 1024 - 1)}${TEXT}`;
    const wide = Buffer.concat([Buffer.from("a\0"), Buffer.from(text, "utf16le")]).subarray(0);
    expect((await toUtf8(wide, "utf-16le"))?.toString("utf8")).toBe(`a${text}`);
    expect((await toUtf8(encodeText(text, "windows-1251"), "windows-1251"))?.toString("utf8")).toBe(text);
  });
});

describe("a service that answers in windows-1251 and says so", () => {
  it("is read like any other: batches, changes, snapshots", async () => {
    const t = await startTestBridge({ sandbox: { options: { charset: "windows-1251" } } });
    createOrders(t, 3);
    await t.run("orders");
    const [id = ""] = t.rows<{ order_id: string }>("SELECT order_id FROM orders").map(({ order_id }) => order_id);
    t.sandbox.service.changeOrder(id, { number: "ЗК-№5" });
    await t.run("updates");
    expect(batchStates(t)).toEqual(["confirmed"]);
    expect(t.rows("SELECT kind FROM quarantine")).toEqual([]);
    const here = t.rows<{ order_id: string; payload: string }>("SELECT order_id, payload FROM orders");
    for (const { order_id, payload } of here)
      expect(JSON.parse(payload)).toEqual(JSON.parse(t.sandbox.service.newestText(order_id) ?? "null"));
    expect(t.rows("SELECT number FROM orders WHERE number = 'ЗК-№5'")).toHaveLength(1);
  });

  it("is quoted in words where it refuses", async () => {
    const url = await serve((_request, response) => {
      response.statusCode = 400;
      response.setHeader("content-type", "application/json; charset=windows-1251");
      response.end(encodeText('{"error":"нет такого поля"}', "windows-1251"));
    });
    expect((await failureOf(get(clientFor(url)))).message).toContain("нет такого поля");
  });

  it("is not understood where the encoding is unknown", async () => {
    const url = await serve((_request, response) => {
      response.setHeader("content-type", "application/json; charset=x-own");
      response.end(CYRILLIC);
    });
    expect(await failureOf(get(clientFor(url)))).toMatchObject({
      code: "answer_unreadable",
      effect: "unknown",
      message: expect.stringContaining("x-own"),
    });
  });
});
