/** Where a command reads its surroundings from and writes to: results to stdout, messages and progress to stderr. */
export interface Terminal {
  env: NodeJS.ProcessEnv;
  isTerminal: boolean;
  out(text: string): void;
  err(text: string): void;
}

export const processTerminal: Terminal = {
  env: process.env,
  isTerminal: process.stderr.isTTY === true,
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
};

/** Version of every `--json` form; a change that breaks a reader raises it. */
export const JSON_VERSION = 1;

export function jsonLine(value: object): string {
  return JSON.stringify({ version: JSON_VERSION, ...value });
}
