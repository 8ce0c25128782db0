import { fstatSync, writeSync } from "node:fs";
import { inertText } from "../messages/inert-text.ts";
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
  /** Why results were lost, as on a full disk; a reader that has closed its end is no reason. */
  outFailure?(): Error | undefined;
  /** Whether nobody reads the results any more (`| head -1`). */
  outIsClosed?(): boolean;
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

/** Writes some of the bytes and returns how many. */
export type WriteSome = (bytes: Uint8Array) => number;

/**
 * An output stream of a process. Its first failure is kept and nothing more is written, so that what stands there is
 * the beginning of the output and not a part from its middle.
 */
export class Output {
  readonly #stream: NodeJS.WriteStream;
  readonly #toFile: () => WriteSome | undefined;
  #failure: Error | undefined;
  #isClosed = false;

  /** @param toFile undefined where the stream is no file */
  constructor(stream: NodeJS.WriteStream, toFile: () => WriteSome | undefined) {
    this.#stream = stream;
    this.#toFile = toFile;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  write(text: string): void {
    if (this.#failure !== undefined) return;
    const writeSome = this.#toFile();
    if (writeSome === undefined) this.#stream.write(text);
    else this.#writeWhole(Buffer.from(text, "utf8"), writeSome);
  }

  /** Errors of the stream come later than the write; without a listener one ends the process with a stack trace. */
  listen(): void {
    this.#stream.on("error", (error: NodeJS.ErrnoException) => {
      // The reader has closed its end (`status | head -1`), or the terminal was closed.
      const isClosed = error.code === "EPIPE" || (error.code === "EIO" && this.#stream.isTTY);
      if (isClosed) this.#isClosed = true;
      else this.#failure ??= error;
    });
  }

  /** Node's own stream takes a short write, as on a disk that is about to be full, for a whole one. */
  #writeWhole(bytes: Buffer, writeSome: WriteSome): void {
    try {
      for (let done = 0; done < bytes.length; ) done += writeSome(bytes.subarray(done));
    } catch (error) {
      this.#failure = error as Error;
    }
  }
}

/** For a file or a device such as `/dev/null`; undefined for what Node streams: pipes, sockets and terminals. */
function fileWriter(stream: NodeJS.WriteStream, descriptor: number): WriteSome | undefined {
  if (stream.isTTY) return undefined;
  const stat = fstatSync(descriptor);
  if (stat.isFIFO() || stat.isSocket()) return undefined;
  return (bytes) => writeSync(descriptor, bytes);
}

const isWatched = process.stderr.isTTY === true;
const stdout = new Output(process.stdout, () => fileWriter(process.stdout, 1));
const stderr = new Output(process.stderr, () => fileWriter(process.stderr, 2));

export const processTerminal: PlainTerminal = {
  env: process.env,
  isTerminal: isWatched,
  outIsTerminal: process.stdout.isTTY === true,
  out: (text) => stdout.write(`${text}\n`),
  err: (text) => stderr.write(`${text}\n`),
  outFailure: () => stdout.failure,
  outIsClosed: () => stdout.isClosed,
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

/** No failure of an output causes a stack trace. */
export function tolerateLostOutput(): void {
  for (const output of [stdout, stderr]) output.listen();
}

/** Version of all `--json` output; raised by a change that breaks a reader. */
export const JSON_VERSION = 1;

export function jsonLine(value: object): string {
  return inertText(JSON.stringify({ version: JSON_VERSION, ...value }));
}
