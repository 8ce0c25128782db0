import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { importKey } from "../../src/sandbox/imports.ts";
import { importHeaders, pushTo, sandboxFor, send } from "./client.ts";

const two = {
  stocks: [
    { sku: "A", warehouse: "M", quantity: 1 },
    { sku: "B", quantity: 2 },
  ],
};

/** A form as fetch itself would send it. */
async function encoded(form: FormData): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const response = new Response(form);
  const type = response.headers.get("content-type") ?? "";
  return { headers: { "content-type": type }, body: Buffer.from(await response.arrayBuffer()) };
}

describe("imports", () => {
  it("keeps the newest record of each key with its literal text", async () => {
    const sandbox = await sandboxFor();
    expect((await pushTo(sandbox, "stocks", two)).json).toEqual({ accepted: 2, errors: [] });
    await pushTo(sandbox, "stocks", '{"stocks": [{"sku":"A", "warehouse":"M","quantity":0.250}]}');
    expect(Object.fromEntries(sandbox.service.imported("stocks"))).toEqual({
      [importKey("A", "M")]: '{"sku":"A", "warehouse":"M","quantity":0.250}',
      [importKey("B", "")]: '{"sku":"B","quantity":2}',
    });
    expect(sandbox.ledger.acceptedValues("stocks", importKey("A", "M"))).toHaveLength(2);
  });

  it.each([
    ["spelling", ['["a"," m"]', '["a","M"]', '["b",""]']],
    ["others", ['["A"]', '[" a"]', '["b "]', '["B"]']],
    ["both", ['["a"]', '["b"]']],
  ] as const)("keeps one record of keys that differ in %s alone where that is ignored", async (ignores, places) => {
    const sandbox = await sandboxFor({ options: { imports: { stocks: { ignores } } } });
    const stocks = [
      { sku: "A", warehouse: " m", quantity: 1 },
      { sku: " a", warehouse: "M", quantity: 2 },
      { sku: "b ", quantity: 3 },
      { sku: "B", quantity: 4 },
    ];
    await pushTo(sandbox, "stocks", { stocks });
    const site = sandbox.service.imported("stocks");
    expect([...site.keys()]).toEqual(places);
    expect([...site.values()].at(-1)).toBe(JSON.stringify(stocks.at(-1)));
    sandbox.service.setOptions({ reject: { skus: ["b"] } });
    const answer = await pushTo(sandbox, "stocks", { stocks: stocks.slice(3) });
    expect(answer.status).toBe(ignores === "others" ? 200 : 422);
  });

  it("accepts an empty array and refuses other bodies in words", async () => {
    const sandbox = await sandboxFor();
    expect((await pushTo(sandbox, "stocks", { stocks: [] })).status).toBe(200);
    for (const body of ["{", "[]", "{}", '{"stocks":{}}', '{"stocks":[1]}', "", '"\ud800']) {
      const answer = await pushTo(sandbox, "stocks", body);
      expect(answer.status).toBe(400);
      expect(answer.json.error).toEqual(expect.any(String));
    }
    const headers = { ...importHeaders(sandbox), "content-type": "text/plain" };
    expect((await send(sandbox, "POST", "/api/v1/import/stocks", { headers, body: "{}" })).status).toBe(415);
    const invalid = Buffer.from([0x7b, 0xff, 0x7d]);
    const utf8 = { headers: importHeaders(sandbox), body: invalid };
    expect((await send(sandbox, "POST", "/api/v1/import/stocks", utf8)).status).toBe(400);
  });

  it("serves each feed at its own path, with its own property and key", async () => {
    const imports = { catalog: { path: "/api/v1/import/goods/v2", property: "товары", key: ["id"] } };
    const sandbox = await sandboxFor({ options: { imports } });
    expect((await pushTo(sandbox, "catalog", { товары: [] })).status).toBe(404);
    expect((await pushTo(sandbox, "goods/v2", { товары: [{ id: 7 }] })).status).toBe(200);
    expect((await pushTo(sandbox, "prices", { prices: [{ sku: "A", price: "1.10" }] })).status).toBe(200);
    expect((await pushTo(sandbox, "images", { images: [{ sku: "A", position: 1 }] })).status).toBe(200);
    expect([...sandbox.service.imported("catalog").keys()]).toEqual([importKey(7)]);
    expect([...sandbox.service.imported("images").keys()]).toEqual([importKey("A", 1)]);
  });

  it("takes an image in base64 or as a form, and keeps its size and SHA-256", async () => {
    const sandbox = await sandboxFor();
    const bytes = Buffer.from([0xff, 0xd8, 0xff, 0x0d, 0x0a, 0x2d, 0x2d]);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const content = bytes.toString("base64");
    expect((await pushTo(sandbox, "images", { images: [{ sku: "A", position: 1, content }] })).status).toBe(200);
    const form = new FormData();
    form.set("sku", "A");
    form.set("position", "2");
    form.set("picture", new File([bytes], 'a "b".jpg', { type: "image/jpeg" }));
    const { headers, body } = await encoded(form);
    const sent = { headers: { ...importHeaders(sandbox), ...headers }, body };
    expect((await send(sandbox, "POST", "/api/v1/import/images", sent)).status).toBe(200);
    const file = { size: bytes.length, sha256 };
    expect([...sandbox.service.imported("images").values()].map((text) => JSON.parse(text) as unknown)).toEqual([
      { sku: "A", position: 1, content: file },
      { sku: "A", position: "2", picture: { name: 'a "b".jpg', type: "image/jpeg", ...file } },
    ]);
  });

  it("refuses what is no base64, a form that breaks off, and a form for another feed", async () => {
    const sandbox = await sandboxFor();
    expect((await pushTo(sandbox, "images", { images: [{ sku: "A", content: "no base64!" }] })).status).toBe(422);
    const form = new FormData();
    form.set("sku", "A");
    const { headers, body } = await encoded(form);
    const post = (feed: string, part: Buffer) =>
      send(sandbox, "POST", `/api/v1/import/${feed}`, {
        headers: { ...importHeaders(sandbox), ...headers },
        body: part,
      });
    expect((await post("images", body.subarray(0, -20))).status).toBe(400);
    expect((await post("images", body.subarray(3))).status).toBe(400);
    expect((await post("stocks", body)).status).toBe(415);
    expect((await post("images", body)).status).toBe(200);
  });

  it("replaces everything where a feed is told to", async () => {
    const sandbox = await sandboxFor({ options: { imports: { stocks: { replace: true } } } });
    await pushTo(sandbox, "stocks", two);
    await pushTo(sandbox, "stocks", { stocks: [{ sku: "C" }] });
    expect([...sandbox.service.imported("stocks").keys()]).toEqual([importKey("C", "")]);
  });

  it("answers 413 above a size or a number of records", async () => {
    const sandbox = await sandboxFor({ options: { limits: { maxBodyBytes: 40 } } });
    expect((await pushTo(sandbox, "stocks", two)).status).toBe(413);
    sandbox.service.setOptions({ limits: { maxBodyBytes: null, maxRecords: 1 } });
    expect((await pushTo(sandbox, "stocks", two)).status).toBe(413);
    sandbox.service.setOptions({ limits: { maxRecords: 2 } });
    expect((await pushTo(sandbox, "stocks", two)).status).toBe(200);
  });

  it("refuses the whole request for one record with 422", async () => {
    const sandbox = await sandboxFor({ options: { reject: { skus: ["B"] } } });
    const answer = await pushTo(sandbox, "stocks", two);
    expect([answer.status, answer.json.error]).toEqual([422, "the record B is not accepted"]);
    expect(sandbox.service.imported("stocks").size).toBe(0);
    expect(sandbox.ledger.entries.at(-1)?.effect).toBeNull();
  });

  it("refuses single records in a 200 and accepts the others", async () => {
    const sandbox = await sandboxFor({ options: { reject: { skus: ["A"], how: "per-record" } } });
    const answer = await pushTo(sandbox, "stocks", { stocks: [...two.stocks, { quantity: 1 }] });
    expect(answer.json).toEqual({
      accepted: 1,
      errors: [
        { sku: "A", warehouse: "M", message: "the record A is not accepted" },
        { sku: "", warehouse: "", message: "the record lacks sku" },
      ],
    });
    expect([...sandbox.service.imported("stocks").keys()]).toEqual([importKey("B", "")]);
    expect(sandbox.ledger.effects("import")[0]?.rejected).toHaveLength(2);
  });

  it.each([
    ["missing", { status: "ok", not_found: ["A"] }],
    [
      "each",
      {
        results: [
          { sku: "A", status: 404 },
          { sku: "B", status: 200 },
        ],
      },
    ],
    ["by-key", { A: "NOT_FOUND", B: "OK" }],
    ["note", { status: "ok", note: "Saved. Unknown: A." }],
    ["echo", { stocks: [{ ...two.stocks[0], quantity: 0 }, two.stocks[1]] }],
  ] as const)("says in the usual form of its answers which record it has left out: %s", async (importAnswer, said) => {
    const sandbox = await sandboxFor({
      options: { importAnswer, reject: { skus: ["A"], how: "said", feed: "stocks" } },
    });
    expect((await pushTo(sandbox, "stocks", two)).json).toEqual(said);
    expect([...sandbox.service.imported("stocks").keys()]).toEqual([importKey("B", "")]);
    expect(sandbox.ledger.effects("import")[0]?.rejected).toHaveLength(1);
  });

  it.each([
    ["progress", '{"status":"ok","progress":"1/2"}'],
    ["of", "updated 1 of 2"],
    ["lacking", "Обновлено: 1, не найдено: 1"],
    ["stats", '{"ok":true,"stats":{"total":2,"success":1,"error":1}}'],
    ["summary", '{"success":true,"summary":{"received":2,"imported":1,"failed":1}}'],
    ["report", '{"status":"ok","report":{"received":2,"updated":1,"rejected":1}}'],
    ["import", '{"ok":true,"import":{"total":2,"accepted":1,"rejectedCount":1}}'],
    ["data.stats", '{"success":true,"data":{"stats":{"received":2,"imported":1,"failed":1}}}'],
    ["unknown", '{"ok":true,"unknown":["A"]}'],
    ["skipped", '{"success":true,"processed":2,"skipped":1}'],
    ["good", '{"status":"success","total":2,"ok":1}'],
    ["warnings", '{"status":"ok","warnings":["Строка 1: товар не найден"]}'],
    ["taken", '{"received":2,"accepted":1}'],
    ["ignored", '{"ok":true,"result":{"ignored":1}}'],
    ["all or none", '{"received":2,"stored":0}'],
  ] as const)("says how many records it has left out: %s", async (importAnswer, said) => {
    const sandbox = await sandboxFor({ options: { importAnswer, reject: { skus: ["A"], how: "said" } } });
    expect((await pushTo(sandbox, "stocks", two)).text).toEqual(said);
  });

  it.each([
    ["number", "1"],
    ["words", "Загружено строк: 1"],
    ["rows", '{"success":true,"rows":1}'],
    ["count", '{"ok":true,"count":1}'],
    ["ok", "OK 1"],
    ["loaded", "Загружено: 1"],
  ] as const)("counts under any name what it takes, or what it changes: %s", async (importAnswer, said) => {
    const sandbox = await sandboxFor({ options: { importAnswer, limits: { takenRecords: 1 } } });
    const push = async () => (await pushTo(sandbox, "stocks", two)).text;
    expect([await push(), await push()]).toEqual([said, said]);
    expect(sandbox.ledger.effects("import")[0]).toMatchObject({ untaken: [importKey("B", "")], changed: 1 });
    sandbox.service.setOptions({ importCounts: "changed", limits: { takenRecords: null } });
    const none = said.replace("1", "0");
    // The second record, and then none.
    expect([await push(), await push()]).toEqual([said, none]);
    expect(sandbox.ledger.effects("import").at(-1)).toMatchObject({ untaken: [], changed: 0 });
    const locked = { stocks: two.stocks.map((record) => ({ ...record, quantity: 9 })) };
    sandbox.service.setOptions({ reject: { skus: ["A"], how: "said" } });
    expect((await pushTo(sandbox, "stocks", locked)).text).toBe(said);
  });

  it.each([
    ["silent", '{"accepted":2,"errors":[]}'],
    ["errors", '{"accepted":1,"errors":[{"sku":"B","warehouse":"","message":"there is no article B"}]}'],
    ["said", '{"accepted":1,"errors":[]}'],
  ] as const)("ignores stock of articles that the catalog does not have: %s", async (unknownArticles, said) => {
    const sandbox = await sandboxFor({ options: { unknownArticles, inactiveLeave: true } });
    await pushTo(sandbox, "catalog", { products: [{ sku: "A", active: true }] });
    expect((await pushTo(sandbox, "stocks", two)).text).toBe(said);
    expect([...sandbox.service.imported("stocks").keys()]).toEqual([importKey("A", "M")]);
    await pushTo(sandbox, "catalog", { products: [{ sku: "A", active: false }] });
    expect(sandbox.service.imported("stocks").size).toBe(0);
    await pushTo(sandbox, "stocks", two);
    expect(sandbox.service.imported("stocks").size).toBe(0);
  });

  it("says success: false in a 200, and refuses all if told", async () => {
    const sandbox = await sandboxFor({ options: { reject: { skus: "all", how: "success-false" } } });
    expect((await pushTo(sandbox, "stocks", two)).json).toMatchObject({ success: false });
    expect(sandbox.service.imported("stocks").size).toBe(0);
    expect((await pushTo(sandbox, "stocks", { stocks: [] })).json).toMatchObject({ accepted: 0 });
  });

  it.each([
    ["success", '{"success":true}'],
    ["empty", ""],
    ["text", "OK"],
  ] as const)("accepts with the answer %s", async (importAnswer, text) => {
    const sandbox = await sandboxFor({ options: { importAnswer } });
    expect((await pushTo(sandbox, "stocks", two)).text).toBe(text);
  });
});
