import { describe, expect, it } from "vitest";
import { nodeAt, readJson, writeObject } from "../../src/sandbox/json-text.ts";
import { defaultOptions, mergeOptions } from "../../src/sandbox/options.ts";
import { readTimestamp, type TimestampOptions, writeTimestamp } from "../../src/sandbox/timestamps.ts";
import { get, handClock, post, sandboxFor } from "./client.ts";

const EXACT = {
  id: "0F8FAD5B-D9CB-469F-A165-70867728950E",
  number: "ЗК-1 🎁",
  total: "1234567890.10",
  lines: [{ id: "9007199254740993", sku: "00042", name: "Чай «Ассам» ☕", quantity: "0.250", price: "12.40" }],
  extra: { customer: '{"phone":"+7 900"}' },
};

describe("the shape of orders", () => {
  it("writes amounts, ids and text exactly as they were given", async () => {
    const sandbox = await sandboxFor({ now: handClock().now });
    sandbox.service.createOrder(EXACT);
    expect((await get(sandbox)).text).toBe(
      '{"batch_id":"batch-1","orders":[{"order_id":"0f8fad5b-d9cb-469f-a165-70867728950e","number":"ЗК-1 🎁",' +
        '"status":"new","created_at":"2026-03-01T10:00:00.000Z","updated_at":"2026-03-01T10:00:00.000Z",' +
        '"currency":"RUB","total":1234567890.10,"customer":{"phone":"+7 900"},' +
        '"items":[{"line_id":9007199254740993,"sku":"00042","name":"Чай «Ассам» ☕","quantity":0.250,"price":12.40}]}]}',
    );
  });

  it("nests and renames as told, in Cyrillic and in upper case", async () => {
    const order = { order_id: "заказ.идентификатор", status: "заказ.статус", items: ["то.вары"], number: null };
    const shape = {
      batch: ["data", "заказы"],
      batchId: ["data", "пакет"],
      snapshot: ["order"],
      upperCaseIds: true,
    } as const;
    const sandbox = await sandboxFor({
      options: { shape: { ...shape, order, line: { sku: "артикул" }, amounts: "string" } },
    });
    const id = sandbox.service.createOrder(EXACT);
    const { data } = (await get(sandbox)).json;
    expect(data?.пакет).toBe("batch-1");
    const record = data?.заказы?.[0];
    expect(record?.заказ).toEqual({ идентификатор: EXACT.id, статус: "new" });
    expect(record?.["то.вары"]?.[0]).toMatchObject({ артикул: "00042", quantity: "0.250" });
    expect(record).not.toHaveProperty("number");
    expect((await get(sandbox, `/${id}`)).status).toBe(404);
    const snapshot = await get(sandbox, `/${EXACT.id}`);
    expect(snapshot.text).toBe(`{"order":${sandbox.service.newestText(id)}}`);
  });

  it("serves a bare array, which has no batch id and is confirmed by order ids", async () => {
    const sandbox = await sandboxFor({ options: { shape: { batch: [], updates: [] } } });
    const id = sandbox.service.createOrder();
    expect((await get(sandbox)).json).toMatchObject([{ order_id: id }]);
    expect((await post(sandbox, "/confirm", { order_ids: [id] })).status).toBe(200);
    sandbox.service.changeOrder(id, { status: "paid" });
    expect((await get(sandbox, "/updates?since=0")).json).toMatchObject([{ order_id: id, status: "paid" }]);
  });

  it("keeps extra properties for the snapshot, and shuffles properties", async () => {
    const sandbox = await sandboxFor({ options: { shape: { extra: "snapshot" } } });
    const id = sandbox.service.createOrder(EXACT);
    expect((await get(sandbox)).json.orders?.[0]).not.toHaveProperty("customer");
    expect((await get(sandbox, `/${id}`)).json).toHaveProperty("customer");
    sandbox.service.setOptions({ shape: { shuffleKeys: true } });
    const texts = [];
    for (let turn = 0; turn < 5; turn++) texts.push((await get(sandbox, `/${id}`)).text);
    expect(new Set(texts).size).toBeGreaterThan(1);
    const plain = JSON.parse(sandbox.service.newestText(id) ?? "");
    for (const text of texts) expect(JSON.parse(text)).toEqual(plain);
  });

  it("makes up plausible orders, the same for the same seed", async () => {
    const make = async (seed: number) => {
      const { service } = await sandboxFor({ seed, now: handClock().now });
      for (let made = 0; made < 50; made++) service.createOrder();
      return service.orders().map(({ text }) => text);
    };
    const [first, again, other] = [await make(7), await make(7), await make(8)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(first.join("")).toMatch(/"quantity":\d+\.\d+0,/);
    for (const text of first) {
      const node = readJson(text);
      expect(nodeAt(node, ["order_id"])?.text).toMatch(/^"[0-9a-f-]{36}"$/);
      expect(nodeAt(node, ["total"])?.text).toMatch(/^\d+\.\d\d$/);
    }
  });
});

describe("timestamps", () => {
  const us = Date.parse("2026-03-01T10:00:00.123Z") * 1000 + 456;
  const of = (
    timestamps: TimestampOptions["timestamps"],
    precision: TimestampOptions["precision"],
  ): TimestampOptions => ({
    timestamps,
    precision,
    timestampOffsetMinutes: -210,
    naiveOffsetMinutes: 180,
  });

  it.each([
    ["iso-z", "s", '"2026-03-01T10:00:00Z"'],
    ["iso-z", "us", '"2026-03-01T10:00:00.123456Z"'],
    ["iso-offset", "ms", '"2026-03-01T06:30:00.123-03:30"'],
    ["iso-naive", "ms", '"2026-03-01T13:00:00.123"'],
    ["iso-basic", "s", '"20260301T100000Z"'],
    ["iso-basic", "us", '"20260301T100000.123456Z"'],
    ["dotted", "ms", '"01.03.2026 13:00:00.123"'],
    ["dotted", "s", '"01.03.2026 13:00:00"'],
    ["unix", "s", "1772359200"],
    ["unix", "ms", "1772359200.123"],
    ["unix", "us", "1772359200.123456"],
    ["unix_ms", "ms", "1772359200123"],
    ["unix_ms", "us", "1772359200123.456"],
  ] as const)("writes %s with %s and reads it back", (timestamps, precision, text) => {
    const options = of(timestamps, precision);
    expect(writeTimestamp(us, options)).toBe(text);
    const unit = { s: 1_000_000, ms: 1000, us: 1 }[precision];
    expect(readTimestamp(text.replaceAll('"', ""), "any", options)).toBe(Math.floor(us / unit) * unit);
  });

  it("reads no form that is switched off, no broken time and no plus that became a space", () => {
    const options = of("iso-z", "ms");
    expect(readTimestamp("1772359200", "iso", options)).toBeUndefined();
    expect(readTimestamp("2026-03-01T10:00:00Z", "unix", options)).toBeUndefined();
    expect(readTimestamp("2026-13-01T10:00:00Z", "any", options)).toBeUndefined();
    expect(readTimestamp("2026-03-01T10:00:00", "dotted", options)).toBeUndefined();
    expect(readTimestamp("2026-03-01T10:00:00Z", "iso-basic", options)).toBeUndefined();
    expect(readTimestamp("20260301T100000Z", "iso", options)).toBeUndefined();
    expect(readTimestamp("01.03.2026 10:00:00", "iso", options)).toBeUndefined();
    expect(readTimestamp("01.13.2026 10:00:00", "any", options)).toBeUndefined();
    expect(readTimestamp("2026-03-01T10:00:00 03:00", "any", options)).toBeUndefined();
    expect(readTimestamp("1772359200123", "any", options)).toBe(1_772_359_200_123_000);
  });
});

describe("json text", () => {
  it("finds nodes with their own text", () => {
    const text = ' {"a" : [1.50, {"b":"\\u0041\\"]"} ,null], "a":{"c": 9007199254740993 } } ';
    const node = readJson(text);
    expect(nodeAt(node, ["a", "c"])?.text).toBe("9007199254740993");
    const [, list] = node.kind === "object" ? (node.entries[0] ?? []) : [];
    expect(list?.kind === "array" ? list.items.map((item) => item.text) : []).toEqual([
      "1.50",
      '{"b":"\\u0041\\"]"}',
      "null",
    ]);
    expect(() => readJson("[".repeat(300) + "]".repeat(300))).toThrow(SyntaxError);
    expect(() => readJson("{,}")).toThrow(SyntaxError);
  });

  it("writes properties with a common beginning into one object", () => {
    const at = (path: string, text: string) => ({ path: path.split("."), text });
    expect(writeObject([at("a.b", "1"), at("c", "2.0"), at("a.d", "[]")])).toBe('{"a":{"b":1,"d":[]},"c":2.0}');
  });
});

describe("switches", () => {
  it("is safe to write as JSON and merges piece by piece", () => {
    const options = defaultOptions();
    expect(JSON.parse(JSON.stringify(options))).toEqual(options);
    expect(mergeOptions(options, JSON.parse(JSON.stringify(options)))).toEqual(options);
    const merged = mergeOptions(options, { updates: { pageLimit: 5 }, imports: { stocks: { key: ["id"] } } });
    expect(merged.updates).toEqual({ ...options.updates, pageLimit: 5 });
    expect(merged.imports.stocks.key).toEqual(["id"]);
  });

  it.each([
    [{ handout: "next" }, /handout: no such switch/],
    [{ updates: { pageLimit: 0 } }, /^updates.pageLimit: .*>=1/],
    [{ timestamps: "iso" }, /^timestamps: .*"iso-z"/],
    [{ shape: { order: { order_id: 5 } } }, /^shape.order.order_id: /],
    [{ updates: [] }, /^updates: .*object/],
    [JSON.parse('{"__proto__":{}}'), /no such switch/],
  ])("refuses %j by name", (patch, message) => {
    expect(() => mergeOptions(defaultOptions(), patch)).toThrow(message);
  });
});
