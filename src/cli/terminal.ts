import type { Language } from "../messages/language.ts";
import type { Message, Say } from "../messages/message.ts";

/** Where answers are read from. Questions go to standard error, so that results stay alone on standard output. */
export interface PlainInput {
  /** Interactive: a person can be prompted. */
  isInteractive: boolean;
  /** @throws BridgeError `stopped` on Ctrl-C or the end of the input */
  ask(question: string): Promise<string>;
  /** The same; nothing of the answer is shown. */
  askSecret(question: string): Promise<string>;
  /** Everything on standard input; undefined where it does not end within `withinMs` or is larger than `bytesMax`. */
  readAll(bytesMax: number, withinMs: number): Promise<string | undefined>;
}

/** What a command asks with, in the reader's language. */
export interface Input extends PlainInput {
  ask(question: string | Message): Promise<string>;
  askSecret(question: string | Message): Promise<string>;
}

/** Where a program reads its surroundings from and writes to: results to stdout, messages and progress to stderr. */
export interface PlainTerminal {
  env: NodeJS.ProcessEnv;
  isTerminal: boolean;
  /** Whether results are read by a person as they come. */
  outIsTerminal?: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Shows one line at the bottom in place of the last one; the empty text takes it away. Absent where the output is not a terminal. */
  draw?(line: string): void;
  /** Absent where the terminal is not interactive and there is no input. */
  input?: PlainInput;
}

/** What a command is handed: it renders messages in the user's language. */
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
  input: inputOf(process),
};

/** `streams` is only looked into when something is asked: reading standard input would keep a program alive. */
function inputOf(streams: Pick<NodeJS.Process, "stdin" | "stderr">): PlainInput {
  return {
    get isInteractive() {
      return streams.stdin.isTTY === true && streams.stderr.isTTY === true;
    },
    ask: async (question) => (await import("./prompt.ts")).ask(streams, question),
    askSecret: async (question) => (await import("./prompt.ts")).askSecret(streams, question),
    readAll: async (bytesMax, withinMs) => (await import("./prompt.ts")).readAll(streams, bytesMax, withinMs),
  };
}

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
