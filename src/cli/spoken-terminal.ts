import type { Language } from "../messages/language.ts";
import { type Message, type Say, speaking } from "../messages/message.ts";
import type { Input, PlainInput, PlainTerminal, Terminal } from "./terminal.ts";

/** A terminal whose messages are rendered in the user's language. */
export interface SpokenTerminal extends Terminal {
  say: Say;
  speak(language: Language): void;
  hide(hideSecrets: (text: string) => string): void;
}

/** Wraps a terminal. With `isForMachines`, results stay English and only standard error is translated. */
export function spokenTerminal(
  { input, ...terminal }: PlainTerminal,
  language: Language,
  isForMachines: boolean,
): SpokenTerminal {
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
    out: (text, kind) => terminal.out(safe(isForMachines || kind === "as it is" ? String(text) : say(text))),
    err: (text, kind) => terminal.err(safe(kind === "as it is" ? String(text) : say(text))),
    ...(terminal.draw === undefined ? {} : { draw: (line: string | Message) => terminal.draw?.(safe(say(line))) }),
    ...(input === undefined ? {} : { input: spokenInput(input, (text) => safe(say(text))) }),
  };
}

function spokenInput(input: PlainInput, say: Say): Input {
  return {
    get isInteractive() {
      return input.isInteractive;
    },
    ask: (question) => input.ask(say(question)),
    askSecret: (question) => input.askSecret(say(question)),
    readAll: (bytesMax, withinMs) => input.readAll(bytesMax, withinMs),
  };
}
