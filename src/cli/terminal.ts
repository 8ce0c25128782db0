import type { Language } from "../messages/language.ts";
import type { Message, Say } from "../messages/message.ts";
import { createInput, type Input, type PlainInput } from "./prompt.ts";

/** Where a program reads its surroundings from and writes to: results to stdout, messages and progress to stderr. */
export interface PlainTerminal {
  env: NodeJS.ProcessEnv;
  isTerminal: boolean;
  /** Whether results are read by a person as they come. */
  outIsTerminal?: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Shows one line at the bottom in place of the last one; the empty text takes it away. Absent where nobody watches. */
  draw?(line: string): void;
  /** Absent where nobody can be asked and nothing is to be read. */
  input?: PlainInput;
}

/** What a command is handed: it puts messages into the words of whoever sits before it. */
export interface Terminal extends Omit<PlainTerminal, "input"> {
  /** `as it is`: a file, a payload or words that were said already; everything else may be said in another language. */
  out(text: string | Message, kind?: "as it is"): void;
  err(text: string | Message, kind?: "as it is"): void;
  draw?(line: string | Message): void;
  /** The words of a message in the language that is spoken; absent where that is English. */
  say?: Say;
  /** From now on everything that is written goes through this: it takes the secret out. */
  hide?(hideSecrets: (text: string) => string): void;
  /** From now on in this language. */
  speak?(language: Language): void;
  input?: Input;
}

const isWatched = process.stderr.isTTY === true;

export const processTerminal: PlainTerminal = {
  env: process.env,
  isTerminal: isWatched,
  outIsTerminal: process.stdout.isTTY === true,
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  ...(isWatched && process.env["TERM"] !== "dumb" && { draw: drawLine }),
  input: createInput(process),
};

/** Cut to the width, because a line that wraps cannot be taken away again. */
function drawLine(line: string): void {
  const width = Math.max(20, (process.stderr.columns || 80) - 1);
  process.stderr.write(`\r\u001b[2K${line.slice(0, width)}`);
}

/** A reader that has closed its end (`status | head -1`) is no reason to end with a stack trace. */
export function tolerateClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // EIO: the terminal was closed.
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
  }
}

/** Version of every `--json` form; a change that breaks a reader raises it. */
export const JSON_VERSION = 1;

export function jsonLine(value: object): string {
  return JSON.stringify({ version: JSON_VERSION, ...value });
}
