import { type Command, type CommanderError, Help, InvalidArgumentError } from "commander";
import type { Message, Say } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

const TITLES: Readonly<Record<string, Message>> = {
  "Usage:": m.help.usageTitle,
  "Arguments:": m.help.argumentsTitle,
  "Options:": m.help.optionsTitle,
  "Commands:": m.help.commandsTitle,
};

/** Translates commander's own texts in a help. They must be set before the help is laid out. */
export function speakHelp(program: Command, say: Say): Command {
  const plain = new Help();
  return program
    .helpOption("-h, --help", say(m.help.helpOption))
    .helpCommand("help [command]", say(m.help.helpOption))
    .configureHelp({
      styleTitle: (title) => say(TITLES[title] ?? m.common.foreign({ text: title })),
      optionDescription: (option) =>
        option.defaultValue === undefined
          ? plain.optionDescription(option)
          : say(m.help.withDefault({ text: option.description, value: JSON.stringify(option.defaultValue) })),
    });
}

/** Larger numbers would be rounded. */
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;
const PORT_MAX = 65_535;
/** Rules for values of options, kept as messages because commander passes on only the text of a refusal. */
const RULES = [NUMBER_MAX, PORT_MAX].map((max) => m.help.wholeNumberTo({ max }));

export const wholeNumber = (text: string) => readNumber(text, NUMBER_MAX);
export const portNumber = (text: string) => readNumber(text, PORT_MAX);

/** Decimal digits alone: `Number` also reads `1e3`, `0x10` and an empty text. */
function readNumber(text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > max) throw new InvalidArgumentError(String(m.help.wholeNumberTo({ max })));
  return value;
}

function ruleOf(text: string): Message {
  return RULES.find((rule) => String(rule) === text) ?? m.common.foreign({ text });
}

/** Commander's own errors about a command line; their texts are English only. */
const REFUSALS: readonly [RegExp, (...parts: string[]) => Message][] = [
  [/^unknown option '(.*)'$/s, (option = "") => m.help.unknownOption({ option })],
  [/^unknown command '(.*)'$/s, (command = "") => m.help.unknownCommand({ command })],
  [/^missing required argument '(.*)'$/s, (argument = "") => m.help.argumentMissing({ argument })],
  [/^option '(.*)' argument missing$/s, (option = "") => m.help.valueMissing({ option })],
  [
    /^option '(.*?)' argument '(.*)' is invalid\. (.*)$/s,
    (option = "", value = "", rule = "") => m.help.valueWrong({ option, value, rule: ruleOf(rule) }),
  ],
  [
    /^too many arguments for '(.*?)'\. Expected (\d+) arguments? but got (\d+): (.*)\.$/s,
    (command = "", expected = "", given = "", names = "") =>
      m.help.tooManyArguments({ command, expected: Number(expected), given: Number(given), names }),
  ],
];
const SUGGESTIONS: readonly [RegExp, (names: string) => Message][] = [
  [/\n\(Did you mean one of (.*)\?\)$/s, (names) => m.help.suggestedNames({ names })],
  [/\n\(Did you mean (.*)\?\)$/s, (name) => m.help.suggestedName({ name })],
];

/** Translates commander's error about a command line. */
export function usageMessage({ message }: CommanderError): Message {
  const text = message.replace(/^error: /, "");
  for (const [pattern, suggest] of SUGGESTIONS) {
    const [end, names] = pattern.exec(text) ?? [];
    if (end !== undefined && names !== undefined)
      return m.common.lines({ lines: [refusalOf(text.slice(0, -end.length)), suggest(names)] });
  }
  return refusalOf(text);
}

function refusalOf(text: string): Message {
  for (const [pattern, refuse] of REFUSALS) {
    const found = pattern.exec(text);
    if (found !== null) return refuse(...found.slice(1));
  }
  return m.common.foreign({ text });
}
