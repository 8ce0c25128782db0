import type { PlainInput, PlainTerminal } from "../../src/cli/terminal.ts";

export interface TypingTerminal extends PlainTerminal {
  stdout: string[];
  stderr: string[];
  /** The prompts, in order. */
  asked: string[];
  /** Everything visible to a person or in a log. */
  seen(): string;
}

/** A terminal with these typed answers; without answers it is not interactive, and `piped` is on standard input. */
export function typingTerminal(
  options: { answers?: string[]; piped?: string; env?: NodeJS.ProcessEnv } = {},
): TypingTerminal {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const asked: string[] = [];
  const left = [...(options.answers ?? [])];
  const answer = async (question: string): Promise<string> => {
    asked.push(question);
    const next = left.shift();
    if (next === undefined) throw new Error(`nobody answers: ${question}`);
    return next;
  };
  const input: PlainInput = {
    isInteractive: options.answers !== undefined,
    ask: answer,
    askSecret: answer,
    readAll: async () => options.piped ?? "",
  };
  return {
    env: options.env ?? {},
    isTerminal: options.answers !== undefined,
    out: (text) => void stdout.push(text),
    err: (text) => void stderr.push(text),
    input,
    stdout,
    stderr,
    asked,
    seen: () => [...stdout, ...stderr, ...asked].join("\n"),
  };
}
