import { describe, expect, it } from "vitest";
import { isUnusual, NOTHING_LEARNED } from "../../../src/service/outcome/compare-forms.ts";
import type { AnswerForm, LearnedForms } from "../../../src/service/outcome/known-forms.ts";
import { learnUsual } from "../../../src/service/outcome/usual-forms.ts";
import { at, form, START_MS, usually } from "./support.ts";

/** An endpoint that has answered so first, and then without a word. */
function afterSilence(first: AnswerForm): LearnedForms {
  const now = { at: at(START_MS), endsDoubt: false };
  return [form(""), form(""), form("")].reduce(
    (learned, each) => learnUsual(learned, each, now),
    learnUsual(NOTHING_LEARNED, first, now),
  );
}

describe("the form of an answer", () => {
  it.each([
    ["Обновлено: 1, не найдено: 0", 1],
    ["updated 2 of 2", 2],
    ["Принято 3", 3],
    ['"Saved: 2"', 2],
  ])("is also %s for %i records, of which silence says nothing, where it came first", (first, size) => {
    const learned = afterSilence(form(first, [], size));
    expect([form(first, [], size), form("")].map((each) => isUnusual(learned, each))).toEqual([false, false]);
  });

  it.each([
    ["Обновлено: 1, не найдено: 0", 2],
    ["Обновлено: 3, не найдено: 0", 2],
    ["Обновлено: 1", undefined],
    ["Обновлено: 0, не найдено: 0", 0],
    ["Обновлено 15.03.2026", 15],
    ["updated 10:30", 10],
  ])("is not %s for %s records, which tells of a part or of nothing, where silence followed", (first, size) => {
    const learned = afterSilence(form(first, [], size));
    expect([form(first, [], size), form("")].map((each) => isUnusual(learned, each))).toEqual([true, false]);
  });

  it("does not count names that come from the request, numbers and ids", () => {
    const learned = usually('{"A":"taken","100200":"taken"}');
    const names = ["A", "B"];
    const one = form('{"A":{"x":1}}', names);
    expect(one.names).toEqual([]);
    expect(isUnusual(usually('{"done":{"7001":1}}'), form('{"done":{"7002":1}}'))).toBe(false);
    expect(learned.since).not.toBeNull();
  });

  it("does not take what the request says for a word about how it went", () => {
    for (const [usual, other] of [
      ['{"ok":true,"status":"packed"}', '{"ok":true,"status":"shipped"}'],
      ["the status is packed", "the status is shipped"],
    ] as const) {
      let learned = NOTHING_LEARNED;
      for (let times = 0; times < 3; times++)
        learned = learnUsual(learned, form(usual, ["packed"]), { at: at(START_MS), endsDoubt: false });
      expect(isUnusual(learned, form(other, ["shipped"]))).toBe(false);
      if (usual.startsWith("the")) expect(isUnusual(learned, form(other, ["paid"]))).toBe(true);
    }
  });
});
