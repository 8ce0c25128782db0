import type { Language } from "../messages/language.ts";
import { type Say, speaking } from "../messages/translator.ts";
import type { Input } from "./prompt.ts";
import type { Terminal } from "./terminal.ts";

/** A terminal whose messages come in the language of whoever sits before it. */
export interface SpokenTerminal extends Terminal {
  say: Say;
  speak(language: Language): void;
  hide(hideSecrets: (text: string) => string): void;
}

/**
 * Wraps a terminal. Where results go to a program (`isForMachines`), standard output stays as it is; messages on
 * standard error are for people all the same.
 */
export function spokenTerminal(terminal: Terminal, language: Language, isForMachines: boolean): SpokenTerminal {
  let spoken = { language, say: speaking(language) };
  const say: Say = (text) => spoken.say(text);
  let safe = (text: string) => text;
  return {
    ...terminal,
    say,
    hide(hideSecrets) {
      safe = hideSecrets;
    },
    speak(wanted) {
      if (wanted !== spoken.language) spoken = { language: wanted, say: speaking(wanted) };
    },
    out: (text, kind) => terminal.out(safe(isForMachines || kind === "as it is" ? text : say(text))),
    err: (text, kind) => terminal.err(safe(kind === "as it is" ? text : say(text))),
    ...(terminal.draw === undefined ? {} : { draw: (line: string) => terminal.draw?.(safe(say(line))) }),
    ...(terminal.input === undefined ? {} : { input: spokenInput(terminal.input, (text) => safe(say(text))) }),
  };
}

function spokenInput(input: Input, say: Say): Input {
  return {
    get isInteractive() {
      return input.isInteractive;
    },
    ask: (question) => input.ask(say(question)),
    askSecret: (question) => input.askSecret(say(question)),
    readAll: (bytesMax, withinMs) => input.readAll(bytesMax, withinMs),
  };
}
