import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

/** Where answers are read from. Questions go to standard error, so that results stay alone on standard output. */
export interface PlainInput {
  /** Somebody sits there and can be asked. */
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

interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
}

/** `streams` is only looked into when something is asked: reading standard input would keep a program alive. */
export function createInput(streams: Streams): PlainInput {
  return {
    get isInteractive() {
      return streams.stdin.isTTY === true && streams.stderr.isTTY === true;
    },
    ask: (question) =>
      answerOf(createInterface({ input: streams.stdin, output: streams.stderr, historySize: 0 }), question),
    askSecret: async (question) => {
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      // Made first: it takes the terminal's own echo away, and what is typed as soon as the question stands is unseen.
      const lines = createInterface({ input: streams.stdin, output: silent, terminal: true, historySize: 0 });
      streams.stderr.write(question);
      try {
        return await answerOf(lines, "");
      } finally {
        streams.stderr.write("\n");
      }
    },
    readAll: (bytesMax, withinMs) => readAll(streams.stdin, bytesMax, withinMs),
  };
}

function answerOf(lines: Interface, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.once("SIGINT", () => lines.close());
    lines.once("close", () => reject(new BridgeError("stopped", m.command.stopped)));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

async function readAll(stdin: NodeJS.ReadStream, bytesMax: number, withinMs: number): Promise<string | undefined> {
  const late = setTimeout(() => stdin.destroy(), withinMs);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk as Buffer | string);
      size += bytes.length;
      if (size > bytesMax) return undefined;
      chunks.push(bytes);
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch {
    return undefined;
  } finally {
    clearTimeout(late);
  }
}
