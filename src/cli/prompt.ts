import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
}

/** @throws BridgeError `stopped` on Ctrl-C or the end of the input */
export async function ask({ stdin, stderr }: Streams, question: string): Promise<string> {
  return await answerOf(createInterface({ input: stdin, output: stderr, historySize: 0 }), question);
}

/** The same without showing the answer. */
export async function askSecret({ stdin, stderr }: Streams, question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Created before the question is written: it turns off the terminal's echo, so nothing typed after the question is
  // visible.
  const lines = createInterface({ input: stdin, output: silent, terminal: true, historySize: 0 });
  stderr.write(question);
  try {
    return await answerOf(lines, "");
  } finally {
    stderr.write("\n");
  }
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

/** Everything on standard input; undefined where it does not end within `withinMs` or is larger than `bytesMax`. */
export async function readAll({ stdin }: Streams, bytesMax: number, withinMs: number): Promise<string | undefined> {
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
