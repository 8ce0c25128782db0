import { createInput, type Input } from "./prompt.ts";

/** Where a command reads its surroundings from and writes to: results to stdout, messages and progress to stderr. */
export interface Terminal {
  env: NodeJS.ProcessEnv;
  isTerminal: boolean;
  /** Whether results are read by a person as they come. */
  outIsTerminal?: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Shows one line at the bottom in place of the last one; the empty text takes it away. Absent where nobody watches. */
  draw?(line: string): void;
  /** Absent where nobody can be asked and nothing is to be read. */
  input?: Input;
}

const isWatched = process.stderr.isTTY === true;

export const processTerminal: Terminal = {
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

/** A reader that has seen enough (`status | head -1`) is no reason to end with a stack trace. */
export function tolerateClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** Version of every `--json` form; a change that breaks a reader raises it. */
export const JSON_VERSION = 1;

export function jsonLine(value: object): string {
  return JSON.stringify({ version: JSON_VERSION, ...value });
}
