import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanJson } from "../../../src/answers/scan-json.ts";
import { readAcceptance } from "../../../src/service/outcome/acceptance.ts";
import { Answer } from "../../../src/service/outcome/answer.ts";
import { withDoubt } from "../../../src/service/outcome/import-result.ts";
import { readLeftOut, readPartWords } from "../../../src/service/outcome/partial-acceptance.ts";
import { itSome, runs } from "../../support/whole.ts";

const sentOf = (size: number, name = "x") =>
  Array.from({ length: size }, (_, n) => ({ key: [`S-${n}`], record: JSON.stringify({ sku: `S-${n}`, name }) }));

/** What is read of an answer to three records, or so many: JSON where it is an object. */
function read(answer: unknown, size = 3, name?: string): string | undefined {
  const body = Buffer.from(typeof answer === "string" ? answer : JSON.stringify(answer));
  const root = typeof answer === "string" ? undefined : scanJson(body);
  return readPartWords(new Answer(body, root), sentOf(size, name));
}

describe("what an answer lists under a name of its own", () => {
  const listed = (answer: unknown) => {
    const body = Buffer.from(JSON.stringify(answer));
    return readLeftOut(new Answer(body, scanJson(body)));
  };

  itSome(6)<[unknown]>([
    [{ ok: true, unknown: ["X"] }],
    [{ data: { result: { "not-found": { X: "why" } } } }],
    [{ notMatchedSkus: "X, Y" }],
    [{ skipped: true }],
    [{ ненайденные: ["X"] }],
    [{ warnings: ["Строка 4: товар не найден"] }],
    [{ warnings: 2 }],
    [{ warnings: [{ line: 2, text: "no such article" }] }],
    [{ предупреждения: "нет такого товара" }],
  ])("was left out: %j", (answer) => {
    expect(listed(answer)).toBeDefined();
  });

  itSome(6)<[unknown]>([
    [{ ok: true, unknown: [], skipped: null, missing: "", ignored: false, notFound: {}, warnings: [] }],
    [{ skipped: "0 of 3", unknown: "none", missing: "нет", ignored: "0" }],
    [{ skipped: 2, unknown: "2" }],
    [{ warnings: ["Version 1 ends in May"] }],
    [{ updated: ["X"], found: ["X"], unchanged: "X" }],
    [["X"]],
  ])("is nothing that was left out: %j", (answer) => {
    expect(listed(answer)).toBeUndefined();
  });
});

describe("an answer to an import of three records", () => {
  itSome(48)<[unknown]>([
    ["updated 2 of 3"],
    ["Updated: 2 of 3"],
    ["2/3"],
    ["OK 2/3"],
    ["2 out of 3 records were saved"],
    ["Saved 2 records of 3"],
    ["обновлено 2 из 3"],
    ["Принято 2 из 3 позиций"],
    ["Из 3 записей обновлено 2"],
    ["processed 0 of 3"],
    ["processed 2 of 5"],
    ["updated 2 of 3, created 0 of 3"],
    ["updated 1 of 3 (1 unchanged)"],
    ["1 of 3 failed"],
    ["Обновлено: 2, не найдено: 1"],
    ["Обновлено 2, не найдено 1"],
    ["обновлено: 2; пропущено: 1"],
    ["Не найдено товаров: 1"],
    ["2 обновлено, 1 не найден"],
    ["1 товар не найден"],
    ["Загружено 2. Отклонено 1."],
    ["Ошибок: 1"],
    ["updated: 2, not found: 1"],
    ["updated=2 rejected=1"],
    ["2 updated 1 skipped 0 failed"],
    ["updated 2 skipped 1 failed 0"],
    ["OK, skipped 1"],
    ["OK (1 failed)"],
    ["2 saved, 1 record could not be saved: 1 not found"],
    [{ progress: "2/3" }],
    [{ status: "ok", progress: "2 / 3" }],
    [{ ok: true, processed: "2/3" }],
    [{ success: true, message: "Обновлено: 2, не найдено: 1" }],
    [{ success: true, data: { result: { text: "updated 2 of 3" } } }],
    [{ status: "ok", messages: ["done", "1 article not found"] }],
    [{ status: "ok", skipped: "1" }],
    [{ status: "ok", not_found: 1 }],
    [{ updated: 2, notFoundCount: 1 }],
    [{ обновлено: 2, не_найдено: 1 }],
    [{ ok: true, stats: { total: 3, success: 2, error: 1 } }],
    [{ ok: true, stats: { total: 3, updated: 2, errors: 1 } }],
    [{ success: true, summary: { received: 3, imported: 2, failed: 1 } }],
    [{ success: true, data: { stats: { received: 3, imported: 2, failed: 1 } } }],
    [{ ok: true, import: { total: 3, accepted: 2, rejectedCount: 1 } }],
    [{ итог: { принято: 2, ошибок: 1 } }],
    [{ status: "partial" }],
    [{ status: "partial_success" }],
    [{ status: "ok", partial: true }],
    [{ result: "Частично принято" }],
  ])("says that a part was taken: %j", (answer) => {
    expect(read(answer)).toBeDefined();
  });

  it.each<[unknown]>([
    ["OK"],
    [{ ok: true, stats: { total: 3, updated: 1, skipped: 2, failed: 0, errors: 0 } }],
    [{ ok: true, stats: { error_code: 7, error_rate: 1 } }],
    ["OK, 3 of 3"],
    ["3/3"],
    ["updated 3 of 3"],
    ["Обновлено: 3 из 3, не найдено: 0"],
    ["Обновлено 3, ошибок 0"],
    ["Обработано 3 без ошибок"],
    ["3 строки, ошибок нет"],
    ["3 records no errors"],
    ["3 of 3 without errors"],
    ["0 of 3 failed"],
    ["errors: 0/3"],
    ["Errors: 0, updated: 3"],
    ["Errors (0)"],
    ["3 updated 0 skipped 0 failed"],
    ["updated 3 skipped 0 failed 0"],
    ["errors none total: 3"],
    ["created 1 of 3, updated 2 of 3"],
    ["Создано 1, обновлено 2 из 3"],
    ["updated 1 of 3 (2 unchanged)"],
    ["1 of 3 unchanged"],
    ["changed 1 of 3"],
    ["пропущено без изменений: 2"],
    ["2 skipped (unchanged)"],
    ["page 1 of 3"],
    ["chunk 1/3 accepted"],
    ["Принят пакет 1 из 3"],
    ["attempt 2 of 3"],
    ["2 of 3 requests left"],
    ["1/3/2026"],
    ["2026/2/3"],
    ["2026-03-01T12:00:00Z"],
    ["2:03"],
    ["took 2 s of 3"],
    ["v2/3"],
    ["version 2/3"],
    ["order A-2/3"],
    ["/api/2/3"],
    ["HTTP/1.1 200 OK"],
    ["24/7"],
    ["accepted in 0.2/0.3 s"],
    ["One was refused before"],
    ["request failed before, now done"],
    ["Rejected rows: 0"],
    [{ status: "ok", progress: "3/3" }],
    [{ page: "1/3", status: "ok" }],
    [{ rate_limit: "1/3", ok: true }],
    [{ date: "2/3", ok: true }],
    [{ version: "1.2/3" }],
    [{ id: "2-3", request_id: "2of3x" }],
    [{ accepted: 3, skipped: 1 }],
    [{ accepted: 3, skipped: "no" }],
    [{ not_found: 0, missing: [] }],
    [{ unknown_fields: 2 }],
    [{ updated: 3, errors: [], partial: false }],
    [{ results: [{ sku: "S-1", message: "1 of 3" }] }],
    [{ created: "1/3", updated: "2/3" }],
    [{ progress: "1/3", unchanged: 2 }],
    [{ took: "1 of 10 s" }],
    ["updated 1 of 5 warehouses"],
  ])("says nothing of a part: %j", (answer) => {
    expect(read(answer)).toBeUndefined();
  });

  it("may repeat what was sent", () => {
    expect(read({ last: { name: "Valve 1/3" } }, 3, "Valve 1/3")).toBeUndefined();
    expect(read({ last: { name: "Valve 1/3" } })).toBe("name: Valve 1/3");
  });
});

const VERBS = ["updated", "Accepted", "imported", "обновлено", "Принято", "записано"];
const FAILED = ["not found", "failed", "Rejected", "skipped", "не найдено", "Отклонено", "пропущено", "ошибок"];
const size = fc.integer({ min: 2, max: 5_000 });

describe("what the counts of an answer say", () => {
  it("is a part where fewer of the records were taken, in whatever words", () => {
    const joined = fc.constantFrom("/", " of ", " out of ", " из ");
    const part = size.chain((of) => fc.tuple(fc.nat({ max: of - 1 }), fc.constant(of)));
    fc.assert(
      fc.property(part, fc.constantFrom(...VERBS), joined, fc.constantFrom(" ", ": "), ([few, of], verb, join, gap) => {
        expect(read(`${verb}${gap}${few}${join}${of}`, of)).toBeDefined();
        expect(read({ status: "ok", message: `${verb}${gap}${few}${join}${of}.` }, of)).toBeDefined();
        expect(read(`${verb}${gap}${of}${join}${of}`, of)).toBeUndefined();
      }),
      { numRuns: runs(20, 2_000) },
    );
  });

  it("is a part where a word of failure has a number above 0", () => {
    const counted = fc.tuple(fc.constantFrom(...VERBS), fc.constantFrom(...FAILED), fc.constantFrom(": ", " ", " = "));
    fc.assert(
      fc.property(counted, size, fc.integer({ min: 1, max: 900 }), ([verb, word, gap], all, count) => {
        const text = (failed: number) => `${verb}${gap}${all}, ${word}${gap}${failed}`;
        expect(read(text(count), all)).toBeDefined();
        expect(read({ ok: true, note: text(count) }, all)).toBeDefined();
        expect(read(text(0), all)).toBeUndefined();
      }),
      { numRuns: runs(20, 2_000) },
    );
  });

  it("is no date, time, duration, id, address or version", () => {
    const two = fc.integer({ min: 1, max: 12 });
    const usual = fc.oneof(
      fc.tuple(two, two).map(([month, day]) => `${month}/${day}/2026`),
      fc.tuple(two, two).map(([month, day]) => `2026-${`${month}`.padStart(2, "0")}-${`${day}`.padStart(2, "0")}`),
      fc.tuple(two, two).map(([hours, minutes]) => `at ${hours}:${`${minutes}`.padStart(2, "0")}`),
      fc.tuple(two, two).map(([whole, part]) => `took ${whole}.${part} s`),
      fc.tuple(two, two).map(([one, other]) => `v${one}.${other}/${other}`),
      fc.tuple(two, two).map(([one, other]) => `https://shop.example/${one}/${other}`),
      fc.uuid(),
      two.map((id) => `job-${id}`),
    );
    fc.assert(
      fc.property(fc.array(usual, { maxLength: 4 }), fc.integer({ min: 1, max: 13 }), (texts, records) => {
        expect(read(["OK", ...texts].join(" "), records)).toBeUndefined();
        expect(read({ status: "ok", info: texts.join(", "), texts }, records)).toBeUndefined();
      }),
      { numRuns: runs(30, 5_000) },
    );
  });

  it("is read of any text whatever, in short", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
        expect((read(text) ?? "").length).toBeLessThan(500);
        read({ message: text, list: [text] });
      }),
    );
    expect(read(`${"9 ".repeat(600)}${"of ".repeat(500)}`)).toBeUndefined();
  });
});

describe("why an answer leaves a request in doubt, which a person accepts by itself", () => {
  it.each<[object, string | undefined]>([
    [{ message: "2 of 3 records stored" }, "part"],
    [{ message: "stored", skipped: ["X"] }, "list"],
    [{ message: "3 of 3 records stored" }, undefined],
  ])("%j: %s", (answer, why) => {
    const accepted = readAcceptance({ contentType: "application/json", body: Buffer.from(JSON.stringify(answer)) });
    if (accepted.kind !== "accepted") expect.fail(`it is no acceptance: ${accepted.kind}`);
    expect(withDoubt(accepted, { short: undefined, sent: sentOf(3) }).unknown?.why).toBe(why);
  });

  it.each([
    ["Обновлено: 0, не найдено: 1", "words"],
    ["Обновлено: 0", "counts"],
  ])("%s, where fewer were counted than were sent: %s", (body, why) => {
    const accepted = readAcceptance({ contentType: "text/plain", body: Buffer.from(body) });
    if (accepted.kind !== "accepted") expect.fail(`it is no acceptance: ${accepted.kind}`);
    const short = { name: "Обновлено", count: 0, taken: 0 };
    expect(withDoubt(accepted, { short, sent: sentOf(1) }).unknown?.why).toBe(why);
  });
});
