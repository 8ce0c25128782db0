import { describe, expect, it } from "vitest";
import { isUnusual, NOTHING_LEARNED } from "../../../src/service/outcome/compare-forms.ts";
import type { LearnedForms } from "../../../src/service/outcome/known-forms.ts";
import { readSaid } from "../../../src/service/outcome/record-reports.ts";
import {
  acceptFresh,
  findUnknownSince,
  learnDisproved,
  learnProved,
  learnUnusual,
  learnUsual,
} from "../../../src/service/outcome/usual-forms.ts";
import { wordsOf } from "../../../src/service/outcome/usual-reports.ts";
import { at, form, learnedFrom, SENT, START_MS, usually } from "./support.ts";

const HOUR_MS = 3_600_000;

const afterAMonth = (learned: LearnedForms): LearnedForms => ({ ...learned, since: at(START_MS - 30 * 24 * HOUR_MS) });

describe("the usual form of answers", () => {
  it.each([
    ['{"success":true}', '{"success":true,"request_id":"8f3a","warnings":[]}'],
    ['{"success":true,"data":{"updated":["A"]}}', '{"success":true}'],
    ['{"accepted":5,"errors":[]}', '{"accepted":0,"unchanged":5,"errors":[]}'],
    ['{"accepted":5,"warnings":["late"]}', '{"accepted":2}'],
    ['{"updated":3}', '{"updated":0}'],
    ['{"updated":3,"time":"10:00"}', '{"updated":1,"time":null}'],
    ['{"id":"a","queued":3}', '{"id":"b","queued":1,"eta":5}'],
    ["OK 12 rows in 0.5 s", "ok 7 rows in 10 s"],
    ['{"status":"ok"}', '{"status":"OK","at":"2026-03-01T12:00:00Z"}'],
    ['{"code":0,"message":"принято"}', '{"code":0,"message":"строки получены"}'],
    ['{"data":null}', '{"data":{"id":5}}'],
    ['{"status":"ok","order":{"state":"new"}}', '{"status":"ok","order":{"state":"paid"}}'],
    ['{"data":{"id":5}}', '{"data":null}'],
    ["[]", '[{"sku":"A"}]'],
    ["", "null"],
    ["", "{}"],
    ["null", ""],
    ["null", ' ""\n'],
    ["{}", " \r\n"],
    ['""', "{ }"],
  ])("%s is usual, and %s is alike", (usual, other) => {
    expect(isUnusual(usually(usual), form(other))).toBe(false);
  });

  it.each([
    ['{"accepted":5,"errors":[]}', '{"result":"queue is closed"}'],
    ['{"accepted":5,"errors":[]}', "{}"],
    ['{"accepted":5,"errors":[]}', "[]"],
    ['{"accepted":5,"errors":[]}', ""],
    ['{"accepted":5,"errors":[]}', "null"],
    ['{"accepted":5,"errors":[]}', "Good day"],
    ['{"accepted":5,"errors":[]}', '{"updates":[]}'],
    ['{"accepted":5,"errors":[]}', '{"imported":0,"skipped":1}'],
    ['{"success":true}', '{"success":null}'],
    ['{"status":"ok"}', '{"status":"pausing"}'],
    ['{"code":0}', '{"code":7}'],
    ['{"queued":true}', '{"queued":false}'],
    ["OK", "See you later"],
    ["OK", ""],
    ["", '{"ok":true}'],
    ["{}", '{"notice":"see you"}'],
    ['{"A-1":{}}', '""'],
    ["", "moved to the archive"],
    ["[1]", '["closed"]'],
  ])("%s is usual, and %s is unusual", (usual, other) => {
    expect(isUnusual(usually(usual), form(other))).toBe(true);
  });

  it("needs three answers to be the usual one; a single other one before says nothing", () => {
    let learned = NOTHING_LEARNED;
    const see = (body: string) => {
      learned = learnUsual(learned, form(body), { at: at(START_MS), endsDoubt: false });
    };
    see('{"strange":1}');
    see('{"ok":true}');
    see('{"ok":true}');
    expect(isUnusual(learned, form("Hello"))).toBe(false);
    see('{"ok":true}');
    expect(isUnusual(learned, form("Hello"))).toBe(true);
    expect(isUnusual(learned, form('{"strange":1}'))).toBe(true);
  });

  it("is not silence where one answer before it was a yes", () => {
    const see = (learned: LearnedForms, body: string) =>
      learnUsual(learned, form(body), { at: at(START_MS), endsDoubt: false });
    const isSilenceUnusual = (...before: string[]) => isUnusual(before.reduce(see, NOTHING_LEARNED), form(""));
    expect(['{"ok":true}', '{"strange":1}'].map((first) => isSilenceUnusual(first))).toEqual([true, false]);
    expect(isSilenceUnusual("", '{"ok":true}')).toBe(false);
  });

  it("may be one of two", () => {
    const learned = usually('{"accepted":1}', "");
    expect([form('{"accepted":7}'), form("")].map((each) => isUnusual(learned, each))).toEqual([false, false]);
  });

  it("is text alone where the words differ each time", () => {
    let learned = NOTHING_LEARNED;
    for (const word of "a b c d e f g h i j k l m n".split(" "))
      learned = learnUsual(learned, form(`done ${word}`), { at: at(START_MS), endsDoubt: false });
    expect(isUnusual(learned, form("done zz"))).toBe(false);
    expect(isUnusual(learned, form('{"a":1}'))).toBe(true);
  });

  it("writes nothing for another usual answer", () => {
    const learned = usually('{"ok":true}');
    expect(learnUsual(learned, form('{"ok":true,"id":4}'), { at: at(START_MS), endsDoubt: true })).toBe(learned);
  });

  it.each(["", "null"])("keeps what said yes once before answers that say nothing: %j", (silent) => {
    let learned = NOTHING_LEARNED;
    for (const body of ['{"ok":true,"confirmed":2}', silent, silent, silent])
      learned = learnUsual(learned, form(body), { at: at(START_MS), endsDoubt: false });
    expect(isUnusual(learned, form(silent))).toBe(false);
    expect(isUnusual(learned, form('{"ok":true,"confirmed":1}'))).toBe(false);
    expect(isUnusual(learned, form('{"strange":1}'))).toBe(true);
  });

  it("keeps what had a sign of an acceptance once before answers without one", () => {
    const now = { at: at(START_MS), endsDoubt: false };
    let learned = learnUsual(NOTHING_LEARNED, form('{"success":true}'), now);
    for (let times = 0; times < 3; times++) learned = learnUsual(learned, form('{"data":{"orders":[]}}'), now);
    expect(learned.since).not.toBeNull();
    expect(isUnusual(learned, form('{"success":true}'))).toBe(false);
    expect(isUnusual(learned, form('{"page":1}'))).toBe(true);
  });

  it("counts only what settled something", () => {
    const now = { at: at(START_MS), endsDoubt: true };
    const once = learnUsual(NOTHING_LEARNED, form('{"ok":true}'), now);
    for (const body of ['{"ok":true}', '{"done":1}'])
      expect(learnUsual(once, form(body), { ...now, isRepeat: true })).toBe(once);
  });
});

describe("a new form", () => {
  const strange = form('{"accepted":1}');
  const STEP_MS = HOUR_MS / 3;
  const LOCAL_AT = "2026-03-01T12:00:00.000Z";
  const seen = (ms: number, stepMs: number | undefined | null) => ({
    ms,
    at: at(ms),
    localAt: LOCAL_AT,
    stepMs,
    needsSign: true,
  });
  const wait = (begun: LearnedForms, hours: number, body = strange) => {
    let learned = learnUnusual(begun, body, seen(START_MS, undefined));
    for (let ms = STEP_MS; ms <= hours * HOUR_MS; ms += STEP_MS)
      learned = learnUnusual(learned, body, { ...seen(START_MS + ms, STEP_MS), at: at(START_MS) });
    return learned;
  };
  const answered = (learned: LearnedForms, body: string) =>
    learnUsual(learned, form(body), { at: at(START_MS), endsDoubt: true });

  it("counts as usual after a day in which it was all that its requests got", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    expect(isUnusual(wait(usual, 23), strange)).toBe(true);
    expect(isUnusual(wait(usual, 24), strange)).toBe(false);
    expect(isUnusual(wait(usual, 24), form('{"ok":true}'))).toBe(false);
  });

  it("begins anew once what it left in doubt was accepted in the usual one", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    const back = learnUsual(wait(usual, 23), form('{"ok":true}'), { at: at(START_MS), endsDoubt: true });
    expect(isUnusual(wait(back, 1), strange)).toBe(true);
  });

  it("goes on where the usual one came for other records", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    const others = learnUsual(wait(usual, 23), form('{"ok":true}'), { at: at(START_MS), endsDoubt: false });
    expect(isUnusual(wait(others, 2), strange)).toBe(false);
  });

  it("that replaced the usual one for a day is forgotten when that comes back", () => {
    const replaced = wait(afterAMonth(usually('{"ok":true}')), 24);
    const back = learnUsual(replaced, form('{"ok":true}'), { at: at(START_MS), endsDoubt: false });
    expect(isUnusual(back, strange)).toBe(true);
    expect(isUnusual(back, form('{"ok":true}'))).toBe(false);
  });

  it.each([
    ["first", 0],
    ["second", 1],
    ["third", 2],
  ])("has the usual texts of its own answers, also where the %s answer of all had another form", (_, place) => {
    const rows = [1, 2, 3].map((count) => `{"ok":true,"message":"${count} rows updated"}`);
    const learned = learnedFrom(...rows.toSpliced(place, 0, '{"data":{"updates":[]}}'));
    expect(isUnusual(learned, form('{"ok":true,"message":"7 rows updated"}'))).toBe(false);
    expect(isUnusual(learned, form('{"ok":true,"message":"The storefront is in read-only mode"}'))).toBe(true);
  });

  it("has no usual text where its own answers have different ones", () => {
    const learned = learnedFrom(
      ...["спасибо", "до встречи", "хорошего дня"].map((text) => `{"ok":true,"message":"${text}"}`),
    );
    expect(isUnusual(learned, form('{"ok":true,"message":"The storefront is in read-only mode"}'))).toBe(false);
  });

  it("that is the usual one with another text is waited for a day from the last usual text on, however young that is", () => {
    const young = { ...usually('{"ok":true,"message":"Stocks updated"}'), since: at(START_MS - 2 * HOUR_MS) };
    const readOnly = form('{"ok":true,"message":"The storefront is in read-only mode"}');
    expect(isUnusual(wait(young, 23, readOnly), readOnly)).toBe(true);
    expect(isUnusual(wait(young, 24, readOnly), readOnly)).toBe(false);
    const now = { at: at(START_MS), endsDoubt: false };
    const others = learnUsual(wait(young, 23, readOnly), form('{"ok":true,"message":"Stocks updated"}'), now);
    expect(isUnusual(wait(others, 23, readOnly), readOnly)).toBe(true);
    expect(isUnusual(wait(others, 24, readOnly), readOnly)).toBe(false);
  });

  it("is waited for no longer than the usual one was seen, an hour at least", () => {
    const young = { ...usually('{"strange answer of an outage":1}'), since: at(START_MS - 2 * HOUR_MS) };
    expect(isUnusual(wait(young, 1), strange)).toBe(true);
    expect(isUnusual(wait(young, 2), strange)).toBe(false);
    expect(isUnusual(wait(young, 2), form('{"strange answer of an outage":1}'))).toBe(true);
  });

  it("is waited for no longer than that, also where nothing was sent for a day behind it", () => {
    const outage = form('{"strange answer of an outage":1}');
    const begun = { ...usually('{"strange answer of an outage":1}'), since: at(START_MS - 30 * HOUR_MS) };
    const young = { ...begun, seenAt: at(START_MS - 30 * HOUR_MS + 120_000) };
    expect(isUnusual(wait(young, 1), strange)).toBe(true);
    expect(isUnusual(wait(young, 2), strange)).toBe(false);
    const seenAgain = learnUsual(young, outage, { at: at(START_MS), endsDoubt: false });
    expect(isUnusual(wait(seenAgain, 2), strange)).toBe(true);
    expect(learnUsual(seenAgain, outage, { at: at(START_MS + HOUR_MS), endsDoubt: false })).toBe(seenAgain);
  });

  it("that came five times is not waited for, however long that took", () => {
    let learned = afterAMonth(usually('{"ok":true}'));
    for (const expected of [true, true, true, true, true, false]) {
      learned = learnUnusual(learned, strange, seen(START_MS, 6 * HOUR_MS));
      expect(isUnusual(learned, strange)).toBe(expected);
    }
  });

  it("of answers a week apart is no day of answers", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    let learned = learnUnusual(usual, strange, seen(START_MS, undefined));
    const week = START_MS + 7 * 24 * HOUR_MS;
    learned = learnUnusual(learned, strange, seen(week, undefined));
    expect(isUnusual(learned, strange)).toBe(true);
  });

  it("is counted once where its time proves nothing, and waits for a proof or a person", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    const now = (ms: number) => seen(ms, null);
    const once = learnUnusual(usual, strange, now(START_MS));
    expect(once).not.toBe(usual);
    expect(learnUnusual(once, strange, now(START_MS + 40 * HOUR_MS))).toBe(once);
    expect(isUnusual(acceptFresh(once), strange)).toBe(false);
  });

  it("counts as usual once a person says so, and after three proofs of its effect", () => {
    const usual = afterAMonth(usually('{"ok":true}'));
    expect(isUnusual(acceptFresh(wait(usual, 1)), strange)).toBe(false);
    let learned = wait(usual, 1);
    for (const expected of [true, true, false]) {
      learned = learnProved(learned, strange, START_MS);
      expect(isUnusual(learned, strange)).toBe(expected);
    }
    const disproved = learnDisproved(
      learnProved(learnProved(wait(usual, 1), strange, START_MS), strange, START_MS),
      strange,
    );
    expect(isUnusual(learnProved(disproved, strange, START_MS), strange)).toBe(true);
  });

  it("that counts nothing waits for a person, also where nothing is usual yet", () => {
    const nothing = form('{"imported":0}');
    expect(isUnusual(NOTHING_LEARNED, nothing)).toBe(true);
    expect(isUnusual(wait(NOTHING_LEARNED, 100, nothing), nothing)).toBe(true);
    expect(isUnusual(usually('{"imported":1}'), nothing)).toBe(true);
    expect(isUnusual(acceptFresh(wait(NOTHING_LEARNED, 1, nothing)), nothing)).toBe(false);
  });

  it("that counts nothing waits a day where others were counted in between: it counts what has changed", () => {
    const nothing = form('{"imported":0}');
    const begun = learnUsual(wait(afterAMonth(usually('{"imported":1}')), 1, nothing), form('{"imported":2}'), {
      at: at(START_MS),
      endsDoubt: false,
    });
    expect(isUnusual(wait(begun, 22, nothing), nothing)).toBe(true);
    expect(isUnusual(wait(begun, 24, nothing), nothing)).toBe(false);
  });

  it.each([
    '{"ok":true}',
    '{"success":true,"error":""}',
    '{"status":"ok"}',
    '{"data":{"state":"queued"}}',
    '{"code":0}',
    '{"accepted":3,"errors":[]}',
    '{"updated":3}',
    "OK 12 rows",
    '"ok"',
    "true",
    '{"items":["A-1"]}',
    "A-1: stored",
  ])("with a sign of an acceptance counts after a day: %s", (body) => {
    const one = form(body, ["A-1"]);
    expect(isUnusual(wait(afterAMonth(usually('{"result":{"rows":1,"job":"a"}}')), 24, one), one)).toBe(false);
  });

  it.each([
    '{"notice":"works until monday"}',
    '{"notice":"Good day"}',
    '{"job":"a1"}',
    '{"ok":true,"note":"works until monday, it is sent on then"}',
    '{"ok":true,"message":"сайт на обслуживании, обработаем позже"}',
    '{"code":7}',
    '{"state":"3"}',
    '{"imported":0}',
    "Good day",
    "[]",
    "7",
  ])("without one never does, however long it comes: %s", (body) => {
    for (const usual of ['{"ok":true}', '{"accepted":1}']) {
      const one = form(body, ["A-1"]);
      const learned = afterAMonth(usually(usual));
      if (!isUnusual(learned, one)) continue;
      expect(isUnusual(wait(learned, 24 * 7, one), one)).toBe(true);
    }
  });

  it("that is the usual one, and says of a record what none was called, never does", () => {
    const answer = (missing: string[]) => ({
      ok: true,
      stored: ["A-1", "B-2"].filter((key) => !missing.includes(key)),
      missing,
    });
    const one = (...missing: string[]) => {
      const body = answer(missing);
      return { ...form(JSON.stringify(body), ["A-1", "B-2"]), said: wordsOf(readSaid(body, SENT)) };
    };
    let learned = NOTHING_LEARNED;
    for (let times = 0; times < 3; times++)
      learned = learnUsual(learned, one(), { at: at(START_MS), endsDoubt: false });
    expect([one(), one("B-2")].map((each) => isUnusual(learned, each))).toEqual([false, true]);
    expect(isUnusual(wait(afterAMonth(learned), 24 * 7, one("B-2")), one("B-2"))).toBe(true);
  });

  it.each([
    ["Updated: 0, not found: 1", "words"],
    ["Обновлено: 0, не найдено: 1", "words"],
    ["Updated: 0, not found: 1", "part"],
  ] as const)(
    "of a refusal never counts while other records are accepted as usual: %s, in doubt for its %s",
    (words, doubt) => {
      expect(form(words).doubt).toBe("words");
      const one = { ...form(words), doubt };
      const noSign = (learned: LearnedForms, hours: number) => {
        let after = learned;
        for (let ms = STEP_MS; ms <= hours * HOUR_MS; ms += STEP_MS)
          after = learnUnusual(after, one, { ...seen(START_MS + ms, STEP_MS), needsSign: false });
        return after;
      };
      const begun = noSign(afterAMonth(usually(words.replace("0", "2").replace(/1$/, "0"))), 1);
      const beside = learnUsual(begun, form(words.replace("0", "3").replace(/1$/, "0")), {
        at: at(START_MS),
        endsDoubt: false,
      });
      expect(isUnusual(noSign(beside, 24 * 7), one)).toBe(true);
      expect(isUnusual(noSign(begun, 24), one)).toBe(false);
    },
  );

  it("that says nothing counts after a day where the usual one had no sign of an acceptance either", () => {
    const silent = form("");
    const wordless = afterAMonth(usually('{"notice":"Good day"}'));
    expect(isUnusual(wait(wordless, 23, silent), silent)).toBe(true);
    expect(isUnusual(wait(wordless, 24, silent), silent)).toBe(false);
    expect(isUnusual(wait(afterAMonth(usually('{"ok":true}')), 100, silent), silent)).toBe(true);
  });

  it("needs no sign where what was not acted on shows by itself", () => {
    let learned = afterAMonth(usually('{"ok":true}'));
    for (let ms = 0; ms <= 24 * HOUR_MS; ms += STEP_MS)
      learned = learnUnusual(learned, form("Good day"), { ...seen(START_MS + ms, STEP_MS), needsSign: false });
    expect(isUnusual(learned, form("Good day"))).toBe(false);
  });

  it("that was believed for its time is in doubt since then once the former one is back", () => {
    const former = afterAMonth(usually('{"ok":true}'));
    const adopted = wait(former, 24);
    expect(findUnknownSince(former, adopted)).toBeUndefined();
    expect(findUnknownSince(adopted, answered(adopted, '{"accepted":5}'))).toBeUndefined();
    expect(findUnknownSince(adopted, answered(adopted, '{"ok":true}'))).toBe(LOCAL_AT);
  });

  it("is in doubt where one that came before it is back, and not where a later one took its place", () => {
    const first = wait(afterAMonth(usually('{"ok":true}')), 24);
    const second = wait(first, 26, form('{"stored":1}'));
    expect(isUnusual(second, form('{"stored":2}'))).toBe(false);
    const back = answered(second, '{"accepted":2}');
    expect([strange, form('{"stored":2}')].map((each) => isUnusual(back, each))).toEqual([false, true]);
    expect(findUnknownSince(second, back)).toBe(LOCAL_AT);
  });

  it("puts all that was accepted before in doubt where the usual one was young and had no sign of an acceptance", () => {
    const young = { ...usually('{"notice":"Good day"}'), since: at(START_MS - 2 * HOUR_MS) };
    const adopted = wait(young, 2);
    expect(findUnknownSince(young, adopted)).toBe("");
    expect(isUnusual(adopted, form('{"notice":"Good day"}'))).toBe(true);
  });

  it("leaves a young usual one with a sign as it is: its return is no new form", () => {
    const young = { ...usually('{"ok":true}'), since: at(START_MS - 2 * HOUR_MS) };
    const adopted = wait(young, 2);
    expect([strange, form('{"ok":true}')].map((each) => isUnusual(adopted, each))).toEqual([false, false]);
    expect(findUnknownSince(young, adopted)).toBeUndefined();
    expect(findUnknownSince(adopted, answered(adopted, '{"ok":true}'))).toBe(LOCAL_AT);
  });

  it("is doubted at the return of the usual one also where a person has read of it", () => {
    const adopted = wait(afterAMonth(usually('{"ok":true}')), 24);
    expect(adopted.known).toContainEqual(expect.objectContaining({ names: ["accepted number"], adoptedAt: LOCAL_AT }));
    const read = { ...adopted, known: adopted.known.map((form) => ({ ...form, isSeen: true as const })) };
    expect(findUnknownSince(read, answered(read, '{"ok":true}'))).toBe(LOCAL_AT);
  });
});
