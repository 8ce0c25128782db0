import { describe, expect } from "vitest";
import { scanJson } from "../../../src/answers/scan-json.ts";
import { findLostWords } from "../../../src/service/outcome/partial-acceptance.ts";
import { itSome } from "../../support/whole.ts";

const ESCAPED = '["\\u0417\\u0430\\u043a\\u0430\\u0437 \\u043f\\u0440\\u043e\\u043f\\u0443\\u0449\\u0435\\u043d"]';

function read(json: string): string | undefined {
  const bytes = Buffer.from(json);
  return findLostWords(bytes, scanJson(bytes));
}

describe("a text beside a list", () => {
  itSome(8)<[unknown]>([
    ["order 1003 skipped: no delivery address"],
    ["Заказ 1003 пропущен: нет адреса доставки"],
    ["1 order could not be exported"],
    ["Заказ 1003 не выгружен"],
    ["Order 17 was not exported"],
    ["2 orders exported, 1 failed"],
    ["10 orders skipped"],
    ["Skipped: 2"],
    ["Orders 7, 8 were left out"],
    ["No address: order 1003 was skipped"],
    ["Не удалось выгрузить заказ"],
    ["Из выбранных заказов не выгружен 1"],
    ["1 заказ исключён из пачки"],
    ["orders_skipped=1"],
    [["all fine", { order: 1003, text: "skipped, no address" }]],
    [{ 1003: "не выгружен" }],
  ])("says that a record was left out: %j", (value) => {
    expect(read(JSON.stringify(value))).toBeDefined();
    expect(read(ESCAPED)).toContain("Заказ пропущен");
  });

  itSome(8)<[unknown]>([
    ["OK"],
    ["Order 1001: unknown delivery method"],
    ["Заказ 1001: неверный телефон, адрес не найден"],
    ["3 orders"],
    ["Заказы выгружены"],
    ["No errors found"],
    ["Errors were not found"],
    ["0 orders skipped"],
    ["Skipped: 0"],
    ["3 orders exported, 0 failed"],
    ["No orders were skipped"],
    ["None skipped"],
    ["errors: none"],
    ["Без ошибок"],
    ["Ошибок нет"],
    ["Ошибок не обнаружено"],
    ["Выгружено: 3, пропущено: 0"],
    ["Пропущенных заказов нет"],
    ["Ни один заказ не пропущен"],
    ["Нет новых заказов"],
    ["Scheduled maintenance on Sunday"],
    [["Version 1 ends in May"]],
    [["skipped: 0", "errors: 0"]],
    [{ skipped: 0, errors: [], failed: "0" }],
  ])("says nothing of what was left out: %j", (value) => {
    expect(read(JSON.stringify(value))).toBeUndefined();
  });

  itSome(1)([[`${"x ".repeat(300)}. Order 7 was skipped. ${"y ".repeat(300)}`]])(
    "is quoted in part if it is long",
    (text) => {
      expect(read(JSON.stringify(text))).toBe("Order 7 was skipped");
    },
  );
});
