import path from "node:path";
import { m } from "../messages/messages.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import { runSandbox } from "../sandbox/cli.ts";
import { requireReadable } from "./given-path.ts";
import type { Terminal } from "./terminal.ts";

export interface SandboxCommandOptions {
  port: number;
  seed: number;
  rate: number;
  clientId: string;
  clientSecret: string;
  switches?: string;
}

/** Runs the mock service until it is interrupted. Needs no configuration. */
export async function sandbox(terminal: Terminal, options: SandboxCommandOptions): Promise<ExitCode> {
  const { switches } = options;
  if (switches !== undefined) {
    const source = m.common.foreign({ text: switches });
    requireReadable(path.resolve(switches), m.feeds.readingSource({ source }));
  }
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
  await runSandbox({
    port: options.port,
    seed: options.seed,
    ordersPerMinute: options.rate,
    clientId: options.clientId,
    clientSecret: options.clientSecret,
    ...(switches === undefined ? {} : { switchesFile: switches }),
    log: (line) => terminal.err(line),
    signal: stop.signal,
  });
  return EXIT.ok;
}
