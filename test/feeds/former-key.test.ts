import { describe, expect, it } from "vitest";
import { parseTemplate } from "../../src/answers/template.ts";
import { KeyReader, type NameFacts, planName } from "../../src/feeds/rekey/former-key.ts";

const FACTS: NameFacts = {
  byRecord: undefined,
  bySource: undefined,
  byTemplate: undefined,
  isPresent: () => false,
  agrees: () => true,
  canCompare: true,
};
const present = { isPresent: () => true };
const blind = { canCompare: false };

describe("planName", () => {
  it.each<[what: string, facts: Partial<NameFacts>, naming: object]>([
    ["a record says who it is", { byRecord: ["a"], bySource: ["b"], ...present }, { kind: "named", key: ["a"] }],
    ["the template names what is gone", { byTemplate: ["c"] }, { kind: "named", key: ["c"], isPresent: false }],
    ["the source comes before the template", { bySource: ["a"], byTemplate: ["b"] }, { kind: "named", key: ["a"] }],
    ["the record cannot be that row's", { byTemplate: ["c"], agrees: () => false }, { kind: "away" }],
    ["another record has the name", { byTemplate: ["c"], ...present }, { kind: "waiting" }],
    ["nothing but the name tells", { byTemplate: ["c"], ...present, ...blind }, { kind: "named", isPresent: true }],
    ["no record of the source is its own", {}, { kind: "away" }],
    ["nothing tells", blind, { kind: "waiting" }],
  ])("%s", (_, facts, naming) => {
    expect(planName({ ...FACTS, ...facts })).toMatchObject(naming);
  });
});

describe("KeyReader", () => {
  const reader = (keys: string[], record: unknown) =>
    new KeyReader(
      { keys: ["sku", "warehouse"], record: { sku: "{sku}", place: ["{warehouse}"], quantity: "{available}" } },
      { keys, record: parseTemplate(record), identity: [] },
    );
  const SENT = '{"sku":"c","place":["east"],"quantity":5}';

  it("reads the template of now backwards", () => {
    const now = reader(["article", "place"], { sku: "{article}", place: ["{place}"] });
    expect(now.byTemplate(["c", "east"], SENT)).toEqual(["c", "east"]);
    expect(now.saidOf({ article: 17n, place: null })).toEqual(["17", ""]);
    expect([now.agrees(["c", "east"], SENT), now.agrees(["c", "west"], SENT)]).toEqual([true, false]);
  });

  it("tells constants from what was sent", () => {
    const now = reader(["article"], { sku: "{article}", place: [""] });
    expect(now.byTemplate(["c", "east"], SENT)).toEqual(["c"]);
    expect([now.agrees(["c"], SENT), now.canCompare(SENT)]).toEqual([false, true]);
  });

  it("compares numbers by value, and a value with text around it as the text", () => {
    const now = reader(["id"], { sku: "{id|number}", place: ["no. {at}"] });
    expect(now.saidOf({ id: "007", at: "5" })).toEqual(["7", "no. 5"]);
    expect(now.saidBy('{"sku":7.0,"place":null}')).toEqual(["7", ""]);
    expect(now.saidOf({ id: "1" })).toBeUndefined();
  });

  it("cannot compare where the template of now says nothing of the former key", () => {
    const now = reader(["article"], { code: "{article}" });
    expect([now.canCompare(SENT), now.byTemplate(["c", "east"], SENT)]).toEqual([false, undefined]);
  });
});
