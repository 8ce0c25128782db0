import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compilePatterns } from "../../src/messages/pattern.ts";
import { RUSSIAN, RUSSIAN_MESSAGES } from "../../src/messages/russian.ts";
import { Translator } from "../../src/messages/translator.ts";
import { harvestMessages, type Message } from "./harvest.ts";
import { type Literal, literalsOf } from "./literals.ts";
import { READINGS } from "./readings.ts";

/** Entries by their fixed texts, whatever stands in between. */
function entriesByShape(): Map<string, string> {
  const keys = RUSSIAN.flatMap((catalogue) => Object.keys(catalogue));
  return new Map(keys.flatMap((key) => compilePatterns(key, "").map(({ literals }) => [shapeOf(literals), key])));
}

function shapeOf(literals: readonly string[]): string {
  return literals.join("\0");
}

/** A text may be the end of another one: what begins it then. */
const BEGINNINGS = ["", "nothing to do", "GET /orders ", "The answer ", "data "];

/** The words of the fixed parts of all texts of a file. */
function wordsByFile(): Set<string>[] {
  return (
    globSync("src/**/*.ts")
      // A text of the catalogue may stand in one that has no messages yet, which is translated as a whole.
      .filter((file) => !file.startsWith("src/messages/") || file.startsWith("src/messages/en/"))
      .map((file) => new Set(literalsOf(readFileSync(file, "utf8")).flatMap(wordsOf)))
  );
}

function wordsOf({ parts }: Literal): string[] {
  return parts.flatMap((part) => (typeof part === "string" ? (part.match(WORD) ?? []) : part.inner.flatMap(wordsOf)));
}

const WORD = /[A-Za-z]{3,}/g;

/** Whether some file may still put the entry together from the texts that stand in it. */
function isSpelled(key: string, files: readonly Set<string>[]): boolean {
  const words = compilePatterns(key, "").map(({ literals }) => literals.join(" ").match(WORD) ?? []);
  return words.some((needed) => files.some((has) => needed.every((word) => has.has(word))));
}

describe("the Russian catalogue", () => {
  const messages = harvestMessages();
  const shapes = entriesByShape();
  const used = new Set<string>();
  /** Commands, keys and names that both languages write alike. */
  const shared = new Set(
    RUSSIAN.flatMap(
      (part) =>
        Object.values(part)
          .join(" ")
          .match(/[A-Za-z]{4,}/g) ?? [],
    ),
  );
  const translator = new Translator(RUSSIAN, (key) => used.add(key));

  function isKnown(message: Message): boolean {
    const key = shapes.get(shapeOf(message.literals));
    if (key !== undefined) used.add(key);
    const tries = message.samples.flatMap((sample) =>
      BEGINNINGS.flatMap((before) => [before + sample, `${before}${sample}`.trim()]),
    );
    const readings = READINGS[message.text];
    if (readings !== undefined) return readings.every((text) => translator.cover(text) !== undefined);
    const words = message.literals.join(" ").match(/[A-Za-z]{4,}/g) ?? [];
    const covered = tries.filter((text) => {
      const said = translator.cover(text);
      // A value may have swallowed a part of the message: no word of it may be left.
      return said !== undefined && !words.some((word) => !shared.has(word) && said.includes(word));
    });
    return key !== undefined || covered.length > 0;
  }

  const missing = messages.filter((message) => !isKnown(message));

  it("knows every message of the program", () => {
    const lines = missing.map(({ place, text }) => `${place}\n  ${JSON.stringify(text)}: "",`);
    const how =
      "Add each to the fitting file of src/messages/russian/ (the holes may be renamed; src/messages/pattern.ts says what they can do),\n" +
      "where its parts come from elsewhere, tell in test/messages/readings.ts how it reads; where no person reads it, add it to\n" +
      "the lists in test/messages/harvest.ts with the reason:\n";
    expect(lines.length === 0 ? "" : `${lines.length} messages have no Russian. ${how}\n${lines.join("\n")}`).toBe("");
  });

  it("has readings only of texts that are there", () => {
    const texts = new Set(messages.map(({ text }) => text));
    expect(Object.keys(READINGS).filter((text) => !texts.has(text))).toEqual([]);
  });

  it("knows every count that a pass tells", () => {
    const jobs = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
    const calls = /\b(?:add|count)\((?:[\w.]*counts|pass), "([a-z]+)"|\bas: "([a-z]+)"|counts\["([a-z]+)"\] =/g;
    const names = jobs.flatMap((text) => [...text.matchAll(calls)].map((match) => match.slice(1).find(Boolean) ?? ""));
    expect(new Set(names).size).toBeGreaterThan(8);
    expect([...new Set(names)].filter((name) => translator.cover(`3 ${name}`) === undefined)).toEqual([]);
  });

  it("holds nothing that no message needs any more", () => {
    const files = wordsByFile();
    const idle = Object.entries(RUSSIAN_MESSAGES).flatMap(([name, catalogue]) =>
      Object.keys(catalogue)
        .filter((key) => !used.has(key) && !isSpelled(key, files))
        .map((key) => `src/messages/russian/${name}.ts: ${JSON.stringify(key)}`),
    );
    expect(idle.length === 0 ? "" : `No message is like these entries; take them away:\n${idle.join("\n")}`).toBe("");
  });
});
