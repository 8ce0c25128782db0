import type { Argument, Command, Option } from "commander";
import { processTerminal } from "../../src/cli/terminal.ts";
import { buildProgram } from "../../src/main.ts";

/** One command as it is typed, `config show`, with what a manual and a shell need to know of it. */
export interface CommandWords {
  path: string[];
  summary: string;
  arguments: { term: string; summary: string }[];
  options: OptionWords[];
  example: string | undefined;
}

export interface OptionWords {
  flags: string;
  short: string | undefined;
  long: string | undefined;
  summary: string;
  takesValue: boolean;
  /** The value is the name of a file. */
  takesFile: boolean;
}

/** Every command that does something, in the order of the help. */
export function readCommands(): CommandWords[] {
  return walk(
    buildProgram(processTerminal, () => {}),
    [],
  );
}

function walk(command: Command, above: string[]): CommandWords[] {
  return command.commands.flatMap((child) => {
    const path = [...above, child.name()];
    return child.commands.length > 0 ? walk(child, path) : [describe(child, path)];
  });
}

function describe(command: Command, path: string[]): CommandWords {
  return {
    path,
    summary: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      term: termOf(argument),
      summary: argument.description,
    })),
    options: command.options.filter((option) => !option.hidden).map(wordsOf),
    example: exampleOf(command),
  };
}

function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function wordsOf(option: Option): OptionWords {
  const takesValue = option.required || option.optional;
  return {
    flags: option.flags,
    short: option.short,
    long: option.long,
    summary: option.description,
    takesValue,
    takesFile: takesValue && /<(file|program)>/.test(option.flags),
  };
}

/** The example stands in the text after the help, which commander only writes. */
function exampleOf(command: Command): string | undefined {
  let text = "";
  command.configureOutput({
    writeOut: (words) => {
      text += words;
    },
  });
  command.outputHelp();
  return /\nExample:\n {2}(.+)/.exec(text)?.[1];
}
