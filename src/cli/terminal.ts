import type { Language } from "../messages/language.ts";
import type { Message, Say } from "../messages/message.ts";

/** Source of answers. Questions go to standard error, so that standard output holds results only. */
export interface PlainInput {
  /** A person can be prompted. */
  isInteractive: boolean;
  /** @throws BridgeError `stopped` on Ctrl-C or the end of the input */
  ask(question: string): Promise<string>;
  /** The same without showing the answer. */
  askSecret(question: string): Promise<string>;
  /** Everything on standard input; undefined where it does not end within `withinMs` or is larger than `bytesMax`. */
  readAll(bytesMax: number, withinMs: number): Promise<string | undefined>;
}

/** The same for questions as messages, in the user's language. */
export interface Input extends PlainInput {
  ask(question: string | Message): Promise<string>;
  askSecret(question: string | Message): Promise<string>;
}

/** The environment and output streams of a program: results on stdout, messages and progress on stderr. */
export interface PlainTerminal {
  env: NodeJS.ProcessEnv;
  isTerminal: boolean;
  /** Whether a person reads the results as they come. */
  outIsTerminal?: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Replaces the line at the bottom; the empty text removes it. Absent where standard error is not a terminal. */
  draw?(line: string): void;
  /** Absent where there is no input. */
  input?: PlainInput;
}

/** A terminal for commands: renders messages in the user's language. */
export interface Terminal extends Omit<PlainTerminal, "input"> {
  /** `as it is`: a file, a payload or text that is already rendered; anything else may be translated. */
  out(text: string | Message, kind?: "as it is"): void;
  err(text: string | Message, kind?: "as it is"): void;
  draw?(line: string | Message): void;
  /** Renders a message in the user's language; absent where that is English. */
  say?: Say;
  /** From now on all output passes through this function, which removes the secret. */
  hide?(hideSecrets: (text: string) => string): void;
  /** Sets the language from now on. */
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

/** `streams` is accessed only when something is asked: opening standard input would keep a program alive. */
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

/** Cut to the width, because a line that wraps cannot be removed again. */
function drawLine(line: string): void {
  const width = Math.max(20, (process.stderr.columns || 80) - 1);
  process.stderr.write(`\r\u001b[2K${line.slice(0, width)}`);
}

/** A reader that closes its end (`status | head -1`) must not cause a stack trace. */
export function tolerateClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // EIO: the terminal was closed.
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
  }
}

/** Version of all `--json` output; raised by a change that breaks a reader. */
export const JSON_VERSION = 1;

export function jsonLine(value: object): string {
  return JSON.stringify({ version: JSON_VERSION, ...value });
}
