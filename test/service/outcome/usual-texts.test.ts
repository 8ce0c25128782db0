import { describe, expect, it } from "vitest";
import {
  adoptTexts,
  findUnusualText,
  learnTexts,
  NO_TEXTS,
  type UsualTexts,
} from "../../../src/service/outcome/usual-texts.ts";

function usually(...texts: (string | undefined)[]): UsualTexts {
  return [0, 1, 2].reduce((usual, at) => {
    const text = texts[at % texts.length];
    return learnTexts(usual, text === undefined ? {} : { message: text });
  }, NO_TEXTS);
}

describe("a text where all first answers had another one", () => {
  it.each([
    ["stocks updated", "service is in read-only mode"],
    ["stocks updated", "import skipped: another import is running"],
    ["stocks updated", "nothing to update: products are archived"],
    ["остатки обновлены", "импорт отложен"],
    ["остатки обновлены", "товар … не найден"],
    ["статус изменён", "статус не изменён: заказ открыт менеджером"],
    ["status changed", "order is being edited by a manager"],
    ["ok", "wait until the order is unlocked"],
    ["rows updated", "rows not updated"],
    ["статус изменён", "статус не изменён"],
    ["status changed", "the order is not changed"],
    [undefined, "товар … не найден"],
    [undefined, "import deferred"],
  ])("%s → %s is unusual", (usual, text) => {
    expect(findUnusualText(usually(usual), { message: text })).toBe(`message: ${text}`);
  });

  it.each([
    ["stocks updated", "stocks updated"],
    ["0 rows updated", "0 row updated"],
    ["stocks updated", "stocks were updated successfully"],
    ["stocks updated", "done"],
    ["принято", "строки получены"],
    ["import finished, no errors", "import finished, 0 rows, no errors"],
    ["остатки обновлены", "обновлено позиций: 0"],
    ["the request was queued as job 0", "the request was queued as job 0-0"],
    ["stocks updated", "no changes"],
    ["0 rows updated", "nothing changed in 0 rows"],
    ["остатки обновлены", "остатки не изменились"],
    ["обновлено: 0", "данные уже актуальны"],
    [undefined, "without changes"],
    [undefined, "next import in 0 minutes"],
  ])("%s → %s is usual", (usual, text) => {
    expect(findUnusualText(usually(usual), { message: text })).toBeUndefined();
  });
});

describe("usual texts", () => {
  it("are known after three answers", () => {
    const two = learnTexts(learnTexts(NO_TEXTS, { message: "stocks updated" }), { message: "stocks updated" });
    expect(findUnusualText(two, { message: "read-only" })).toBeUndefined();
    expect(findUnusualText(learnTexts(two, { message: "stocks updated" }), { message: "read-only" })).toBe(
      "message: read-only",
    );
  });

  it("are none where the first answers differ, or only some have one", () => {
    expect(findUnusualText(usually("tip of the day", "have a nice morning"), { message: "read-only" })).toBeUndefined();
    expect(findUnusualText(usually("tip of the day", undefined), { message: "not found" })).toBeUndefined();
  });

  it("take in another one that has proved to be an acceptance", () => {
    const usual = adoptTexts(usually("stocks updated"), { message: "read-only" });
    expect(findUnusualText(usual, { message: "read-only" })).toBeUndefined();
    expect(findUnusualText(usual, { message: "stocks updated" })).toBeUndefined();
    expect(findUnusualText(usual, { message: "not found" })).toBe("message: not found");
  });
});
