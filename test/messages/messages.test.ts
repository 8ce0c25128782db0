import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textsOf } from "../../src/messages/catalogues.ts";
import { en } from "../../src/messages/en.ts";
import { Message, render, speaking } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";
import { plural } from "../../src/messages/numbers.ts";
import { ru } from "../../src/messages/ru.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { declaredMessages, drawParams } from "./catalogue.ts";

const LANGUAGES = ["en", "ru"] as const;

describe("a message", () => {
  it("is put into the words of its reader, with the messages among its parameters", () => {
    const text = m.common.about({ subject: "/etc/config.yaml", text: m.config.more({ count: 3 }) });
    expect(render("en", text)).toBe("/etc/config.yaml: and 3 more");
    expect(render("ru", text)).toBe("/etc/config.yaml: и ещё 3");
    const list = m.common.listed({ parts: ["A-1", m.config.more({ count: 3 })] });
    expect(speaking("ru")(list)).toBe("A-1, и ещё 3");
  });

  it("shows data without control characters, and in one line: what a name holds is no line of its own", () => {
    const parts = [
      "\u001b]0;owned\u0007",
      m.common.about({ subject: "tr\u202eig", text: m.config.more({ count: 3 }) }),
      "a\nNext: b\u200f",
    ];
    const text = m.common.listed({ parts });
    for (const control of ["\u001b", "\u0007", "\u202e"])
      for (const language of LANGUAGES) expect(render(language, text)).not.toContain(control);
    expect(String(text)).toBe("\\u001b]0;owned\\u0007, tr\\u202eig: and 3 more, a\\u000aNext: b\\u200f");
  });

  it("is its English text as a string and in JSON", () => {
    const text = m.config.more({ count: 3 });
    expect([String(text), `${text}`, JSON.stringify({ text })]).toEqual([
      "and 3 more",
      "and 3 more",
      '{"text":"and 3 more"}',
    ]);
    expect(text).toMatchObject({ id: "config.more", params: { count: 3 } });
  });

  it("is what an error says", () => {
    const error = new BridgeError("usage", m.config.more({ count: 3 }), { hint: m.restore.nothingChanged });
    expect([error.message, String(error.hint)]).toEqual(["and 3 more", "Nothing was changed."]);
    expect([error.text, error.hint ?? ""].map(speaking("ru"))).toEqual(["и ещё 3", "Ничего не изменено."]);
    // @ts-expect-error plain text is no message
    expect(() => new BridgeError("usage", "English words")).not.toThrow();
  });

  it("that no catalogue has is refused", () => {
    expect(() => String(new Message("config.gone"))).toThrow("There is no message config.gone.");
  });

  it("has parameters and translations that the compiler verifies", () => {
    // @ts-expect-error a parameter is missing
    m.config.more({});
    // @ts-expect-error a parameter has another type
    m.config.more({ count: "3" });
    // @ts-expect-error plain text cannot stand where a message is wanted
    m.common.about({ subject: "a", text: "English words" });
    // @ts-expect-error a text is missing
    ({}) satisfies typeof en.config;
    // @ts-expect-error a text is superfluous
    ({ ...ru.daemon, other: "" }) satisfies typeof en.daemon;
    // @ts-expect-error a parameter that English does not have
    ({ notReloaded: ({ path }) => path }) satisfies typeof en.daemon;
    expect(m.config.more({ count: 3 })).toBeInstanceOf(Message);
  });
});

describe("a plural", () => {
  it("has the form of its number", () => {
    const ru = (n: number) => plural("ru", n, { one: "заказ", few: "заказа", many: "заказов" });
    expect([1, 21, 101, 1_001].map(ru)).toEqual(Array(4).fill("заказ"));
    expect([2, 3, 4, 22, 104, 1.5].map(ru)).toEqual(Array(6).fill("заказа"));
    expect([0, 5, 9, 10, 11, 12, 14, 19, 20, 25, 111, 112, 1_000].map(ru)).toEqual(Array(13).fill("заказов"));
    const en = (n: number) => plural("en", n, { one: "order", other: "orders" });
    expect([0, 1, 2, 11, 21, 1.5].map(en)).toEqual(["orders", "order", "orders", "orders", "orders", "orders"]);
  });
});

/** A text may speak of null itself. */
function withoutNull(params: Readonly<Record<string, unknown>>): Message["params"] {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value ?? "§"])) as Message["params"];
}

function count(text: string, word: string): number {
  return text.split(word).length;
}

describe("the catalogues", () => {
  const declared = declaredMessages();

  it("are found by the area of a message", () => {
    for (const area of Object.keys(en) as (keyof typeof en)[]) {
      expect([Object.keys(textsOf("en", area) ?? {}), Object.keys(textsOf("ru", area) ?? {}).sort()]).toEqual([
        Object.keys(en[area]),
        Object.keys(en[area]).sort(),
      ]);
    }
  });

  it("are read whole", () => {
    const ids = Object.entries(en).flatMap(([area, texts]) => Object.keys(texts).map((name) => `${area}.${name}`));
    expect(declared.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  it.each(declared.map((one) => [one.id, one] as const))("say %s whole in both languages", (id, one) => {
    fc.assert(
      fc.property(drawParams(one), (params) => {
        for (const language of LANGUAGES) {
          const text = render(language, new Message(id, params as Message["params"]));
          expect(text).not.toMatch(/undefined|NaN|\[object|=>|^$/);
          // What is copied of a command ends with its last word, and a full stop would be part of a file's name.
          expect(text).not.toMatch(/erp-bridge restore §\w+§[.,)]/);
          expect(count(text, "null")).toBe(count(render(language, new Message(id, withoutNull(params))), "null"));
          for (const value of Object.values(params).flat()) {
            if (typeof value === "string" && value.startsWith("§")) expect(text).toContain(value);
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it("say what is prose in English in Russian letters", () => {
    const english = declared.filter((one) => {
      const [params = {}] = fc.sample(drawParams(one), { numRuns: 1, seed: 1 });
      const [inEnglish, inRussian] = LANGUAGES.map((language) =>
        render(language, new Message(one.id, params as Message["params"])).replace(/§\w+§/g, ""),
      );
      return /[a-z]{2,} [a-z]{2,}/.test(inEnglish ?? "") && !/[а-яё]/i.test(inRussian ?? "");
    });
    expect(english.map(({ id }) => id)).toEqual([]);
  });

  it("hold nothing that the program never says", () => {
    const sources = globSync("src/**/*.ts").filter((file) => !file.startsWith("src/messages/"));
    const texts = sources.map((file) => readFileSync(file, "utf8"));
    const found = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)]);
    const used = new Set(found(/\bm\s*\.(\w+)\s*\.(\w+)\b/g).map(([, area, name]) => `${area}.${name}`));
    const whole = new Set(["common", "counts", ...found(/\bObject\.entries\(m\.(\w+)\)/g).map(([, area]) => area)]);
    expect(declared.filter(({ id, area }) => !whole.has(area) && !used.has(id)).map(({ id }) => id)).toEqual([]);
  });
});
