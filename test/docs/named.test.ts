import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { keysOf, schemaAt } from "../../src/config/schema-walk.ts";
import { buildProgram } from "../../src/main.ts";
import { PAGES } from "../support/pages.ts";

const SECTIONS = keysOf(configSchema).map(([name]) => name);

/** What a page sets in code: spans, and lines of blocks in no language. */
function codeOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const blocks = [...text.matchAll(/^ *```\n([\s\S]*?)^ *```/gm)].flatMap(([, block = ""]) => block.split("\n"));
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  return [...blocks, ...[...prose.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span.replaceAll("\n", " "))];
}

/** The command that the words lead to, as far as they do. */
function commandOf(program: Command, words: readonly string[]): Command | undefined {
  const [word, ...rest] = words;
  const child = program.commands.find((each) => each.name() === word);
  return child === undefined || child.commands.length === 0 ? child : (commandOf(child, rest) ?? child);
}

const program = buildProgram({ env: {}, isTerminal: false, out: () => {}, err: () => {} }, () => {});

/** Calls of the program in a piece of code that name no command, or an option that the command has not. */
function wrongCalls(code: string): string[] {
  return [...code.matchAll(/^ *erp-bridge ([^#;|)]*)/g)].flatMap(([, call = ""]) => {
    const words = call.trim().split(/\s+/);
    if (words[0] === "COMMAND") return [];
    if (words[0]?.startsWith("-")) return words[0] === "--version" ? [] : [call];
    const command = commandOf(program, words);
    const known = command?.options.flatMap(({ long }) => long ?? []) ?? [];
    const given = words.filter((word) => word.startsWith("--")).map((word) => word.replace(/[=,.].*$/, ""));
    return command !== undefined && given.every((option) => [...known, "--help"].includes(option)) ? [] : [call];
  });
}

/** Keys of the configuration that do not exist; `…`, `FEED` and the like stand for any feed. */
function wrongKeys(code: string): string[] {
  const [, key = ""] = /^([a-z_]+(?:\.[\w…]+)+)(?:: .*)?$/.exec(code) ?? [];
  const steps = key.split(".").map((step) => (step === "…" || step === "FEED" ? "stocks" : step));
  return !SECTIONS.includes(steps[0] ?? "") || schemaAt(configSchema, steps) !== undefined ? [] : [code];
}

describe("the pages", () => {
  it("call commands that there are, with options that they have", () => {
    const wrong = PAGES.flatMap((page) =>
      codeOf(page).flatMap((code) => wrongCalls(code).map((call) => `${page}: ${call}`)),
    );
    expect(wrong).toEqual([]);
    expect(["erp-bridge fly", "erp-bridge sync --fast", "erp-bridge quarantine show 7"].flatMap(wrongCalls)).toEqual([
      "fly",
      "sync --fast",
    ]);
  });

  it("name keys of the configuration that there are", () => {
    // The reference is made from the schema, and names keys inside their group; switches of the mock service are no keys.
    const wrong = PAGES.filter((page) => !/^docs\/(configuration(\.ru)?|sandbox)\.md$/.test(page)).flatMap((page) =>
      codeOf(page).flatMap((code) => wrongKeys(code).map((key) => `${page}: ${key}`)),
    );
    expect(wrong).toEqual([]);
    expect(["imports.stocks.guard", "imports.FEED.gard", "orders.extra: { a: $.b }"].flatMap(wrongKeys)).toEqual([
      "imports.FEED.gard",
    ]);
  });
});
