import { describe, expect, it } from "vitest";
import { parseTemplate } from "../../src/answers/template.ts";
import { identityOf, isOtherArticle, isOtherInSql, namesOf } from "../../src/feeds/record-identity.ts";
import { recordKeyOf } from "../../src/feeds/rekey/former-key.ts";

const identity = (keys: string[], record: unknown, resultKey: string | null = null) =>
  identityOf({
    ...{ keys, record: parseTemplate(record), levelColumns: ["stock_left"] },
    resultKey: resultKey === null ? null : { text: `$.${resultKey}`, steps: [resultKey] },
  }).map((steps) => steps.join("."));

describe("identityOf", () => {
  it.each<[what: string, keys: string[], record: unknown, places: string[]]>([
    ["sku of no key column", ["id"], { sku: "{article}", name: "{title}" }, ["sku"]],
    ["with the warehouse beside it", ["id"], { sku: "{article}", warehouse: "{store}" }, ["sku", "warehouse"]],
    ["a constant names nothing", ["sku"], { sku: "{sku}", warehouse: "main" }, ["sku"]],
    ["an address made of the key does not", ["sku"], { sku: "{sku}", url: "https://shop/{sku}" }, ["sku"]],
    ["key columns under other names", ["id", "depot"], { code: "A{id}", at: "{depot}", name: "{n}" }, ["code", "at"]],
    ["a property that is the column before one with text", ["id"], { url: "x/{id}", code: "{id}" }, ["code"]],
    ["the only name beside values", ["id"], { code: "{article}", on: "{active|bool}", n: "{stock_left}" }, ["code"]],
    ["several names do not tell", ["id"], { code: "{article}", title: "{title}" }, []],
    ["below an object", ["id"], { item: { code: "{id}" }, n: "{available}" }, ["item.code"]],
  ])("%s", (_, keys, record, places) => {
    expect(identity(keys, record)).toEqual(places);
  });

  it("takes the property that ties answers to records", () => {
    expect(identity(["id"], { code: "{article}", title: "{title}" }, "code")).toEqual(["code"]);
  });
});

describe("namesOf", () => {
  const sent = [
    { key: ["main", "A"], record: '{"code":"A"}' },
    { key: ["main", "B"], record: '{"code":"B"}' },
  ];
  const rules = { keys: ["depot", "code"], identity: [["code"]], isKeyUntold: false };

  it("begins with the column of the key that tells the records apart", () => {
    expect(namesOf(rules, sent, () => [])).toEqual([
      ["A", "main"],
      ["B", "main"],
    ]);
    expect(namesOf(rules, sent.slice(0, 1), () => [["main", "B"]])).toEqual([["A", "main"]]);
    const others = ["south", "north", "west"].map((depot) => [depot, "A"]);
    expect(namesOf(rules, sent, () => others)).toEqual(sent.map(({ key }) => key));
  });

  it("is the article where records do not contain the key", () => {
    expect(namesOf({ ...rules, isKeyUntold: true }, sent, () => [])).toEqual([["A"], ["B"]]);
  });
});

describe("isOtherArticle", () => {
  it.each([
    ['{"sku":"a"}', '{"sku":"b"}', true],
    ['{"sku":7.0}', '{"sku":7}', false],
    ['{"sku":"a"}', '{"sku":null}', true],
    ['{"code":"a"}', '{"sku":"a"}', false],
  ])("%s and %s: %s", (a, b, is) => {
    expect(isOtherArticle([["sku"]], a, b)).toBe(is);
  });

  it("has a statement of its own, and none where nothing names an article", () => {
    expect(isOtherInSql([["item", "sku"]], "a", "b")).toBe("((a -> 'item' -> 'sku') <> (b -> 'item' -> 'sku'))");
    expect(isOtherInSql([], "a", "b")).toBe("0");
  });
});

it("is a key of its own, whatever the row is called", () => {
  expect(
    recordKeyOf(
      {
        identity: [
          ["item", "sku"],
          ["item", "at"],
        ],
      },
      '{"item":{"sku":"a"}}',
    ),
  ).toEqual({
    from: { keys: ["item.sku", "item.at"], record: { item: { sku: "{item.sku}", at: "{item.at}" } }, of: "record" },
    key: ["a", ""],
  });
});
