import { describe, expect, it } from "vitest";
import { drawScene, type Scene } from "../scripts/demo/screen.ts";
import { Story } from "../scripts/demo/story.ts";
import type { LedgerEntry } from "../src/sandbox/ledger.ts";

const entry = (kind: LedgerEntry["kind"], body: string, faultApplied: string | null = null) =>
  ({ kind, requestBody: body, faultApplied }) as LedgerEntry;

const SCENE: Scene = {
  elapsedS: 3,
  lengthS: 12,
  pageUrl: "http://127.0.0.1:9469/",
  placed: 2,
  stored: 1,
  confirmed: 1,
  taken: 0,
  articles: 9,
  articlesOnSite: 8,
  orders: [],
  steps: [],
  sentence: "Up to date.",
};

describe("the demo", () => {
  it("tells of a lost answer, of the repeat, and of nothing else", () => {
    const story = new Story();
    const steps = [
      entry("confirm", '{"batch_id":"B1"}'),
      entry("confirm", '{"batch_id":"B2"}', "reset after"),
      entry("orders", ""),
      entry("confirm", '{"batch_id":"B3"}'),
      entry("confirm", '{"batch_id":"B2"}'),
      entry("confirm", '{"batch_id":"B2"}'),
      entry("import", "[1]", "reset after"),
      entry("import", "[2]"),
    ].map((each) => story.follow(each).map(({ what }) => what));
    expect(steps).toEqual([[], ["lost"], [], [], ["again", "safe"], [], ["lost"], ["again", "safe"]]);
  });

  it("draws pictures of one height, however much there is to show", () => {
    const order = { number: "N-1", status: "new", revision: 1, isConfirmed: true, erpNumber: null };
    const step = { what: "lost" as const, text: "A confirm", at: "12:00:00" };
    const full = { ...SCENE, orders: Array(30).fill(order), steps: Array(30).fill(step), sentence: "x".repeat(500) };
    const lines = drawScene(full);
    expect(lines).toHaveLength(drawScene(SCENE).length);
    expect(lines.filter((line) => line.length > 96 || line.includes("\n"))).toEqual([]);
  });
});
