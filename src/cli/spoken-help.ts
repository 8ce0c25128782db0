import { type Command, Help } from "commander";
import type { Say } from "../messages/render.ts";

/** Makes help speak: each text before it is laid out, so that columns and line breaks fit the words. */
export function speakHelp(program: Command, say: Say): Command {
  const plain = new Help();
  return program.configureHelp({
    styleTitle: say,
    commandDescription: (command) => say(plain.commandDescription(command)),
    subcommandDescription: (command) => say(plain.subcommandDescription(command)),
    optionDescription: (option) => say(plain.optionDescription(option)),
    argumentDescription: (argument) => say(plain.argumentDescription(argument)),
  });
}
