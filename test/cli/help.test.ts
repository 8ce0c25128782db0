import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { buildProgram } from "../../src/main.ts";
import { runCommand } from "../support/shop.ts";

const silent = { env: {}, isTerminal: false, out: () => {}, err: () => {} };

/** Every command and group, with the words that lead to it. */
function walk(command: Command, words: string[] = []): { words: string[]; command: Command }[] {
  return command.commands.flatMap((child) => {
    const here = [...words, child.name()];
    return [{ words: here, command: child }, ...walk(child, here)];
  });
}

const all = walk(buildProgram(silent, () => {}));

/** The example's own words, without `erp-bridge`. */
async function exampleOf(words: readonly string[]): Promise<string[]> {
  const { code, out } = await runCommand([...words, "--help"]);
  expect(code).toBe(0);
  const [, example = ""] = /\nExample:\n {2}erp-bridge (.+)$/.exec(out) ?? [];
  return example.split(" ").filter((word) => word !== "");
}

describe("--help", () => {
  it("has a summary and an example of every command and every group, the program itself included", async () => {
    expect(all.length).toBeGreaterThanOrEqual(20);
    for (const { words, command } of [{ words: [], command: buildProgram(silent, () => {}) }, ...all]) {
      expect(command.description(), words.join(" ")).not.toBe("");
      expect(await exampleOf(words), words.join(" ")).not.toEqual([]);
    }
  });

  it("shows examples that are calls of that very command, with options that it has", async () => {
    for (const { words, command } of all) {
      const example = await exampleOf(words);
      const isGroup = command.commands.length > 0;
      expect(example.slice(0, words.length)).toEqual(words);
      const called = isGroup ? all.find((each) => each.words.join(" ") === example.slice(0, 2).join(" ")) : { command };
      const known = called?.command.options.flatMap(({ long, short }) => [long, short]);
      for (const word of example.filter((each) => each.startsWith("-")))
        expect(known, example.join(" ")).toContain(word);
      const required = called?.command.registeredArguments.filter((argument) => argument.required).length ?? 0;
      const given = example.slice(isGroup ? 2 : words.length).filter((each) => !each.startsWith("-"));
      expect(given.length, example.join(" ")).toBeGreaterThanOrEqual(required);
    }
  });
});
